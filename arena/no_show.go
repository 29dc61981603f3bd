package arena

import (
	"cmp"
	"slices"
	"time"
)

// NoShow is a no-show: a round that an agent skipped without a loss by a 503 or a
// 429, or a match from which its owner withdrew it before the start (docs/rules.md,
// section 3).
type NoShow struct {
	AgentID  string
	Opponent string // agent id, in a duel
	League   string
	MatchID  string
	Round    int       // 0: withdrawn before the start
	Outcome  Outcome   // unavailable or rate_limited
	At       time.Time // when the round opened, or the match started
}

// Withdrawal is how an owner withdrew an agent between its pairing and the start of
// the match; "": the owner did not.
type Withdrawal string

// The ways to withdraw an agent.
const (
	WithdrawnPaused   Withdrawal = "paused"
	WithdrawnEndpoint Withdrawal = "endpoint"
	WithdrawnRetired  Withdrawal = "retired"
)

// String returns the withdrawal as the log of the match shows it.
func (w Withdrawal) String() string {
	switch w {
	case WithdrawnPaused:
		return "no-show: its owner paused it after the pairing"
	case WithdrawnEndpoint:
		return "no-show: its owner changed its endpoint after the pairing, and the new one is not ready"
	case WithdrawnRetired:
		return "no-show: its owner retired it after the pairing"
	}
	return ""
}

// WithdrawnFrom returns how the owner of an agent that cannot take its seat now has
// withdrawn it from a match of a league since its pairing. An agent that could not
// have played in any case is not withdrawn: a pause by the arena, such as after
// failed health checks, came before its owner's act.
func (a Agent) WithdrawnFrom(league string, paired, now time.Time) Withdrawal {
	var how Withdrawal
	var at time.Time
	switch p, paused := a.PauseFor(PauseOwner); {
	case a.RetiredAt.After(paired):
		how, at = WithdrawnRetired, a.RetiredAt
	case paused && p.Since.After(paired):
		how, at = WithdrawnPaused, p.Since
	case a.EndpointSince.After(paired) && (a.PassedAt.IsZero() || !a.Plays(league)):
		how, at = WithdrawnEndpoint, a.EndpointSince
	}
	for _, p := range a.Pauses {
		if p.Since.Before(at) && (p.Until.IsZero() || now.Before(p.Until)) {
			return ""
		}
	}
	return how
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
