package scoring

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring/stats"
)

// MaxFitAgents is the largest number of agents that Fit accepts: time grows with
// the cube of the number and memory with the square, some 100 bytes for each pair.
const MaxFitAgents = 2000

// Fit returns the strengths of all agents of results at once, with their
// uncertainty and their tiers, by agent id (docs/rules.md, section 7, and
// docs/rules/board.md). More than MaxFitAgents agents are an error.
//
// It is the Bradley-Terry model: i beats j with probability
// 1/(1+10^((R_j-R_i)/400)). An observation is a match and a pair of its seats,
// by places, where a draw is half a win for both. Agents of one group of owners
// do not play each other. In a match of N, an observation of a (group g) and b
// (group h) has the weight 1/(N-1) times 1/(k_bg k_ah), where k_bg is the number of
// agents of g that b met, so that clones of one agent count once. Each agent has
// one virtual draw against a fixed 1500, so that an agent without losses has a
// finite strength. Newton's method finds the maximum of the likelihood; the mean
// of all strengths is then set to 1500.
//
//   - Tier, RankLow and RankHigh come from tests of all pairs: see Refit.tiers.
//   - Low and High are a 95 % interval of the distance from that mean, from the
//     wider of two estimates: clustered by match, V = C H^-1 S H^-1 C with S = sum
//     over matches of g g' and the gradients g of whole matches, so that the games of
//     one match do not count as independent; and, from MinOpponentGroups opponent
//     groups on, clustered by match and pair as the tests are. C subtracts the mean.
//     The virtual draw adds 1/4 to S, as if its result were random: otherwise an
//     agent with few, equal results would seem certain.
//   - Component numbers the connected components of the graph of matches. 1 is
//     the largest; components of the same size are in order of their first id.
//     Only the virtual draws compare agents of different components, which the
//     intervals show.
func Fit(results []arena.RatedResult) ([]arena.FitLine, error) {
	f := NewRefit()
	for _, r := range results {
		f.Add(r)
	}
	return f.Lines()
}

// Refit is a Fit whose results are added one by one. It keeps 16 bytes per seat.
type Refit struct {
	index  map[string]int32 // of agents
	agents []agentState
	owners map[string]int32 // from 1
	seats  []fitSeat        // of all results, one after the other
	ends   []int            // where the seats of each result end

	groups int // of owners, set by sort
}

// agentState is an agent as its newest result shows it.
type agentState struct {
	id     string
	seq    int64 // of that result
	owner  int32 // 0: none
	rating arena.MilliElo
	group  int32 // from 0, set by sort; an agent without an owner is a group of its own
}

type fitSeat struct {
	agent, owner int32 // owner 0: none
	place        int32
}

// NewRefit returns an empty refit.
func NewRefit() *Refit { return &Refit{index: map[string]int32{}, owners: map[string]int32{}} }

// Add adds a result.
func (f *Refit) Add(r arena.RatedResult) {
	for _, s := range r.Seats {
		agent, known := f.index[s.AgentID]
		if !known {
			agent = int32(len(f.agents)) //nolint:gosec // G115: fewer agents than 2^31
			f.index[s.AgentID] = agent
			f.agents = append(f.agents, agentState{id: s.AgentID, seq: r.Seq})
		}
		owner := f.owner(s.OwnerID)
		if a := &f.agents[agent]; r.Seq >= a.seq {
			a.seq, a.owner, a.rating = r.Seq, owner, s.After
		}
		f.seats = append(f.seats, fitSeat{agent, owner, int32(s.Place)}) //nolint:gosec // G115: a place is a number of seats
	}
	f.ends = append(f.ends, len(f.seats))
}

func (f *Refit) owner(id string) int32 {
	if id == "" {
		return 0
	}
	owner, known := f.owners[id]
	if !known {
		owner = int32(len(f.owners) + 1) //nolint:gosec // G115: fewer owners than 2^31
		f.owners[id] = owner
	}
	return owner
}

// games visits the pairs i < j of a result's seats that count, with S of i
// against j and the weight before clones are discounted. Those of one owner in
// this match, or of one group now, do not count.
func (f *Refit) games(seats []fitSeat, visit func(i, j int, score, weight float64)) {
	weight := 1 / float64(len(seats)-1)
	for i, a := range seats {
		for j := i + 1; j < len(seats); j++ {
			b := seats[j]
			switch {
			case a.owner != 0 && a.owner == b.owner || f.agents[a.agent].group == f.agents[b.agent].group:
			case a.place < b.place:
				visit(i, j, 1, weight)
			case a.place > b.place:
				visit(i, j, 0, weight)
			default:
				visit(i, j, 0.5, weight)
			}
		}
	}
}

// results visits the seats of each result.
func (f *Refit) results(visit func([]fitSeat)) {
	begin := 0
	for _, end := range f.ends {
		visit(f.seats[begin:end])
		begin = end
	}
}

const (
	// eloPerNat converts the natural scale of the model, on which i beats j with
	// probability 1/(1+e^(theta_j-theta_i)), to Elo.
	eloPerNat = 400 / math.Ln10
	// quantile975 of the normal distribution: the half width of a 95 %
	// interval in standard deviations.
	quantile975 = 1.959963984540054
)

// Lines returns the fit of the added results.
func (f *Refit) Lines() ([]arena.FitLine, error) {
	fit, err := f.Fit()
	if err == nil && fit.Board.NoTiers == arena.NoTiersTooManyAgents {
		err = errTooManyAgents(len(f.agents))
	}
	return fit.Lines, err
}

// Fit returns the fit of the added results with what a league's table says of it
// as a whole. More than MaxFitAgents agents have no lines. League, Settlement and
// At are the caller's.
func (f *Refit) Fit() (arena.Fit, error) {
	f.sort()
	fit := arena.Fit{Board: arena.FitBoard{Groups: f.groups}}
	switch n := len(f.agents); {
	case n == 0:
		fit.Board.NoTiers = arena.NoTiersTooFewMatches
		return fit, nil
	case n > MaxFitAgents:
		fit.Board.NoTiers = arena.NoTiersTooManyAgents
		return fit, nil
	}
	e, err := f.estimate()
	if err != nil {
		return arena.Fit{}, err
	}
	e.cluster(f)
	fit.Lines = e.lines(f)
	f.tiers(e, &fit)
	fit.Board.Cycles = f.cycles()
	return fit, nil
}

// strengths returns the lines without tiers and ranks, and with intervals that
// are clustered by match alone.
func (f *Refit) strengths() ([]arena.FitLine, error) {
	switch n := len(f.agents); {
	case n == 0:
		return nil, nil
	case n > MaxFitAgents:
		return nil, errTooManyAgents(n)
	}
	f.sort()
	e, err := f.estimate()
	if err != nil {
		return nil, err
	}
	return e.lines(f), nil
}

func errTooManyAgents(n int) error {
	return fmt.Errorf("refit: %d agents, the limit is %d", n, MaxFitAgents)
}

// estimate is a fit before its pairs are tested.
type estimate struct {
	*model
	centered matrix    // rows of C H^-1
	spread   matrix    // lower half of S
	margins  []float64 // half the widths of the intervals
}

// estimate finds the strengths, and their intervals clustered by match.
func (f *Refit) estimate() (*estimate, error) {
	m := newModel(f)
	if err := m.maximize(); err != nil {
		return nil, err
	}
	m.center()
	e := &estimate{model: m, spread: m.byMatch(f), centered: m.centeredInverse()}
	e.margins = variances(e.spread, e.centered)
	for i, v := range e.margins {
		e.margins[i] = quantile975 * math.Sqrt(v)
	}
	return e, nil
}

// cluster clusters the spread by pair too, and widens the intervals.
func (e *estimate) cluster(f *Refit) {
	e.addPairs(f, e.spread)
	e.spread.clip()
	for i, v := range variances(e.spread, e.centered)[:e.n] {
		if g := e.opponents[i]; g >= MinOpponentGroups {
			df := float64(g - 1)
			e.margins[i] = max(e.margins[i], stats.StudentQuantile(0.975, df)*math.Sqrt(v*float64(g)/df))
		}
	}
}

func (e *estimate) lines(f *Refit) []arena.FitLine {
	components := f.components()
	lines := make([]arena.FitLine, e.n)
	for i, theta := range e.theta {
		lines[i] = arena.FitLine{
			AgentID:   f.agents[i].id,
			Rating:    arena.StartRating + milliElo(eloPerNat*theta),
			Low:       arena.StartRating + milliElo(eloPerNat*(theta-e.margins[i])),
			High:      arena.StartRating + milliElo(eloPerNat*(theta+e.margins[i])),
			Component: components[i],
		}
	}
	return lines
}

// sort numbers the agents in the order of their ids, so that the fit does not
// depend on the order of the results, and the groups in the order of their agents.
func (f *Refit) sort() {
	order := make([]int32, len(f.agents))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(f.agents[a].id, f.agents[b].id) })
	agents, now := make([]agentState, len(order)), make([]int32, len(order))
	groups := map[int32]int32{} // by owner
	f.groups = 0
	for i, was := range order {
		a := f.agents[was]
		group, known := groups[a.owner]
		if !known || a.owner == 0 {
			group = int32(f.groups) //nolint:gosec // G115: no more than agents
			groups[a.owner] = group
			f.groups++
		}
		a.group = group
		agents[i], now[was] = a, int32(i)
		f.index[a.id] = int32(i)
	}
	f.agents = agents
	for i := range f.seats {
		f.seats[i].agent = now[f.seats[i].agent]
	}
}

// components numbers the connected groups of agents from 1, by size.
func (f *Refit) components() []int {
	parent := make([]int32, len(f.agents)) // the smallest agent of a group is its root
	for i := range parent {
		parent[i] = int32(i)
	}
	root := func(i int32) int32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	f.results(func(seats []fitSeat) {
		f.games(seats, func(i, j int, _, _ float64) {
			a, b := root(seats[i].agent), root(seats[j].agent)
			parent[max(a, b)] = min(a, b)
		})
	})
	size, roots := make([]int, len(parent)), []int32{}
	for i := range parent {
		r := root(int32(i))
		if size[r]++; int(r) == i {
			roots = append(roots, r)
		}
	}
	slices.SortStableFunc(roots, func(a, b int32) int { return cmp.Compare(size[b], size[a]) })
	number := make([]int, len(parent))
	for no, r := range roots {
		number[r] = no + 1
	}
	for i := range number {
		number[i] = number[root(int32(i))]
	}
	return number
}

// milliElo rounds Elo to thousandths.
func milliElo(elo float64) arena.MilliElo { return arena.MilliElo(math.Round(1000 * elo)) }
