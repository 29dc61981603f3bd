package matching

import "cmp"

// Weight is the weight of an edge. Weights are added member by member and
// compared lexicographically: A before B, B before C, C before D. Members may be
// negative. The sum of any member over 8n edges must fit into 64 bits.
type Weight struct{ A, B, C, D int64 }

func (w Weight) plus(v Weight) Weight {
	return Weight{w.A + v.A, w.B + v.B, w.C + v.C, w.D + v.D}
}

func (w Weight) minus(v Weight) Weight {
	return Weight{w.A - v.A, w.B - v.B, w.C - v.C, w.D - v.D}
}

// half returns half of a weight whose members are even.
func (w Weight) half() Weight { return Weight{w.A / 2, w.B / 2, w.C / 2, w.D / 2} }

func (w Weight) less(v Weight) bool {
	if w.A != v.A {
		return w.A < v.A
	}
	if w.B != v.B {
		return w.B < v.B
	}
	if w.C != v.C {
		return w.C < v.C
	}
	return w.D < v.D
}

// Compare returns -1, 0 or +1 if w is less than, equal to or greater than v.
func (w Weight) Compare(v Weight) int {
	return cmp.Or(cmp.Compare(w.A, v.A), cmp.Compare(w.B, v.B), cmp.Compare(w.C, v.C), cmp.Compare(w.D, v.D))
}
