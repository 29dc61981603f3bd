package format

import (
	"github.com/agora-arena/arena/arena"
)

// roundRobinStep pairs every two agents once, or twice when double. A round is
// ordered once the previous round is decided. With an odd number of agents, one
// of them has a bye in every round. Byes score nothing, because every agent has
// the same number of them.
func roundRobinStep(s State) Step {
	entrants := starters(s)
	games := byPlace(s.Pairings)
	for round := 1; round <= roundRobinRounds(len(entrants), s.Season.Options.Double); round++ {
		o := newOrders(s, round)
		var step Step
		waiting := false
		for i, pair := range circle(len(entrants), round) {
			slot := i + 1
			game, decided := nextGame(games[place{round, slot}])
			switch {
			case game == 0:
				waiting = waiting || !decided
			case pair[1] == len(entrants):
				step.Pairings = append(step.Pairings, o.bye(slot, entrants[pair[0]].AgentID, 0))
			default:
				a, b := entrants[pair[0]].AgentID, entrants[pair[1]].AgentID
				step.Pairings = append(step.Pairings, o.meeting(slot, game, a, b))
			}
		}
		if waiting || len(step.Pairings) > 0 {
			return step
		}
	}
	return Step{Done: true}
}

// roundRobinRounds returns the number of rounds for n agents.
func roundRobinRounds(n int, double bool) int {
	switch {
	case n < 2:
		return 0
	case double:
		return 2 * (n + n%2 - 1)
	}
	return n + n%2 - 1
}

// circle returns the boards of a round of n agents by index. Index n, always
// second, stands for a bye. This is the circle method: the last agent keeps its
// seat and the others rotate by one place each round. The first seat alternates
// between meetings. The second half of a double round robin mirrors the first.
func circle(n, round int) [][2]int {
	seats := n + n%2
	turn, r := (round-1)/(seats-1), (round-1)%(seats-1)
	boards := make([][2]int, 0, seats/2)
	for k := 1; k < seats/2; k++ {
		boards = append(boards, [2]int{(r + k) % (seats - 1), (r + seats - 1 - k) % (seats - 1)})
	}
	boards = append(boards, [2]int{r, seats - 1})
	for i, b := range boards {
		swap := turn == 1
		if i == len(boards)-1 {
			swap = n == seats && swap != (r%2 == 1)
		}
		if swap {
			boards[i] = [2]int{b[1], b[0]}
		}
	}
	return boards
}

// roundRobinTable returns the table ordered by score, then direct meetings,
// Sonneborn–Berger, wins and rating.
func roundRobinTable(s State) []arena.TableRow {
	entrants, pairings := starters(s), withDraws(s.Pairings)
	rows, all := tally(entrants, pairings), duels(pairings)
	addTieBreak(rows, "direct", from(direct(rows, all)))
	addTieBreak(rows, "sonneborn_berger", from(sonnebornBerger(rows, all)))
	addTieBreak(rows, "wins", wins)
	addTieBreak(rows, "rating", from(ratings(entrants)))
	return rank(rows)
}
