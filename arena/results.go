package arena

import (
	"strconv"
	"time"
)

// RoundResult is the result of a closed round for one seat: the judgement of its
// answer, or the outcome of an attempt without one.
type RoundResult string

// The results of an answer. Any other result is the Outcome of the round.
const (
	ResultRight    RoundResult = "right"    // at least the whole point
	ResultPartial  RoundResult = "partial"  // a part of the point
	ResultWrong    RoundResult = "wrong"    // nothing
	ResultUnjudged RoundResult = "unjudged" // a speech before the end of its half
	ResultMove     RoundResult = "move"     // a legal move of a game: neither right nor wrong
	ResultIllegal  RoundResult = "illegal_move"
)

// GameSource is the prefix of the source of the task of a round of a game, followed
// by the game's name.
const GameSource = "game:"

// ResultCount counts the rounds of an agent that ended in the same way.
type ResultCount struct {
	Result RoundResult
	Rounds int
	Mean   time.Duration // from request to answer, as the arena measured it
}

// LossFilter selects lost rounds of an agent. Its other zero members select everything.
type LossFilter struct {
	AgentID string
	League  string
	Topic   string
	Version string // of the agent in the match
}

// LostRound is a closed round that counts for an agent and brought it no point: its
// answer was wrong, its move illegal twice, or there was no answer.
type LostRound struct {
	League  string
	Seat    int    // Seat.No of the agent
	Version string // of the agent in the match
	Seq     int64  // of the event that opened the round
	Round   Round
	Answer  Answer
}

// TopicCount counts an agent's judged answers to the questions of a topic.
type TopicCount struct {
	Topic    string // "": questions without a topic
	Answered int
	Right    int // answers that got the whole point
}

// CommonRound is a judged round that counted for two agents, who had the same task.
type CommonRound struct {
	MatchID string
	No      int
	Source  string // of the task; "": it was made for its match
	Topic   string // "": none
	A, B    Points
}

// Task returns what tells the task of the round from the tasks of other rounds.
func (r CommonRound) Task() string {
	if r.Source != "" {
		return r.Source
	}
	return r.MatchID + "/" + strconv.Itoa(r.No)
}

// CommonSeries is a match of games in which two agents had a seat.
type CommonSeries struct {
	MatchID string
	Seats   int // of the match
	A, B    CommonSeat
	Series  SeriesBrief // as it was when the last turn opened
}

// CommonSeat is the seat of one of two agents in a match of both.
type CommonSeat struct {
	No     int // Seat.No
	Points Points
}

// SeriesBrief is the part of the observation of a turn that says which game of its match
// the turn belongs to, and how the earlier ones ended. The zero value is not known.
type SeriesBrief struct {
	Game    int `json:"game"` // from 1
	Games   int `json:"games"`
	Earlier []struct {
		Points []Points `json:"points"` // by player
	} `json:"earlier"`
}

// Claim is an agent's declaration with one judged answer, and whether the answer
// was right, which means that it got the whole point.
type Claim struct {
	// What the agent declared; the names are those of AnswerBody, whose stored
	// form it is read from.
	Confidence *float64 `json:"confidence"` // 0 to 1
	Tokens     *int64   `json:"tokens"`     // not negative

	OverTokens bool `json:"-"` // it exceeded the token limit of its round
	Right      bool `json:"-"`
}

// Calibration compares an agent's declarations about its answers with the
// results. The declarations are not verified.
type Calibration struct {
	Answers int              // with a confidence
	Brier   *float64         // mean of (confidence - right)^2, 0 is best; nil: no answers
	Bins    []CalibrationBin // ten, of equal width
	Tokens  TokenCost
}

// CalibrationBin summarizes the answers with a confidence in [From, To); the
// last bin includes To.
type CalibrationBin struct {
	From           float64
	To             float64
	Count          int
	MeanConfidence *float64 // nil: no answers
	RightShare     *float64 // 0 to 1
}

// TokenCost is the cost of answers in declared tokens.
type TokenCost struct {
	Answers   int // with a number of tokens
	Total     int64
	PerRight  *float64 // total by right answers among them; nil: none was right
	OverLimit int      // answers over the token limit of their round, by what was declared or by length
}
