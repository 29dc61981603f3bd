package format

import (
	"cmp"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// gauntletStep orders one meeting of the champion with every other entrant, all
// at once: the number of free seats limits how many run at a time. An agent
// that joins before the end is added as a challenger.
func gauntletStep(s State) Step {
	champion, challengers := gauntletSides(s)
	met := make(map[string][]arena.Pairing) // by challenger
	slots := make(map[int]int)              // the last one used, by round
	for _, p := range s.Pairings {
		slots[p.Round] = max(slots[p.Round], p.Slot)
		for _, id := range p.Agents {
			met[id] = append(met[id], p)
		}
	}
	rounds := make(map[int]orders)
	var step Step
	waiting := false
	for _, e := range challengers {
		games := met[e.AgentID]
		slices.SortFunc(games, func(a, b arena.Pairing) int { return cmp.Compare(a.Game, b.Game) })
		game, decided := nextGame(games)
		if game == 0 {
			waiting = waiting || !decided
			continue
		}
		at := place{round: max(e.Round, 1)}
		if len(games) > 0 {
			at = place{games[0].Round, games[0].Slot}
		} else {
			slots[at.round]++
			at.slot = slots[at.round]
		}
		if _, ok := rounds[at.round]; !ok {
			rounds[at.round] = newOrders(s, at.round)
		}
		step.Pairings = append(step.Pairings, rounds[at.round].meeting(at.slot, game, champion.AgentID, e.AgentID))
	}
	step.Done = !waiting && len(step.Pairings) == 0
	return step
}

// gauntletSides returns the champion and the challengers in seeded order. The
// champion is the one named in the options, or else the first seed of those
// that were there at the start.
func gauntletSides(s State) (champion arena.Entrant, challengers []arena.Entrant) {
	challengers = seeded(s.Season.Entrants)
	is := func(e arena.Entrant) bool { return e.AgentID == s.Season.Options.Champion }
	if !slices.ContainsFunc(challengers, is) {
		is = func(e arena.Entrant) bool { return e.Round <= 1 }
	}
	i := slices.IndexFunc(challengers, is)
	if i < 0 {
		return champion, nil
	}
	champion = challengers[i]
	return champion, slices.Delete(challengers, i, i+1)
}

// gauntletTable returns the table ordered by the share of the possible score,
// because the champion has many meetings and the others have one, then by
// rating.
func gauntletTable(s State) []arena.TableRow {
	entrants := seeded(s.Season.Entrants)
	rows := tally(entrants, withDraws(s.Pairings))
	addTieBreak(rows, "rating", from(ratings(entrants)))
	return rankBy(rows, func(a, b arena.TableRow) int {
		return cmp.Or(
			cmp.Compare(b.Score*arena.Points(max(a.Played, 1)), a.Score*arena.Points(max(b.Played, 1))),
			cmp.Compare(b.TieBreaks[0].Value, a.TieBreaks[0].Value),
		)
	})
}
