package format

import (
	"cmp"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// maxGames is the number of games that one meeting may take. A void game is
// replayed. In formats where every meeting needs a result (round robin, Swiss,
// gauntlet), the third void game counts as a draw.
const maxGames = 3

// The points of a duel.
const (
	won   = arena.OnePoint
	drawn = arena.OnePoint / 2
	lost  = arena.Points(0)
)

// seeded returns the entrants in seed order: by rating, then by id.
func seeded(entrants []arena.Entrant) []arena.Entrant {
	return slices.SortedFunc(slices.Values(entrants), func(a, b arena.Entrant) int {
		return cmp.Or(cmp.Compare(b.Rating, a.Rating), cmp.Compare(a.AgentID, b.AgentID))
	})
}

// starters returns, in seed order, the entrants that were there at the start.
// Formats that plan ahead use only these. An agent that joins later waits for
// the next season.
func starters(s State) []arena.Entrant {
	return slices.DeleteFunc(seeded(s.Season.Entrants), func(e arena.Entrant) bool { return e.Round > 1 })
}

// place identifies a meeting, which may take several games.
type place struct{ round, slot int }

// byPlace groups pairings by meeting, each group in the order of its games.
func byPlace(pairings []arena.Pairing) map[place][]arena.Pairing {
	games := make(map[place][]arena.Pairing)
	for _, p := range pairings {
		at := place{p.Round, p.Slot}
		games[at] = append(games[at], p)
	}
	for _, g := range games {
		slices.SortFunc(g, func(a, b arena.Pairing) int { return cmp.Compare(a.Game, b.Game) })
	}
	return games
}

// lastRound returns the newest round that has a pairing, or 0.
func lastRound(pairings []arena.Pairing) (round int) {
	for _, p := range pairings {
		round = max(round, p.Round)
	}
	return round
}

// anyOpen reports whether a pairing waits for a result.
func anyOpen(pairings []arena.Pairing) bool { return slices.ContainsFunc(pairings, arena.Pairing.Open) }

// orders creates the pairings of one round.
type orders struct {
	s       State
	round   int
	present map[string]bool // agents that take part in the round
}

func newOrders(s State, round int) orders {
	o := orders{s: s, round: round, present: make(map[string]bool, len(s.Season.Entrants))}
	for _, e := range s.Season.Entrants {
		o.present[e.AgentID] = e.Plays(round)
	}
	return o
}

// idle returns the idle agents that take part in the round.
func (o orders) idle() map[string]time.Time {
	idle := make(map[string]time.Time, len(o.s.Idle))
	for id, since := range o.s.Idle {
		if o.present[id] {
			idle[id] = since
		}
	}
	return idle
}

// meeting returns a game of two agents. An agent that has withdrawn forfeits it
// at once.
func (o orders) meeting(slot, game int, a, b string) arena.Pairing {
	p := o.open(slot, game, a, b)
	if o.present[a] && o.present[b] {
		return p
	}
	return o.decided(p, arena.PairingForfeit, Forfeit([]bool{!o.present[a], !o.present[b]}))
}

// bye returns a pairing without an opponent.
func (o orders) bye(slot int, agent string, score arena.Points) arena.Pairing {
	return o.decided(o.open(slot, 1, agent), arena.PairingBye, []arena.Points{score})
}

func (o orders) open(slot, game int, agents ...string) arena.Pairing {
	return arena.Pairing{
		SeasonID: o.s.Season.ID, Round: o.round, Slot: slot, Game: game, Agents: agents, CreatedAt: o.s.Now,
	}
}

func (o orders) decided(p arena.Pairing, r arena.PairingResult, scores []arena.Points) arena.Pairing {
	p.Result, p.Scores, p.DecidedAt = r, scores, o.s.Now
	return p
}

// scored reports whether a pairing has scores.
func scored(p arena.Pairing) bool {
	return !p.Open() && p.Result != arena.PairingVoid && len(p.Scores) == len(p.Agents)
}

// nextGame returns the game of a meeting to order now, or 0 if there is none,
// and whether the meeting is decided.
func nextGame(games []arena.Pairing) (game int, decided bool) {
	switch {
	case len(games) == 0:
		return 1, false
	case slices.ContainsFunc(games, scored):
		return 0, true
	case anyOpen(games):
		return 0, false
	}
	last := games[len(games)-1].Game
	if last >= maxGames {
		return 0, true
	}
	return last + 1, false
}

// withDraws returns a copy of pairings in which each void game that is not
// replayed again is a draw.
func withDraws(pairings []arena.Pairing) []arena.Pairing {
	pairings = slices.Clone(pairings)
	for i, p := range pairings {
		if p.Result == arena.PairingVoid && p.Game >= maxGames {
			pairings[i].Result = arena.PairingPlayed
			pairings[i].Scores = slices.Repeat([]arena.Points{drawn}, len(p.Agents))
		}
	}
	return pairings
}

// tally returns the results of the pairings for every entrant, in the given
// order. The best score of a pairing wins it. A shared best score is a draw,
// except for agents that were absent, which lose.
func tally(entrants []arena.Entrant, pairings []arena.Pairing) []arena.TableRow {
	rows := make([]arena.TableRow, len(entrants))
	index := make(map[string]int, len(entrants))
	for i, e := range entrants {
		rows[i] = arena.TableRow{AgentID: e.AgentID, Name: e.Name, Withdrawn: e.WithdrawnRound != 0}
		index[e.AgentID] = i
	}
	for _, p := range pairings {
		if !scored(p) {
			continue
		}
		for seat, id := range p.Agents {
			if i, ok := index[id]; ok {
				count(&rows[i], p, seat)
			}
		}
	}
	return rows
}

func count(row *arena.TableRow, p arena.Pairing, seat int) {
	mine := p.Scores[seat]
	row.Score += mine
	if len(p.Agents) == 1 {
		row.Byes++
		return
	}
	row.Played++
	best := slices.Max(slices.Concat(p.Scores[:seat], p.Scores[seat+1:]))
	switch {
	case mine > best:
		row.Wins++
	case mine == best && mine > 0:
		row.Draws++
	default:
		row.Losses++
	}
	if p.Result == arena.PairingForfeit && mine == 0 {
		row.Forfeits++
	}
}

// duel is the result of one agent against another.
type duel struct {
	agent, opponent string
	score           arena.Points
}

// duels returns every decided pairing of two agents, once from each side.
func duels(pairings []arena.Pairing) []duel {
	var all []duel
	for _, p := range pairings {
		if scored(p) && len(p.Agents) == 2 {
			all = append(all,
				duel{p.Agents[0], p.Agents[1], p.Scores[0]}, duel{p.Agents[1], p.Agents[0], p.Scores[1]})
		}
	}
	return all
}

// scoresOf returns the scores of a table by agent.
func scoresOf(rows []arena.TableRow) map[string]arena.Points {
	scores := make(map[string]arena.Points, len(rows))
	for _, r := range rows {
		scores[r.AgentID] = r.Score
	}
	return scores
}

// direct returns the points of each agent against agents with the same score.
func direct(rows []arena.TableRow, all []duel) map[string]arena.Points {
	scores, sum := scoresOf(rows), make(map[string]arena.Points, len(rows))
	for _, d := range all {
		if scores[d.agent] == scores[d.opponent] {
			sum[d.agent] += d.score
		}
	}
	return sum
}

// sonnebornBerger returns for each agent the sum of the scores of the opponents
// that it beat, plus half the scores of those that it drew with.
func sonnebornBerger(rows []arena.TableRow, all []duel) map[string]arena.Points {
	scores, sum := scoresOf(rows), make(map[string]arena.Points, len(rows))
	for _, d := range all {
		sum[d.agent] += d.score * scores[d.opponent] / arena.OnePoint
	}
	return sum
}

// ratings returns the ratings with which entrants joined, as tie-breaks.
func ratings(entrants []arena.Entrant) map[string]arena.Points {
	all := make(map[string]arena.Points, len(entrants))
	for _, e := range entrants {
		all[e.AgentID] = arena.Points(e.Rating)
	}
	return all
}

// addTieBreak appends a tie-break to every row.
func addTieBreak(rows []arena.TableRow, name string, figure func(arena.TableRow) arena.Points) {
	for i, r := range rows {
		rows[i].TieBreaks = append(r.TieBreaks, arena.TieBreak{Name: name, Value: figure(r)})
	}
}

// from returns a function that looks up the figure of a row's agent.
func from(figures map[string]arena.Points) func(arena.TableRow) arena.Points {
	return func(r arena.TableRow) arena.Points { return figures[r.AgentID] }
}

// wins returns the number of wins as points.
func wins(r arena.TableRow) arena.Points { return arena.Points(r.Wins) * arena.OnePoint }

// rank sorts rows by score, then by the tie-breaks, best first. Equal rows share
// the better rank and keep their order.
func rank(rows []arena.TableRow) []arena.TableRow {
	return rankBy(rows, func(a, b arena.TableRow) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return slices.CompareFunc(b.TieBreaks, a.TieBreaks, func(x, y arena.TieBreak) int {
			return cmp.Compare(x.Value, y.Value)
		})
	})
}

// rankBy is rank with the given order.
func rankBy(rows []arena.TableRow, order func(a, b arena.TableRow) int) []arena.TableRow {
	slices.SortStableFunc(rows, order)
	for i := range rows {
		rows[i].Rank = i + 1
		if i > 0 && order(rows[i-1], rows[i]) == 0 {
			rows[i].Rank = rows[i-1].Rank
		}
	}
	return rows
}
