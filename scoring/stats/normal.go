package stats

import "math"

// NormalQuantile returns the z with P(Z <= z) = p of the standard normal
// distribution, for 1e-300 <= p < 1.
//
// It is Newton's method on the logarithm of the distribution. That logarithm is
// concave, so that from a start below the root each step stays below it:
// P(Z < -x) <= exp(-x²/2)/2 makes -sqrt(-2 ln p) such a start.
func NormalQuantile(p float64) float64 {
	switch {
	case !(p >= 1e-300 && p < 1):
		return math.NaN()
	case p > 0.5:
		return -NormalQuantile(1 - p)
	}
	z := -math.Sqrt(-2 * math.Log(p))
	for range 100 {
		below := math.Erfc(-z/math.Sqrt2) / 2
		density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		step := math.Log(p/below) * below / density
		z += step
		if math.Abs(step) <= 1e-15*math.Abs(z) {
			break
		}
	}
	return z
}
