package format

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// eliminationStep gathers the next match when none is open. The season has no
// end of its own.
func eliminationStep(s State) Step {
	if anyOpen(s.Pairings) {
		return Step{}
	}
	o := newOrders(s, lastRound(s.Pairings)+1)
	rng := rand.New(rand.NewPCG(s.Season.Seed, uint64(o.round))) //nolint:gosec // lots of a season can be drawn again
	seats, starved := GatherElimination(o.idle(), s.MinSeats, s.MaxSeats, rng)
	if starved != "" {
		return Step{Note: starved}
	}
	return Step{Pairings: []arena.Pairing{o.open(1, 1, seats...)}}
}

// GatherElimination chooses the seats of an elimination match among the idle
// agents: all of them, or, when there are more than most, those that have
// waited longest, with chance deciding between equals. The order of the seats
// is random. idle holds the time since when each waits, zero: just now.
// starved says why there is no match, "" when there is one.
func GatherElimination(idle map[string]time.Time, least, most int, rng *rand.Rand) (seats []string, starved string) {
	if len(idle) < least {
		return nil, Needs(least, len(idle))
	}
	seats = slices.Sorted(maps.Keys(idle)) // chance starts from the same order
	shuffle := func() {
		rng.Shuffle(len(seats), func(i, j int) { seats[i], seats[j] = seats[j], seats[i] })
	}
	shuffle()
	slices.SortStableFunc(seats, func(a, b string) int { return waitingOrder(idle[a], idle[b]) })
	seats = seats[:min(len(seats), most)]
	shuffle()
	return seats, ""
}

// waitingOrder puts the longest wait first; a zero time is just now.
func waitingOrder(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// eliminationTable sums up, over the matches of the season, the share of the
// others that each agent beat, then wins, matches and rating.
func eliminationTable(s State) []arena.TableRow {
	entrants := seeded(s.Season.Entrants)
	rows := tally(entrants, s.Pairings)
	addTieBreak(rows, "wins", wins)
	addTieBreak(rows, "matches", func(r arena.TableRow) arena.Points { return arena.Points(r.Played) * arena.OnePoint })
	addTieBreak(rows, "rating", from(ratings(entrants)))
	return rank(rows)
}
