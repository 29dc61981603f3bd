package arena

import (
	"cmp"
	"slices"
	"time"
)

// Dodge is one round that an agent got out of without a loss: it answered 503,
// or 429 after its first counted round in the match (docs/rules.md, section 3).
type Dodge struct {
	AgentID string
	League  string
	MatchID string
	Round   int
	Outcome Outcome   // unavailable or rate_limited
	At      time.Time // when the round opened
}

// The dodge ledger's bounds. docs/rules.md names the first two and the
// doubling; the times are the arena's own.
const (
	DodgeMatches     = 20 // of an agent in a league that the ledger looks at, the newest
	DodgesSuspending = 3  // this many suspend matchmaking
	DodgeCooldown    = 10 * time.Minute
	MaxDodgeCooldown = 24 * time.Hour
)

// DodgeRecord is what the ledger of one league says about one agent.
type DodgeRecord struct {
	League         string
	Count          int
	SuspendedUntil time.Time // of its newest suspension, which may be over; zero: none
}

// DodgeLedger counts the dodges of one agent, by league in order. The third
// suspends its matchmaking for DodgeCooldown, each further one for twice as
// long as the one before, up to MaxDodgeCooldown.
func DodgeLedger(dodges []Dodge) []DodgeRecord {
	sorted := slices.SortedFunc(slices.Values(dodges), func(a, b Dodge) int {
		return cmp.Or(cmp.Compare(a.League, b.League), a.At.Compare(b.At))
	})
	var ledger []DodgeRecord
	cooldown := DodgeCooldown
	for _, d := range sorted {
		if len(ledger) == 0 || ledger[len(ledger)-1].League != d.League {
			ledger = append(ledger, DodgeRecord{League: d.League})
			cooldown = DodgeCooldown
		}
		r := &ledger[len(ledger)-1]
		if r.Count++; r.Count < DodgesSuspending {
			continue
		}
		if until := d.At.Add(cooldown); until.After(r.SuspendedUntil) {
			r.SuspendedUntil = until
		}
		cooldown = min(2*cooldown, MaxDodgeCooldown)
	}
	return ledger
}
