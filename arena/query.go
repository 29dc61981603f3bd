package arena

import "time"

// Page selects a part of a list, newest first unless a method says
// otherwise. Cursor is "" for the start, else the Next of the page before.
type Page struct {
	Cursor string
	Limit  int // 1..100
}

// AgentFilter selects agents. Zero members select everything.
type AgentFilter struct {
	OwnerID string
	League  string // entered and not withdrawn
	Query   string // part of the name, any case
	Retired bool   // include retired ones
}

// MatchFilter selects matches. Zero members select everything. The order is
// newest first; with From, To or Soonest it is by StartsAt.
type MatchFilter struct {
	League     string
	AgentID    string
	OpponentID string   // has a seat beside AgentID's
	Query      string   // part of the name of an agent with a seat, any case
	IDs        []string // at most 100; empty: any
	Statuses   []MatchStatus
	From, To   time.Time // StartsAt is not before From, and before To
	Soonest    bool      // first to start first
}

// ByStart reports whether the order is by StartsAt.
func (f MatchFilter) ByStart() bool { return f.Soonest || !f.From.IsZero() || !f.To.IsZero() }

// DeliveryFilter selects deliveries of one agent.
type DeliveryFilter struct {
	AgentID string
	MatchID string
	Outcome Outcome
}

// RoundClose is the data of a closed round to be stored.
type RoundClose struct {
	Round   int
	Answers []Answer // judged
	Seats   []Seat   // those that changed: points, state, out round, rate limits, last outcome
	Verdict Verdict  // of the judge; its match is the one that is closed
	// RevealFrom is the first round whose sealed parts become public now; those up
	// to Round follow. 0: Round; above Round: none do.
	RevealFrom int
	Last       *LastOutcome // of the seats; nil: the answers are stored
	Next       *Round       // opens in the same write, with the last event; nil: none does
}

// LastOutcome is what comes with an answer that is stored only when its round
// closes.
type LastOutcome struct {
	AgentID    string
	Deliveries []Delivery
	Events     []Event // come before those of the closed round
}

// Meeting is one match of a pair of agents in a league.
type Meeting struct {
	A, B string // in the order of their seats
	At   time.Time
}

// UptimeDay counts the health checks of one agent on one UTC day.
type UptimeDay struct {
	Day        string // 2026-11-21
	OK, Failed int
}

// OpponentRecord sums up an agent's results against one other agent, over all
// finished matches in which both had a seat.
type OpponentRecord struct {
	AgentID string // the other agent
	Name    string
	Matches int
	Wins    int
	Draws   int
	Losses  int
}

// Counts are the sizes of the whole arena, for its status and metrics.
type Counts struct {
	Agents      map[AgentStatus]int
	Matches     map[MatchStatus]int
	Events      int64
	Settlements int64
}
