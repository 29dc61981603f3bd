package scoring_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func fit(t interface {
	Helper()
	Fatal(args ...any)
}, results []arena.RatedResult,
) map[string]arena.FitLine {
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

// games visits the games of results: score is a's.
func games(results []arena.RatedResult, visit func(a, b string, score, weight float64)) {
	for _, r := range results {
		for i, a := range r.Seats {
			for _, b := range r.Seats[i+1:] {
				if a.OwnerID != "" && a.OwnerID == b.OwnerID {
					continue
				}
				score := 0.5
				if a.Place != b.Place {
					score = float64(min(1, max(0, b.Place-a.Place)))
				}
				visit(a.AgentID, b.AgentID, score, 1/float64(len(r.Seats)-1))
			}
		}
	}
}

// likelihood is the likelihood of docs/rules.md, section 7, with ratings in Elo.
func likelihood(results []arena.RatedResult, ratings map[string]float64) float64 {
	chance := func(gap float64) float64 { return 1 / (1 + math.Pow(10, -gap/400)) }
	sum := 0.0
	games(results, func(a, b string, score, weight float64) {
		p := chance(ratings[a] - ratings[b])
		sum += weight * (score*math.Log(p) + (1-score)*math.Log(1-p))
	})
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
					if l := likelihood(results, try); l > best {
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
		checkRanks(t, lines)
		ratings := uncentred(results, lines)
		checkIntervals(t, results, lines, ratings)
		checkMaximum(t, results, ratings)

		// Neither the order of results and seats nor their number by day matter.
		shuffled := rapid.Permutation(results).Draw(t, "order")
		for i, r := range shuffled {
			r.Seats = rapid.Permutation(r.Seats).Draw(t, "seats")
			shuffled[i] = r
		}
		for id, l := range fit(t, shuffled) {
			if d := cmp.Diff(lines[id], l); d != "" {
				t.Fatalf("another order: %s", d)
			}
		}
	})
}

func checkRanks(t *rapid.T, lines map[string]arena.FitLine) {
	t.Helper()
	for id, l := range lines {
		better, reaching := 0, 0
		for _, o := range lines {
			if o.Low > l.High {
				better++
			}
			if o.High >= l.Low {
				reaching++
			}
		}
		if l.RankLow != better+1 || l.RankHigh != reaching || l.RankLow > l.RankHigh {
			t.Fatalf("ranks of %s: %d to %d, want %d to %d", id, l.RankLow, l.RankHigh, better+1, reaching)
		}
		if l.Low > l.Rating || l.Rating > l.High {
			t.Fatalf("interval of %s: %d in %d to %d", id, l.Rating, l.Low, l.High)
		}
	}
}

// checkMaximum: nothing nearby is more likely.
func checkMaximum(t *rapid.T, results []arena.RatedResult, ratings map[string]float64) {
	t.Helper()
	best := likelihood(results, ratings)
	for id := range ratings {
		for _, step := range []float64{-1, 1} {
			ratings[id] += step
			if l := likelihood(results, ratings); l > best {
				t.Fatalf("%s %+.0f is more likely by %g", id, step, l-best)
			}
			ratings[id] -= step
		}
	}
}

// uncentred returns the ratings as they were before their mean became 1500: the
// most likely shift of them all.
func uncentred(results []arena.RatedResult, lines map[string]arena.FitLine) map[string]float64 {
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
		if likelihood(results, at(low+third)) < likelihood(results, at(high-third)) {
			low += third
		} else {
			high -= third
		}
	}
	return at(low)
}

// checkIntervals computes C H^-1 S H^-1 C literally, by Gauss-Jordan elimination.
func checkIntervals(t *rapid.T, results []arena.RatedResult, lines map[string]arena.FitLine, ratings map[string]float64) {
	t.Helper()
	ids := slices.Sorted(maps.Keys(lines))
	n := len(ids)
	number := map[string]int{}
	h, spread := square(n), square(n)
	for i, id := range ids {
		number[id] = i
		p := 1 / (1 + math.Pow(10, (1500-ratings[id])/400))
		h[i][i], spread[i][i] = p*(1-p), 0.25
	}
	for _, r := range results {
		g := make([]float64, n)
		games([]arena.RatedResult{r}, func(a, b string, score, weight float64) {
			i, j := number[a], number[b]
			p := 1 / (1 + math.Pow(10, (ratings[b]-ratings[a])/400))
			g[i] += weight * (score - p)
			g[j] -= weight * (score - p)
			v := weight * p * (1 - p)
			h[i][i], h[j][j], h[i][j], h[j][i] = h[i][i]+v, h[j][j]+v, h[i][j]-v, h[j][i]-v
		})
		for i := range g {
			for j := range g {
				spread[i][j] += g[i] * g[j]
			}
		}
	}
	center := square(n)
	for i := range center {
		for j := range center {
			center[i][j] = -1 / float64(n)
		}
		center[i][i]++
	}
	left := product(center, inverted(h))
	for i, id := range ids {
		want := 0.0
		for j := range n {
			for k := range n {
				want += left[i][j] * spread[j][k] * left[i][k]
			}
		}
		width := 2 * 1.959964 * 400 / math.Ln10 * math.Sqrt(want)
		if got := float64(lines[id].High-lines[id].Low) / 1000; math.Abs(got-width) > 0.01+width/1e4 {
			t.Fatalf("the interval of %s is %.3f wide, want %.3f", id, got, width)
		}
	}
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

// Intervals that touch do not say who is better.
func TestFit_rankRanges(t *testing.T) {
	t.Parallel()
	lines := []arena.FitLine{{Low: 30, High: 40}, {Low: 20, High: 30}, {Low: 10, High: 20}, {Low: 0, High: 19}}
	scoring.RankRanges(lines)
	var got [][2]int
	for _, l := range lines {
		got = append(got, [2]int{l.RankLow, l.RankHigh})
	}
	if d := cmp.Diff([][2]int{{1, 2}, {1, 3}, {2, 4}, {3, 4}}, got); d != "" {
		t.Error(d)
	}
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
	if d := cmp.Diff(map[string]int{"x": 1, "y": 1, "z": 1, "a": 2, "b": 2, "d": 3, "e": 3}, got); d != "" {
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
	lines, err := scoring.Fit(results)
	if err != nil {
		t.Fatal(err)
	}
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
	clustered := float64(fit(t, results)["a"].High-fit(t, results)["a"].Low) / 2 / 1.96
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
