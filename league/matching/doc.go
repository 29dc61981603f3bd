// Package matching pairs: it finds a matching of greatest weight in any graph
// (blossom algorithm), exactly, with weights of several members of which the
// first that differs decides.
//
// It knows nodes and edges and nothing of agents: what an edge is worth is for
// league/format, the only room that imports it. Standard library only.
package matching
