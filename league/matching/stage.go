package matching

// event is the event that ends a change of the duals.
type event struct {
	fall Weight
	kind kind
	at   int // floor: a vertex; grow, shrink: an arc; open: a blossom
}

type kind uint8

const (
	none   kind = iota
	floor       // the dual of an outer vertex is 0: it can stay without a partner
	grow        // an arc to a node outside is tight
	shrink      // an arc between two outer nodes is tight: a new blossom
	open        // the dual of an inner blossom is 0: its kids become nodes
)

// stage matches root, or leaves it or another vertex of its tree, one with a
// dual of 0, unmatched.
func (g *graph) stage(root int) {
	g.begin()
	g.makeOuter(g.top[root])
	for {
		g.scan()
		e := g.next()
		g.shift(e.fall)
		switch e.kind {
		case floor:
			g.flip(e.at, None)
			g.end()
			return
		case grow:
			if g.grow(e.at) {
				g.end()
				return
			}
		case shrink:
			g.shrink(e.at)
		case open:
			g.open(e.at)
		case none:
			panic("matching: a tree without an outer vertex")
		}
	}
}

func (g *graph) begin() {
	g.fallen, g.queue = g.zero, g.queue[:0]
	for node := range g.label {
		g.label[node], g.peers[node], g.peer[node] = outside, g.peers[node][:0], None
	}
	for v := range g.n {
		g.reach[v] = None
	}
}

// end expands the blossoms that are no longer needed.
func (g *graph) end() {
	for b := g.n; b < 2*g.n; b++ {
		if g.parent[b] == None && g.kids[b] != nil {
			g.dissolve(b)
		}
	}
}

func (g *graph) dissolve(b int) {
	if !g.isBlossom(b) || g.zero.less(g.dual[b]) {
		return
	}
	for _, kid := range g.takeApart(b) {
		g.dissolve(kid)
	}
}

// takeApart expands a top-level blossom and returns its kids, which are now
// top-level nodes.
func (g *graph) takeApart(b int) []int {
	kids := g.kids[b]
	for _, kid := range kids {
		g.raise(kid)
	}
	g.kids[b], g.links[b], g.label[b] = nil, nil, outside
	g.unused = append(g.unused, b)
	return kids
}

func (g *graph) makeOuter(node int) {
	g.label[node] = outer
	g.vertices(node, g.enqueue)
}

func (g *graph) enqueue(v int) { g.queue = append(g.queue, v) }

// scan visits the arcs of new outer vertices.
func (g *graph) scan() {
	for _, v := range g.queue {
		node, key := g.top[v], g.dual[v].plus(g.fallen)
		for a := g.head[v]; a < g.head[v+1]; a++ {
			e := &g.arcs[a]
			to := g.top[e.to]
			switch {
			case to == node:
			case g.label[to] == outer:
				g.peers[node] = append(g.peers[node], a)
				g.offerPeer(node, a)
			default:
				k := key.minus(e.weight).minus(e.weight)
				if g.reach[e.to] == None || k.less(g.reachKey[e.to]) {
					g.reach[e.to], g.reachKey[e.to] = a, k
				}
			}
		}
	}
	g.queue = g.queue[:0]
}

func (g *graph) offerPeer(node, a int) {
	if p := g.peer[node]; p == None || g.slack(a).less(g.slack(p)) {
		g.peer[node] = a
	}
}

// next returns the event that the smallest change of the duals leads to.
func (g *graph) next() (first event) {
	offer := func(fall Weight, k kind, at int) {
		if first.kind == none || fall.less(first.fall) {
			first = event{fall, k, at}
		}
	}
	for v := range g.n {
		switch node := g.top[v]; g.label[node] {
		case outer:
			offer(g.dual[v], floor, v)
			if node == v && g.peer[v] != None {
				offer(g.slack(g.peer[v]).half(), shrink, g.peer[v])
			}
		case outside:
			if a := g.reach[v]; a != None {
				offer(g.reachKey[v].minus(g.fallen).plus(g.dual[v]), grow, a)
			}
		case inner:
		}
	}
	for b := g.n; b < 2*g.n; b++ {
		switch g.label[b] {
		case outer:
			if a := g.peer[b]; a != None {
				offer(g.slack(a).half(), shrink, a)
			}
		case inner:
			offer(g.dual[b], open, b)
		case outside:
		}
	}
	return first
}

// shift lowers the duals of outer vertices and keeps all edges within the tree
// and its blossoms tight.
func (g *graph) shift(fall Weight) {
	if fall == g.zero {
		return
	}
	g.fallen = g.fallen.plus(fall)
	for v := range g.n {
		switch g.label[g.top[v]] {
		case outer:
			g.dual[v] = g.dual[v].minus(fall)
		case inner:
			g.dual[v] = g.dual[v].plus(fall)
		case outside:
		}
	}
	for b := g.n; b < 2*g.n; b++ {
		switch g.label[b] {
		case outer:
			g.dual[b] = g.dual[b].plus(fall)
		case inner:
			g.dual[b] = g.dual[b].minus(fall)
		case outside:
		}
	}
}

// grow adds the node at the end of a tight arc to the tree, together with its
// partner. If the node is unmatched, grow matches it and the stage is over.
func (g *graph) grow(a int) (over bool) {
	from, to := int(g.arcs[a].from), int(g.arcs[a].to)
	node := g.top[to]
	partner := g.mate[g.base[node]]
	if partner == None {
		g.flip(from, to)
		g.rebase(node, to)
		g.mate[to] = from
		return true
	}
	g.label[node], g.entry[node] = inner, link{from, to}
	g.makeOuter(g.top[partner])
	return false
}

// flip matches the outer vertex v with partner and swaps free and matched edges
// from there up to the root.
func (g *graph) flip(v, partner int) {
	for {
		node := g.top[v]
		former := g.mate[g.base[node]]
		g.rebase(node, v)
		g.mate[v] = partner
		if former == None {
			return
		}
		above := g.top[former]
		e := g.entry[above]
		g.rebase(above, e.to)
		g.mate[e.to] = e.from
		v, partner = e.from, e.to
	}
}
