package arena

import (
	"cmp"
	"slices"
	"time"
)

// NoShow is a no-show: a round that an agent skipped without a loss by a 503 or a
// 429 (docs/rules.md, section 3).
type NoShow struct {
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
	NoShowMatches     = 20 // newest matches of an agent in a league that count
	SuspendingNoShows = 3  // number that suspends matchmaking
	NoShowCooldown    = 10 * time.Minute
	MaxNoShowCooldown = 24 * time.Hour
)

// NoShowRecord is the no-show record of one agent in one league.
type NoShowRecord struct {
	League         string
	Count          int
	SuspendedUntil time.Time // of its newest suspension, which may be over; zero: none
}

// NoShowRecords returns the no-show records of one agent, in the order of league
// slugs. The third no-show suspends its matchmaking for NoShowCooldown, and each
// further one for twice the previous time. A repeated no-show against the same
// opponent doubles the cooldown once more (threat G4). The maximum is
// MaxNoShowCooldown.
func NoShowRecords(noShows []NoShow) []NoShowRecord {
	sorted := slices.SortedFunc(slices.Values(noShows), func(a, b NoShow) int {
		return cmp.Or(cmp.Compare(a.League, b.League), a.At.Compare(b.At))
	})
	var records []NoShowRecord
	cooldown := NoShowCooldown
	skipped := map[string]bool{} // opponents in the league
	for _, d := range sorted {
		if len(records) == 0 || records[len(records)-1].League != d.League {
			records = append(records, NoShowRecord{League: d.League})
			cooldown = NoShowCooldown
			clear(skipped)
		}
		if skipped[d.Opponent] {
			cooldown = min(2*cooldown, MaxNoShowCooldown)
		}
		skipped[d.Opponent] = d.Opponent != ""
		r := &records[len(records)-1]
		if r.Count++; r.Count < SuspendingNoShows {
			continue
		}
		if until := d.At.Add(cooldown); until.After(r.SuspendedUntil) {
			r.SuspendedUntil = until
		}
		cooldown = min(2*cooldown, MaxNoShowCooldown)
	}
	return records
}
