package scoring

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring/stats"
)

const (
	// MinOpponentGroups is the number of opponent groups of owners that an agent
	// must have met to be compared.
	MinOpponentGroups = 6
	// tierError is the probability with which any claim of a table is false.
	tierError = 0.05
	// maxConflicts and maxCycles bound the lists of a fit.
	maxConflicts, maxCycles = 20, 20
)

// tiers tests all pairs of agents of different groups that are in one component
// and have each met MinOpponentGroups groups, and fills in tiers, ranks and
// conflicts.
//
// With V = H^-1 S H^-1 and G the smaller number of opponent groups of the two, the
// variance of theta_i - theta_j is c'Vc G/(G-1) with c = e_i - e_j. The quotient of
// the difference and its standard error is compared with Student's t with G-1
// degrees of freedom, one-sided for both orders of the pair. Holm's correction
// over all tested orders bounds the probability of any false claim in one table
// by 5 %. The tests of a pair of groups share the weight of one, so that clones do
// not make it harder to tell others apart.
//
// An agent's tier is 1 + the number of groups with a significantly better agent.
// Its range of ranks is from there to the number of groups minus those whose agents
// are all significantly worse. That two agents cannot be told apart is not
// transitive: a may not differ from b, nor b from c, and a be better than c.
func (f *Refit) tiers(e *estimate, fit *arena.Fit) {
	for i := range fit.Lines {
		fit.Lines[i].RankLow, fit.Lines[i].RankHigh = 1, f.groups
	}
	if f.groups <= MinOpponentGroups {
		fit.Board.NoTiers = arena.NoTiersTooFewOwners
		return
	}
	tested := e.tested(f, fit.Lines)
	switch {
	case !slices.ContainsFunc(tested, func(n int) bool { return n > 0 }):
		fit.Board.NoTiers = arena.NoTiersTooFewMatches
		return
	case f.allDraws():
		fit.Board.NoTiers = arena.NoTiersAllDraws
		return
	}
	better := e.compare(f, fit.Lines, tested)
	f.rank(fit.Lines, better, tested)
	fit.Board.Conflicts = f.conflicts(better)
}

// comparable reports whether a pair is tested, and returns G.
func (e *estimate) comparable(f *Refit, lines []arena.FitLine, i, j int) (g int, ok bool) {
	g = min(e.opponents[i], e.opponents[j])
	return g, g >= MinOpponentGroups && f.agents[i].group != f.agents[j].group && lines[i].Component == lines[j].Component
}

// tested returns, for each agent that is tested against any other, how many of
// its group are, and 0 for others.
func (e *estimate) tested(f *Refit, lines []arena.FitLine) []int {
	tested, clones := make([]int, e.n), make([]int, f.groups)
	for i := range e.n {
		for j := range e.n {
			if _, ok := e.comparable(f, lines, i, j); ok {
				tested[i] = 1
				clones[f.agents[i].group]++
				break
			}
		}
	}
	for i := range tested {
		tested[i] *= clones[f.agents[i].group]
	}
	return tested
}

// compare returns which agents are significantly better than which.
func (e *estimate) compare(f *Refit, lines []arena.FitLine, tested []int) relation {
	v := e.variances()
	type claim struct{ better, worse int32 }
	var claims []claim
	var p, weights []float64
	sum := 0.0
	for i := range e.n {
		for j := range i {
			g, ok := e.comparable(f, lines, i, j)
			if !ok {
				continue
			}
			weight := 1 / float64(tested[i]*tested[j])
			sum += 2 * weight
			variance := (v.row(i)[i] + v.row(j)[j] - 2*v.row(i)[j]) * float64(g) / float64(g-1)
			difference := e.theta[i] - e.theta[j]
			t := math.Abs(difference) / math.Sqrt(variance)
			if !(variance > 0) || t < normal95 { // the tail is above tierError
				continue
			}
			if tail := stats.StudentTail(t, float64(g-1)); tail <= tierError {
				c := claim{int32(i), int32(j)}
				if difference < 0 {
					c = claim{c.worse, c.better}
				}
				claims, p, weights = append(claims, c), append(p, tail), append(weights, weight)
			}
		}
	}
	better := newRelation(e.n)
	for k, rejected := range stats.WeightedHolm(p, weights, sum, tierError) {
		if rejected {
			better.set(int(claims[k].better), int(claims[k].worse))
		}
	}
	return better
}

// normal95 is the quantile 0.95 of the normal distribution; those of Student's
// t are larger.
const normal95 = 1.6448536269514722

// variances returns V of all agents but for a constant of each row and column,
// which no difference of two agents has. It overwrites the spread.
func (e *estimate) variances() matrix {
	for i := range e.n {
		e.spread.row(i)[i] += virtualSpread
	}
	product := newMatrix(e.n)
	product.multiply(e.centered, e.spread)
	e.spread.multiply(product, e.centered)
	return e.spread
}

// allDraws reports whether no counted game has a winner.
func (f *Refit) allDraws() bool {
	all := true
	f.results(func(seats []fitSeat) {
		f.games(seats, func(_, _ int, score, _ float64) { all = all && score == 0.5 })
	})
	return all
}

// rank fills in tiers and ranks, which count groups.
func (f *Refit) rank(lines []arena.FitLine, better relation, tested []int) {
	size := make([]int, f.groups)
	for _, a := range f.agents {
		size[a.group]++
	}
	above, below := make([]int, f.groups), make([]int, f.groups) // agents of each group
	for i := range lines {
		clear(above)
		clear(below)
		line := &lines[i]
		for j := range lines {
			switch group := f.agents[j].group; {
			case better.has(j, i):
				if above[group]++; above[group] == 1 {
					line.RankLow++
				}
			case better.has(i, j):
				if below[group]++; below[group] == size[group] {
					line.RankHigh--
				}
			}
		}
		if tested[i] > 0 {
			line.Tier = line.RankLow
		}
	}
}

// conflicts returns the pairs whose significantly better agent has the lower live
// rating, those with the largest difference first, at most maxConflicts.
func (f *Refit) conflicts(better relation) []arena.FitPair {
	type conflict struct {
		i, j int
		gap  arena.MilliElo
	}
	var found []conflict
	for i, a := range f.agents {
		for j, b := range f.agents {
			if a.rating != 0 && a.rating < b.rating && better.has(i, j) {
				found = append(found, conflict{i, j, b.rating - a.rating})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b conflict) int { return cmp.Compare(b.gap, a.gap) })
	var pairs []arena.FitPair
	for _, c := range found[:min(len(found), maxConflicts)] {
		pairs = append(pairs, arena.FitPair{Better: f.agents[c.i].id, Worse: f.agents[c.j].id})
	}
	return pairs
}

// minMeetings is the number of matches between two agents from which their own
// results alone are tested.
const minMeetings = 10

// cycles returns triples of agents of which the first beats the second, the second
// the third and the third the first in their own matches, each triple once, from
// its smallest id on, at most maxCycles.
//
// One agent beats another if wins outnumber losses significantly by the exact sign
// test: between equals, each match with a winner is a fair coin. Unlike a t-test of
// the scores it holds for ten matches and for wins alone, where scores do not vary.
// Pairs with minMeetings matches are tested, with Holm's correction over both orders
// of all of them at 5 %.
func (f *Refit) cycles() [][3]string {
	n := len(f.agents)
	wins, losses, meetings := make([]int32, n*(n-1)/2), make([]int32, n*(n-1)/2), make([]int32, n*(n-1)/2) // of a against b, a > b
	f.results(func(seats []fitSeat) {
		f.games(seats, func(i, j int, score, _ float64) {
			a, b := int(seats[i].agent), int(seats[j].agent)
			if a < b {
				a, b, score = b, a, 1-score
			}
			pair := pairAt(a, b)
			meetings[pair]++
			switch score {
			case 1:
				wins[pair]++
			case 0:
				losses[pair]++
			}
		})
	})
	type claim struct{ winner, loser int32 }
	var claims []claim
	var p []float64
	tests := 0
	for a := range n {
		for b := range a {
			pair := pairAt(a, b)
			if meetings[pair] < minMeetings {
				continue
			}
			tests += 2
			c := claim{int32(a), int32(b)}
			if wins[pair] < losses[pair] {
				c = claim{c.loser, c.winner}
			}
			decided := int(wins[pair] + losses[pair])
			if tail := signTail(decided, int(max(wins[pair], losses[pair]))); tail <= tierError {
				claims, p = append(claims, c), append(p, tail)
			}
		}
	}
	beats, beaten := newRelation(n), newRelation(n)
	for k, rejected := range stats.Holm(p, tests, tierError) {
		if rejected {
			beats.set(int(claims[k].winner), int(claims[k].loser))
			beaten.set(int(claims[k].loser), int(claims[k].winner))
		}
	}
	return f.triples(beats, beaten)
}

func (f *Refit) triples(beats, beaten relation) (found [][3]string) {
	n := len(f.agents)
	for a := range n {
		for b := a + 1; b < n; b++ {
			if !beats.has(a, b) {
				continue
			}
			for c := range beats.both(b, beaten, a) {
				if c < a {
					continue
				}
				if found = append(found, [3]string{f.agents[a].id, f.agents[b].id, f.agents[c].id}); len(found) == maxCycles {
					return found
				}
			}
		}
	}
	return found
}

// signTail returns the probability that a fair coin shows at least k heads in n
// tosses.
func signTail(n, k int) float64 {
	term := math.Exp(logChoose(n, k) - float64(n)*math.Ln2)
	sum := 0.0
	for ; k <= n && term > 0; k++ {
		sum += term
		term *= float64(n-k) / float64(k+1)
	}
	return min(1, sum)
}

// relation is a set of ordered pairs of agents, one bit for each.
type relation struct {
	words int
	bits  []uint64
}

func newRelation(n int) relation {
	words := (n + 63) / 64
	return relation{words, make([]uint64, n*words)}
}

func (r relation) set(i, j int)      { r.bits[i*r.words+j/64] |= 1 << (j % 64) }
func (r relation) has(i, j int) bool { return r.bits[i*r.words+j/64]>>(j%64)&1 != 0 }

// both visits, in order, each agent that i is related to and, in the other
// relation, j.
func (r relation) both(i int, other relation, j int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for w := range r.words {
			for common := r.bits[i*r.words+w] & other.bits[j*r.words+w]; common != 0; common &= common - 1 {
				if !yield(64*w + bits.TrailingZeros64(common)) {
					return
				}
			}
		}
	}
}
