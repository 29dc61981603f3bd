package arena

import "time"

// Fault is a fault that a rehearsal injects into a round.
type Fault string

// The faults, in the order in which they are played.
const (
	FaultDuplicateDelivery Fault = "duplicate_delivery" // the same task twice
	FaultExpiredToken      Fault = "expired_token"      // a credential that has expired
	FaultSlowNetwork       Fault = "slow_network"       // task and reply are delayed
	FaultTrickle           Fault = "trickle"            // the request arrives a few bytes at a time
	FaultHugeTask          Fault = "huge_task"          // the longest description that a pack may hold
	FaultHostileOpponent   Fault = "hostile_opponent"   // an opponent's text with instructions
)

// Faults lists all faults.
func Faults() []Fault {
	return []Fault{FaultDuplicateDelivery, FaultExpiredToken, FaultSlowNetwork, FaultTrickle, FaultHugeTask, FaultHostileOpponent}
}

// RehearsalRequest is a request for a rehearsal by the settings of a league.
type RehearsalRequest struct {
	League string
	Faults []Fault // nil: all
	Rounds int     // 0: one, and one for each fault
}

// Rehearsal is an unrated, private run of one agent. No match is stored and
// there are no spectators.
type Rehearsal struct {
	Agent  Agent
	League League
	Faults []Fault // in turn and repeated, after one round without a fault
	Rounds int     // 0: one, and one for each fault
}

// RehearsalReport is the result of a rehearsal.
type RehearsalReport struct {
	StartedAt time.Time
	Elapsed   time.Duration
	Rounds    []RehearsedRound
}

// Count returns the number of rounds with a verdict.
func (r RehearsalReport) Count(v RehearsalVerdict) int {
	n := 0
	for _, round := range r.Rounds {
		if round.Verdict == v {
			n++
		}
	}
	return n
}

// RoundTokens returns the most tokens of a round, and whether the agent declared
// those of every answer.
func (r RehearsalReport) RoundTokens() (most int64, declared bool) {
	declared = true
	for _, round := range r.Rounds {
		if round.Answer != nil {
			most, declared = max(most, round.Tokens), declared && round.Declared
		}
	}
	return most, declared && most > 0
}

// RehearsalVerdict states whether an agent behaved as expected.
type RehearsalVerdict string

// The verdicts.
const (
	RehearsalPassed    RehearsalVerdict = "passed"
	RehearsalFailed    RehearsalVerdict = "failed"
	RehearsalNotPlayed RehearsalVerdict = "not_played" // no time was left, or the fault does not exist for the agent
)

// RehearsedRound is one round of a rehearsal.
type RehearsedRound struct {
	No          int
	Fault       Fault // "" for a round without one
	Task        Task
	TimeLimit   time.Duration
	Sent        string // in words
	Expected    string // in words
	Verdict     RehearsalVerdict
	Explanation string     // of the verdict
	Attempts    []Delivery // every request with its reply, as in a match
	Outcome     Outcome
	Answer      *string // nil unless answered
	Points      Points
	Tokens      int64  // that the answer cost, see AnswerBody.SpentTokens
	Declared    bool   // whether the agent declared them
	Reference   string // answer of the reference agent
	Elapsed     time.Duration
}
