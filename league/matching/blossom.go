package matching

import "slices"

// shrink contracts the odd cycle that a tight arc between two outer nodes
// closes into a blossom.
func (g *graph) shrink(a int) {
	from, to := int(g.arcs[a].from), int(g.arcs[a].to)
	head := g.meet(g.top[from], g.top[to])
	b := g.unused[len(g.unused)-1]
	g.unused = g.unused[:len(g.unused)-1]

	kids, links := g.climb(from, head)
	slices.Reverse(kids)
	slices.Reverse(links)
	for i, l := range links {
		links[i] = link{l.to, l.from}
	}
	right, rest := g.climb(to, head)
	kids = slices.Concat([]int{head}, kids, right)
	links = slices.Concat(links, []link{{from, to}}, rest)

	g.kids[b], g.links[b] = kids, links
	g.base[b], g.dual[b] = g.base[head], g.zero
	for _, kid := range kids {
		if g.label[kid] == inner {
			g.vertices(kid, g.enqueue)
		}
		g.label[kid] = outside
	}
	g.raise(b)
	for _, kid := range kids {
		g.parent[kid] = b
	}
	g.label[b] = outer
	g.joinPeers(b)
}

// joinPeers merges the peers of the kids of b: for each other outer node it
// keeps the arc with the least slack.
func (g *graph) joinPeers(b int) {
	var nodes []int
	g.peer[b], g.peers[b] = None, g.peers[b][:0]
	for _, kid := range g.kids[b] {
		for _, a := range g.peers[kid] {
			if node := g.top[g.arcs[a].to]; node != b {
				nodes = append(nodes, node)
				g.offerBest(node, a)
			}
		}
		g.peers[kid], g.peer[kid] = g.peers[kid][:0], None
	}
	for _, node := range nodes {
		if a := g.best[node]; a != None {
			g.peers[b] = append(g.peers[b], a)
			g.offerPeer(b, a)
			g.best[node] = None
		}
	}
}

func (g *graph) offerBest(node, a int) {
	if p := g.best[node]; p == None || g.slack(a).less(g.slack(p)) {
		g.best[node] = a
	}
}

// above returns the next outer node on the path to the root, or None for the
// root.
func (g *graph) above(node int) int {
	partner := g.mate[g.base[node]]
	if partner == None {
		return None
	}
	return g.top[g.entry[g.top[partner]].from]
}

// meet returns the lowest common outer ancestor of two nodes, or the root.
func (g *graph) meet(x, y int) int {
	for g.walk++; ; x, y = y, x {
		if x == None {
			continue
		}
		if g.mark[x] == g.walk {
			return x
		}
		g.mark[x] = g.walk
		x = g.above(x)
	}
}

// climb returns the nodes on the path from the node of v up to head, without
// head, and the links from each node to the next.
func (g *graph) climb(v, head int) (nodes []int, links []link) {
	for node := g.top[v]; node != head; {
		base := g.base[node]
		middle := g.top[g.mate[base]]
		e := g.entry[middle]
		nodes = append(nodes, node, middle)
		links = append(links, link{base, g.mate[base]}, link{e.to, e.from})
		node = g.top[e.from]
	}
	return nodes, links
}

// open expands an inner blossom. The kids on the even path from the tree's
// entry to the base stay in the tree.
func (g *graph) open(b int) {
	e, links := g.entry[b], g.links[b]
	first := slices.Index(g.kids[b], g.childOf(b, e.to))
	kids := g.takeApart(b)
	g.label[kids[first]], g.entry[kids[first]] = inner, e
	for i := first; i%len(kids) != 0; {
		var second, third int
		var in link
		if first%2 == 0 {
			second, third = i-1, i-2
			in = link{links[third].to, links[third].from}
		} else {
			second, third = i+1, (i+2)%len(kids)
			in = links[second]
		}
		g.makeOuter(kids[second])
		g.label[kids[third]], g.entry[kids[third]] = inner, in
		i = third
	}
}

// rebase makes v the base of its node, the one vertex whose partner lies
// outside. It swaps matched and free edges on the even path from v to the
// previous base.
func (g *graph) rebase(node, v int) {
	if !g.isBlossom(node) || g.base[node] == v {
		return
	}
	kids, links := g.kids[node], g.links[node]
	i := slices.Index(kids, g.childOf(node, v))
	g.rebase(kids[i], v)
	from, to := 0, i // kids on an even path are matched in pairs
	if i%2 == 1 {
		from, to = i+1, len(kids)
	}
	for k := from; k < to; k += 2 {
		l := links[k]
		g.rebase(kids[k], l.from)
		g.rebase(kids[(k+1)%len(kids)], l.to)
		g.mate[l.from], g.mate[l.to] = l.to, l.from
	}
	g.kids[node] = slices.Concat(kids[i:], kids[:i])
	g.links[node] = slices.Concat(links[i:], links[:i])
	g.base[node] = v
}
