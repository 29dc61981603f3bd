package matching

// Edge joins two different nodes.
type Edge struct {
	I, J   int
	Weight Weight
}

// None stands for the partner of a node that has none.
const None = -1

// Max finds a matching of greatest weight among n nodes, 0 to n-1: partner[i]
// is the node that i is matched with, or None. Two nodes that no edge joins
// are never matched, nor is a pair that lowers the sum. For as many pairs as
// possible give every edge the same positive A, and let the rest decide from B
// on.
//
// The same edges in the same order give the same matching. It takes O(n^3)
// steps and memory for every edge twice. Edges with nodes out of range, or of
// a node with itself, panic.
//
// The method is the primal-dual one of Edmonds, with one tree at a time. Every
// node has a dual u and every blossom, an odd set of nodes that is treated as
// one, a dual z, such that no edge between two blossoms weighs more than half
// the sum of its ends' u; on an edge whose slack u(i)+u(j)-2w is 0 nodes may
// be matched. Duals are never negative. Once every node without a partner has
// u = 0, no matching weighs more. Each stage takes one node for which this does
// not hold and grows from it a tree of tight edges, out by free ones and on by
// matched ones, until it finds another node without a partner or one within
// the tree whose u has come down to 0; then it exchanges free and matched
// edges on the way there.
//
// The duals of one tree have the same parity, as its edges are tight: halves
// of slacks within the tree are whole, and nothing is ever rounded.
func Max(n int, edges []Edge) (partner []int) {
	g := newGraph(n, edges)
	for root := range n {
		if g.mate[root] == None && g.zero.less(g.dual[root]) {
			g.stage(root)
		}
	}
	return g.mate
}
