package scoring

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// MaxFitAgents is the largest number of agents that Fit accepts: time grows with
// the cube of the number and memory with the square, 3 * 8 bytes for each pair.
const MaxFitAgents = 2000

// Fit returns the strengths of all agents of results at once, with their
// uncertainty, by agent id (docs/rules.md, section 7). More than MaxFitAgents
// agents are an error.
//
// It is the Bradley-Terry model: i beats j with probability
// 1/(1+10^((R_j-R_i)/400)). A match of N is a game of weight 1/(N-1) for each
// pair, by places, where a draw is half a win for both. Agents of one owner do
// not play each other. Each agent has one virtual draw against a fixed 1500, so
// that an agent without losses has a finite strength. Newton's method finds the
// maximum of the likelihood; the mean of all strengths is then set to 1500.
//
//   - Low and High are a 95 % interval of the distance from that mean. It is
//     clustered by match: V = C H^-1 (sum over matches of g g') H^-1 C with the
//     gradients g of whole matches, so that the games of one match do not count
//     as independent. C subtracts the mean. The virtual draw adds 1/4, as if its
//     result were random: otherwise an agent with few, equal results would seem
//     certain.
//   - RankLow is 1 + the number of agents whose Low is above the agent's High.
//     RankHigh is the number of agents, including itself, whose High reaches the
//     agent's Low.
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
	agents []string
	owners map[string]int32 // from 1
	seats  []fitSeat        // of all results, one after the other
	ends   []int            // where the seats of each result end
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
			f.agents = append(f.agents, s.AgentID)
		}
		f.seats = append(f.seats, fitSeat{agent, f.owner(s.OwnerID), int32(s.Place)}) //nolint:gosec // G115: a place is a number of seats
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
// against j and the weight.
func games(seats []fitSeat, visit func(i, j int, score, weight float64)) {
	weight := 1 / float64(len(seats)-1)
	for i, a := range seats {
		for j := i + 1; j < len(seats); j++ {
			b := seats[j]
			switch {
			case a.owner != 0 && a.owner == b.owner:
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
	n := len(f.agents)
	if n > MaxFitAgents {
		return nil, fmt.Errorf("refit: %d agents, the limit is %d", n, MaxFitAgents)
	}
	if n == 0 {
		return nil, nil
	}
	f.sort()
	m := newModel(f)
	if err := m.maximize(); err != nil {
		return nil, err
	}
	m.center()
	variances := m.variances(m.spread(f))
	components := f.components()
	lines := make([]arena.FitLine, n)
	for i := range lines {
		margin := quantile975 * math.Sqrt(variances[i])
		lines[i] = arena.FitLine{
			AgentID:   f.agents[i],
			Rating:    arena.StartRating + milliElo(eloPerNat*m.theta[i]),
			Low:       arena.StartRating + milliElo(eloPerNat*(m.theta[i]-margin)),
			High:      arena.StartRating + milliElo(eloPerNat*(m.theta[i]+margin)),
			Component: components[i],
		}
	}
	rankRanges(lines)
	return lines, nil
}

// sort numbers the agents in the order of their ids, so that the fit does not
// depend on the order of the results.
func (f *Refit) sort() {
	order := make([]int32, len(f.agents))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(f.agents[a], f.agents[b]) })
	agents, now := make([]string, len(order)), make([]int32, len(order))
	for i, was := range order {
		agents[i] = f.agents[was]
		now[was] = int32(i)
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
		games(seats, func(i, j int, _, _ float64) {
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

// rankRanges fills in the ranks that the intervals allow.
func rankRanges(lines []arena.FitLine) {
	lows, highs := make([]arena.MilliElo, len(lines)), make([]arena.MilliElo, len(lines))
	for i, l := range lines {
		lows[i], highs[i] = l.Low, l.High
	}
	slices.Sort(lows)
	slices.Sort(highs)
	for i := range lines {
		above, _ := slices.BinarySearch(lows, lines[i].High+1)
		below, _ := slices.BinarySearch(highs, lines[i].Low)
		lines[i].RankLow = 1 + len(lows) - above
		lines[i].RankHigh = len(highs) - below
	}
}

// milliElo rounds Elo to thousandths.
func milliElo(elo float64) arena.MilliElo { return arena.MilliElo(math.Round(1000 * elo)) }
