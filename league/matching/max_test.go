package matching_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/league/matching"
)

// weigh returns the weight of a matching, and fails if it is not a matching.
func weigh(t fataler, n int, edges []matching.Edge, partner []int) (sum matching.Weight) {
	t.Helper()
	if len(partner) != n {
		t.Fatalf("%d partners for %d nodes", len(partner), n)
	}
	weights := make(map[[2]int]matching.Weight, len(edges))
	for _, e := range edges {
		key := [2]int{min(e.I, e.J), max(e.I, e.J)}
		if w, ok := weights[key]; !ok || e.Weight.Compare(w) > 0 {
			weights[key] = e.Weight
		}
	}
	for i, j := range partner {
		if j == matching.None {
			continue
		}
		if j < 0 || j >= n || partner[j] != i || i == j {
			t.Fatalf("%v is not a matching", partner)
		}
		w, ok := weights[[2]int{min(i, j), max(i, j)}]
		if !ok {
			t.Fatalf("%d and %d are matched, no edge joins them", i, j)
		}
		if i < j {
			sum = plus(sum, w)
		}
	}
	return sum
}

func plus(a, b matching.Weight) matching.Weight {
	return matching.Weight{A: a.A + b.A, B: a.B + b.B, C: a.C + b.C, D: a.D + b.D}
}

// greatest tries every matching, set by set.
func greatest(n int, edges []matching.Edge) matching.Weight {
	best := make([]matching.Weight, 1<<n)
	for set := 1; set < len(best); set++ {
		first := 0
		for set>>first&1 == 0 {
			first++
		}
		rest := set &^ (1 << first)
		best[set] = best[rest]
		for _, e := range edges {
			other := e.I ^ e.J ^ first
			if (e.I == first || e.J == first) && rest>>other&1 == 1 {
				if w := plus(best[rest&^(1<<other)], e.Weight); w.Compare(best[set]) > 0 {
					best[set] = w
				}
			}
		}
	}
	return best[len(best)-1]
}

// drawEdges makes any graph of n nodes; few different weights make many ties
// and blossoms, many make few.
func drawEdges(t *rapid.T, n int) (edges []matching.Edge) {
	spread := rapid.SampledFrom([]int{0, 1, 3, 20, 1_000_000}).Draw(t, "spread")
	lowest := rapid.SampledFrom([]int{-spread, 0, 1}).Draw(t, "lowest")
	member := func(name string) int64 { return int64(rapid.IntRange(lowest, max(lowest, spread)).Draw(t, name)) }
	density := rapid.IntRange(1, 10).Draw(t, "density")
	deep := rapid.Bool().Draw(t, "deep")
	for i := range n {
		for j := i + 1; j < n; j++ {
			if rapid.IntRange(1, 10).Draw(t, "edge") > density {
				continue
			}
			e := matching.Edge{I: i, J: j, Weight: matching.Weight{A: member("a")}}
			if rapid.Bool().Draw(t, "turned") {
				e.I, e.J = j, i
			}
			if deep {
				e.Weight.B, e.Weight.C, e.Weight.D = member("b"), member("c"), member("d")
			}
			edges = append(edges, e)
		}
	}
	return edges
}

func TestMax_isGreatest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 10).Draw(t, "n")
		edges := drawEdges(t, n)
		sum := weigh(t, n, edges, matching.Max(n, edges))
		if best := greatest(n, edges); sum != best {
			t.Fatalf("%v, %v is possible", sum, best)
		}
	})
}

// TestMax_manyGraphs goes further than rapid does in the time: sparse graphs
// with few weights nest blossoms and open them again.
func TestMax_manyGraphs(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		n := 6 + rng.IntN(5)
		var edges []matching.Edge
		spread, density := 1+rng.Int64N(12), 0.2+0.8*rng.Float64()
		for i := range n {
			for j := range i {
				if rng.Float64() < density {
					edges = append(edges, matching.Edge{I: i, J: j, Weight: matching.Weight{
						A: rng.Int64N(2), B: rng.Int64N(2*spread) - spread/2, D: rng.Int64N(spread),
					}})
				}
			}
		}
		sum := weigh(t, n, edges, matching.Max(n, edges))
		if best := greatest(n, edges); sum != best {
			t.Fatalf("%d nodes, %v: %v, %v is possible", n, edges, sum, best)
		}
	}
}

func TestMax_examples(t *testing.T) {
	t.Parallel()
	w := func(a, d int64) matching.Weight { return matching.Weight{A: a, D: d} }
	for _, tc := range []struct {
		name  string
		n     int
		edges []matching.Edge
		want  []int
	}{
		{"nobody", 0, nil, []int{}},
		{"no edge", 2, nil, []int{-1, -1}},
		{"one edge", 2, []matching.Edge{{I: 1, J: 0, Weight: w(0, 1)}}, []int{1, 0}},
		{"an edge of nothing", 2, []matching.Edge{{I: 0, J: 1}}, []int{-1, -1}},
		{"an edge that lowers the sum", 2, []matching.Edge{{I: 0, J: 1, Weight: w(0, -1)}}, []int{-1, -1}},
		{"a path by weight", 4, []matching.Edge{
			{I: 0, J: 1, Weight: w(0, 1)}, {I: 1, J: 2, Weight: w(0, 3)}, {I: 2, J: 3, Weight: w(0, 1)},
		}, []int{-1, 2, 1, -1}},
		{"as many pairs as possible", 4, []matching.Edge{
			{I: 0, J: 1, Weight: w(1, 1)}, {I: 1, J: 2, Weight: w(1, 3)}, {I: 2, J: 3, Weight: w(1, 1)},
		}, []int{1, 0, 3, 2}},
		{"the better of two edges", 2, []matching.Edge{
			{I: 0, J: 1, Weight: w(0, -1)}, {I: 0, J: 1, Weight: w(0, 1)},
		}, []int{1, 0}},
		{"a triangle leaves one", 3, []matching.Edge{
			{I: 0, J: 1, Weight: w(1, 1)}, {I: 1, J: 2, Weight: w(1, 3)}, {I: 2, J: 0, Weight: w(1, 2)},
		}, []int{-1, 2, 1}},
	} {
		if got := matching.Max(tc.n, tc.edges); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// fataler is what tests and properties have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func benchmarkGraphs(n int) map[string][]matching.Edge {
	rng := rand.New(rand.NewPCG(3, 4))
	graphs := map[string][]matching.Edge{}
	for i := range n {
		for j := range i {
			add := func(name string, w matching.Weight) {
				graphs[name] = append(graphs[name], matching.Edge{I: i, J: j, Weight: w})
			}
			add("random", matching.Weight{A: 1, D: rng.Int64N(1_000_000)})
			add("ties", matching.Weight{A: 1, B: -rng.Int64N(2), C: -rng.Int64N(4), D: -rng.Int64N(8)})
			add("far", matching.Weight{A: 1, D: int64(i-j) * int64(i-j)})
			if i-j <= 64 {
				add("near", matching.Weight{A: 1, D: -rng.Int64N(1_000_000)})
			}
		}
	}
	return graphs
}

func BenchmarkMax(b *testing.B) {
	for _, n := range []int{100, 1000} {
		graphs := benchmarkGraphs(n)
		for _, name := range []string{"random", "ties", "far", "near"} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					matching.Max(n, graphs[name])
				}
			})
		}
	}
}
