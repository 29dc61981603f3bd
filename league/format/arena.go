package format

import (
	"cmp"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// The points of an arena's duel. They double for an agent on a winning streak.
const (
	arenaWin  = 2 * arena.OnePoint
	arenaDraw = arena.OnePoint
	fire      = 2 // wins in a row, after which everything doubles
)

// arenaStep pairs the idle agents, neighbors in the table first. An agent never
// meets the opponent of its last duel again, even if no other agent is idle. The
// agent that had the first move less often gets it, else the one that is ahead. An
// arena has no end of its own. Pairings that are open when its time is up are
// finished and count.
func arenaStep(s State) Step {
	o := newOrders(s, lastRound(s.Pairings)+1)
	idle, first := o.arenaOrder(), firstMoves{}
	for _, p := range s.Pairings {
		if len(p.Agents) == 2 {
			first.add(p.Agents[0], p.Agents[1])
		}
	}
	var step Step
	for i, pair := range pairArena(idle, lastOpponents(s.Pairings)) {
		pair = first.seats(pair[0], pair[1])
		step.Pairings = append(step.Pairings, o.open(i+1, 1, pair[0], pair[1]))
	}
	switch {
	case len(step.Pairings) > 0 || anyOpen(s.Pairings): // results will bring more
	case len(idle) < 2:
		step.Note = arena.NeedsAgentsNote(2, len(idle))
	default:
		step.Note = arena.JustMetNote(len(idle))
	}
	return step
}

// arenaOrder returns the idle entrants without an open pairing, ordered by
// score, then by the longest wait.
func (o orders) arenaOrder() []string {
	idle := o.idle()
	for _, p := range o.s.Pairings {
		if p.Open() {
			for _, id := range p.Agents {
				delete(idle, id)
			}
		}
	}
	scores := arenaScores(o.s.Pairings)
	ids := make([]string, 0, len(idle))
	for _, e := range seeded(o.s.Season.Entrants) {
		if _, ok := idle[e.AgentID]; ok {
			ids = append(ids, e.AgentID)
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), waitingOrder(idle[a], idle[b]))
	})
	return ids
}

// lastOpponents returns the most recent opponent of each agent.
func lastOpponents(pairings []arena.Pairing) map[string]string {
	last, round := make(map[string]string), make(map[string]int)
	for _, p := range pairings {
		if len(p.Agents) != 2 {
			continue
		}
		for i, id := range p.Agents {
			if p.Round > round[id] {
				last[id], round[id] = p.Agents[1-i], p.Round
			}
		}
	}
	return last
}

// arenaPairing is a pairing of the idle agents in order of rank. A partner is
// an index; an agent without a partner is its own.
type arenaPairing struct {
	ids     []string
	last    map[string]string
	partner []int
}

// pairArena pairs as many agents as possible, neighbors first.
func pairArena(ids []string, last map[string]string) (pairs [][2]string) {
	a := arenaPairing{ids: ids, last: last, partner: make([]int, len(ids))}
	for i := range ids {
		a.partner[i] = i
	}
	for i := range ids {
		for j := i + 1; j < len(ids) && a.alone(i); j++ {
			if a.alone(j) && a.may(i, j) {
				a.pair(i, j)
			}
		}
	}
	for i := range ids { // few are left over: those that have just met each other
		for j := i + 1; j < len(ids) && a.alone(i); j++ {
			if a.alone(j) {
				a.splitPairs(i, j)
			}
		}
	}
	for i, j := range a.partner {
		if i < j {
			pairs = append(pairs, [2]string{ids[i], ids[j]})
		}
	}
	return pairs
}

func (a *arenaPairing) alone(i int) bool { return a.partner[i] == i }

func (a *arenaPairing) pair(i, j int) { a.partner[i], a.partner[j] = j, i }

// may reports whether neither has just met the other.
func (a *arenaPairing) may(i, j int) bool {
	return i != j && a.last[a.ids[i]] != a.ids[j] && a.last[a.ids[j]] != a.ids[i]
}

// splitPairs finds partners for two agents that may not meet by splitting one
// existing pair, or two. Each agent has only one last opponent, so two pairs
// always suffice.
func (a *arenaPairing) splitPairs(u, v int) {
	for p, q := range slices.Backward(a.partner) {
		if p != q && a.may(u, p) && a.may(q, v) {
			a.pair(u, p)
			a.pair(q, v)
			return
		}
	}
	for p, q := range slices.Backward(a.partner) {
		if p == q || !a.may(u, p) {
			continue
		}
		for s, r := range slices.Backward(a.partner) {
			if s != r && s != p && s != q && a.may(s, v) && a.may(q, r) {
				a.pair(u, p)
				a.pair(q, r)
				a.pair(s, v)
				return
			}
		}
	}
}

// arenaScores returns the points of each agent. After two wins in a row, duels
// count double until the first that the agent does not win.
func arenaScores(pairings []arena.Pairing) map[string]arena.Points {
	inOrder := slices.SortedFunc(slices.Values(pairings), func(a, b arena.Pairing) int { return cmp.Compare(a.Round, b.Round) })
	scores, streak := make(map[string]arena.Points), make(map[string]int)
	for _, d := range duels(inOrder) {
		gain := arena.Points(0)
		switch d.score {
		case won:
			gain = arenaWin
		case drawn:
			gain = arenaDraw
		}
		if streak[d.agent] >= fire {
			gain *= 2
		}
		scores[d.agent] += gain
		if streak[d.agent]++; d.score != won {
			streak[d.agent] = 0
		}
	}
	return scores
}

// arenaTable returns the table ordered by points, then wins and rating.
func arenaTable(s State) []arena.TableRow {
	entrants := seeded(s.Season.Entrants)
	rows, scores := tally(entrants, s.Pairings), arenaScores(s.Pairings)
	for i, r := range rows {
		rows[i].Score = scores[r.AgentID]
	}
	addTieBreak(rows, "wins", wins)
	addTieBreak(rows, "rating", from(ratings(entrants)))
	return rank(rows)
}
