package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/agora-arena/arena/scoring/stats"
)

// near reports whether two values agree to ten digits.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-10*math.Abs(want) }

// The values were computed with 40 digits by mpmath 1.3.
func TestStudentTail_knownValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ t, df, want float64 }{
		{0, 5, 0.5},
		{1e-08, 5, 0.499999996203933102},
		{0.5, 1, 0.352416382349566726},
		{12.706204736174705, 1, 0.0249999999999999997},
		{-2.5, 2, 0.935194139889244595},
		{2.5705818356363146, 5, 0.0250000000000000279},
		{1, 5, 0.181608733824561313},
		{10, 5, 0.0000854737878714817954},
		{40, 5, 9.20598108588647718e-8},
		{6, 9, 0.000101249661033820327},
		{3, 2.5, 0.0362880477745159219},
		{1.3, 29, 0.101919591831014875},
		{-1.3, 29, 0.898080408168985125},
		{4.5, 29, 0.0000507674440324278128},
		{8, 99, 1.20015191052843415e-12},
		{2, 1e3, 0.02288517324662582},
		{2, 1e6, 0.0227502669256596042},
		{5, 1e6, 2.86699893544537078e-7},
		{20, 0.5, 0.0716974805142303149},
		{math.Inf(1), 5, 0},
		{math.Inf(-1), 5, 1},
		{1e200, 5, 0},
		{1.6448536269514722, math.Inf(1), 0.05},
	} {
		if got := stats.StudentTail(tt.t, tt.df); !near(got, tt.want) {
			t.Errorf("P(T_%v > %v) is %v, want %v", tt.df, tt.t, got, tt.want)
		}
	}
}

// With whole degrees of freedom there is a finite sum (Abramowitz and Stegun,
// 26.7.3 and 26.7.4).
func TestStudentTail_finiteSums(t *testing.T) {
	t.Parallel()
	for df := 1; df <= 60; df++ {
		for x := -6.0; x <= 6; x += 0.37 {
			angle := math.Atan(x / math.Sqrt(float64(df)))
			sin, cos := math.Sincos(angle)
			sum, term := 0.0, 1.0
			if df%2 == 1 {
				term = cos
			}
			for k := df%2 + 2; k <= df; k += 2 {
				sum += term
				term *= cos * cos * float64(k-1) / float64(k)
			}
			inside := sin * sum // P(|T| < x), with the sign of x
			if df%2 == 1 {
				inside = 2 / math.Pi * (angle + sin*sum)
			}
			if got, want := stats.StudentTail(x, float64(df)), (1-inside)/2; math.Abs(got-want) > 2e-13 {
				t.Errorf("P(T_%d > %v) is %v, want %v", df, x, got, want)
			}
		}
	}
}

func TestStudentQuantile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ p, df, want float64 }{
		{0.5, 3, 0},
		{0.975, 5, 2.57058183563631478},
		{0.95, 1, 6.3137515146750374},
		{0.95, 2, 2.91998558035372417},
		{0.025, 29, -2.04522964213270427},
		{0.8, 11, 0.875529978073881618},
		{0.6, 3, 0.276670662332689847},
		{0.999999, 9, 10.7201604098728245},
		{0.975, 1e6, 1.95996635681410666},
		{1e-12, 7, -104.021829262647204},
		{0.975, math.Inf(1), 1.95996398454005386},
	} {
		if got := stats.StudentQuantile(tt.p, tt.df); !near(got, tt.want) {
			t.Errorf("the quantile %v of T_%v is %v, want %v", tt.p, tt.df, got, tt.want)
		}
	}
}

func TestNormalQuantile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ p, want float64 }{
		{0.5, 0},
		{0.975, 1.95996398454005386},
		{0.025, -1.95996398454005421},
		{0.8, 0.841621233572914364},
		{0.9999, 3.71901648545570839},
		{1e-06, -4.75342430882289896},
		{1e-12, -7.03448382530113193},
		{1e-100, -21.2734535609653243},
		{1e-300, -37.0470962993611992},
		{0.3, -0.524400512708040816},
	} {
		if got := stats.NormalQuantile(tt.p); !near(got, tt.want) && math.Abs(got-tt.want) > 1e-14 {
			t.Errorf("the quantile %v is %v, want %v", tt.p, got, tt.want)
		}
	}
}

func TestStats_outsideTheirDomain(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{
		stats.StudentTail(math.NaN(), 5), stats.StudentTail(1, 0), stats.StudentTail(1, math.NaN()), stats.StudentTail(-1, -2),
		stats.StudentQuantile(0, 5), stats.StudentQuantile(1, 5), stats.StudentQuantile(0.3, 0), stats.StudentQuantile(math.NaN(), 5),
		stats.NormalQuantile(0), stats.NormalQuantile(1), stats.NormalQuantile(math.NaN()), stats.NormalQuantile(-1),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%v, want NaN", v)
		}
	}
}

func TestHolm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p    []float64
		m    int
		want []bool
	}{
		"none":                  {nil, 0, []bool{}},
		"one":                   {[]float64{0.05}, 1, []bool{true}},
		"Holm's textbook case":  {[]float64{0.01, 0.04, 0.03, 0.005}, 4, []bool{true, false, false, true}},
		"a step further":        {[]float64{0.025, 0.05, 0.01}, 3, []bool{true, true, true}},
		"a gap stops the rest":  {[]float64{0.04, 0.03}, 2, []bool{false, false}},
		"tests that are absent": {[]float64{0.01, 0.0125}, 5, []bool{true, true}},
		"one more of them":      {[]float64{0.01, 0.0126}, 5, []bool{true, false}},
		"equal":                 {[]float64{0.025, 0.025}, 2, []bool{true, true}},
		"not a number":          {[]float64{math.NaN(), 0.01}, 2, []bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(tt.p)
			if got := stats.Holm(tt.p, tt.m, 0.05); !slices.Equal(got, tt.want) {
				t.Errorf("rejected %v, want %v", got, tt.want)
			}
			for i, v := range tt.p {
				if v != before[i] && !math.IsNaN(v) {
					t.Error("the p-values were moved")
				}
			}
		})
	}
}

func TestWeightedHolm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p, weights []float64
		sum        float64
		want       []bool
	}{
		"the weight decides":         {[]float64{0.01, 0.01}, []float64{1, 0.25}, 3, []bool{true, false}},
		"in the order of p/weight":   {[]float64{0.02, 0.012}, []float64{2, 1}, 3.5, []bool{true, true}},
		"two halves cost one":        {[]float64{0.0125, 0.0125, 0.025}, []float64{0.5, 0.5, 1}, 2, []bool{true, true, true}},
		"the first stops the second": {[]float64{0.03, 0.02}, []float64{1, 0.5}, 2, []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := stats.WeightedHolm(tt.p, tt.weights, tt.sum, 0.05); !slices.Equal(got, tt.want) {
				t.Errorf("rejected %v, want %v", got, tt.want)
			}
		})
	}
}
