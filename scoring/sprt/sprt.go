package sprt

import "math"

// Bound is the log-likelihood ratio, in nats, at which a test ends: ln((1−β)/α)
// with α = β = 0.05.
const Bound = 2.9444389791664403 // ln 19

// Pairs counts pairs of games by score: Pairs[i] pairs have i half points of the
// four that two games give.
type Pairs [5]int

// N returns the number of pairs.
func (p Pairs) N() (n int) {
	for _, count := range p {
		n += count
	}
	return n
}

// score returns the mean score of a game, 0 to 1, of a pair with i half points.
func score(i int) float64 { return float64(i) / 4 }

// Score returns the mean score of a game, 0 to 1; ½ without pairs.
func (p Pairs) Score() float64 {
	n := p.N()
	if n == 0 {
		return 0.5
	}
	sum := 0.0
	for i, count := range p {
		sum += float64(count) * score(i)
	}
	return sum / float64(n)
}

// prior is the weight of a score that no pair has had. A distribution with that
// score could otherwise not fit.
const prior = 1e-3

// weights are the pairs with prior in the place of zeros.
type weights [len(Pairs{})]float64

func (p Pairs) weights() (w weights) {
	for i, count := range p {
		if w[i] = float64(count); count == 0 {
			w[i] = prior
		}
	}
	return w
}

// ExpectedScore returns the mean score of a game for a strength in Elo above the
// opponent's.
func ExpectedScore(elo float64) float64 { return 1 / (1 + math.Pow(10, -elo/400)) }

// EloOf returns the strength for a mean score, infinite for 0 and 1.
func EloOf(score float64) float64 {
	if score >= 1 {
		return math.Inf(1)
	}
	return -400 * math.Log10(1/score-1)
}

// Test is a test of Elo1 against Elo0. Elo1 must be the greater one.
type Test struct{ Elo0, Elo1 float64 }

// Verdict is what the pairs so far show.
type Verdict int

// The verdicts.
const (
	Undecided Verdict = iota
	Better            // the ratio has reached Bound: Elo1 is accepted
	NotBetter         // the ratio has reached −Bound: Elo0 is accepted
)

// Verdict returns what the pairs show if the test has not ended before the last of
// them.
func (t Test) Verdict(p Pairs) Verdict {
	switch llr := t.LLR(p); {
	case llr >= Bound:
		return Better
	case llr <= -Bound:
		return NotBetter
	}
	return Undecided
}

// LLR returns the generalized log-likelihood ratio of Elo1 to Elo0 in nats; 0
// without pairs.
func (t Test) LLR(p Pairs) float64 {
	if p.N() == 0 {
		return 0
	}
	w := p.weights()
	return deficit(w, ExpectedScore(t.Elo0)) - deficit(w, ExpectedScore(t.Elo1))
}

// deficit returns by how much the log-likelihood of the best fitting distribution
// with a mean score is below that of the observed one.
//
// The distribution is p_i/(1+θ(x_i−mean)) with the observed shares p_i, the scores
// x_i and the θ that makes the mean right (Van den Bergh, support_MLE_multinomial.pdf, Proposition 1.1).
func deficit(w weights, mean float64) (d float64) {
	theta := multiplier(w, mean)
	for i, weight := range w {
		d += weight * math.Log1p(theta*(score(i)-mean))
	}
	return d
}

// multiplier returns the root of Σ w_i a_i/(1+θ a_i) with a_i = x_i−mean. The sum
// falls from +∞ to −∞ between its two poles. mean must be above 0 and below 1.
func multiplier(w weights, mean float64) float64 {
	low, high := -1/(1-mean), 1/mean
	theta := 0.0
	for range 200 {
		sum, slope := 0.0, 0.0
		for i, weight := range w {
			a := score(i) - mean
			q := a / (1 + theta*a)
			sum += weight * q
			slope -= weight * q * q
		}
		if sum > 0 {
			low = theta
		} else {
			high = theta
		}
		// Newton's step, or half of the bracket where that leaves it.
		next := theta - sum/slope
		if !(next > low && next < high) {
			next = low + (high-low)/2
		}
		if math.Abs(next-theta) <= 1e-12*math.Max(1, math.Abs(theta)) || next == low || next == high {
			return next
		}
		theta = next
	}
	return theta
}

// Estimate is a strength in Elo with its 95 % interval. Its numbers may be
// infinite.
type Estimate struct{ Elo, Low, High float64 }

// chi95 is the 95 % quantile of the χ² distribution with one degree of freedom.
const chi95 = 3.841458820694124

// Estimate returns the strength that the pairs show. Its interval holds for a
// number of pairs that was fixed before: after a test that ended early the
// strength tends to be further from the middle than the truth.
func (p Pairs) Estimate() Estimate {
	if p.N() == 0 {
		return Estimate{0, math.Inf(-1), math.Inf(1)}
	}
	w := p.weights()
	mean, total := 0.0, 0.0
	for i, weight := range w {
		mean += weight * score(i)
		total += weight
	}
	mean /= total
	// edge returns the mean score between mean and an end where the likelihood has
	// fallen by half of chi95, or the end if it does not fall so far.
	edge := func(end float64) float64 {
		in, out := mean, end
		for range 60 {
			middle := in + (out-in)/2
			if middle == in || middle == out {
				break
			}
			if 2*deficit(w, middle) <= chi95 {
				in = middle
			} else {
				out = middle
			}
		}
		return out
	}
	return Estimate{EloOf(p.Score()), EloOf(edge(0)), EloOf(edge(1))}
}

// ExpectedPairs returns about how many pairs a test takes if the strength is elo
// and a share of independent games, 0 to below 1, is drawn: Wald's approximation,
// which ignores that the last pair overshoots. A strength far from 0 leaves room for
// fewer draws.
func (t Test) ExpectedPairs(elo, draws float64) float64 {
	s, s0, s1 := ExpectedScore(elo), ExpectedScore(t.Elo0), ExpectedScore(t.Elo1)
	draws = min(draws, 1.9*min(s, 1-s))
	variance := (s*(1-s) - draws/4) / 2 // of the mean score of a pair
	drift := (s1 - s0) * (2*s - s0 - s1) / (2 * variance)
	spread := (s1 - s0) * (s1 - s0) / variance
	if math.Abs(drift) < 1e-9*spread {
		return Bound * Bound / spread
	}
	return Bound / drift * math.Tanh(Bound*drift/spread)
}
