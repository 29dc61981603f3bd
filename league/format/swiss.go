package format

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/matching"
)

// swissStep orders a round as soon as the previous round is decided. The same
// two agents replay a void game. If only a part of a round was stored, swissStep
// orders the rest. The season is over after its last round, or when fewer than
// two agents are left.
func swissStep(s State) Step {
	round := lastRound(s.Pairings)
	step, waiting := swissReplays(s, round)
	if round > 0 {
		step.Pairings = append(step.Pairings, newSwissRound(s, round).order()...)
	}
	if waiting || len(step.Pairings) > 0 {
		return step
	}
	next := newSwissRound(s, round+1)
	if round >= swissRounds(s.Season) || len(next.players) < 2 {
		return Step{Done: true}
	}
	return Step{Pairings: next.order()}
}

// swissRounds returns the number of rounds in the options, or else the number that
// a knockout of the same entrants would need.
func swissRounds(s arena.Season) int {
	if s.Options.Rounds > 0 {
		return s.Options.Rounds
	}
	n := len(starters(State{Season: s}))
	return min(max(bits.Len(uint(max(n-1, 0))), 1), maxSwissRounds)
}

// swissReplays orders replays of the void games of a round. waiting reports
// whether the round waits for results.
func swissReplays(s State, round int) (step Step, waiting bool) {
	o := newOrders(s, round)
	games := byPlace(s.Pairings)
	for slot := range lastSlot(s.Pairings, round) + 1 {
		meeting := games[place{round, slot}]
		if len(meeting) == 0 { // only a part of the round is stored
			continue
		}
		game, decided := nextGame(meeting)
		waiting = waiting || game == 0 && !decided
		if game > 0 { // with the seats swapped
			last := meeting[len(meeting)-1].Agents
			step.Pairings = append(step.Pairings, o.meeting(slot, game, last[1], last[0]))
		}
	}
	return step, waiting
}

// lastSlot returns the greatest slot of a round that has a pairing, or 0.
func lastSlot(pairings []arena.Pairing, round int) (slot int) {
	for _, p := range pairings {
		if p.Round == round {
			slot = max(slot, p.Slot)
		}
	}
	return slot
}

// A member of a weight packs several figures in order of precedence: one unit
// of a figure exceeds the largest possible sum of the later ones.
const (
	swissMeeting = 1           // earlier meetings of a pair: a round has fewer than 2^20
	swissRematch = 1 << 20     // pairs that have met
	swissPair    = 1 << 40     // agents that play
	swissBye     = 100_000_000 // earlier byes; scores are less
)

// swissRound is the pairing of one round. A player is identified by its index
// in the table, which is ordered by score before the round, then seed.
type swissRound struct {
	orders
	players []swissPlayer
	met     []int // players[i] and players[j] at i*len(players)+j
	slots   int   // the last one taken
}

type swissPlayer struct {
	arena.Entrant
	paired bool // in this round
	score  arena.Points
	byes   int
	first  int // how often it was the first of two
	group  int // size of its score group
	seed   int // in its score group, 0 the best
}

func newSwissRound(s State, round int) *swissRound {
	r := &swissRound{orders: newOrders(s, round), slots: lastSlot(s.Pairings, round)}
	for _, e := range seeded(s.Season.Entrants) {
		if e.Plays(round) {
			r.players = append(r.players, swissPlayer{Entrant: e})
		}
	}
	r.count(func(i int, p arena.Pairing, seat int) {
		switch {
		case p.Round == round:
			r.players[i].paired = true
		case scored(p):
			r.players[i].score += p.Scores[seat]
		}
	})
	slices.SortStableFunc(r.players, func(a, b swissPlayer) int { return cmp.Compare(b.score, a.score) })
	r.groups()
	return r
}

// count calls f for each player of each pairing so far.
func (r *swissRound) count(f func(i int, p arena.Pairing, seat int)) {
	index := r.index()
	for _, p := range withDraws(r.s.Pairings) {
		for seat, id := range p.Agents {
			if i, ok := index[id]; ok {
				f(i, p, seat)
			}
		}
	}
}

func (r *swissRound) index() map[string]int {
	index := make(map[string]int, len(r.players))
	for i, p := range r.players {
		index[p.AgentID] = i
	}
	return index
}

// groups sets the size of each player's score group and its place in it.
func (r *swissRound) groups() {
	for start := 0; start < len(r.players); {
		end := start + 1
		for end < len(r.players) && r.players[end].score == r.players[start].score {
			end++
		}
		for i := start; i < end; i++ {
			r.players[i].group, r.players[i].seed = end-start, i-start
		}
		start = end
	}
}

// remember counts the meetings of each pair, including those that one agent
// forfeited. A replay does not count as another meeting.
func (r *swissRound) remember() {
	n := len(r.players)
	r.met = make([]int, n*n)
	index := r.index()
	r.count(func(i int, p arena.Pairing, seat int) {
		switch {
		case p.Game > 1 || p.Round == r.round:
		case len(p.Agents) == 1:
			r.players[i].byes++
		default:
			if seat == 0 {
				r.players[i].first++
			}
			if j, ok := index[p.Agents[1-seat]]; ok {
				r.met[i*n+j]++
			}
		}
	})
}

// order pairs the players that are not paired in the round yet. The best board
// comes first, a bye last.
func (r *swissRound) order() (pairings []arena.Pairing) {
	free := 0
	for _, p := range r.players {
		if !p.paired {
			free++
		}
	}
	if free == 0 {
		return nil
	}
	r.remember()
	n, bye := len(r.players), matching.None
	for i, j := range matching.Max(n+1, r.edges(free%2 == 1))[:n] {
		switch {
		case j == n:
			bye = i
		case i < j:
			slot := r.slots + len(pairings) + 1
			a, b := r.players[i], r.players[j]
			if a.first > b.first || a.first == b.first && slot%2 == 0 {
				a, b = b, a
			}
			pairings = append(pairings, r.meeting(slot, 1, a.AgentID, b.AgentID))
		}
	}
	if bye != matching.None {
		pairings = append(pairings, r.bye(r.slots+len(pairings)+1, r.players[bye].AgentID, won))
	}
	return pairings
}

// edges returns all pairs of players that are not paired yet. If their number is
// odd, index n stands for a bye.
func (r *swissRound) edges(odd bool) []matching.Edge {
	n := len(r.players)
	edges := make([]matching.Edge, 0, n*(n+1)/2)
	for i := range n {
		if r.players[i].paired {
			continue
		}
		for j := i + 1; j < n; j++ {
			if !r.players[j].paired {
				edges = append(edges, matching.Edge{I: i, J: j, Weight: r.pairWeight(i, j)})
			}
		}
		if odd {
			edges = append(edges, matching.Edge{I: i, J: n, Weight: r.byeWeight(i)})
		}
	}
	return edges
}

// pairWeight returns the weight of a pair, where i ranks before j (docs/rules.md,
// section 8). In this order, it prefers pairs that have not met or have met
// rarely, close scores, different halves of a score group, different owners, and
// a distance in the table of half a score group. For agents of different score
// groups, it prefers a small distance.
func (r *swissRound) pairWeight(i, j int) matching.Weight {
	a, b, n := &r.players[i], &r.players[j], len(r.players)
	w := matching.Weight{A: swissPair}
	if met := r.met[i*n+j]; met > 0 {
		w.A -= swissRematch + swissMeeting*int64(met)
	}
	gap := int64(a.score - b.score)
	w.C = -gap * gap

	away := 2 * (j - i)
	sameHalf, sameOwner := 0, 0
	if a.score == b.score {
		away = max(away-a.group, a.group-away)
		if 2*b.seed+1 < a.group || 2*a.seed+1 > a.group {
			sameHalf = 1
		}
	}
	if a.OwnerID != "" && a.OwnerID == b.OwnerID {
		sameOwner = 1
	}
	// The distances of a round add up to less than n*n.
	w.D = -int64(away + (sameOwner+sameHalf*n)*n*n)
	return w
}

// byeWeight returns the weight of a bye. In this order, it prefers agents with
// few byes, a low score and a low place in the table.
func (r *swissRound) byeWeight(i int) matching.Weight {
	p := &r.players[i]
	return matching.Weight{
		A: swissPair, B: -int64(p.byes)*swissBye - int64(p.score), D: -int64(len(r.players) - i),
	}
}
