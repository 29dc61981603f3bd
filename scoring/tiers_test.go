package scoring_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/scoring/stats"
)

// world is a league whose results are simulated. An agent performs in a match
// with its strength, an effect of each opponent that lasts, and chance; the better
// performance has the better place. Without pair effects, duels follow the model.
type world struct {
	strengths []float64 // in Elo
	owners    []string
	pair      float64 // share of the variance that a pair keeps from match to match
	task      float64 // and that an agent keeps from match to match on one task of simulatedTasks
	seats     int
	rounds    int // each agent meets each other about so many times
}

// simulatedTasks is how many tasks a simulated league has. No agent is better on
// the average of them.
const simulatedTasks = 20

// equals returns so many agents of one strength.
func equals(n int) world {
	w := world{strengths: make([]float64, n), owners: make([]string, n), seats: 2, rounds: 8}
	for i := range n {
		w.owners[i] = fmt.Sprintf("ow_%02d", i)
	}
	return w
}

// results plays the league: all pairs as often as each other, or for more seats
// random tables.
func (w world) results(random *rand.Rand) []arena.RatedResult {
	n := len(w.strengths)
	lasting := make([]float64, n*n)
	for i := range n {
		for j := range i {
			v := random.NormFloat64()
			lasting[i*n+j], lasting[j*n+i] = v, -v
		}
	}
	onTask := make([][simulatedTasks]float64, n)
	for i := range onTask {
		sum := 0.0
		for k := range onTask[i] {
			onTask[i][k] = random.NormFloat64()
			sum += onTask[i][k]
		}
		for k := range onTask[i] {
			onTask[i][k] -= sum / simulatedTasks
		}
	}
	var results []arena.RatedResult
	play := func(seats []int) {
		task := random.IntN(simulatedTasks)
		r := arena.RatedResult{Seq: int64(len(results) + 1), At: firstDay}
		shown := make([]float64, len(seats))
		for k, i := range seats {
			r.Seats = append(r.Seats, arena.RatedSeat{AgentID: fmt.Sprintf("%02d", i), OwnerID: w.owners[i]})
			// The difference of two such terms is logistic, as in the model.
			chance := -math.Log(-math.Log(random.Float64())) * 400 / math.Ln10
			effect := 0.0
			for _, j := range seats {
				effect += lasting[i*n+j] / math.Sqrt(float64(len(seats)-1))
			}
			deviation := math.Pi / math.Sqrt(3) / 2 * 400 / math.Ln10 // both effects of a duel vary as much as chance does
			shown[k] = w.strengths[i] + math.Sqrt(w.pair)*effect*deviation +
				math.Sqrt(2*w.task)*onTask[i][task]*deviation + math.Sqrt(1-w.pair-w.task)*chance
		}
		for k := range r.Seats {
			r.Seats[k].Place = 1
			for _, s := range shown {
				if s > shown[k] {
					r.Seats[k].Place++
				}
			}
		}
		results = append(results, r)
	}
	if w.seats > 2 {
		for range w.rounds * n * (n - 1) / w.seats / (w.seats - 1) {
			play(random.Perm(n)[:w.seats])
		}
		return results
	}
	for range w.rounds {
		for i := range n {
			for j := range i {
				if w.owners[i] != w.owners[j] {
					play([]int{i, j})
				}
			}
		}
	}
	return results
}

// claims reports whether a fit claims that any agent is better than another.
func claims(lines []arena.FitLine) bool {
	return slices.ContainsFunc(lines, func(l arena.FitLine) bool { return l.RankLow > 1 })
}

// bootstrapClaims is what many boards do: it fits resampled matches, and tests all
// pairs with the standard deviations of the differences, normal distributions and
// Holm's correction.
func bootstrapClaims(t *testing.T, random *rand.Rand, results []arena.RatedResult) bool {
	t.Helper()
	lines, err := scoring.Fit(results)
	if err != nil {
		t.Fatal(err)
	}
	const samples = 40
	n := len(lines)
	sums, squares := make([]float64, n*n), make([]float64, n*n)
	for range samples {
		var again []arena.FitLine
		for len(again) < n { // another one if an agent is missing
			resampled := make([]arena.RatedResult, len(results))
			for i := range resampled {
				resampled[i] = results[random.IntN(len(results))]
			}
			again = scoring.Strengths(resampled)
		}
		for i := range n {
			for j := range n {
				d := float64(again[i].Rating - again[j].Rating)
				sums[i*n+j] += d
				squares[i*n+j] += d * d
			}
		}
	}
	var p []float64
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			mean := sums[i*n+j] / samples
			deviation := math.Sqrt((squares[i*n+j]/samples - mean*mean) * samples / (samples - 1))
			p = append(p, stats.StudentTail(float64(lines[i].Rating-lines[j].Rating)/deviation, math.Inf(1)))
		}
	}
	return slices.Contains(stats.Holm(p, len(p), 0.05), true)
}

// TestTiers_equals: where all agents are equal and results of a pair, on a
// task or of a match depend on each other, at most 5 % of tables claim a difference. A bootstrap
// of matches claims one in most of them.
func TestTiers_equals(t *testing.T) {
	t.Parallel()
	simulateEquals(t, 150)
}

func simulateEquals(t *testing.T, total int) {
	t.Helper()
	duels, tasks, tables, sparse := equals(12), equals(12), equals(14), equals(24)
	duels.pair, sparse.pair = 0.7, 0.7
	tasks.pair, tasks.task = 0.35, 0.35
	tables.seats, tables.rounds = 4, 6
	sparse.rounds = 2
	for name, w := range map[string]world{"duels": duels, "duels by task": tasks, "tables of four": tables, "few duels": sparse} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(11, uint64(len(name))))
			wrong, naive := 0, 0
			const bootstraps = 20
			for i := range total {
				results := w.results(random)
				lines, err := scoring.Fit(results)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range lines {
					if l.Tier == 0 {
						t.Fatalf("%+v was not compared", l)
					}
				}
				if claims(lines) {
					wrong++
				}
				if i < bootstraps && bootstrapClaims(t, random, results) {
					naive++
				}
			}
			t.Logf("%s: %d of %d leagues of equals claim a difference; a bootstrap of matches does so in %d of %d", name, wrong, total, naive, bootstraps)
			if float64(wrong) > 0.05*float64(total) {
				t.Errorf("too many claims")
			}
			if name == "duels" && naive < bootstraps/2 {
				t.Errorf("the bootstrap is right too often: the simulated results depend on each other too little")
			}
		})
	}
}

// TestTiers_literal: the tiers of leagues with clear differences and with clones
// are those of a literal computation. Threat G9.
func TestTiers_literal(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(16, 16))
	claimed := false
	for i := range 12 {
		w := equals(10)
		w.seats, w.rounds = 2+i%3, 12
		for k := range w.strengths {
			w.strengths[k] = 60 * float64(k)
		}
		w.owners[3], w.owners[7] = w.owners[2], w.owners[2]
		results := w.results(random)
		lines := fit(t, results)
		checkTests(t, results, lines, uncentred(observations(results), lines))
		claimed = claimed || claims(slices.Collect(maps.Values(lines)))
	}
	if !claimed {
		t.Error("no league tells anything apart")
	}
}

// TestTiers_power: how often a gap is found. docs/rules/board.md has the figures
// of a slow run.
func TestTiers_power(t *testing.T) {
	t.Parallel()
	simulatePower(t, 20, []int{12}, []int{20, 40})
}

func simulatePower(t *testing.T, total int, sizes, lengths []int) {
	t.Helper()
	random := rand.New(rand.NewPCG(12, 12))
	for _, agents := range sizes {
		for _, rounds := range lengths {
			last := -1.0
			for _, gap := range []float64{50, 100, 200} {
				w := equals(agents)
				w.rounds = rounds
				w.strengths[0] = gap
				found, leads := 0, 0
				for range total {
					lines, err := scoring.Fit(w.results(random))
					if err != nil {
						t.Fatal(err)
					}
					for _, l := range lines[1:] {
						if l.RankLow > 1 {
							found++
						}
					}
					if lines[0].RankHigh == 1 {
						leads++
					}
				}
				power := float64(found) / float64(total*(agents-1))
				t.Logf("%2d agents, %3d matches each, %3.0f Elo: %5.1f %% of the pairs are told apart, %5.1f %% of the leaders stand alone",
					agents, rounds*(agents-1), gap, 100*power, 100*float64(leads)/float64(total))
				if power < last-0.05 {
					t.Errorf("a larger gap is found less often")
				}
				last = power
			}
			if rounds >= 40 && agents >= 12 && last < 0.99 {
				t.Errorf("a gap of 200 Elo is found in %.2f of the pairs after %d matches", last, rounds*(agents-1))
			}
		}
	}
}

// TestTiers_clones: ten copies of an agent do not move another one by more than
// half a place, neither by strength, nor in its range of ranks. Threat G9.
func TestTiers_clones(t *testing.T) {
	t.Parallel()
	simulateClones(t, 30)
}

// TestSlow_Tiers plays the simulations with as many leagues as docs/rules/board.md
// reports.
func TestSlow_Tiers(t *testing.T) {
	t.Parallel()
	if os.Getenv("ARENA_TEST_SLOW") == "" {
		t.Skip("simulates 18,000 leagues in some minutes; ARENA_TEST_SLOW=1 runs it")
	}
	t.Run("equals", func(t *testing.T) {
		t.Parallel()
		simulateEquals(t, 1000)
	})
	t.Run("power", func(t *testing.T) {
		t.Parallel()
		simulatePower(t, 300, []int{8, 12, 24}, []int{5, 10, 20, 40, 80})
	})
	t.Run("clones", func(t *testing.T) {
		t.Parallel()
		simulateClones(t, 500)
	})
}

func simulateClones(t *testing.T, total int) {
	t.Helper()
	const agents, copies = 14, 10
	random := rand.New(rand.NewPCG(13, 13))
	shift := make([][3]float64, agents)
	for range total {
		w := equals(agents)
		for i := range w.strengths {
			w.strengths[i] = 40 * float64(i)
		}
		copied := random.IntN(agents)
		for range copies - 1 {
			w.strengths, w.owners = append(w.strengths, w.strengths[copied]), append(w.owners, w.owners[copied])
		}
		with := w.results(random)
		var without []arena.RatedResult
		for _, r := range with {
			if r.Seats[0].AgentID < fmt.Sprint(agents) && r.Seats[1].AgentID < fmt.Sprint(agents) {
				without = append(without, r)
			}
		}
		before, after := places(t, w, without), places(t, w, with)
		for i := range agents {
			if i != copied {
				for k := range 3 {
					shift[i][k] += after[i][k] - before[i][k]
				}
			}
		}
	}
	var largest [3]float64
	for i := range shift {
		for k, what := range []string{"place", "tier", "end of the range"} {
			mean := shift[i][k] / float64(total) * agents / (agents - 1)
			largest[k] = max(largest[k], math.Abs(mean))
			if math.Abs(mean) > 0.5 {
				t.Errorf("ten copies move the %s of agent %d by %.2f", what, i, mean)
			}
		}
	}
	t.Logf("ten copies move no agent by more than %.2f places, %.2f tiers, and the end of its range by %.2f", largest[0], largest[1], largest[2])
}

// places returns the place by strength, among groups, and the range of ranks of
// each agent of a world.
func places(t *testing.T, w world, results []arena.RatedResult) map[int][3]float64 {
	t.Helper()
	lines, err := scoring.Fit(results)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int][3]float64{}
	for i, l := range lines {
		above := map[string]bool{}
		for j, o := range lines {
			if o.Rating > l.Rating && w.owners[i] != w.owners[j] {
				above[w.owners[j]] = true
			}
		}
		found[i] = [3]float64{1 + float64(len(above)), float64(l.RankLow), float64(l.RankHigh)}
	}
	return found
}

// fitOf fits results as the table of a league does.
func fitOf(t *testing.T, results []arena.RatedResult) arena.Fit {
	t.Helper()
	f := scoring.NewRefit()
	for _, r := range results {
		f.Add(r)
	}
	fit, err := f.Fit()
	if err != nil {
		t.Fatal(err)
	}
	return fit
}

// A league in which nothing can be told says why, and claims nothing.
func TestRefit_Fit_noTiers(t *testing.T) {
	t.Parallel()
	everyone := func(n, rounds int, draw bool) (results []arena.RatedResult) {
		for range rounds {
			for i := range n {
				for j := range i {
					results = append(results, duel(fmt.Sprintf("%04d", i), fmt.Sprintf("%04d", j), draw))
				}
			}
		}
		return results
	}
	chain := make([]arena.RatedResult, 0, 5000)
	for i := range 4999 {
		chain = append(chain, duel(fmt.Sprintf("%04d", i), fmt.Sprintf("%04d", i+1), false))
	}
	oneOwner := everyone(9, 3, false)
	for i := range oneOwner {
		for k := range oneOwner[i].Seats {
			oneOwner[i].Seats[k].OwnerID = "ow"
		}
	}
	for name, tt := range map[string]struct {
		results []arena.RatedResult
		reason  arena.NoTiers
		groups  int
	}{
		"nothing":      {nil, arena.NoTiersTooFewMatches, 0},
		"two agents":   {everyone(2, 50, false), arena.NoTiersTooFewOwners, 2},
		"six agents":   {everyone(6, 50, false), arena.NoTiersTooFewOwners, 6},
		"one owner":    {oneOwner, arena.NoTiersTooFewOwners, 1},
		"a chain":      {chain[:40], arena.NoTiersTooFewMatches, 41},
		"all draws":    {everyone(9, 5, true), arena.NoTiersAllDraws, 9},
		"5,000 agents": {chain, arena.NoTiersTooManyAgents, 5000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fit := fitOf(t, tt.results)
			if fit.Board.NoTiers != tt.reason || fit.Board.Groups != tt.groups || fit.Board.Conflicts != nil {
				t.Errorf("the reason is %q with %d groups and conflicts %v", fit.Board.NoTiers, fit.Board.Groups, fit.Board.Conflicts)
			}
			if (tt.reason == arena.NoTiersTooManyAgents) != (fit.Lines == nil && tt.groups > 0) {
				t.Errorf("%d lines", len(fit.Lines))
			}
			for _, l := range fit.Lines {
				if l.Tier != 0 || l.RankLow != 1 || l.RankHigh != tt.groups || l.Low >= l.Rating || l.Rating >= l.High {
					t.Errorf("%+v", l)
				}
			}
		})
	}
	// Everyone met everyone once, and the order never failed.
	if fit := fitOf(t, everyone(9, 1, false)); fit.Board.NoTiers != "" || fit.Lines[0].Tier < fit.Lines[8].Tier || fit.Lines[8].Tier != 1 {
		t.Errorf("without repetition: %+v", fit)
	}
}

// The better agent has the lower live rating: the table says so.
func TestRefit_Fit_conflicts(t *testing.T) {
	t.Parallel()
	w := equals(12)
	w.strengths[3], w.rounds = 400, 20
	results := w.results(rand.New(rand.NewPCG(14, 14)))
	for _, r := range results {
		for k := range r.Seats {
			s := &r.Seats[k]
			switch s.After = 1_500_000; s.AgentID {
			case "03":
				s.After = 1_490_000 // it had a bad day
			case "05":
				s.After = 1_600_000
			case "07":
				s.After = 1_400_000
			}
		}
	}
	fit := fitOf(t, results)
	if fit.Lines[3].Tier != 1 || fit.Lines[3].RankHigh != 1 {
		t.Fatalf("the best agent: %+v", fit.Lines[3])
	}
	if len(fit.Board.Conflicts) != 10 || fit.Board.Conflicts[0] != (arena.FitPair{Better: "03", Worse: "05"}) || fit.Board.Conflicts[1] != (arena.FitPair{Better: "03", Worse: "00"}) {
		t.Errorf("conflicts: %+v", fit.Board.Conflicts)
	}
	for _, r := range results { // unknown ratings conflict with nothing
		for k := range r.Seats {
			r.Seats[k].After = 0
		}
	}
	if fit = fitOf(t, results); fit.Board.Conflicts != nil {
		t.Errorf("conflicts of unknown ratings: %+v", fit.Board.Conflicts)
	}
}

// The group of an agent is that of its newest result.
func TestRefit_Fit_groups(t *testing.T) {
	t.Parallel()
	results := []arena.RatedResult{duel("a", "b", false), duel("a", "c", false)}
	results[0].Seq, results[1].Seq = 2, 1
	results[0].Seats[0].OwnerID = "ow_c" // a and c are found to be one group, and their duel does not count
	fit := fitOf(t, results)
	if fit.Board.Groups != 2 || fit.Lines[2].Component != 2 || fit.Lines[0].Rating <= fit.Lines[1].Rating {
		t.Errorf("%+v", fit)
	}
}

func TestRefit_Fit_cycles(t *testing.T) {
	t.Parallel()
	beat := func(winner, loser string, wins, losses, draws int) (results []arena.RatedResult) {
		for i := range wins + losses + draws {
			switch {
			case i < wins:
				results = append(results, duel(winner, loser, false))
			case i < wins+losses:
				results = append(results, duel(loser, winner, false))
			default:
				results = append(results, duel(winner, loser, true))
			}
		}
		return results
	}
	for name, tt := range map[string]struct {
		results [][]arena.RatedResult
		want    [][3]string
	}{
		"ten wins each":     {[][]arena.RatedResult{beat("c", "b", 10, 0, 0), beat("b", "a", 10, 0, 0), beat("a", "c", 10, 0, 0)}, [][3]string{{"a", "c", "b"}}},
		"the other way":     {[][]arena.RatedResult{beat("b", "c", 10, 0, 0), beat("a", "b", 10, 0, 0), beat("c", "a", 10, 0, 0)}, [][3]string{{"a", "b", "c"}}},
		"nine matches":      {[][]arena.RatedResult{beat("c", "b", 9, 0, 0), beat("b", "a", 10, 0, 0), beat("a", "c", 10, 0, 0)}, nil},
		"an order":          {[][]arena.RatedResult{beat("c", "b", 10, 0, 0), beat("b", "a", 10, 0, 0), beat("c", "a", 10, 0, 0)}, nil},
		"draws":             {[][]arena.RatedResult{beat("c", "b", 0, 0, 20), beat("b", "a", 0, 0, 20), beat("a", "c", 0, 0, 20)}, nil},
		"mostly draws":      {[][]arena.RatedResult{beat("c", "b", 12, 0, 90), beat("b", "a", 14, 1, 20), beat("a", "c", 12, 0, 30)}, [][3]string{{"a", "c", "b"}}},
		"chance":            {[][]arena.RatedResult{beat("c", "b", 12, 8, 0), beat("b", "a", 12, 8, 0), beat("a", "c", 12, 8, 0)}, nil},
		"two with one pair": {[][]arena.RatedResult{beat("a", "b", 12, 0, 0), beat("b", "c", 12, 0, 0), beat("c", "a", 12, 0, 0), beat("b", "d", 12, 0, 0), beat("d", "a", 12, 0, 0)}, [][3]string{{"a", "b", "c"}, {"a", "b", "d"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := gocmp.Diff(tt.want, fitOf(t, slices.Concat(tt.results...)).Board.Cycles); d != "" {
				t.Error(d)
			}
		})
	}
	var all []arena.RatedResult // of 21 agents, each beats the ten after it
	for i := range 21 {
		for step := range 10 {
			all = append(all, beat(fmt.Sprintf("%02d", i), fmt.Sprintf("%02d", (i+step+1)%21), 20, 0, 0)...)
		}
	}
	if cycles := fitOf(t, all).Board.Cycles; len(cycles) != 20 {
		t.Errorf("%d cycles, want the limit", len(cycles))
	}
}

func TestSignTail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, k int
		want float64
	}{
		{10, 10, 1.0 / 1024}, {10, 9, 11.0 / 1024}, {20, 18, 211.0 / (1 << 20)}, {1, 1, 0.5}, {0, 0, 1}, {4, 2, 11.0 / 16}, {10_000, 9_000, 0},
	} {
		if got := scoring.SignTail(tt.n, tt.k); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%d of %d: %v, want %v", tt.k, tt.n, got, tt.want)
		}
	}
}

// TestClip: the positive part of a matrix is positive, and what is left of it is
// negative and orthogonal to it.
func TestClip(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(15, 15))
	for _, n := range []int{1, 2, 3, 4, 7, 20, 61} {
		for range 5 {
			m := square(n)
			for i := range n {
				for j := range i + 1 {
					if random.IntN(3) > 0 { // some rows are sparse
						m[i][j] = random.NormFloat64()
						m[j][i] = m[i][j]
					}
				}
			}
			clipped := scoring.Clip(m)
			left := square(n)
			for i := range n {
				for j := range n {
					left[i][j] = m[i][j] - clipped[i][j]
				}
			}
			for i, row := range product(clipped, left) {
				for j, v := range row {
					if math.Abs(v) > 1e-9 || math.Abs(clipped[i][j]-clipped[j][i]) > 1e-9 {
						t.Fatalf("%d rows: the parts are not orthogonal: %g", n, v)
					}
				}
			}
			want := positive(m)
			for i := range n {
				for j := range n {
					if math.Abs(clipped[i][j]-want[i][j]) > 1e-8 {
						t.Fatalf("%d rows: %g at %d, %d, Jacobi says %g", n, clipped[i][j], i, j, want[i][j])
					}
				}
			}
		}
	}
}
