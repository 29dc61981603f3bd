package game

import "github.com/agora-arena/arena/arena"

// CommonGame is the result of one game for two agents.
type CommonGame struct {
	A, B arena.Points
	// Place is the place of a in the game, the number of its player from 0, in a game
	// of two; -1: the game has more, or its place is not known.
	Place int
}

// CommonGames returns the results of the games of a match for two of its agents. If it is
// not known how each game ended, the result of the match stands for all of them.
func CommonGames(m arena.CommonSeries) []CommonGame {
	whole := []CommonGame{{A: m.A.Points, B: m.B.Points, Place: -1}}
	games := m.Series.Games
	if games < 1 || m.Series.Game != games || len(m.Series.Earlier) != games-1 {
		return whole
	}
	var all []CommonGame
	last := CommonGame{A: m.A.Points, B: m.B.Points}
	for i, e := range m.Series.Earlier {
		if len(e.Points) != m.Seats {
			return whole
		}
		then := progress{Game: i}
		g := CommonGame{A: e.Points[then.player(m.A.No, m.Seats)], B: e.Points[then.player(m.B.No, m.Seats)]}
		last.A, last.B = last.A-g.A, last.B-g.B
		all = append(all, g)
	}
	if all = append(all, last); last.A < 0 || last.B < 0 || last.A > arena.OnePoint || last.B > arena.OnePoint {
		return whole
	}
	for i := range all {
		all[i].Place = -1
		if m.Seats == 2 {
			all[i].Place = progress{Game: i}.player(m.A.No, m.Seats)
		}
	}
	return all
}
