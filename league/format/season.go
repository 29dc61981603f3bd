package format

import (
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

// State is everything that decides what a season does next.
type State struct {
	Season   arena.Season
	Pairings []arena.Pairing // all so far, by round, slot and game
	Now      time.Time
	// Idle are the entrants that could take a seat now, with the time since
	// which they could. Only arena and elimination ask who is there: the other
	// formats pair everyone who plays, and whoever does not come forfeits.
	Idle map[string]time.Time
	// MinSeats and MaxSeats bound the matches of an elimination.
	MinSeats, MaxSeats int
}

// Step is what a season does next. A zero step is to wait for results.
type Step struct {
	// Pairings to order now. Byes come decided.
	Pairings []arena.Pairing
	// Done says that the season is over: its table is final.
	Done bool
	// Note says what the season waits for, "" when it only waits for results:
	// "needs 3 idle agents, has 1".
	Note string
	// NextAt is when something happens by itself, zero when nothing does.
	NextAt time.Time
}

// AsksWho reports whether the format pairs those who are there, and so needs
// State.Idle.
func AsksWho(f arena.Format) bool { return f == arena.FormatArena || f == arena.FormatElimination }

// LateJoin reports whether agents may join a season of the format that has
// begun. In the others they wait for the next one.
func LateJoin(f arena.Format) bool {
	switch f {
	case arena.FormatSwiss, arena.FormatArena, arena.FormatGauntlet, arena.FormatElimination:
		return true
	case arena.FormatLadder, arena.FormatRoundRobin, arena.FormatKnockout, arena.FormatDoubleElimination:
		return false
	}
	return false
}

// MinEntrants is how many a season needs to begin. A ladder and an elimination
// begin empty.
func MinEntrants(f arena.Format) int {
	if f == arena.FormatLadder || f == arena.FormatElimination {
		return 0
	}
	return 2
}

// Needs is the note of a season or a league that has too few agents.
func Needs(least, has int) string {
	return fmt.Sprintf("needs %d idle agents, has %d", least, has)
}

// Result gives what a match that is over decides for its pairing: the share of
// the others that each seat beat, equals half. A void match that one of two
// agents left is that agent's forfeit; any other void or cancelled match
// decides nothing.
func Result(m arena.Match) (arena.PairingResult, []arena.Points) {
	if m.Status == arena.MatchFinished {
		scores := make([]arena.Points, len(m.Seats))
		for i, seat := range m.Seats {
			for j, other := range m.Seats {
				switch {
				case i == j:
				case seat.Place < other.Place:
					scores[i] += 2
				case seat.Place == other.Place:
					scores[i]++
				}
			}
			scores[i] = scores[i] * arena.OnePoint / arena.Points(2*(len(m.Seats)-1))
		}
		return arena.PairingPlayed, scores
	}
	if m.Status == arena.MatchVoid && len(m.Seats) == 2 {
		away := []bool{m.Seats[0].State == arena.SeatLeft, m.Seats[1].State == arena.SeatLeft}
		if away[0] != away[1] {
			return arena.PairingForfeit, Forfeit(away)
		}
	}
	return arena.PairingVoid, nil
}

// Forfeit gives the scores of two agents of which one or both were away.
func Forfeit(away []bool) []arena.Points {
	scores := make([]arena.Points, len(away))
	for i := range away {
		if !away[i] {
			scores[i] = arena.OnePoint
		}
	}
	return scores
}
