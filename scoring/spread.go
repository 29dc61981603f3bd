package scoring

import "slices"

// The spread S of the gradient is estimated from clusters, within which results
// may depend on each other in any way. With the clusters "match" and "pair of
// groups of owners", S = S_match + S_pair - S_intersection (Cameron, Gelbach and
// Miller, "Robust Inference With Multiway Clustering", Journal of Business &
// Economic Statistics 29, 2011). Each term is a sum of g g' over its clusters,
// where g is the gradient of a whole cluster. The virtual draws are added later.

// clusters adds the squares of gradients to the lower half of a spread.
type clusters struct {
	spread   matrix
	agents   []int
	gradient []float64
}

// begin starts a cluster.
func (c *clusters) begin() { c.agents, c.gradient = c.agents[:0], c.gradient[:0] }

// push adds an agent to the cluster, once, with its part of the gradient.
func (c *clusters) push(agent int, gradient float64) {
	if gradient != 0 {
		c.agents, c.gradient = append(c.agents, agent), append(c.gradient, gradient)
	}
}

// end adds the square of the cluster's gradient, or subtracts it for a sign of -1.
func (c *clusters) end(sign float64) {
	for i, a := range c.agents {
		for j, b := range c.agents[:i+1] {
			c.spread.row(max(a, b))[min(a, b)] += sign * c.gradient[i] * c.gradient[j]
		}
	}
}

// between adds or subtracts the cluster of the games between two groups, of which
// residual returns that of i against j, and agent the agent of i.
func (c *clusters) between(sign float64, g, h []int, residual func(i, j int) float64, agent func(i int) int) {
	c.begin()
	for _, i := range g {
		sum := 0.0
		for _, j := range h {
			sum += residual(i, j)
		}
		c.push(agent(i), sum)
	}
	for _, j := range h {
		sum := 0.0
		for _, i := range g {
			sum -= residual(i, j)
		}
		c.push(agent(j), sum)
	}
	c.end(sign)
}

// residuals visits the games of a match with their weighted residuals
// S - E of i against j; x is e^theta.
func (m *model) residuals(f *Refit, x []float64, seats []fitSeat, visit func(i, j int, residual float64)) {
	f.games(seats, func(i, j int, score, weight float64) {
		a, b := int(seats[i].agent), int(seats[j].agent)
		share := m.share[pairAt(max(a, b), min(a, b))]
		visit(i, j, share*weight*(score-x[a]/(x[a]+x[b])))
	})
}

// byMatch returns the lower half of S_match.
func (m *model) byMatch(f *Refit) matrix {
	c := clusters{spread: newMatrix(m.n)}
	x := powers(m.theta)
	var gradient []float64
	f.results(func(seats []fitSeat) {
		gradient = append(gradient[:0], make([]float64, len(seats))...)
		m.residuals(f, x, seats, func(i, j int, residual float64) {
			gradient[i] += residual
			gradient[j] -= residual
		})
		c.begin()
		for i, s := range seats {
			c.push(int(s.agent), gradient[i])
		}
		c.end(1)
	})
	return c.spread
}

// addPairs adds S_pair - S_intersection to the lower half of a spread.
func (m *model) addPairs(f *Refit, spread matrix) {
	c := clusters{spread: spread}
	x := powers(m.theta)
	members := make([][]int, f.groups)
	for a, agent := range f.agents {
		members[agent.group] = append(members[agent.group], a)
	}
	pair := func(a, b int) float64 {
		sign := 1.0
		if a < b {
			a, b, sign = b, a, -1
		}
		at := pairAt(a, b)
		return sign * (m.score[at] - m.weight[at]*x[a]/(x[a]+x[b]))
	}
	for h := range members {
		for g := range h {
			c.between(1, members[g], members[h], pair, func(a int) int { return a })
		}
	}
	f.results(func(seats []fitSeat) { m.subtractMatch(f, x, &c, seats) })
}

// subtractMatch subtracts what each pair of groups did in one match.
func (m *model) subtractMatch(f *Refit, x []float64, c *clusters, seats []fitSeat) {
	if len(seats) == 2 {
		c.begin()
		m.residuals(f, x, seats, func(_, _ int, residual float64) {
			c.push(int(seats[0].agent), residual)
			c.push(int(seats[1].agent), -residual)
		})
		c.end(-1)
		return
	}
	n := len(seats)
	residuals := make([]float64, n*n)
	m.residuals(f, x, seats, func(i, j int, residual float64) {
		residuals[i*n+j], residuals[j*n+i] = residual, -residual
	})
	var members [][]int // seats by group
	var groups []int32
	for i, s := range seats {
		group := f.agents[s.agent].group
		k := slices.Index(groups, group)
		if k < 0 {
			k = len(groups)
			groups, members = append(groups, group), append(members, nil)
		}
		members[k] = append(members[k], i)
	}
	for h := range members {
		for g := range h {
			c.between(-1, members[g], members[h], func(i, j int) float64 { return residuals[i*n+j] }, func(i int) int { return int(seats[i].agent) })
		}
	}
}
