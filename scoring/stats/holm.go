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
	weights := make([]float64, len(p))
	for i := range weights {
		weights[i] = 1
	}
	return WeightedHolm(p, weights, float64(m), alpha)
}

// WeightedHolm is Holm with a positive weight for each test, and the sum of the
// weights of all tests, including those that are left out. Tests that share the
// weight of one cost the others as much as one.
//
// In ascending order of p/weight, the k-th p-value is rejected if it and all before
// it satisfy p_k/weight_k <= alpha/(sum of the weights from the k-th on) (the same
// paper).
func WeightedHolm(p, weights []float64, sum, alpha float64) []bool {
	rejected := make([]bool, len(p))
	var order []int
	for i, v := range p {
		if v <= alpha {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a]*weights[b], p[b]*weights[a]) })
	for _, i := range order {
		if p[i]*sum > alpha*weights[i] {
			break
		}
		rejected[i] = true
		sum -= weights[i]
	}
	return rejected
}
