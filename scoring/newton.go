package scoring

import (
	"errors"
	"math"
	"slices"
)

// model is the likelihood of a refit (see Fit) on its natural scale.
type model struct {
	n             int
	share         []float64 // by pair a > b at pairAt(a, b): 1/(k_bg k_ah)
	weight, score []float64 // by pair: of all games; score is a's
	opponents     []int     // groups that each agent met
	theta         []float64
	hessian       matrix // the negative one, where theta was last; then its Cholesky factor
}

// pairAt returns the index of the pair a > b.
func pairAt(a, b int) int { return a*(a-1)/2 + b }

func newModel(f *Refit) *model {
	n := len(f.agents)
	pairs := n * (n - 1) / 2
	m := &model{
		n: n, share: make([]float64, pairs), weight: make([]float64, pairs), score: make([]float64, pairs),
		opponents: make([]int, n), theta: make([]float64, n), hessian: newMatrix(n),
	}
	f.results(func(seats []fitSeat) {
		f.games(seats, func(i, j int, score, weight float64) {
			a, b := int(seats[i].agent), int(seats[j].agent)
			if a < b {
				a, b, score = b, a, 1-score
			}
			m.weight[pairAt(a, b)] += weight
			m.score[pairAt(a, b)] += weight * score
		})
	})
	m.discount(f)
	return m
}

// discount divides the weight of each pair by the numbers of agents of the one's
// group that the other met: what clones play counts as if one agent had played it.
func (m *model) discount(f *Refit) {
	for pair := range m.share {
		m.share[pair] = 1
	}
	met := make([]int, f.groups) // agents of each group that a met
	for a := range m.n {
		clear(met)
		visit := func(do func(pair, group int)) {
			for b := range m.n {
				if pair := pairAt(max(a, b), min(a, b)); a != b && m.weight[pair] > 0 {
					do(pair, int(f.agents[b].group))
				}
			}
		}
		visit(func(_, group int) {
			if met[group]++; met[group] == 1 {
				m.opponents[a]++
			}
		})
		visit(func(pair, group int) { m.share[pair] /= float64(met[group]) })
	}
	for pair, share := range m.share {
		m.weight[pair] *= share
		m.score[pair] *= share
	}
}

// The limits of Newton's method. Its error after a step is about the square
// of the step: after a step below smallStep it is far below a thousandth of
// an Elo point.
const (
	newtonSteps = 200
	smallStep   = 1e-4
)

// maximize finds the one maximum of the likelihood: it is concave, and strictly
// so because of the virtual draws.
func (m *model) maximize() error {
	reached := m.likelihood(m.theta)
	for range newtonSteps {
		step := m.derive()
		if !m.hessian.factor() {
			break
		}
		m.hessian.solve(step)
		largest := 0.0
		for _, s := range step {
			largest = max(largest, math.Abs(s))
		}
		if largest < smallStep {
			m.move(step, 1)
			return nil
		}
		// Newton's step may overshoot, so it is halved until the likelihood does
		// not fall. Sums of a million terms are not exact to the last digit.
		enough := reached - 1e-9*math.Abs(reached)
		before := slices.Clone(m.theta)
		for part := 1.0; ; part /= 2 {
			m.move(step, part)
			now := m.likelihood(m.theta)
			if now >= enough || part < 1e-9 {
				reached = now
				break
			}
			copy(m.theta, before)
		}
	}
	return errors.New("refit: no maximum found")
}

func (m *model) move(step []float64, part float64) {
	for i := range m.theta {
		m.theta[i] += part * step[i]
	}
}

// powers returns e^theta.
func powers(theta []float64) []float64 {
	x := make([]float64, len(theta))
	for i, t := range theta {
		x[i] = math.Exp(t)
	}
	return x
}

// likelihood returns the log-likelihood.
func (m *model) likelihood(theta []float64) float64 {
	x := powers(theta)
	sum := 0.0
	pair := 0
	for a := range m.n {
		sum += theta[a]/2 - math.Log(1+x[a]) // the virtual draw
		for b := range a {
			if w := m.weight[pair]; w > 0 {
				sum += m.score[pair]*theta[a] + (w-m.score[pair])*theta[b] - w*math.Log(x[a]+x[b])
			}
			pair++
		}
	}
	return sum
}

// derive returns the gradient and sets the lower half of the Hessian.
func (m *model) derive() (gradient []float64) {
	x := powers(m.theta)
	gradient = make([]float64, m.hessian.size)
	pair := 0
	for a := range m.n {
		row := m.hessian.row(a)
		p := x[a] / (1 + x[a])
		gradient[a] += 0.5 - p
		diagonal := p * (1 - p)
		for b := range a {
			w := m.weight[pair]
			if row[b] = 0; w > 0 {
				p := x[a] / (x[a] + x[b])
				d, v := m.score[pair]-w*p, w*p*(1-p)
				gradient[a] += d
				gradient[b] -= d
				row[b] = -v
				diagonal += v
				m.hessian.row(b)[b] += v
			}
			pair++
		}
		row[a] = diagonal
	}
	for i := m.n; i < m.hessian.size; i++ { // padding of the last block
		row := m.hessian.row(i)
		clear(row)
		row[i] = 1
	}
	return gradient
}

// center subtracts the mean from all strengths.
func (m *model) center() {
	sum := 0.0
	for _, t := range m.theta {
		sum += t
	}
	for i := range m.theta {
		m.theta[i] -= sum / float64(m.n)
	}
}

// centeredInverse returns C H^-1, whose rows are those of the inverse Hessian
// without the mean of all. The Hessian must be factored and is overwritten.
func (m *model) centeredInverse() matrix {
	inverse := m.hessian.inverse()
	means := make([]float64, inverse.size)
	for i := range m.n {
		for j, v := range inverse.row(i) {
			means[j] += v / float64(m.n)
		}
	}
	for i := range m.n {
		row := inverse.row(i)
		for j := range row {
			row[j] -= means[j]
		}
	}
	return inverse
}

// virtualSpread is what the virtual draw of each agent adds to the diagonal of
// the spread of the gradient.
const virtualSpread = 0.25

// variances returns the diagonal of B (S + 1/4) B' for the centered inverse B:
// squared standard errors when S is the spread of the gradient (see Fit), of which
// only the lower half is used.
func variances(spread, centered matrix) []float64 {
	v := spread.forms(centered)
	for i := range v {
		row := centered.row(i)
		v[i] += virtualSpread * dot(row, row)
	}
	return v
}
