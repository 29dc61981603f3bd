package arena

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// MatchStatus is the state of a match (docs/rules.md, section 1).
type MatchStatus string

// The states: scheduled -> ready -> running -> finished | void | cancelled.
// A match is scheduled until starts_at, ready when it is due and waits for a
// node, running from the first claim on.
const (
	MatchScheduled MatchStatus = "scheduled"
	MatchReady     MatchStatus = "ready"
	MatchRunning   MatchStatus = "running"
	MatchFinished  MatchStatus = "finished"
	MatchVoid      MatchStatus = "void"
	MatchCancelled MatchStatus = "cancelled"
)

// Over reports whether the state is final.
func (s MatchStatus) Over() bool {
	return s == MatchFinished || s == MatchVoid || s == MatchCancelled
}

// Match is two or more seats playing rounds under one copy of a league's
// settings.
type Match struct {
	ID         string
	League     string
	Status     MatchStatus
	Settings   Settings
	Seed       uint64 // of everything random in the match
	SeedSalt   string // 16 bytes in base64url: match_started commits to seed and salt
	Round      int    // last round opened, 0 before the first
	RoundOpen  bool
	Seats      []Seat
	CreatedAt  time.Time
	StartsAt   time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	VoidReason VoidReason
	// UnratedReason is why the match is not rated although its league is; "": the
	// match is rated, or no match of its league is.
	UnratedReason UnratedReason
	Seq           int64 // of the last event in its log
	Lease         Lease
	// Interruptions counts the leases that ended before their node released the
	// match, because of a crash, a stalled process or an unreachable database.
	Interruptions int
}

// LatestEnd returns when the match is over at the latest if nothing interrupts it:
// each round takes its whole time.
func (m Match) LatestEnd() time.Time {
	s := m.Settings
	rounds := cmp.Or(s.Rounds, s.MaxRounds)
	length := time.Duration(rounds)*(s.Judge.Window+s.Break) + s.Visibility.Delay()
	for no := range rounds {
		length += s.TimeLimitIn(no + 1)
	}
	if s.Game != nil {
		length += time.Duration(len(m.Seats)) * s.Game.TimeBank
	}
	if m.StartedAt.IsZero() {
		return m.StartsAt.Add(length)
	}
	return m.StartedAt.Add(length)
}

// Briefs returns the seats as shown to spectators.
func (m Match) Briefs() []SeatBrief {
	briefs := make([]SeatBrief, len(m.Seats))
	for i, s := range m.Seats {
		briefs[i] = SeatBrief{AgentID: s.AgentID, Name: s.Name, Version: s.Version}
	}
	return briefs
}

// VoidCode is the kind of reason why a match is void or canceled.
type VoidCode string

// The kinds of reasons.
const (
	VoidTooFewAgents      VoidCode = "too_few_agents"
	VoidNoShow            VoidCode = "no_show" // as too_few_agents, and an owner withdrew an agent after the pairing
	VoidAgentsUnreachable VoidCode = "agents_unreachable"
	VoidInterrupted       VoidCode = "interrupted"
	VoidGameFailed        VoidCode = "game_failed"
	VoidTaskSourceFailed  VoidCode = "task_source_failed"
	VoidRequestFailed     VoidCode = "request_failed"
	VoidArenaFailed       VoidCode = "arena_failed"
	VoidSeasonFinished    VoidCode = "season_finished"
	VoidedByAdmin         VoidCode = "voided_by_admin"
	VoidedByOrganizer     VoidCode = "voided_by_organizer"
	VoidedByModerator     VoidCode = "voided_by_moderator"
	CancelledByAdmin      VoidCode = "cancelled_by_admin"
	CancelledByOrganizer  VoidCode = "cancelled_by_organizer"
	CancelledByModerator  VoidCode = "cancelled_by_moderator"
	VoidOperator          VoidCode = "operator" // a person ended the match and wrote the reason
)

// voidTexts is the table of the kinds of reasons with their texts in English.
// VoidOperator has none of its own.
var voidTexts = []struct {
	code VoidCode
	text string
}{
	{VoidTooFewAgents, "fewer than two agents were left"},
	{VoidNoShow, "the owner of an agent withdrew it after the pairing"},
	{VoidAgentsUnreachable, "the arena could not reach its agents"},
	{VoidInterrupted, "interrupted too often"},
	{VoidGameFailed, "the game failed"},
	{VoidTaskSourceFailed, "the task source failed"},
	{VoidRequestFailed, "the arena could not prepare a request"},
	{VoidArenaFailed, "the arena failed"},
	{VoidSeasonFinished, "the season was finished"},
	{VoidedByAdmin, "voided by an admin"},
	{VoidedByOrganizer, "voided by an organizer"},
	{VoidedByModerator, "voided by a moderator"},
	{CancelledByAdmin, "cancelled by an admin"},
	{CancelledByOrganizer, "cancelled by an organizer"},
	{CancelledByModerator, "cancelled by a moderator"},
	{VoidOperator, ""},
}

// VoidCodes lists the kinds of reasons.
func VoidCodes() []VoidCode {
	codes := make([]VoidCode, len(voidTexts))
	for i, v := range voidTexts {
		codes[i] = v.code
	}
	return codes
}

// VoidReason is why a match is void or canceled. The zero value is the reason of a
// match that is neither.
type VoidReason struct {
	Code VoidCode
	Text string // of VoidOperator, as the person wrote it; "" for other codes
}

// OperatorReason returns the reason of a person who ended a match, in their words.
func OperatorReason(text string) VoidReason { return VoidReason{Code: VoidOperator, Text: text} }

// String returns the reason in English.
func (r VoidReason) String() string {
	for _, v := range voidTexts {
		if v.code == r.Code && v.text != "" {
			return v.text
		}
	}
	return r.Text
}

// MatchPlan is a match to create.
type MatchPlan struct {
	ID       string // "": the match gets a new one
	League   string
	Settings Settings
	Agents   []Agent   // one seat each, in this order
	StartsAt time.Time // zero: now
	// UnratedReason is why Settings.Rated is false in a rated league.
	UnratedReason UnratedReason
}

// MatchRequest is an admin's request for a match.
type MatchRequest struct {
	League   string     `json:"league" minLength:"1" maxLength:"40"`
	Agents   []string   `json:"agents" minItems:"2" maxItems:"128" maxLength:"64" doc:"Ids of the agents, one seat each."`
	Rounds   *int       `json:"rounds,omitempty" minimum:"1" maximum:"200" doc:"Left out: the league's."`
	Rated    *bool      `json:"rated,omitempty" doc:"Left out: the league's. A match of an unrated league cannot be rated."`
	StartsAt *time.Time `json:"starts_at,omitempty" doc:"Left out: now."`
}

// ChallengeRequest is an owner's request for an unrated duel.
type ChallengeRequest struct {
	AgentID    string `json:"agent_id" minLength:"1" maxLength:"64" doc:"One of the caller's own."`
	OpponentID string `json:"opponent_id" minLength:"1" maxLength:"64" doc:"Any other agent that plays in the league."`
	League     string `json:"league" minLength:"1" maxLength:"40" doc:"Both are in it; its rules hold, but no rating moves."`
}

// Lease is the right of one node to run one match. Every write under the lease
// includes its epoch; a later claim invalidates it.
type Lease struct {
	MatchID string
	Node    string
	Epoch   int64
}

// SeatState is the state of a seat.
type SeatState string

// The states of a seat.
const (
	SeatActive SeatState = "active"
	SeatOut    SeatState = "out"  // eliminated
	SeatLeft   SeatState = "left" // unavailable: no rating change, no match count
)

// Seat is an agent in a match. Endpoint, key and version are pinned when the
// match starts, so that later edits do not affect it.
type Seat struct {
	No            int // 0-based position
	AgentID       string
	Name          string
	OwnerID       string
	OwnerGroup    string // of the owner when the match was created; "": the owner alone
	Protocol      string
	Endpoint      string
	PublicKey     string
	Version       string
	State         SeatState
	OutRound      int // round in which it was eliminated or left, 0 none
	Points        Points
	Place         int // 1 is best, 0 until the match is over
	Outcome       Outcome
	RateLimits    int // 429 answers in this match
	LostRounds    int // closed rounds that it lost by a timeout
	SkippedRounds int // closed rounds that did not count for it because of a 429
	Withdrawal    Withdrawal
	Tokens        int64     // that its answers in closed rounds cost, see AnswerBody.SpentTokens
	Before        MilliElo  // rating before, set when the match is settled and rated
	Delta         *MilliElo // nil: not rated
	// Salt is the secret that the salts of the agent's texts in the match's record
	// are derived from; "": it was erased.
	Salt string
}

// DeletedAgent replaces the name of an agent whose texts were erased.
const DeletedAgent = "deleted agent"

// TextErasure is what remains of a match when texts of an agent in it are erased.
type TextErasure struct {
	MatchID     string
	AgentID     string
	Round       int               // whose texts are erased; 0: those of all rounds, with name, version and endpoint
	Notice      string            // takes the place of an answer; "": nothing does
	Commitments map[string]string // to all erased texts of the match, by pointer into its record
	Events      []Event           // those that change, without the texts
}

// Round is one task with the state of the match's game.
type Round struct {
	MatchID       string
	No            int // 1-based
	Task          Task
	Turn          Turn
	OpenedAt      time.Time
	ClosedAt      time.Time // zero: open
	Interruptions int       // failovers while it was open
	VoteUntil     time.Time // when the vote on it ends; zero: none was opened
}

// Turn is the part of a round that its game defines. With the zero Turn, every
// active seat receives the round's task and spectators see it.
type Turn struct {
	// Prompts are the texts of the seats that must act, in seat order. If there
	// are none, every active seat receives the task.
	Prompts     []Prompt `json:"prompts,omitempty"`
	Description string   `json:"description,omitempty"` // of the task as spectators see it; "": the task's own
	// StopsClock stops the clock of a seat whose agent pauses after its first 429
	// in the match, until the pause ends. Else the round does not count for it.
	StopsClock bool `json:"stops_clock,omitempty"`
	GameState
}

// Prompt is the task of a round as one seat receives it.
type Prompt struct {
	Seat        int      `json:"seat"` // Seat.No
	Description string   `json:"description"`
	Options     []string `json:"options,omitempty"`
	// OutputFormat is the format that the answer must have; "": the format of the task.
	OutputFormat string          `json:"output_format,omitempty"`
	Observation  json.RawMessage `json:"observation,omitempty"` // an object: the position as programs read it
	Bank         time.Duration   `json:"bank,omitempty"`        // what the seat has after the time limit of the round
}

// IsZero reports whether the turn adds nothing to the round's task.
func (t Turn) IsZero() bool {
	return len(t.Prompts) == 0 && t.Description == "" && t.GameState.IsZero()
}

// Prompt returns the task of the round as a seat receives it. ok is false if
// the seat does not act in the round.
func (r Round) Prompt(seat int) (t Task, ok bool) {
	if len(r.Turn.Prompts) == 0 {
		return r.Task, true
	}
	for _, p := range r.Turn.Prompts {
		if p.Seat == seat {
			t = r.Task
			t.Description, t.Options, t.Observation, t.Answers, t.Cases = p.Description, p.Options, p.Observation, nil, nil
			t.OutputFormat = cmp.Or(p.OutputFormat, t.OutputFormat)
			return t, true
		}
	}
	return Task{}, false
}

// MaxAttempts returns the largest number of requests to a seat under one lease: the
// first, one after a broken connection and, where moves may be refused and clocks
// stop, one after a refused move and one after a pause.
func (t Turn) MaxAttempts() int {
	if t.StopsClock {
		return 4
	}
	return 2
}

// Bank returns the time that a seat has after the time limit of the round.
func (t Turn) Bank(seat int) time.Duration {
	for _, p := range t.Prompts {
		if p.Seat == seat {
			return p.Bank
		}
	}
	return 0
}

// LongestBank returns the longest time bank of the seats that act.
func (t Turn) LongestBank() (longest time.Duration) {
	for _, bank := range t.TimeBanks {
		if slices.Contains(t.SeatsToAct, bank.AgentID) {
			longest = max(longest, time.Duration(bank.Seconds*float64(time.Second)))
		}
	}
	return longest
}

// Stated returns the task of the round without what its game adds to it in this
// turn. A game without tasks has the description of the turn instead.
func (r Round) Stated() TaskBody {
	if r.Task.Description == "" {
		return r.Public()
	}
	return r.Task.Public()
}

// Public returns the task of the round as spectators see it.
func (r Round) Public() TaskBody {
	t := r.Task.Public()
	if r.Turn.Description != "" {
		t.Description = r.Turn.Description
	}
	return t
}

// Outcome is the outcome of a round for one seat (docs/rules.md, section 3).
type Outcome string

// The outcomes.
const (
	OutcomeAnswered    Outcome = "answered"
	OutcomeTimeout     Outcome = "timeout"
	OutcomeRateLimited Outcome = "rate_limited"
	OutcomeError       Outcome = "error"
	OutcomeUnavailable Outcome = "unavailable"
	OutcomeInvalid     Outcome = "invalid"
	OutcomeVoid        Outcome = "void" // a fault of the arena
)

// ReasonCutOff is the reason of a void round in which the arena was cut off from
// agents.
const ReasonCutOff = "cut_off"

// Counted reports whether a round with this outcome counts for the seat.
func (o Outcome) Counted() bool {
	switch o {
	case OutcomeAnswered, OutcomeTimeout, OutcomeError, OutcomeInvalid:
		return true
	case OutcomeRateLimited, OutcomeUnavailable, OutcomeVoid:
		return false
	}
	return false
}

// Failed reports whether the agent failed a round with this outcome.
func (o Outcome) Failed() bool {
	switch o {
	case OutcomeTimeout, OutcomeError, OutcomeUnavailable, OutcomeInvalid:
		return true
	case OutcomeAnswered, OutcomeRateLimited, OutcomeVoid:
		return false
	}
	return false
}

// Group returns the group of the seat's owner. Two seats of one group are not
// rated against each other; "": the owner is not known.
func (s Seat) Group() string { return cmp.Or(s.OwnerGroup, s.OwnerID) }

// Closed returns the seat after a round with this outcome has closed. The
// points of the round are added by the caller.
func (s Seat) Closed(round int, o Outcome) Seat {
	s.Outcome = o
	switch o {
	case OutcomeTimeout:
		s.LostRounds++
	case OutcomeRateLimited:
		s.SkippedRounds++
	case OutcomeUnavailable:
		s.State, s.OutRound = SeatLeft, round
	case OutcomeAnswered, OutcomeError, OutcomeInvalid, OutcomeVoid:
	}
	return s
}

// Answer is the stored result of one seat's round: the reply and its judgement.
type Answer struct {
	MatchID string
	Round   int
	AgentID string
	Outcome Outcome
	Reason  string
	Body    *AnswerBody // nil unless answered
	// OverTokens is whether the reply exceeded the token limit of its round.
	OverTokens bool
	Elapsed    time.Duration
	Attempts   int
	// ArrivedAt is when the outcome was known: the time of seat_outcome.
	ArrivedAt time.Time
	Points    Points // set when the round is closed
	Judged    bool
}

// Result is the end of a finished match, before ratings.
type Result struct {
	MatchID string
	League  string
	Seats   []Seat // with points, place, state
	Rated   bool
	Games   []GameRecord // that count for the league's table, without their league
}

// Closed returns the public form of the answer after its round has closed.
func (a Answer) Closed() ClosedSeat {
	s := ClosedSeat{AgentID: a.AgentID, Points: a.Points, Outcome: a.Outcome, OverTokens: a.OverTokens, ElapsedMS: a.Elapsed.Milliseconds()}
	if Forfeits(a.Reason) || a.Reason == ReasonIllegalMove { // other reasons are the owner's to see
		s.Reason = a.Reason
	}
	if a.Body != nil {
		s.Answer = &a.Body.Answer
	}
	return s
}
