package arena

import (
	"math/rand/v2"
	"time"
)

// Verdict is a judge's verdict on one round. The answers are kept, so that
// another version of the judge can judge them again.
type Verdict struct {
	MatchID string
	Round   int
	Judge   string // kind
	Version string // changes whenever the same answers could be judged differently
	Seats   []SeatVerdict
	Ballots []Ballot // of judges that compare answers
	At      time.Time
}

// ReasonRemoved is the reason of an answer that is void because its question was
// removed from the pack later.
const ReasonRemoved = "question_removed"

// ReasonTokenLimit is the reason of an answer that got no points because it
// exceeded the token limit of a match with the policy zero_points.
const ReasonTokenLimit = "token_limit"

// ReasonIllegalMove is the reason of an answer whose move the rules of its game
// refuse, after it was asked for again.
const ReasonIllegalMove = "illegal_move"

// Forfeits reports whether an answer with this reason gets no points and is not
// judged.
func Forfeits(reason string) bool { return reason == ReasonJudgeLimit || reason == ReasonTokenLimit }

// SeatVerdict is the points of one seat.
type SeatVerdict struct {
	AgentID string `json:"agent_id"`
	Points  Points `json:"points"`
	Reason  string `json:"reason,omitempty" doc:"judge_limit: judging the answer exceeded the memory or time of a judge process. token_limit: the answer exceeded max_tokens in a league that gives no points for it."`
}

// Ballot is one comparison of two answers by one judge: in this order, with
// this choice.
type Ballot struct {
	Judge  string `json:"judge"`            // id of a judge agent, name of a model, or "crowd"
	First  string `json:"first"`            // agent id of the answer that was shown first
	Second string `json:"second"`           // agent id of the other
	Choice string `json:"choice"`           // agent id of the better one; "": a tie
	Reason string `json:"reason,omitempty"` // in the judge's words; at most 2 KiB, plain text
	Votes  int    `json:"votes,omitempty"`  // crowd: the number of votes
}

// Judging is a round that waits for an external judge.
type Judging struct {
	MatchID string
	League  string
	Round   int
	Spec    JudgeSpec
	Seed    uint64
	Task    Task
	Answers []JudgedAnswer // in the order of the seats; two or more for a judge that compares
	Until   time.Time      // crowd: when the vote ends
	Playing []string       // ids of the match's agents: none of them judges it
	Turns   int            // debate: speeches in each answer; 0: none
	Rated   bool           // of two verdicts that wait for a process, a rated one is first
	Rescore bool           // the answers were judged before: no owner is charged for it
}

// JudgedAnswer is one answer in a judge's input.
type JudgedAnswer struct {
	AgentID string
	OwnerID string // a judge never judges its owner's agents
	// OwnerGroup is the seat's: the owners of a group take turns with other groups
	// where answers wait to be judged; "": the owner alone.
	OwnerGroup string
	Text       string
}

// BlindAnswer is an answer without its author.
type BlindAnswer struct {
	Label   string `json:"label"` // "A", "B" …
	Text    string `json:"text"`
	AgentID string `json:"-"`
}

// Blind returns the answers in a random order that is drawn for this round and
// independent of the seats. It is the same on every node.
func (j Judging) Blind() []BlindAnswer {
	blind := make([]BlindAnswer, len(j.Answers))
	lots := rand.New(rand.NewPCG(j.Seed, uint64(j.Round))) //nolint:gosec // the seed is the match's secret; rounds are positive
	for to, from := range lots.Perm(len(j.Answers)) {
		blind[to] = BlindAnswer{Label: string(rune('A' + to)), Text: j.Answers[from].Text, AgentID: j.Answers[from].AgentID}
	}
	return blind
}

// Rescore is the result of judging the answers of a finished match again.
type Rescore struct {
	MatchID  string
	Verdicts []Verdict // one for each round
	Answers  []Answer  // with their new points and outcomes
	Seats    []Seat    // with their new points and places
}

// Vote is one spectator's comparison of two answers.
type Vote struct {
	MatchID string
	Round   int
	Voter   [32]byte // hash of the browser's signed name
	Address [32]byte // hash of its network (AddressKeys)
	Site    [32]byte // hash of its site; zero: it has none
	Choice  string   // agent id of the better answer; "": a tie
	Other   string   // agent id of the answer that it was compared with; both, "a b" in the order of the ids, for a tie
	At      time.Time
}

// CastVote is a vote as a spectator casts it, by the labels of the ballot.
type CastVote struct {
	MatchID string
	Round   int
	Better  string // a label, or tie
	Other   string // the label it was compared with, both of a tie; may be "" when there are two answers
	Voter   string // the name of the browser, which counts where votes need no account
	Address string // IP address
}

// CountedVote is what was counted of a CastVote.
type CountedVote struct {
	Other  string // the labels that CastVote.Other stands for
	ByName bool   // it counts under the name of the browser
}

// Guess is the answer of a spectator to an open question with options.
type Guess struct {
	MatchID string
	Round   int
	Answer  string // the letter of an option
	Address string // IP address
}

// GuessCount is how many spectators gave an answer to a round.
type GuessCount struct {
	MatchID string
	Round   int
	Answer  string
	N       int
}

// JudgeHealth measures the reliability of a league's judge over its newest
// verdicts. Rates are 0..1; nil if there was nothing to measure.
type JudgeHealth struct {
	Versions   []string `json:"versions"`    // newest first
	Verdicts   int      `json:"verdicts"`    // looked at
	Ballots    int      `json:"ballots"`     // in them
	FlipRate   *float64 `json:"flip_rate"`   // comparisons whose result depended on the order of the answers
	FirstRate  *float64 `json:"first_rate"`  // ballots with a winner, won by the answer shown first
	LongerRate *float64 `json:"longer_rate"` // ballots with a winner, won by the longer answer
	Agreement  *float64 `json:"agreement"`   // pairs of answers with several judges on which all agreed

	Card []JudgeMeasure `json:"card"` // gold only if the league names gold items; empty: its kind is not measured
}

// GoldVerdict is the newest verdict of a league's judge on a gold item: a pair of answers
// of which the better one is known (docs/rules/judging.md).
type GoldVerdict struct {
	League  string
	PackID  string
	Task    int    // the item, by its number in the pack
	Version string // of the judge, as in Verdict; "": it gave no verdict
	Agreed  bool   // it chose the better answer, in both orders
	At      time.Time
}

// JudgeBias is what a line of a judge's card measures.
type JudgeBias string

// The biases of judges that compare answers, and their errors.
const (
	BiasOrder  JudgeBias = "order"  // the choice depends on the order of the answers
	BiasLength JudgeBias = "length" // the longer answer wins
	BiasFamily JudgeBias = "family" // an answer of the judge's own model family wins
	BiasGold   JudgeBias = "gold"   // the better answer of a gold item is not chosen
)

// JudgeMeasure is one line of a judge's card. Its unit is the match: each match counts
// once, however many comparisons it has, because they depend on each other. That of
// BiasGold is the item.
type JudgeMeasure struct {
	Name   JudgeBias `json:"name" enum:"order,length,family,gold" doc:"order: comparisons made in both orders that came out differently. length: decided comparisons won by the longer answer, balanced so that the strength of agents cancels; 0.5 is fair. family: what answers of the judge's own model family get from it against what other judges gave them; 0.5 is fair. gold: gold items whose better answer the judge did not choose in both orders."`
	N      int       `json:"n" doc:"Matches that the share rests on, for gold its items. Each counts at most once."`
	Needed int       `json:"needed" doc:"Matches or items below which no share is over the limit."`
	Share  *float64  `json:"share" doc:"0 to 1; null: there was nothing to measure."`
	Low    float64   `json:"low" doc:"Of the 99.9 % interval of Wilson."`
	High   float64   `json:"high"`
	Limit  float64   `json:"limit" doc:"A rated league pauses when the whole interval is above it."`
	Over   bool      `json:"over" doc:"The whole interval is above the limit."`
}

// RescoreReport is the result of scoring matches again.
type RescoreReport struct {
	Matches     int             `json:"matches"`     // looked at
	Changed     []RescoredMatch `json:"changed"`     // those with other points
	Failed      []string        `json:"failed"`      // ids of matches whose judge returned no verdict; they are unchanged
	Settlements int             `json:"settlements"` // whose rating changes are different now
	Ratings     []RatingMove    `json:"ratings"`     // that are different now, by agent
	Kept        []KeptMatch     `json:"kept"`        // those that cannot be judged again; only rounds that became void changed
	Note        string          `json:"note,omitempty"`
}

// Rebuilt is what computing the ratings of a league again has changed.
type Rebuilt struct {
	Settlements int
	Ratings     []RatingMove
}

// RatingMove is a rating that is computed again.
type RatingMove struct {
	AgentID string   `json:"agent_id"`
	Before  MilliElo `json:"rating_before"`
	After   MilliElo `json:"rating"`
}

// KeptMatch is a match whose stored result stands.
type KeptMatch struct {
	MatchID string `json:"match_id"`
	Reason  string `json:"reason"`
}

// KeptErased is the reason for keeping the result of a match of which answers were
// erased.
const KeptErased = "texts_erased"

// RescoredMatch is one match with other points than before.
type RescoredMatch struct {
	MatchID string         `json:"match_id"`
	Seats   []RescoredSeat `json:"seats"`
}

// RescoredSeat is a seat before and after.
type RescoredSeat struct {
	AgentID      string `json:"agent_id"`
	PointsBefore Points `json:"points_before"`
	Points       Points `json:"points"`
	PlaceBefore  int    `json:"place_before"`
	Place        int    `json:"place"`
}
