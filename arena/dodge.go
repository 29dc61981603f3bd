package arena

import (
	"cmp"
	"slices"
	"time"
)

// Dodge is a no-show: a round that an agent skipped without a loss by a 503 or a
// 429 (docs/rules.md, section 3).
type Dodge struct {
	AgentID  string
	Opponent string // agent id, in a duel
	League   string
	MatchID  string
	Round    int
	Outcome  Outcome   // unavailable or rate_limited
	At       time.Time // when the round opened
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

// DodgeLedger returns the no-show records of one agent, by league in order. The
// third no-show suspends its matchmaking for DodgeCooldown, each further one for
// twice as long as the one before. One against an opponent that it has skipped
// before doubles the cooldown once more (threat G4). The most is
// MaxDodgeCooldown.
func DodgeLedger(dodges []Dodge) []DodgeRecord {
	sorted := slices.SortedFunc(slices.Values(dodges), func(a, b Dodge) int {
		return cmp.Or(cmp.Compare(a.League, b.League), a.At.Compare(b.At))
	})
	var ledger []DodgeRecord
	cooldown := DodgeCooldown
	skipped := map[string]bool{} // opponents in the league
	for _, d := range sorted {
		if len(ledger) == 0 || ledger[len(ledger)-1].League != d.League {
			ledger = append(ledger, DodgeRecord{League: d.League})
			cooldown = DodgeCooldown
			clear(skipped)
		}
		if skipped[d.Opponent] {
			cooldown = min(2*cooldown, MaxDodgeCooldown)
		}
		skipped[d.Opponent] = d.Opponent != ""
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
