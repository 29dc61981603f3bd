package stats

import (
	"cmp"
	"slices"
)

// Holm reports which of the hypotheses with the p-values p are rejected by
// Holm's step-down procedure at the family-wise error rate alpha, in a family of
// m >= len(p) tests: the probability of at least one false rejection is at most
// alpha, whatever the dependence between the tests. The m-len(p) tests that are
// left out must have p-values above alpha; such tests are never rejected, and
// leaving them out saves memory. NaN is never rejected.
//
// In ascending order, the k-th p-value is rejected if it and all smaller ones
// satisfy p_k <= alpha/(m-k+1) (Holm, "A simple sequentially rejective multiple
// test procedure", Scandinavian Journal of Statistics 6, 1979).
func Holm(p []float64, m int, alpha float64) []bool {
	rejected := make([]bool, len(p))
	var order []int
	for i, v := range p {
		if v <= alpha {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	for k, i := range order {
		if p[i] > alpha/float64(m-k) {
			break
		}
		rejected[i] = true
	}
	return rejected
}
