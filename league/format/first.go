package format

import "cmp"

// firstMoves counts for each agent in how many duels it had the first seat, which
// makes the first move of a game, and in how many the second.
type firstMoves map[string][2]int

// add counts a duel.
func (f firstMoves) add(first, second string) {
	one, two := f[first], f[second]
	one[0]++
	two[1]++
	f[first], f[second] = one, two
}

// seats returns a pair in the order of its seats: the agent comes first that was first
// less often than second, compared with the other; then the one that was first less
// often; else a.
func (f firstMoves) seats(a, b string) [2]string {
	x, y := f[a], f[b]
	if cmp.Or(cmp.Compare(x[0]-x[1], y[0]-y[1]), cmp.Compare(x[0], y[0])) > 0 {
		a, b = b, a
	}
	return [2]string{a, b}
}
