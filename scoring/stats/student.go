package stats

import "math"

// StudentTail returns P(T > t) of Student's t distribution with df > 0 degrees
// of freedom, which need not be whole. An infinite df is the normal
// distribution.
//
// With x = df/(df+t²), the two-sided tail is the regularized incomplete beta
// function I_x(df/2, 1/2) (Abramowitz and Stegun, 26.7.1 and 26.5.27). The
// relative error is below 1e-10 for df up to 1e6, also in the tail. It grows with
// df beyond that, because 1-x loses digits.
func StudentTail(t, df float64) float64 {
	switch {
	case math.IsNaN(t) || !(df > 0):
		return math.NaN()
	case t < 0:
		return 1 - StudentTail(-t, df)
	case math.IsInf(df, 1):
		return math.Erfc(t/math.Sqrt2) / 2
	}
	square := t * t
	if math.IsInf(square, 1) {
		return 0
	}
	// x^(df/2) (1-x)^(1/2) / B(df/2, 1/2)
	front := math.Exp(-df/2*math.Log1p(square/df)) * math.Sqrt(square/(df+square)) * gammaRatio(df/2) / math.SqrtPi
	if x := df / (df + square); x < (df/2+1)/(df/2+2.5) {
		return front * betaFraction(x, df/2, 0.5) / (df / 2) / 2
	}
	return 0.5 - front*betaFraction(square/(df+square), 0.5, df/2)
}

// gammaRatio returns Γ(a+1/2)/Γ(a). For large a, where the difference of two
// logarithms has few digits, it uses the asymptotic series (DLMF 5.11.8, with
// h = 1/2 and h = 0).
func gammaRatio(a float64) float64 {
	if a < 20 {
		above, _ := math.Lgamma(a + 0.5)
		below, _ := math.Lgamma(a)
		return math.Exp(above - below)
	}
	square := a * a
	return math.Sqrt(a) * math.Exp((-1.0/8+(1.0/192-(1.0/640-17/(14336*square))/square)/square)/a)
}

// betaFraction returns the continued fraction of the incomplete beta function
// (DLMF 8.17.22) by Lentz's method. It converges fast for x < (a+1)/(a+b+2).
func betaFraction(x, a, b float64) float64 {
	const (
		terms   = 100_000 // far more than any df below 1e12 needs
		enough  = 1e-15
		tiniest = 1e-300 // in place of 0, by which nothing is divided
	)
	nonzero := func(v float64) float64 {
		if math.Abs(v) < tiniest {
			return tiniest
		}
		return v
	}
	c, d := 1.0, 1/nonzero(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m <= terms; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/nonzero(1+even*d), nonzero(1+even/c)
		f *= c * d
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/nonzero(1+odd*d), nonzero(1+odd/c)
		f *= c * d
		if math.Abs(c*d-1) < enough {
			break
		}
	}
	return f
}

// StudentQuantile returns the t with P(T <= t) = p of Student's t distribution
// with df > 0 degrees of freedom, for 0 < p < 1, by bisection of StudentTail.
func StudentQuantile(p, df float64) float64 {
	switch {
	case !(p > 0 && p < 1) || !(df > 0):
		return math.NaN()
	case p == 0.5:
		return 0
	case math.IsInf(df, 1):
		return NormalQuantile(p)
	}
	tail := min(p, 1-p)
	low, high := 0.0, 1.0
	for StudentTail(high, df) > tail {
		low, high = high, 2*high
	}
	for range 200 { // a hundred halve any interval to its last digit
		middle := low + (high-low)/2
		if middle == low || middle == high {
			break
		}
		if StudentTail(middle, df) > tail {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Copysign(high, p-0.5)
}
