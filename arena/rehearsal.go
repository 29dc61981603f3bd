package arena

import "time"

// Fault is a mishap that a rehearsal puts into a round.
type Fault string

// The faults, in the order in which they are played.
const (
	FaultDuplicateDelivery Fault = "duplicate_delivery" // the same task twice
	FaultExpiredToken      Fault = "expired_token"      // a token whose time is over
	FaultSlowNetwork       Fault = "slow_network"       // both ways take long
	FaultTrickle           Fault = "trickle"            // the request comes a few bytes at a time
	FaultHugeTask          Fault = "huge_task"          // the longest description that a pack may hold
	FaultHostileOpponent   Fault = "hostile_opponent"   // an opponent's text that gives orders
)

// Faults lists all faults.
func Faults() []Fault {
	return []Fault{FaultDuplicateDelivery, FaultExpiredToken, FaultSlowNetwork, FaultTrickle, FaultHugeTask, FaultHostileOpponent}
}

// Rehearsal requests an unrated, private run of one agent: no match is stored,
// nobody watches, nothing follows from it.
type Rehearsal struct {
	Agent  Agent
	League League
	Faults []Fault // one after the other, then again, behind one round without a fault
	Rounds int     // 0: one, and one for each fault
}

// RehearsalReport is what came of a rehearsal.
type RehearsalReport struct {
	StartedAt time.Time
	Elapsed   time.Duration
	Rounds    []RehearsedRound
}

// Count returns how many rounds ended in a verdict.
func (r RehearsalReport) Count(v RehearsalVerdict) int {
	n := 0
	for _, round := range r.Rounds {
		if round.Verdict == v {
			n++
		}
	}
	return n
}

// RehearsalVerdict is whether an agent did what it should.
type RehearsalVerdict string

// The verdicts.
const (
	RehearsalPassed    RehearsalVerdict = "passed"
	RehearsalFailed    RehearsalVerdict = "failed"
	RehearsalNotPlayed RehearsalVerdict = "not_played" // the arena's doing: its time was over
)

// RehearsedRound is one round of a rehearsal.
type RehearsedRound struct {
	No          int
	Fault       Fault // "" for a round without one
	Task        Task
	TimeLimit   time.Duration
	Sent        string // what was sent, in words
	Expected    string // what should have happened
	Verdict     RehearsalVerdict
	Explanation string     // what did happen
	Attempts    []Delivery // every request with its reply, as in a match
	Outcome     Outcome
	Answer      *string // nil unless answered
	Points      Points
	House       string // what the house agent answered
	Elapsed     time.Duration
}
