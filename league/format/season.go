package format

import (
	"time"

	"github.com/agora-arena/arena/arena"
)

// State is the input of a season's next step.
type State struct {
	Season   arena.Season
	Pairings []arena.Pairing // all so far, by round, slot and game
	Now      time.Time
	// Idle holds the entrants that could take a seat now, with the time since
	// which they could. Only arena and elimination use it. The other formats
	// pair all entrants, and an agent that does not come forfeits.
	Idle map[string]time.Time
	// MinSeats and MaxSeats bound the matches of an elimination.
	MinSeats, MaxSeats int
}

// Step is the next step of a season. The zero step waits for results.
type Step struct {
	// Pairings to order now. Byes come decided.
	Pairings []arena.Pairing
	// Done is set when the season is over and its table is final.
	Done bool
	// Note describes what the season waits for, such as "needs 3 idle agents,
	// has 1". It is empty while the season only waits for results.
	Note arena.Note
	// NextAt is the time of the next scheduled change, or zero.
	NextAt time.Time
}

// Result returns the result of a finished match for its pairing. Each seat
// scores the share of the other seats that it beat, with half for a tie. A void
// match of two agents that one of them left is that agent's forfeit. Any other
// void or canceled match decides nothing.
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

// Forfeit returns the scores of a game of two agents, at least one of which was
// absent.
func Forfeit(away []bool) []arena.Points {
	scores := make([]arena.Points, len(away))
	for i := range away {
		if !away[i] {
			scores[i] = arena.OnePoint
		}
	}
	return scores
}
