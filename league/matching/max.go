package matching

// Edge joins two different nodes.
type Edge struct {
	I, J   int
	Weight Weight
}

// None is the partner of an unmatched node.
const None = -1

// Max returns a maximum-weight matching of n nodes, 0 to n-1: partner[i] is the
// node that i is matched with, or None. It matches only nodes that an edge
// joins, and no pair that lowers the sum. To get as many pairs as possible, give
// every edge the same positive A and put the preferences in B and below.
//
// The same edges in the same order return the same matching. Max takes O(n^3)
// steps and stores every edge twice. It panics if an edge has a node out of
// range or joins a node to itself.
//
// The method is Edmonds' primal-dual algorithm with one tree at a time. Every
// node has a dual u, and every blossom, an odd set of nodes that is treated as
// one node, has a dual z. No edge between two blossoms weighs more than half the
// sum of its ends' u. Nodes may be matched along an edge whose slack
// u(i)+u(j)-2w is 0. Duals are never negative. Once every unmatched node has
// u = 0, the matching is optimal.
//
// Each stage starts at one node for which this does not hold and grows a tree of
// tight edges, alternating free and matched ones. It ends when it finds another
// unmatched node, or a node of the tree whose u has fallen to 0. Then it swaps
// free and matched edges on the path to that node.
//
// The duals of one tree have the same parity because its edges are tight. Halves
// of slacks within the tree are therefore whole, and nothing is ever rounded.
func Max(n int, edges []Edge) (partner []int) {
	g := newGraph(n, edges)
	for root := range n {
		if g.mate[root] == None && g.zero.less(g.dual[root]) {
			g.stage(root)
		}
	}
	return g.mate
}
