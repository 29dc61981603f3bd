package arena

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// EventType is the type of an event.
type EventType string

// The types that agents report (AAP, "Streaming events").
const (
	EventThinking     EventType = "thinking"
	EventSpawn        EventType = "spawn_subagent"
	EventToolCall     EventType = "tool_call"
	EventToolResponse EventType = "tool_response"
	EventSubagentDone EventType = "subagent_done"
	EventIntermediate EventType = "intermediate_result"
	EventAnswer       EventType = "answer"
	EventError        EventType = "error"
)

// The arena's own types.
const (
	EventMatchScheduled EventType = "match_scheduled"
	EventMatchStarted   EventType = "match_started"
	EventRoundStarted   EventType = "round_started"
	EventSeatOutcome    EventType = "seat_outcome"
	EventVoteOpened     EventType = "vote_opened"
	EventReveal         EventType = "reveal"
	EventRoundClosed    EventType = "round_closed"
	EventAgentPaused    EventType = "agent_paused"
	EventAgentResumed   EventType = "agent_resumed"
	EventAgentLeft      EventType = "agent_left"
	EventMatchFinished  EventType = "match_finished"
	EventMatchVoid      EventType = "match_void"
	EventViewers        EventType = "viewers" // live only: no seq, never in the log
)

// Ends reports whether an event of this type is the last one of its match.
func (t EventType) Ends() bool { return t == EventMatchFinished || t == EventMatchVoid }

// Event is one line of a match's log. Within a match Seq runs 1, 2, 3 …
// without gaps in commit order.
type Event struct {
	Seq     int64
	MatchID string
	Round   int    // 0 outside rounds
	AgentID string // "" for the match itself
	At      time.Time
	Type    EventType
	Body    json.RawMessage // the public members of the type, one JSON object
	Hidden  json.RawMessage // sealed members (canonical JSON object); never encoded here
}

// NewEvent returns e with a body. It returns an error if the body cannot be
// encoded as JSON.
func NewEvent(e Event, body any) (Event, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return Event{}, fmt.Errorf("encode event %s of %s: %w", e.Type, cmp.Or(e.MatchID, e.AgentID), err)
	}
	e.Body = data
	return e, nil
}

// RulesVersion is the version of docs/rules.md. A match stores the one that it was
// created under.
const RulesVersion = 2

// TimeFormat is RFC 3339 in UTC with milliseconds, the form of every
// timestamp that the arena writes.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// AppendJSON appends the wire form: one flat JSON object with the common
// members first and the members of Body after them. Body must be a JSON
// object; its members must not repeat the common ones.
func (e Event) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if e.Seq > 0 {
		b = append(b, `"seq":`...)
		b = strconv.AppendInt(b, e.Seq, 10)
		b = append(b, ',')
	}
	if e.MatchID != "" {
		b = append(b, `"match_id":"`...)
		b = append(b, e.MatchID...)
		b = append(b, `",`...)
	}
	if e.Round > 0 {
		b = append(b, `"round":`...)
		b = strconv.AppendInt(b, int64(e.Round), 10)
		b = append(b, ',')
	}
	if e.AgentID != "" {
		b = append(b, `"agent_id":"`...)
		b = append(b, e.AgentID...)
		b = append(b, `",`...)
	}
	b = append(b, `"ts":"`...)
	b = e.At.UTC().AppendFormat(b, TimeFormat)
	b = append(b, `","type":"`...)
	b = append(b, e.Type...)
	b = append(b, '"')
	if len(e.Body) > 2 { // more than {}
		b = append(b, ',')
		b = append(b, e.Body[1:len(e.Body)-1]...)
	}
	return append(b, '}')
}

// MarshalJSON writes the wire form of AppendJSON.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// The bodies of the arena's own events, as they stand on the wire.
type (
	// MatchScheduledBody announces a match.
	MatchScheduledBody struct {
		League   string        `json:"league"`
		StartsAt string        `json:"starts_at"`
		Rated    bool          `json:"rated"`
		Unrated  UnratedReason `json:"unrated_reason,omitempty"`
		Seats    []SeatBrief   `json:"seats"`
	}
	// MatchStartedBody opens a match.
	MatchStartedBody struct {
		League      string      `json:"league"`
		Format      Format      `json:"format"`
		Visibility  Visibility  `json:"visibility"`
		Rated       bool        `json:"rated"`
		TotalRounds *int        `json:"total_rounds"` // null: open end
		Seats       []SeatBrief `json:"seats"`
		// SeedCommitment commits to the seed, which the match's record discloses.
		SeedCommitment string     `json:"seed_commitment"`
		RulesVersion   int        `json:"rules_version"`
		Game           *GameBrief `json:"game,omitempty"` // nil: the match asks questions
	}
	// GameBrief is the game of a match as spectators see it.
	GameBrief struct {
		Name            string         `json:"name"`
		Version         string         `json:"version"`
		SHA256          string         `json:"sha256,omitempty"`
		Games           int            `json:"games_per_match"`
		Duplicate       bool           `json:"duplicate,omitempty"`
		TimeBankSeconds float64        `json:"time_bank_seconds,omitempty"`
		Options         map[string]int `json:"options,omitempty"`
		Hidden          bool           `json:"hidden,omitempty"`           // players know different things
		HideLegal       bool           `json:"hide_legal_moves,omitempty"` // agents do not receive the list of legal moves
	}
	// SeatBrief is a seat as shown to spectators.
	SeatBrief struct {
		AgentID string `json:"agent_id"`
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	// RoundStartedBody shows the task of a round.
	RoundStartedBody struct {
		Task             TaskBody `json:"task"`
		TimeLimitSeconds float64  `json:"time_limit_seconds"`
		Deadline         string   `json:"deadline"`
		Interrupted      bool     `json:"interrupted,omitempty"` // the round resumes after a failover
		GameState
	}
	// GameState is the public state of a match's game in a round. A quiz has none.
	GameState struct {
		Debate      *DebateTurn      `json:"debate,omitempty"`
		SuddenDeath *SuddenDeathTurn `json:"sudden_death,omitempty"`
		SeatsToAct  []string         `json:"seats_to_act,omitempty" doc:"The ids of the agents that must move in this round of a game. The others wait."`
		TimeBanks   []TimeBank       `json:"time_banks,omitempty" doc:"The time of every seat of a game after the time limit of a move."`
		State       json.RawMessage  `json:"state,omitempty" doc:"The position of a game as spectators see it. kind is grid, cards, table or transcript; see docs/games.md."`
	}
	// TimeBank is the time that a seat of a game has left after the time limit of a
	// move, for the rest of the match.
	TimeBank struct {
		AgentID string  `json:"agent_id"`
		Seconds float64 `json:"seconds"`
	}
	// PlayedMove is a move of a game.
	PlayedMove struct {
		AgentID string `json:"agent_id"`
		Move    string `json:"move" doc:"In the canonical form of the game. Empty: the agent gave no legal move, and the game has no default one."`
		Legal   bool   `json:"legal" doc:"False: the move is the default of the game, because the agent gave no legal one in time."`
	}
	// ClosedGame is what a round of a game led to.
	ClosedGame struct {
		Moves []PlayedMove    `json:"moves,omitempty" doc:"The moves of a round of a game."`
		State json.RawMessage `json:"state,omitempty" doc:"The position of a game after the moves."`
	}
	// SuddenDeathTurn is the position of a round in the sudden death of an
	// elimination.
	SuddenDeathTurn struct {
		Turn  int `json:"turn" doc:"1-based."`
		Turns int `json:"turns" doc:"The most rounds that a sudden death has."`
	}
	// DebateTurn is the state of a debate in one round.
	DebateTurn struct {
		Half    int    `json:"half" doc:"1 or 2: the sides change between them."`
		Turn    int    `json:"turn" doc:"1-based, within the half. The last turn of a half is judged."`
		Turns   int    `json:"turns" doc:"Of each half."`
		For     string `json:"for" doc:"The id of the agent that argues for the motion."`
		Against string `json:"against" doc:"The id of the agent that argues against it."`
		Motion  string `json:"motion"`
	}
	// TaskBody is the public part of a task; the member names are AAP's.
	TaskBody struct {
		TaskID       string   `json:"task_id,omitempty"`
		Description  string   `json:"description"`
		InputFormat  string   `json:"input_format,omitempty"`
		OutputFormat string   `json:"output_format,omitempty"`
		Options      []string `json:"options,omitempty"`
		Topic        string   `json:"topic,omitempty"`
	}
	// SeatOutcomeBody is the outcome of a seat's round. In a sealed match the
	// answer is in the hidden part until the reveal.
	SeatOutcomeBody struct {
		Outcome    Outcome `json:"outcome"`
		Reason     string  `json:"reason,omitempty"`
		ElapsedMS  int64   `json:"elapsed_ms"`
		Attempts   int     `json:"attempts"`
		OverTokens bool    `json:"over_max_tokens,omitempty"`
		*AnswerBody
	}
	// VoteOpenedBody holds the answers of a round for the vote of the crowd. They
	// are anonymous and in random order.
	VoteOpenedBody struct {
		Until    string        `json:"until"`
		Criteria string        `json:"criteria"`
		Entries  []BlindAnswer `json:"entries"`
	}
	// RevealBody holds the hidden parts of a round.
	RevealBody struct {
		Events []RevealedEvent `json:"events"`
	}
	// RevealedEvent is the hidden part of the event seq. Its commitment was
	// published with that event.
	RevealedEvent struct {
		Seq     int64           `json:"seq"`
		AgentID string          `json:"agent_id"`
		Hidden  json.RawMessage `json:"hidden"`
	}
	// RoundClosedBody is the judged round.
	RoundClosedBody struct {
		Correct   string          `json:"correct,omitempty"`
		Seats     []ClosedSeat    `json:"seats"`
		Standings []StandingBrief `json:"standings"`
		Ballots   []Ballot        `json:"ballots,omitempty"` // of a judge that compares answers
		ClosedGame
	}
	// ClosedSeat is one seat's part in a judged round.
	ClosedSeat struct {
		AgentID    string  `json:"agent_id"`
		Answer     *string `json:"answer" doc:"null: there is none. In a sealed game only the move, and null if it was not legal, until the match has finished."`
		Points     Points  `json:"points"`
		Outcome    Outcome `json:"outcome"`
		OverTokens bool    `json:"over_max_tokens,omitempty" doc:"The answer exceeded max_tokens, by the declared tokens or by its length."`
		Reason     string  `json:"reason,omitempty" doc:"judge_limit: judging the answer exceeded the memory or time of a judge process. token_limit: the answer exceeded max_tokens in a league that gives no points for it. illegal_move: neither move of the agent was legal."`
		ElapsedMS  int64   `json:"elapsed_ms"`
	}
	// StandingBrief is a line of the running score.
	StandingBrief struct {
		AgentID    string    `json:"agent_id"`
		Points     Points    `json:"points"`
		Place      int       `json:"place"`
		State      SeatState `json:"state"`
		LostRounds int       `json:"lost_rounds,omitempty" doc:"Rounds lost by a timeout; fewer break a tie on points."`
	}
	// AgentPausedBody is the reason why an agent takes no new seats.
	AgentPausedBody struct {
		Name   string      `json:"name"`
		Reason PauseReason `json:"reason"`
		Until  string      `json:"until,omitempty"`
	}
	// AgentResumedBody names the pause that ended.
	AgentResumedBody struct {
		Name   string      `json:"name"`
		Reason PauseReason `json:"reason"`
	}
	// AgentLeftBody is the reason why a seat left the match.
	AgentLeftBody struct {
		Outcome Outcome `json:"outcome"`
		Reason  string  `json:"reason"`
	}
	// MatchFinishedBody is the last event of a match that was played.
	MatchFinishedBody struct {
		League        string         `json:"league"`
		Rated         bool           `json:"rated"` // whether ratings changed
		Seats         []FinishedSeat `json:"seats"`
		RatingChanges []RatingChange `json:"rating_changes"`
	}
	// FinishedSeat is a seat's final line.
	FinishedSeat struct {
		AgentID    string    `json:"agent_id"`
		Name       string    `json:"name"`
		Points     Points    `json:"points"`
		Place      int       `json:"place"`
		State      SeatState `json:"state"`
		LostRounds int       `json:"lost_rounds,omitempty" doc:"Rounds lost by a timeout; fewer break a tie on points."`
	}
	// MatchVoidBody is the last event of a match that does not count.
	MatchVoidBody struct {
		League   string   `json:"league"`
		Reason   string   `json:"reason"`
		VoidCode VoidCode `json:"void_code"`
	}
)

// Move returns the legal move of an agent that was asked in the round, or nil if
// it gave none.
func (g ClosedGame) Move(agentID string) *string {
	for i := range g.Moves {
		if m := &g.Moves[i]; m.AgentID == agentID && m.Legal {
			return &m.Move
		}
	}
	return nil
}

// IsZero reports whether there is no state.
func (s GameState) IsZero() bool {
	return s.Debate == nil && s.SuddenDeath == nil && len(s.SeatsToAct) == 0 && len(s.TimeBanks) == 0 && len(s.State) == 0
}

// VoidEvent returns the last event of the log of a match that is void or
// canceled.
func (m Match) VoidEvent(at time.Time, reason VoidReason) (Event, error) {
	body, err := json.Marshal(MatchVoidBody{League: m.League, Reason: reason.String(), VoidCode: reason.Code})
	if err != nil {
		return Event{}, fmt.Errorf("encode event %s of match %s: %w", EventMatchVoid, m.ID, err)
	}
	return Event{MatchID: m.ID, At: at, Type: EventMatchVoid, Body: body}, nil
}
