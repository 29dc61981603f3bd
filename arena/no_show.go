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

// The limits of no-show records. docs/rules.md defines the first two and the
// doubling; the times are the arena's own.
const (
	DodgeMatches     = 20 // newest matches of an agent in a league that count
	DodgesSuspending = 3  // number that suspends matchmaking
	DodgeCooldown    = 10 * time.Minute
	MaxDodgeCooldown = 24 * time.Hour
)

// DodgeRecord is the no-show record of one agent in one league.
type DodgeRecord struct {
	League         string
	Count          int
	SuspendedUntil time.Time // of its newest suspension, which may be over; zero: none
}

// DodgeLedger returns the no-show records of one agent, in the order of league
// slugs. The third no-show suspends its matchmaking for DodgeCooldown, and each
// further one for twice the previous time. A repeated no-show against the same
// opponent doubles the cooldown once more (threat G4). The maximum is
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
