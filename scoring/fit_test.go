package scoring_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/scoring/stats"
)

// failer is a test, of testing or of rapid.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func fit(t failer, results []arena.RatedResult) map[string]arena.FitLine {
	t.Helper()
	lines, err := scoring.Fit(results)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(lines, func(a, b arena.FitLine) int { return strings.Compare(a.AgentID, b.AgentID) }) {
		t.Fatal("lines are not in the order of their ids")
	}
	byID := map[string]arena.FitLine{}
	for _, l := range lines {
		byID[l.AgentID] = l
	}
	return byID
}

// drawResults draws matches of up to five of eight agents; two have one owner,
// two have none.
func drawResults(t *rapid.T) []arena.RatedResult {
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	owners := map[string]string{"g": "ow_twins", "h": "ow_twins", "e": "", "f": ""}
	var results []arena.RatedResult
	for i := range rapid.IntRange(1, 40).Draw(t, "results") {
		r := arena.RatedResult{Seq: int64(i + 1), At: firstDay.AddDate(0, 0, i/5)}
		for _, id := range rapid.Permutation(ids).Draw(t, "agents")[:rapid.IntRange(2, 5).Draw(t, "seats")] {
			owner, shared := owners[id]
			if !shared {
				owner = "ow_" + id
			}
			r.Seats = append(r.Seats, arena.RatedSeat{AgentID: id, OwnerID: owner, Place: rapid.IntRange(1, 3).Draw(t, "place")})
		}
		results = append(results, r)
	}
	return results
}

// observation is a match and a pair of its seats, as the rules define it.
type observation struct {
	match  int
	a, b   string
	g, h   string  // their groups
	score  float64 // a's
	weight float64
}

// pair is the unordered pair of groups.
func (o observation) pair() [2]string { return [2]string{min(o.g, o.h), max(o.g, o.h)} }

func groupOf(s arena.RatedSeat) string { return cmp.Or(s.OwnerID, "alone "+s.AgentID) }

// observations lists them literally: an agent without an owner is a group of its
// own, and clones that b met count as one.
func observations(results []arena.RatedResult) (all []observation) {
	met := map[string]map[string]bool{} // agent and group -> agents
	for match, r := range results {
		for i, a := range r.Seats {
			for _, b := range r.Seats[i+1:] {
				g, h := groupOf(a), groupOf(b)
				if g == h {
					continue
				}
				score := 0.5
				if a.Place != b.Place {
					score = float64(min(1, max(0, b.Place-a.Place)))
				}
				for key, id := range map[string]string{b.AgentID + " " + g: a.AgentID, a.AgentID + " " + h: b.AgentID} {
					if met[key] == nil {
						met[key] = map[string]bool{}
					}
					met[key][id] = true
				}
				all = append(all, observation{match, a.AgentID, b.AgentID, g, h, score, 1 / float64(len(r.Seats)-1)})
			}
		}
	}
	for i := range all {
		o := &all[i]
		o.weight /= float64(len(met[o.b+" "+o.g]) * len(met[o.a+" "+o.h]))
	}
	return all
}

// likelihood is the likelihood of docs/rules.md, section 7, with ratings in Elo.
func likelihood(all []observation, ratings map[string]float64) float64 {
	chance := func(gap float64) float64 { return 1 / (1 + math.Pow(10, -gap/400)) }
	sum := 0.0
	for _, o := range all {
		p := chance(ratings[o.a] - ratings[o.b])
		sum += o.weight * (o.score*math.Log(p) + (1-o.score)*math.Log(1-p))
	}
	for _, r := range ratings {
		sum += 0.5*math.Log(chance(r-1500)) + 0.5*math.Log(chance(1500-r))
	}
	return sum
}

// TestFit_maximum compares with a search of the whole grid for three agents.
func TestFit_maximum(t *testing.T) {
	t.Parallel()
	results := []arena.RatedResult{
		duel("a", "b", false), duel("a", "b", false), duel("b", "a", false), duel("b", "c", true), duel("b", "c", false),
		{At: firstDay, Seats: []arena.RatedSeat{{AgentID: "c", Place: 1}, {AgentID: "a", Place: 2}, {AgentID: "b", Place: 2}}},
	}
	all := observations(results)
	best, at := math.Inf(-1), map[string]float64{}
	for width, steps := 800.0, 0; steps < 8; width, steps = width/4, steps+1 {
		from := map[string]float64{"a": 1500, "b": 1500, "c": 1500}
		if steps > 0 {
			from = map[string]float64{"a": at["a"], "b": at["b"], "c": at["c"]}
		}
		for i := -8; i <= 8; i++ {
			for j := -8; j <= 8; j++ {
				for k := -8; k <= 8; k++ {
					try := map[string]float64{
						"a": from["a"] + width*float64(i)/8, "b": from["b"] + width*float64(j)/8, "c": from["c"] + width*float64(k)/8,
					}
					if l := likelihood(all, try); l > best {
						best, at = l, try
					}
				}
			}
		}
	}
	mean := (at["a"] + at["b"] + at["c"]) / 3
	for id, line := range fit(t, results) {
		if want := at[id] - mean + 1500; math.Abs(float64(line.Rating)/1000-want) > 0.05 {
			t.Errorf("%s has %d, the grid says %.2f", id, line.Rating, want)
		}
	}
}

// TestFit_properties: whatever the results, nothing nearby is more likely,
// ratings centre on 1500, and lines fit each other.
func TestFit_properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		results := drawResults(t)
		lines := fit(t, results)
		sum := 0.0
		for _, l := range lines {
			sum += float64(l.Rating) / 1000
		}
		if mean := sum / float64(len(lines)); math.Abs(mean-1500) > 0.001 {
			t.Fatalf("mean is %f", mean)
		}
		all := observations(results)
		ratings := uncentred(all, lines)
		checkMaximum(t, all, ratings)
		checkTests(t, results, lines, ratings)

		// Neither the order of results and seats nor their number by day matter.
		shuffled := rapid.Permutation(results).Draw(t, "order")
		for i, r := range shuffled {
			r.Seats = rapid.Permutation(r.Seats).Draw(t, "seats")
			shuffled[i] = r
		}
		for id, l := range fit(t, shuffled) {
			if d := gocmp.Diff(lines[id], l); d != "" {
				t.Fatalf("another order: %s", d)
			}
		}
	})
}

// checkMaximum: nothing nearby is more likely.
func checkMaximum(t *rapid.T, all []observation, ratings map[string]float64) {
	t.Helper()
	best := likelihood(all, ratings)
	for id := range ratings {
		for _, step := range []float64{-1, 1} {
			ratings[id] += step
			if l := likelihood(all, ratings); l > best {
				t.Fatalf("%s %+.0f is more likely by %g", id, step, l-best)
			}
			ratings[id] -= step
		}
	}
}

// uncentred returns the ratings as they were before their mean became 1500: the
// most likely shift of them all.
func uncentred(all []observation, lines map[string]arena.FitLine) map[string]float64 {
	at := func(shift float64) map[string]float64 {
		ratings := map[string]float64{}
		for id, l := range lines {
			ratings[id] = float64(l.Rating)/1000 + shift
		}
		return ratings
	}
	low, high := -2000.0, 2000.0
	for high-low > 1e-4 {
		third := (high - low) / 3
		if likelihood(all, at(low+third)) < likelihood(all, at(high-third)) {
			low += third
		} else {
			high -= third
		}
	}
	return at(low)
}

// checkTests computes intervals and tiers literally: inverses by Gauss-Jordan
// elimination, eigenvalues by Jacobi rotations, clusters by their keys.
func checkTests(t failer, results []arena.RatedResult, lines map[string]arena.FitLine, ratings map[string]float64) {
	t.Helper()
	ids := slices.Sorted(maps.Keys(lines))
	n := len(ids)
	number, group := map[string]int{}, map[string]string{}
	h := square(n)
	for i, id := range ids {
		number[id] = i
		p := 1 / (1 + math.Pow(10, (1500-ratings[id])/400))
		h[i][i] = p * (1 - p)
	}
	for _, r := range results {
		for _, s := range r.Seats {
			group[s.AgentID] = groupOf(s)
		}
	}
	all := observations(results)
	clusters := [3]map[any][]float64{{}, {}, {}} // match, pair, both
	opponents := map[string]map[string]bool{}
	for _, o := range all {
		i, j := number[o.a], number[o.b]
		p := 1 / (1 + math.Pow(10, (ratings[o.b]-ratings[o.a])/400))
		v := o.weight * p * (1 - p)
		h[i][i], h[j][j], h[i][j], h[j][i] = h[i][i]+v, h[j][j]+v, h[i][j]-v, h[j][i]-v
		for k, key := range []any{o.match, o.pair(), struct {
			match int
			pair  [2]string
		}{o.match, o.pair()}} {
			if clusters[k][key] == nil {
				clusters[k][key] = make([]float64, n)
			}
			clusters[k][key][i] += o.weight * (o.score - p)
			clusters[k][key][j] -= o.weight * (o.score - p)
		}
	}
	byMatch, both := square(n), square(n)
	for k, sign := range []float64{1, 1, -1} {
		for _, g := range clusters[k] {
			for i := range g {
				for j := range g {
					both[i][j] += sign * g[i] * g[j]
					if k == 0 {
						byMatch[i][j] += g[i] * g[j]
					}
				}
			}
		}
	}
	both = positive(both)
	for i := range n {
		byMatch[i][i] += 0.25
		both[i][i] += 0.25
	}
	inverse, center := inverted(h), square(n)
	for i := range center {
		for j := range center {
			center[i][j] = -1 / float64(n)
		}
		center[i][i]++
	}
	left := product(center, inverse)
	right := product(inverse, center)
	vMatch, vBoth := product(product(left, byMatch), right), product(product(left, both), right)
	for _, o := range all {
		for _, x := range [][2]string{{o.a, o.h}, {o.b, o.g}} {
			if opponents[x[0]] == nil {
				opponents[x[0]] = map[string]bool{}
			}
			opponents[x[0]][x[1]] = true
		}
	}
	for i, id := range ids {
		g := float64(len(opponents[id]))
		half := 1.959963984540054 * math.Sqrt(vMatch[i][i])
		if g >= 6 {
			half = max(half, stats.StudentQuantile(0.975, g-1)*math.Sqrt(vBoth[i][i]*g/(g-1)))
		}
		width := 2 * 400 / math.Ln10 * half
		if got := float64(lines[id].High-lines[id].Low) / 1000; math.Abs(got-width) > 0.01+width/1e4 {
			t.Fatalf("the interval of %s is %.3f wide, want %.3f", id, got, width)
		}
	}
	checkTiers(t, ids, group, opponents, lines, ratings, vBoth)
}

func checkTiers(t failer, ids []string, group map[string]string, opponents map[string]map[string]bool,
	lines map[string]arena.FitLine, ratings map[string]float64, v [][]float64,
) {
	t.Helper()
	type test struct {
		better, worse string
		p             float64
	}
	var tests []test
	tested, members, clones := map[string]bool{}, map[string]int{}, map[string]int{} // clones: those that are tested
	for i, a := range ids {
		members[group[a]]++
		for j, b := range ids {
			g := float64(min(len(opponents[a]), len(opponents[b])))
			if group[a] == group[b] || g < 6 || lines[a].Component != lines[b].Component {
				continue
			}
			if !tested[a] {
				tested[a] = true
				clones[group[a]]++
			}
			se := math.Sqrt((v[i][i] + v[j][j] - 2*v[i][j]) * g / (g - 1))
			tests = append(tests, test{a, b, stats.StudentTail((ratings[a]-ratings[b])*math.Ln10/400/se, g-1)})
		}
	}
	weight := func(x test) float64 { return 1 / float64(clones[group[x.better]]*clones[group[x.worse]]) }
	slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(a.p/weight(a), b.p/weight(b)) })
	better := map[[2]string]bool{}
	for k, x := range tests {
		rest := 0.0
		for _, y := range tests[k:] {
			rest += weight(y)
		}
		if limit := 0.05 * weight(x) / rest; math.Abs(x.p/limit-1) < 0.001 {
			return // rounding decides
		} else if x.p > limit {
			break
		}
		better[[2]string{x.better, x.worse}] = true
	}
	for _, id := range ids {
		above, below := map[string]bool{}, map[string]int{}
		for _, o := range ids {
			if better[[2]string{o, id}] {
				above[group[o]] = true
			}
			if better[[2]string{id, o}] {
				below[group[o]]++
			}
		}
		low, high, tier := 1+len(above), len(members), 0
		for g, count := range below {
			if count == members[g] {
				high--
			}
		}
		if tested[id] {
			tier = low
		}
		if l := lines[id]; l.RankLow != low || l.RankHigh != high || l.Tier != tier && !allDraws(lines) {
			t.Fatalf("%s has tier %d, ranks %d to %d; want %d, %d to %d", id, l.Tier, l.RankLow, l.RankHigh, tier, low, high)
		}
		if l := lines[id]; l.Low > l.Rating || l.Rating > l.High {
			t.Fatalf("interval of %s: %d in %d to %d", id, l.Rating, l.Low, l.High)
		}
	}
}

// allDraws reports whether a fit looks like that of a league without a winner.
func allDraws(lines map[string]arena.FitLine) bool {
	for _, l := range lines {
		if l.Rating != arena.StartRating {
			return false
		}
	}
	return true
}

// positive returns a symmetric matrix without its negative eigenvalues.
func positive(m [][]float64) [][]float64 {
	n := len(m)
	vectors := square(n)
	for i := range n {
		vectors[i][i] = 1
	}
	for range 60 {
		for p := range n {
			for q := p + 1; q < n; q++ {
				if math.Abs(m[p][q]) < 1e-16 {
					continue
				}
				angle := math.Atan2(2*m[p][q], m[q][q]-m[p][p]) / 2
				sin, cos := math.Sincos(angle)
				for k := range n {
					m[k][p], m[k][q] = cos*m[k][p]-sin*m[k][q], sin*m[k][p]+cos*m[k][q]
					vectors[k][p], vectors[k][q] = cos*vectors[k][p]-sin*vectors[k][q], sin*vectors[k][p]+cos*vectors[k][q]
				}
				for k := range n {
					m[p][k], m[q][k] = cos*m[p][k]-sin*m[q][k], sin*m[p][k]+cos*m[q][k]
				}
			}
		}
	}
	clipped := square(n)
	for i := range n {
		for j := range n {
			for k := range n {
				clipped[i][j] += vectors[i][k] * max(0, m[k][k]) * vectors[j][k]
			}
		}
	}
	return clipped
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

func product(a, b [][]float64) [][]float64 {
	m := square(len(a))
	for i := range m {
		for j := range m {
			for k := range m {
				m[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return m
}

func inverted(m [][]float64) [][]float64 {
	inverse := square(len(m))
	for i := range m {
		inverse[i][i] = 1
	}
	for i := range m {
		pivot := m[i][i]
		for j := range m {
			m[i][j], inverse[i][j] = m[i][j]/pivot, inverse[i][j]/pivot
		}
		for k := range m {
			if by := m[k][i]; k != i {
				for j := range m {
					m[k][j] -= by * m[i][j]
					inverse[k][j] -= by * inverse[i][j]
				}
			}
		}
	}
	return inverse
}

func TestFit_equals(t *testing.T) {
	t.Parallel()
	if lines, err := scoring.Fit(nil); len(lines) != 0 || err != nil {
		t.Errorf("of nothing: %v, %v", lines, err)
	}
	for name, results := range map[string][]arena.RatedResult{
		"a circle": {duel("a", "b", false), duel("b", "c", false), duel("c", "a", false)},
		"draws":    {duel("a", "b", true), duel("b", "c", true), duel("c", "a", true)},
		"all tie":  {{At: firstDay, Seats: []arena.RatedSeat{{AgentID: "a", Place: 1}, {AgentID: "b", Place: 1}, {AgentID: "c", Place: 1}}}},
	} {
		for id, l := range fit(t, results) {
			if l.Rating != 1_500_000 || l.RankLow != 1 || l.RankHigh != 3 || l.Low+l.High != 3_000_000 || l.High < 1_550_000 {
				t.Errorf("%s: %s has %+v", name, id, l)
			}
		}
	}
	// The rating of an agent that always wins stays finite, with a wide interval.
	var won []arena.RatedResult
	for range 10 {
		won = append(won, duel("a", "b", false))
	}
	lines := fit(t, won)
	if a := lines["a"]; a.Rating < 1_600_000 || a.Rating > 2_000_000 || a.High-a.Low < 300_000 {
		t.Errorf("always won: %+v", a)
	}
	// Twins of one owner do not meet.
	twins := []arena.RatedResult{duel("a", "b", false), {At: firstDay, Seats: []arena.RatedSeat{
		{AgentID: "b", OwnerID: "o", Place: 1}, {AgentID: "c", OwnerID: "o", Place: 2},
	}}}
	lines = fit(t, twins)
	if lines["c"].Rating <= lines["b"].Rating || lines["c"].Component != 2 {
		t.Errorf("twins met: %+v", lines)
	}
}

func TestFit_components(t *testing.T) {
	t.Parallel()
	lines := fit(t, []arena.RatedResult{
		duel("d", "e", false), duel("x", "y", false), duel("y", "z", false), duel("a", "b", true),
	})
	got := map[string]int{}
	for id, l := range lines {
		got[id] = l.Component
	}
	if d := gocmp.Diff(map[string]int{"x": 1, "y": 1, "z": 1, "a": 2, "b": 2, "d": 3, "e": 3}, got); d != "" {
		t.Error(d)
	}
}

func TestFit_tooMany(t *testing.T) {
	t.Parallel()
	var results []arena.RatedResult
	for i := range scoring.MaxFitAgents {
		results = append(results, duel(fmt.Sprint(i), fmt.Sprint(i+1), false))
	}
	if _, err := scoring.Fit(results); err == nil {
		t.Error("too many agents were fitted")
	}
}

// simulated plays matches of so many seats between agents whose strengths are
// given; places follow the model exactly for duels.
func simulated(random *rand.Rand, strengths []float64, matches, seats int) []arena.RatedResult {
	var results []arena.RatedResult
	for range matches {
		r := arena.RatedResult{At: firstDay}
		for _, i := range random.Perm(len(strengths))[:seats] {
			r.Seats = append(r.Seats, arena.RatedSeat{AgentID: fmt.Sprintf("%03d", i)})
		}
		// The largest of strength plus Gumbel noise wins with the odds of the model.
		shown := make([]float64, seats)
		for i, s := range r.Seats {
			var no int
			_, _ = fmt.Sscanf(s.AgentID, "%d", &no)
			shown[i] = strengths[no] - 400/math.Ln10*math.Log(-math.Log(random.Float64()))
		}
		for i := range r.Seats {
			r.Seats[i].Place = 1
			for j := range shown {
				if shown[j] > shown[i] {
					r.Seats[i].Place++
				}
			}
		}
		results = append(results, r)
	}
	return results
}

// TestFit_coverage: true strengths lie in about 95 of 100 intervals, whether
// games are duels or come in large matches, and more results narrow them.
func TestFit_coverage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ matches, seats int }{{1200, 2}, {300, 8}} {
		t.Run(fmt.Sprintf("%d_seats", tc.seats), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(5, uint64(tc.seats)))
			const agents, worlds = 24, 40
			inside, narrow, wide := 0, 0.0, 0.0
			for range worlds {
				strengths, sum := make([]float64, agents), 0.0
				for i := range strengths {
					strengths[i] = 1500 + 150*random.NormFloat64()
					sum += strengths[i]
				}
				results := simulated(random, strengths, tc.matches, tc.seats)
				for id, l := range fit(t, results) {
					var no int
					_, _ = fmt.Sscanf(id, "%d", &no)
					truth := arena.MilliElo(1000 * (strengths[no] - sum/agents + 1500))
					if l.Low <= truth && truth <= l.High {
						inside++
					}
					narrow += float64(l.High - l.Low)
				}
				for _, l := range fit(t, results[:tc.matches/4]) {
					wide += float64(l.High - l.Low)
				}
			}
			if share := float64(inside) / (agents * worlds); share < 0.92 || share > 0.98 {
				t.Errorf("%.3f of the strengths lie in their intervals", share)
			}
			if ratio := wide / narrow; ratio < 1.8 || ratio > 2.2 {
				t.Errorf("a quarter of the results makes intervals %.2f times as wide, want about 2", ratio)
			}
		})
	}
}

// TestFit_modelErrors: where duels are independent, clustering by match finds
// what the model itself says of its errors.
func TestFit_modelErrors(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	strengths := make([]float64, 13) // no multiple of four
	for i := range strengths {
		strengths[i] = 1500 + 100*random.NormFloat64()
	}
	results := simulated(random, strengths, 6000, 2)
	lines := scoring.Strengths(results)
	for i, of := range scoring.ModelErrors(results) {
		clustered := float64(lines[i].High-lines[i].Low) / 2 / 1.96
		if ratio := clustered / float64(of); ratio < 0.94 || ratio > 1.06 {
			t.Errorf("agent %d: %.0f by match, %d by the model", i, clustered, of)
		}
	}
}

// TestFit_clustered: an agent that beats all three others of a match or none
// has one piece of information in it, not three. The weights of the model, 1/3 for
// each pair, say the same; taken one by one, the pairs would say 0.58 of it.
func TestFit_clustered(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 9))
	var results []arena.RatedResult
	for range 2000 {
		r := arena.RatedResult{At: firstDay, Seats: []arena.RatedSeat{{AgentID: "a", Place: 1 + 2*random.IntN(2)}}}
		for _, i := range random.Perm(12)[:3] {
			r.Seats = append(r.Seats, arena.RatedSeat{AgentID: fmt.Sprintf("b%02d", i), Place: 2})
		}
		results = append(results, r)
	}
	a := scoring.Strengths(results)[0]
	clustered := float64(a.High-a.Low) / 2 / 1.96
	if ratio := clustered / float64(scoring.ModelErrors(results)[0]); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("%.0f by match, %.2f of the model", clustered, ratio)
	}
}

var firstDay = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// duel is a result of two agents, each with an owner of its own; draw: both
// have one place.
func duel(winner, loser string, draw bool) arena.RatedResult {
	r := arena.RatedResult{At: firstDay, Seats: []arena.RatedSeat{
		{AgentID: winner, OwnerID: "ow_" + winner, Place: 1}, {AgentID: loser, OwnerID: "ow_" + loser, Place: 2},
	}}
	if draw {
		r.Seats[1].Place = 1
	}
	return r
}
