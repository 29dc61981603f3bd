package league

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// The terms of a ladder's pairing (rulebook, sections 7 and 8).
const (
	meetingWindow   = 24 * time.Hour
	meetingCost     = 200_000 // milli-Elo per meeting in the window
	waitingBonus    = 5       // milli-Elo per millisecond waited, of each of the two
	maxWaiting      = 10 * time.Minute
	maxRatedInADay  = 3
	exactCandidates = 12 // so many are matched exactly
	neighbours      = 64 // in rating order, beyond the exact method
)

// Candidate is an idle agent of a league.
type Candidate struct {
	AgentID      string
	OwnerID      string
	Rating       arena.Melo
	IdleSince    time.Time // zero: just now
	LastOpponent string    // agent id, "" none
}

// LadderInput is everything that a ladder's pairing follows from.
type LadderInput struct {
	Idle     []Candidate
	Meetings []arena.Meeting // of the league; those of the last 24 h count
	Rated    bool            // whether the league is
	Now      time.Time
	// Busy is the number of other agents that may become idle. While there are
	// any, two agents meet again at once, or meet unrated, only after both have
	// waited for Patience: an alternative may be about to come.
	Busy     int
	Patience time.Duration
}

// PairLadder pairs idle agents for duels (rulebook, section 8). In this order:
// as many duels as possible, as few as possible that cannot be rated
// (RatedPair), as few as possible between last opponents, least cost. The cost
// of a duel in Elo is the rating gap, plus 200 per meeting in 24 h, minus 5 per
// second that each has waited (at most ten minutes).
//
// Up to 12 agents are matched exactly, more by a greedy choice that is then
// improved by exchanges. The same input gives the same pairs, whatever the
// order of Idle. starved says why nobody was paired, "" when somebody was.
func PairLadder(in LadderInput) (pairs [][2]string, starved string) {
	if len(in.Idle) < 2 {
		return nil, needs(2, len(in.Idle))
	}
	l := newLadder(in)
	var partner []int
	if len(l.idle) <= exactCandidates {
		partner = l.exact()
	} else {
		partner = l.improve(l.greedy())
	}
	for i, j := range partner {
		if i < j {
			pairs = append(pairs, [2]string{l.idle[i].AgentID, l.idle[j].AgentID})
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Sprintf(
			"%d idle agents have just met or can meet only unrated; they wait up to %g s for another opponent",
			len(in.Idle), in.Patience.Seconds())
	}
	return pairs, ""
}

func needs(least, has int) string {
	return fmt.Sprintf("needs %d idle agents, has %d", least, has)
}

// RatedPair reports whether a ladder duel of two agents may be rated: not of
// one owner, and at most three in 24 h (rulebook, section 7; threat F4).
func RatedPair(a, b Candidate, meetings []arena.Meeting, now time.Time) bool {
	met := 0
	for _, m := range meetings {
		if now.Sub(m.At) < meetingWindow && pairOf(m.A, m.B) == pairOf(a.AgentID, b.AgentID) {
			met++
		}
	}
	return rateable(a, b, met)
}

func rateable(a, b Candidate, met int) bool {
	return met < maxRatedInADay && (a.OwnerID == "" || a.OwnerID != b.OwnerID)
}

// pairOf names a pair whichever of the two comes first.
func pairOf(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// price orders matchings; earlier members decide first.
type price struct {
	unpaired, unrated, rematches int
	cost                         int64 // milli-Elo
}

func (p price) plus(q price) price {
	return price{p.unpaired + q.unpaired, p.unrated + q.unrated, p.rematches + q.rematches, p.cost + q.cost}
}

func (p price) compare(q price) int {
	return cmp.Or(
		cmp.Compare(p.unpaired, q.unpaired), cmp.Compare(p.unrated, q.unrated),
		cmp.Compare(p.rematches, q.rematches), cmp.Compare(p.cost, q.cost),
	)
}

// alone is the price of an agent without a duel.
func alone() price { return price{unpaired: 1} }

// ladder is one pairing. A matching is a slice of partners by index; who has
// none is its own partner.
type ladder struct {
	in   LadderInput
	idle []Candidate // by rating, then id
	met  map[[2]string]int
}

func newLadder(in LadderInput) *ladder {
	l := &ladder{in: in, idle: slices.Clone(in.Idle), met: make(map[[2]string]int)}
	slices.SortFunc(l.idle, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.Rating, b.Rating), cmp.Compare(a.AgentID, b.AgentID))
	})
	for _, m := range in.Meetings {
		if in.Now.Sub(m.At) < meetingWindow {
			l.met[pairOf(m.A, m.B)]++
		}
	}
	return l
}

func (l *ladder) waited(c Candidate) time.Duration {
	if c.IdleSince.IsZero() {
		return 0
	}
	return min(max(l.in.Now.Sub(c.IdleSince), 0), maxWaiting)
}

// price gives the price of a duel; ok is false while the two should wait for
// someone else.
func (l *ladder) price(i, j int) (p price, ok bool) {
	a, b := l.idle[i], l.idle[j]
	met := l.met[pairOf(a.AgentID, b.AgentID)]
	waitA, waitB := l.waited(a), l.waited(b)
	if l.in.Rated && !rateable(a, b, met) {
		p.unrated = 1
	}
	if a.LastOpponent == b.AgentID || b.LastOpponent == a.AgentID {
		p.rematches = 1
	}
	gap := a.Rating - b.Rating
	p.cost = int64(max(gap, -gap)) + meetingCost*int64(met) - waitingBonus*(waitA+waitB).Milliseconds()
	ok = p.unrated+p.rematches == 0 || l.in.Busy == 0 || min(waitA, waitB) >= min(l.in.Patience, maxWaiting)
	return p, ok
}

// exact finds the best matching by trying, for every set of agents, all
// partners of its first one: at most 2^12 sets of 12.
func (l *ladder) exact() []int {
	n := len(l.idle)
	type best struct {
		price
		partner int // of the lowest member
	}
	sets := make([]best, 1<<n)
	for set := 1; set < len(sets); set++ {
		first := 0
		for set>>first&1 == 0 {
			first++
		}
		rest := set &^ (1 << first)
		sets[set] = best{sets[rest].plus(alone()), first}
		for j := first + 1; j < n; j++ {
			if rest>>j&1 == 0 {
				continue
			}
			p, ok := l.price(first, j)
			if !ok {
				continue
			}
			if p = p.plus(sets[rest&^(1<<j)].price); p.compare(sets[set].price) < 0 {
				sets[set] = best{p, j}
			}
		}
	}
	partner := unmatched(n)
	for set := len(sets) - 1; set != 0; {
		first := 0
		for set>>first&1 == 0 {
			first++
		}
		j := sets[set].partner
		partner[first], partner[j] = j, first
		set &^= 1<<first | 1<<j
	}
	return partner
}

// greedy takes the cheapest duels first, among neighbours in rating.
func (l *ladder) greedy() []int {
	type duel struct {
		price
		i, j int
	}
	var duels []duel
	for i := range l.idle {
		for j := i + 1; j < min(len(l.idle), i+1+neighbours); j++ {
			if p, ok := l.price(i, j); ok {
				duels = append(duels, duel{p, i, j})
			}
		}
	}
	slices.SortFunc(duels, func(a, b duel) int {
		return cmp.Or(a.compare(b.price), cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j))
	})
	partner := unmatched(len(l.idle))
	for _, d := range duels {
		if partner[d.i] == d.i && partner[d.j] == d.j {
			partner[d.i], partner[d.j] = d.j, d.i
		}
	}
	// Who is left has no free neighbour: any free agent will do.
	for i := range partner {
		for j := i + 1; j < len(partner) && partner[i] == i; j++ {
			if partner[j] != j {
				continue
			}
			if _, ok := l.price(i, j); ok {
				partner[i], partner[j] = j, i
			}
		}
	}
	return partner
}

// improve exchanges partners between two duels, or between a duel and an agent
// without one, as long as that makes the two together cheaper.
func (l *ladder) improve(partner []int) []int {
	const sweeps = 8
	for range sweeps {
		better := false
		for i := range partner {
			for k := i + 1; k < min(len(partner), i+1+neighbours); k++ {
				if partner[i] != k && l.exchange(partner, i, k) {
					better = true
				}
			}
		}
		if !better {
			break
		}
	}
	return partner
}

// exchange pairs i with k, and their former partners with each other, when
// that is cheaper.
func (l *ladder) exchange(partner []int, i, k int) bool {
	j, m := partner[i], partner[k]
	now, ok := l.price(i, k)
	if !ok {
		return false
	}
	joined := j != i && m != k
	switch {
	case joined:
		rest, ok := l.price(j, m)
		if !ok {
			return false // two without a duel for two that had one
		}
		now = now.plus(rest)
	case j != i || m != k:
		now = now.plus(alone())
	}
	if now.compare(l.duel(i, j).plus(l.duel(k, m))) >= 0 {
		return false
	}
	partner[j], partner[m] = j, m
	if joined {
		partner[j], partner[m] = m, j
	}
	partner[i], partner[k] = k, i
	return true
}

// duel is the price of a matched agent, or of one alone.
func (l *ladder) duel(i, j int) price {
	if i == j {
		return alone()
	}
	p, _ := l.price(i, j)
	return p
}

func unmatched(n int) []int {
	partner := make([]int, n)
	for i := range partner {
		partner[i] = i
	}
	return partner
}
