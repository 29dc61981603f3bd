package format

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// eliminationStep orders the next match when none is open. The season has no
// end of its own.
func eliminationStep(s State) Step {
	if anyOpen(s.Pairings) {
		return Step{}
	}
	o := newOrders(s, lastRound(s.Pairings)+1)
	rng := rand.New(rand.NewPCG(s.Season.Seed, uint64(o.round))) //nolint:gosec // the draw of a season must be reproducible
	seats, starved := GatherElimination(o.idle(), s.MinSeats, s.MaxSeats, rng)
	if starved.Code != "" {
		return Step{Note: starved}
	}
	return Step{Pairings: []arena.Pairing{o.open(1, 1, seats...)}}
}

// GatherElimination chooses the seats of an elimination match among the idle
// agents. It takes all of them or, if there are more than most, those that have
// waited longest, breaking ties at random. The order of the seats is random.
// idle maps each agent to the time since which it has been waiting; the zero
// time means just now. starved is the reason why there is no match.
func GatherElimination(idle map[string]time.Time, least, most int, rng *rand.Rand) (seats []string, starved arena.Note) {
	if len(idle) < least {
		return nil, arena.NeedsAgentsNote(least, len(idle))
	}
	seats = slices.Sorted(maps.Keys(idle)) // the draw starts from a fixed order
	shuffle := func() {
		rng.Shuffle(len(seats), func(i, j int) { seats[i], seats[j] = seats[j], seats[i] })
	}
	shuffle()
	slices.SortStableFunc(seats, func(a, b string) int { return waitingOrder(idle[a], idle[b]) })
	seats = seats[:min(len(seats), most)]
	shuffle()
	return seats, arena.Note{}
}

// waitingOrder compares two waits, the longest first. A zero time means just
// now.
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

// eliminationTable returns the table ordered by the share of opponents that
// each agent beat, summed over the season's matches, then by wins, matches and
// rating.
func eliminationTable(s State) []arena.TableRow {
	entrants := seeded(s.Season.Entrants)
	rows := tally(entrants, s.Pairings)
	addTieBreak(rows, "wins", wins)
	addTieBreak(rows, "matches", func(r arena.TableRow) arena.Points { return arena.Points(r.Played) * arena.OnePoint })
	addTieBreak(rows, "rating", from(ratings(entrants)))
	return rank(rows)
}
