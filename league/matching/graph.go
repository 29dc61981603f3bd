package matching

// label is the position of a top-level node in the tree of a stage.
type label uint8

const (
	outside label = iota
	outer         // an even number of edges from the root: its duals fall
	inner         // an odd number: its duals rise
)

// arc is an edge seen from one of its ends.
type arc struct {
	from, to int32
	weight   Weight
}

// graph is the state of the algorithm. Nodes below n are vertices, the others
// are blossoms. A top-level node lies in no other node.
type graph struct {
	n    int
	arcs []arc // by from
	head []int // arcs[head[v]:head[v+1]] leave the vertex v

	mate []int // by vertex: the vertex matched with it

	// By node.
	dual   []Weight // u of a vertex, z of a blossom
	base   []int    // the vertex whose mate lies outside the node
	parent []int    // the blossom that it lies in, None for a top-level node
	kids   [][]int  // of a blossom: an odd cycle that begins with the base
	links  [][]link // links[b][k] joins kids[b][k] to the next one

	top    []int // by vertex: the top-level node that it lies in
	unused []int // free blossoms

	// Of the stage, by top-level node.
	label []label
	entry []link  // of an inner node: the tight edge by which the tree reached it
	peers [][]int // of an outer node: arcs to other outer nodes
	peer  []int   // of an outer node: the one of its peers with the least slack, None
	best  []int   // only while peers are joined: the best arc to an outer node, None

	// Of the stage, by vertex.
	reach    []int    // outside and inner: the arc from an outer node with the least slack, None
	reachKey []Weight // its slack without the terms that all arcs to the vertex share

	fallen Weight // total by which outer duals have fallen in the stage
	queue  []int  // outer vertices whose arcs have not been scanned
	mark   []int  // by node: the last walk that visited it
	walk   int
	zero   Weight
}

// link is an edge between two vertices that lie in different nodes.
type link struct{ from, to int }

func newGraph(n int, edges []Edge) *graph {
	g := &graph{
		n: n, arcs: make([]arc, 2*len(edges)), head: make([]int, n+1), mate: make([]int, n),
		dual: make([]Weight, 2*n), base: make([]int, 2*n), parent: make([]int, 2*n),
		kids: make([][]int, 2*n), links: make([][]link, 2*n), top: make([]int, n),
		label: make([]label, 2*n), entry: make([]link, 2*n), peers: make([][]int, 2*n), peer: make([]int, 2*n),
		best:  make([]int, 2*n),
		reach: make([]int, n), reachKey: make([]Weight, n), mark: make([]int, 2*n),
	}
	for node := range 2 * n {
		g.base[node], g.parent[node], g.best[node] = node, None, None
		if node >= n {
			g.unused = append(g.unused, node)
		}
	}
	for v := range n {
		g.mate[v], g.top[v] = None, v
	}
	g.addArcs(edges)
	return g
}

// addArcs sorts edges by their ends and sets the dual of every vertex to the
// least value that leaves no edge a negative slack, whatever the dual of its
// other end.
func (g *graph) addArcs(edges []Edge) {
	for _, e := range edges {
		if e.I == e.J {
			panic("matching: an edge joins a node to itself")
		}
		g.head[e.I]++
		g.head[e.J]++
		for _, v := range [2]int{e.I, e.J} {
			if g.dual[v].less(e.Weight) {
				g.dual[v] = e.Weight
			}
		}
	}
	sum := 0
	for v, count := range g.head {
		g.head[v] = sum
		sum += count
	}
	next := append([]int(nil), g.head...)
	add := func(from, to int, w Weight) {
		g.arcs[next[from]] = arc{int32(from), int32(to), w} //nolint:gosec // n nodes of many bytes each fit in memory
		next[from]++
	}
	for _, e := range edges {
		add(e.I, e.J, e.Weight)
		add(e.J, e.I, e.Weight)
	}
}

// slack returns the slack of an arc, which is tight at 0.
func (g *graph) slack(a int) Weight {
	e := &g.arcs[a]
	return g.dual[e.from].plus(g.dual[e.to]).minus(e.weight).minus(e.weight)
}

func (g *graph) isBlossom(node int) bool { return node >= g.n }

// vertices calls f for every vertex in a node.
func (g *graph) vertices(node int, f func(v int)) {
	if !g.isBlossom(node) {
		f(node)
		return
	}
	for _, kid := range g.kids[node] {
		g.vertices(kid, f)
	}
}

// childOf returns the kid of the blossom b that contains v.
func (g *graph) childOf(b, v int) int {
	node := v
	for g.parent[node] != b {
		node = g.parent[node]
	}
	return node
}

// raise makes a node a top-level node.
func (g *graph) raise(node int) {
	g.parent[node] = None
	g.vertices(node, func(v int) { g.top[v] = node })
}
