package league

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// GatherElimination chooses the seats of an elimination match among the idle
// agents: all of them, or, when there are more than settings.MaxSeats, those
// that have waited longest, with chance deciding between equals. The order of
// the seats is random. starved says why there is no match, "" when there is
// one.
func GatherElimination(idle []Candidate, settings arena.Settings, rng *rand.Rand) (seats []string, starved string) {
	if len(idle) < settings.MinSeats {
		return nil, needs(settings.MinSeats, len(idle))
	}
	chosen := slices.Clone(idle)
	shuffle := func() {
		rng.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	}
	shuffle()
	slices.SortStableFunc(chosen, func(a, b Candidate) int { return waitingOrder(a.IdleSince, b.IdleSince) })
	chosen = chosen[:min(len(chosen), settings.MaxSeats)]
	shuffle()
	for _, c := range chosen {
		seats = append(seats, c.AgentID)
	}
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
