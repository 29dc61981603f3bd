package sprt_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/agora-arena/arena/scoring/sprt"
)

func near(t *testing.T, what string, got, want, off float64) {
	t.Helper()
	if !(math.Abs(got-want) <= off) {
		t.Errorf("%s is %g, want %g ± %g", what, got, want, off)
	}
}

// The ratio has the values that follow on paper where one score alone was had, and
// the normal approximation where there are many pairs.
func TestTest_LLR(t *testing.T) {
	t.Parallel()
	test := sprt.Test{Elo0: 0, Elo1: 20}
	near(t, "the ratio without pairs", test.LLR(sprt.Pairs{}), 0, 0)

	// Wins alone: the best distribution with mean s has s at two points
	// and the rest at none, so the ratio is ln(s1/s0), but for the prior.
	s0, s1 := 0.5, sprt.ExpectedScore(20)
	near(t, "the ratio of wins", test.LLR(sprt.Pairs{0, 0, 0, 0, 100}), 100*math.Log(s1/s0), 0.01)
	near(t, "the ratio of losses", test.LLR(sprt.Pairs{100, 0, 0, 0, 0}), 100*math.Log((1-s1)/(1-s0)), 0.01)
	// All drawn: 1−2(s1−½) at one point, the rest at two.
	near(t, "the ratio of draws", test.LLR(sprt.Pairs{0, 0, 100, 0, 0}), 100*math.Log(1-2*(s1-0.5)), 0.01)

	// Many pairs: the normal approximation n (s1−s0)(2m−s0−s1)/(2v).
	p := sprt.Pairs{520, 1380, 4050, 1480, 570}
	m, v, n := p.Score(), 0.0, float64(p.N())
	for i, count := range p {
		v += float64(count) / n * math.Pow(float64(i)/4-m, 2)
	}
	near(t, "the ratio of 8,000 pairs", test.LLR(p), n*(s1-s0)*(2*m-s0-s1)/(2*v), 0.3)

	// A swap of the players and of the hypotheses changes the sign alone.
	turned := sprt.Test{Elo0: -20, Elo1: 0}
	near(t, "the ratio of the other side", turned.LLR(sprt.Pairs{570, 1480, 4050, 1380, 520}), -test.LLR(p), 1e-9)

	for _, p := range []sprt.Pairs{{1}, {0, 0, 0, 0, 1}, {1, 0, 0, 0, 1}, {1e6, 0, 0, 0, 1}, {0, 1e6, 0, 1, 0}} {
		for _, test := range []sprt.Test{{0, 20}, {-300, -299}, {0, 1000}, {-1000, 1000}} {
			if llr := test.LLR(p); math.IsNaN(llr) || math.IsInf(llr, 0) {
				t.Errorf("the ratio of %v in %v is %g", p, test, llr)
			}
		}
	}
}

func TestPairs_Estimate(t *testing.T) {
	t.Parallel()
	p := sprt.Pairs{520, 1380, 4050, 1480, 570}
	e := p.Estimate()
	m, v, n := p.Score(), 0.0, float64(p.N())
	for i, count := range p {
		v += float64(count) / n * math.Pow(float64(i)/4-m, 2)
	}
	margin := 1.96 * math.Sqrt(v/n)
	near(t, "the strength", e.Elo, sprt.EloOf(m), 1e-9)
	near(t, "the lower end", e.Low, sprt.EloOf(m-margin), 0.02)
	near(t, "the upper end", e.High, sprt.EloOf(m+margin), 0.02)

	if e := (sprt.Pairs{}).Estimate(); e.Elo != 0 || !math.IsInf(e.Low, -1) || !math.IsInf(e.High, 1) {
		t.Errorf("without pairs: %+v", e)
	}
	// Ten wins of ten: the likelihood of a mean s is s^10.
	e = sprt.Pairs{0, 0, 0, 0, 10}.Estimate()
	near(t, "the lower end of ten wins", e.Low, sprt.EloOf(math.Exp(-3.8415/2/10)), 2) // the prior moves it by 1
	if !math.IsInf(e.Elo, 1) || !math.IsInf(e.High, 1) {
		t.Errorf("ten wins: %+v", e)
	}
	e = sprt.Pairs{0, 0, 10, 0, 0}.Estimate()
	if e.Elo != 0 || !(e.Low < -50) || !(e.High > 50) {
		t.Errorf("ten draws: %+v", e)
	}
}

// A forecast is a number of pairs for every strength.
func TestTest_ExpectedPairs(t *testing.T) {
	t.Parallel()
	for _, test := range []sprt.Test{{0, 20}, {-10, 0}, {-1000, 1000}, {900, 1000}} {
		for _, elo := range []float64{-1000, test.Elo0, (test.Elo0 + test.Elo1) / 2, test.Elo1, 1000} {
			for _, draws := range []float64{0, 0.5, 0.9} {
				if n := test.ExpectedPairs(elo, draws); !(n > 0) || math.IsInf(n, 0) {
					t.Errorf("%+v at %g Elo with %g draws: %g", test, elo, draws, n)
				}
			}
		}
	}
}

// The interval of a fixed number of pairs holds the truth in 95 % of samples.
func TestPairs_Estimate_coverage(t *testing.T) {
	t.Parallel()
	const samples, size, elo = 2000, 200, 30
	r := rand.New(rand.NewPCG(95, 0))
	chances := model{0.5, 0.05}.chances(elo)
	held := 0
	for range samples {
		var p sprt.Pairs
		for range size {
			p[draw(chances, r)]++
		}
		if e := p.Estimate(); e.Low <= elo && elo <= e.High {
			held++
		}
	}
	near(t, "the share of intervals that hold the truth", float64(held)/samples, 0.95, 0.015)
}

// model is how pairs come out: two games, each drawn with one chance, in which the
// first player has an advantage.
type model struct{ draws, advantage float64 }

// chances returns the probabilities of the five scores if the strength is elo.
func (m model) chances(elo float64) (p [5]float64) {
	s := sprt.ExpectedScore(elo)
	first, second := m.game(s+m.advantage), m.game(s-m.advantage)
	for i, a := range first {
		for j, b := range second {
			p[i+j] += a * b
		}
	}
	return p
}

// game returns the probabilities of a loss, a draw and a win.
func (m model) game(score float64) [3]float64 {
	return [3]float64{1 - score - m.draws/2, m.draws, score - m.draws/2}
}

// duel plays one test to its end and returns its number of pairs.
func duel(test sprt.Test, chances [5]float64, r *rand.Rand, limit int) (v sprt.Verdict, p sprt.Pairs) {
	for range limit {
		p[draw(chances, r)]++
		if v = test.Verdict(p); v != sprt.Undecided {
			break
		}
	}
	return v, p
}

// draw returns a score with its probability.
func draw(chances [5]float64, r *rand.Rand) int {
	x, i := r.Float64(), 0
	for i < 4 && x >= chances[i] {
		x -= chances[i]
		i++
	}
	return i
}

// 2,000 duels each at 0, 10, 20 and 40 Elo: at most 6 % errors at 0 and at 20, and
// at 20 at least 40 % fewer matches than a fixed number of them with the same
// errors needs. The outcomes are simulated.
func TestTest_errors(t *testing.T) {
	t.Parallel()
	models := map[string]model{"half drawn": {0.5, 0.05}}
	if os.Getenv("ARENA_TEST_SLOW") != "" {
		models["few drawn"] = model{0.1, 0.1}
		models["most drawn"] = model{0.8, 0}
	}
	const duels, limit = 2000, 20000
	test := sprt.Test{Elo0: 0, Elo1: 20}
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, elo := range []float64{0, 10, 20, 40} {
				r := rand.New(rand.NewPCG(41, uint64(elo)))
				chances := m.chances(elo)
				verdicts, pairs := map[sprt.Verdict]int{}, 0
				for range duels {
					v, p := duel(test, chances, r, limit)
					verdicts[v]++
					pairs += p.N()
				}
				mean := float64(pairs) / duels
				t.Logf("%g Elo: better %.1f %%, not better %.1f %%, undecided %d; %.0f pairs, expected %.0f", elo,
					100*float64(verdicts[sprt.Better])/duels, 100*float64(verdicts[sprt.NotBetter])/duels, verdicts[sprt.Undecided], mean, test.ExpectedPairs(elo, m.draws))
				if verdicts[sprt.Undecided] > 0 {
					t.Errorf("%g Elo: %d duels had no end after %d pairs", elo, verdicts[sprt.Undecided], limit)
				}
				if wrong := verdicts[sprt.Better]; elo == 0 && wrong > duels*6/100 {
					t.Errorf("%g Elo: %d of %d duels found one better", elo, wrong, duels)
				}
				if wrong := verdicts[sprt.NotBetter]; elo >= 20 && wrong > duels*6/100 {
					t.Errorf("%g Elo: %d of %d duels missed it", elo, wrong, duels)
				}
				if elo <= 20 {
					near(t, "the mean number of pairs", mean/test.ExpectedPairs(elo, m.draws), 1, 0.15)
				}
				if fixed := fixedPairs(test, chances); elo == 20 {
					t.Logf("a fixed number of pairs would be %.0f, %.0f %% more than the mean", fixed, 100*(fixed/mean-1))
					if mean > 0.6*fixed {
						t.Errorf("%g Elo: %.0f pairs, a fixed number would be %.0f", elo, mean, fixed)
					}
				}
			}
		})
	}
}

// fixedPairs returns the number of pairs with which a one-sided test of their mean
// score has the errors of the sequential one: ((z+z)/(s1−s0))² V with z = 1.645.
func fixedPairs(test sprt.Test, chances [5]float64) float64 {
	mean, square := 0.0, 0.0
	for i, p := range chances {
		x := float64(i) / 4
		mean += p * x
		square += p * x * x
	}
	const z95 = 1.6448536269514722
	return math.Pow(2*z95/(sprt.ExpectedScore(test.Elo1)-sprt.ExpectedScore(test.Elo0)), 2) * (square - mean*mean)
}

func BenchmarkTest_LLR(b *testing.B) {
	test := sprt.Test{Elo0: 0, Elo1: 20}
	for b.Loop() {
		_ = test.LLR(sprt.Pairs{52, 138, 405, 148, 57})
	}
}
