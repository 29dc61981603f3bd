// Package matching finds maximum-weight matchings in general graphs with the
// blossom algorithm. The result is exact. Weights have several members and
// compare lexicographically.
//
// Package league/format builds the graphs from agents. The package uses the
// standard library only.
package matching
