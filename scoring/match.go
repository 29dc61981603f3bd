package scoring

import (
	"cmp"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// PlaceSeats returns a copy of the seats, in the same order, with their places.
// 1 is best; equal seats share the better place and the next ones follow after
// the gap. Duels and tables order by points. Elimination orders by the round of
// elimination, survivors first, then by points. Seats that left share the last
// place, whatever they had (docs/rules.md, section 7).
func PlaceSeats(format arena.Format, seats []arena.Seat) []arena.Seat {
	placed := slices.Clone(seats)
	for i := range placed {
		better := 0
		for _, other := range seats {
			if compareSeats(format, other, seats[i]) > 0 {
				better++
			}
		}
		placed[i].Place = better + 1
	}
	return placed
}

// compareSeats is positive when a stands before b and 0 when they are equal.
func compareSeats(format arena.Format, a, b arena.Seat) int {
	aLeft, bLeft := a.State == arena.SeatLeft, b.State == arena.SeatLeft
	switch {
	case aLeft && bLeft:
		return 0
	case aLeft:
		return -1
	case bLeft:
		return 1
	}
	if format == arena.FormatElimination {
		if c := cmp.Compare(survived(a), survived(b)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Points, b.Points)
}

// survived returns the round of a seat's elimination; one that is still in the
// match survived them all.
func survived(s arena.Seat) int {
	if s.State != arena.SeatOut {
		return int(^uint(0) >> 1)
	}
	return s.OutRound
}

// Eliminate returns a copy of the seats after a judged round of an elimination
// match: those active seats are out whose round counted and brought no points.
// A seat whose round did not count (rate limited, void) is spared. When every
// counted seat missed, nobody drops (docs/rules.md, section 8). answers holds the
// round's judged answers by agent id.
func Eliminate(seats []arena.Seat, round int, answers map[string]arena.Answer) []arena.Seat {
	after := slices.Clone(seats)
	var missed []int
	scored := false
	for i, s := range seats {
		a, ok := answers[s.AgentID]
		switch {
		case !active(s) || !ok || !a.Outcome.Counted():
		case a.Points > 0:
			scored = true
		default:
			missed = append(missed, i)
		}
	}
	if !scored {
		return after
	}
	for _, i := range missed {
		after[i].State, after[i].OutRound = arena.SeatOut, round
	}
	return after
}

// Over reports whether a match ends after its closed round: fewer than two
// seats are active, or the last round of the settings, or the cap of an open
// end, is reached. A match that nobody has played yet (round 0) with two
// active seats goes on.
func Over(settings arena.Settings, seats []arena.Seat, round int) bool {
	last := settings.Rounds
	if last == 0 {
		last = settings.MaxRounds
	}
	playing := 0
	for _, s := range seats {
		if active(s) {
			playing++
		}
	}
	return playing < 2 || round >= max(last, 1)
}

func active(s arena.Seat) bool { return s.State != arena.SeatOut && s.State != arena.SeatLeft }
