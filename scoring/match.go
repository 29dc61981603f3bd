package scoring

import (
	"cmp"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// PlaceSeats returns a copy of the seats, in the same order, with their places.
// 1 is best; equal seats share the better place and the next ones follow after
// the gap. Duels and tables order by points, then, unless results are compared,
// by fewer rounds lost by a timeout. Elimination orders by the round of
// elimination first, survivors before all others. Seats that left share the last
// place, regardless of their points (docs/rules.md, section 6).
func PlaceSeats(settings arena.Settings, seats []arena.Seat) []arena.Seat {
	placed := slices.Clone(seats)
	for i := range placed {
		better := 0
		for _, other := range seats {
			if compareSeats(settings, other, seats[i]) > 0 {
				better++
			}
		}
		placed[i].Place = better + 1
	}
	return placed
}

// compareSeats returns a positive number if a ranks before b and 0 if they are
// equal.
func compareSeats(settings arena.Settings, a, b arena.Seat) int {
	aLeft, bLeft := a.State == arena.SeatLeft, b.State == arena.SeatLeft
	switch {
	case aLeft && bLeft:
		return 0
	case aLeft:
		return -1
	case bLeft:
		return 1
	}
	if settings.Format == arena.FormatElimination {
		if c := cmp.Compare(survived(a), survived(b)); c != 0 {
			return c
		}
	}
	points := cmp.Compare(a.Points, b.Points)
	if settings.ScoreMode == arena.ScoreResult {
		return points
	}
	return cmp.Or(points, cmp.Compare(b.LostRounds, a.LostRounds))
}

// survived returns the round of a seat's elimination, or a number beyond all
// rounds for a seat that is still in the match.
func survived(s arena.Seat) int {
	if s.State != arena.SeatOut {
		return int(^uint(0) >> 1)
	}
	return s.OutRound
}

// GraceRounds is the number of rounds of an elimination that a seat may skip
// by a 429 before a skipped round is a miss.
const GraceRounds = 1

// Eliminate returns a copy of the seats after a judged round of an elimination
// match. Active seats drop whose round brought no points, if another seat
// scored. If no seat scored, those drop that did not answer in time, if another
// seat did answer. A void round spares its seat, and so does a round skipped by a 429
// up to GraceRounds of them; a further one is a miss (docs/rules.md, section 6).
// The seats have their state after the round (arena.Seat.Closed). answers holds
// the round's judged answers by agent id.
func Eliminate(seats []arena.Seat, round int, answers map[string]arena.Answer) []arena.Seat {
	after := slices.Clone(seats)
	var wrong, absent []int // missed with and without a reply
	scored := false
	for i, s := range seats {
		a, ok := answers[s.AgentID]
		switch {
		case !active(s) || !ok || !a.Outcome.Counted() && !skippedTooOften(s, a.Outcome):
		case a.Points > 0:
			scored = true
		case a.Outcome == arena.OutcomeTimeout || a.Outcome == arena.OutcomeRateLimited:
			absent = append(absent, i)
		default:
			wrong = append(wrong, i)
		}
	}
	var out []int
	switch {
	case scored:
		out = slices.Concat(wrong, absent)
	case len(wrong) > 0:
		out = absent
	}
	for _, i := range out {
		after[i].State, after[i].OutRound = arena.SeatOut, round
	}
	return after
}

// skippedTooOften reports whether a round that a seat of an elimination skipped
// is a miss.
func skippedTooOften(s arena.Seat, o arena.Outcome) bool {
	return o == arena.OutcomeRateLimited && s.SkippedRounds > GraceRounds
}

// Over reports whether a match ends after its closed round: fewer than two
// seats are active, or the last round of the settings, or the cap of an open
// end, is reached. A match before its first round (round 0) with two active
// seats is not over.
func Over(settings arena.Settings, seats []arena.Seat, round int) bool {
	playing := 0
	for _, s := range seats {
		if active(s) {
			playing++
		}
	}
	return playing < 2 || round >= LastRound(settings)
}

// LastRound returns the last round of the settings, or the cap of an open end.
func LastRound(settings arena.Settings) int {
	return max(cmp.Or(settings.Rounds, settings.MaxRounds), 1)
}

// SuddenDeathRounds is the largest number of rounds of a sudden death, which an
// elimination plays when several seats lead at the cap of an open end.
const SuddenDeathRounds = 5

// SuddenDeath reports whether a match may have a sudden death: it is an
// elimination with an open end.
func SuddenDeath(settings arena.Settings) bool {
	return settings.Format == arena.FormatElimination && settings.Rounds == 0
}

// Leaders returns the indexes of the active seats of an elimination that no
// other seat ranks before, by points and rounds lost by a timeout.
func Leaders(seats []arena.Seat) (leaders []int) {
	for i, s := range PlaceSeats(arena.Settings{Format: arena.FormatElimination}, seats) {
		if active(s) && s.Place == 1 {
			leaders = append(leaders, i)
		}
	}
	return leaders
}

func active(s arena.Seat) bool { return s.State != arena.SeatOut && s.State != arena.SeatLeft }
