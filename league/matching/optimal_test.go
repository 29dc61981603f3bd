package matching

import (
	"math/rand/v2"
	"testing"
)

// TestStage_duals proves matchings that are too large to try all others: where
// no edge has a negative slack, matched ones have none, blossoms are full and
// who has no partner has a dual of 0, no matching weighs more.
func TestStage_duals(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		n, spread, density := 20+rng.IntN(60), 1+rng.Int64N(30), 0.05+0.95*rng.Float64()
		var edges []Edge
		for i := range n {
			for j := range i {
				if rng.Float64() < density {
					edges = append(edges, Edge{i, j, Weight{
						rng.Int64N(2), rng.Int64N(2*spread) - spread/2, int64(i-j) * int64(i-j) % 7, -rng.Int64N(spread),
					}})
				}
			}
		}
		g := newGraph(n, edges)
		for root := range n {
			if g.mate[root] == None && g.zero.less(g.dual[root]) {
				g.stage(root)
			}
		}
		g.prove(t)
	}
}

func (g *graph) prove(t *testing.T) {
	t.Helper()
	for v := range g.n {
		if g.dual[v].less(g.zero) || g.mate[v] == None && g.dual[v] != g.zero {
			t.Fatalf("dual %v, partner %d", g.dual[v], g.mate[v])
		}
	}
	for b := g.n; b < 2*g.n; b++ {
		if g.kids[b] == nil {
			continue
		}
		outward := 0
		g.vertices(b, func(v int) {
			if m := g.mate[v]; m == None || !g.in(m, b) {
				outward++
			}
		})
		if g.dual[b].less(g.zero) || outward != 1 {
			t.Fatalf("blossom of dual %v with %d edges outward", g.dual[b], outward)
		}
	}
	for a, e := range g.arcs {
		slack := g.slack(a)
		for b := g.parent[e.from]; b != None; b = g.parent[b] {
			if g.in(int(e.to), b) {
				slack = slack.plus(g.dual[b]).plus(g.dual[b])
			}
		}
		if slack.less(g.zero) || g.mate[e.from] == int(e.to) && slack != g.zero {
			t.Fatalf("slack %v of %v, partner %d", slack, e, g.mate[e.from])
		}
	}
}

// in reports whether the vertex v lies in the blossom b.
func (g *graph) in(v, b int) bool {
	node := v
	for node != None && node != b {
		node = g.parent[node]
	}
	return node == b
}
