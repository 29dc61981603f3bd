package scoring

import (
	"math"

	"github.com/agora-arena/arena/arena"
)

// ModelErrors returns, for agents in the order of their ids, the standard errors
// in Elo that hold if the model does: from the inverse of the Hessian alone.
func ModelErrors(results []arena.RatedResult) []arena.MilliElo {
	f := NewRefit()
	for _, r := range results {
		f.Add(r)
	}
	f.sort()
	m := newModel(f)
	if err := m.maximize(); err != nil {
		panic(err)
	}
	return m.modelErrors()
}

func (m *model) modelErrors() []arena.MilliElo {
	m.derive()
	information := newMatrix(m.n)
	copy(information.v, m.hessian.v)
	m.hessian.factor()
	variances := information.forms(m.centeredInverse())
	errors := make([]arena.MilliElo, m.n)
	for i := range errors {
		errors[i] = milliElo(eloPerNat * math.Sqrt(variances[i]))
	}
	return errors
}

// Clip returns a symmetric matrix without its negative eigenvalues.
func Clip(rows [][]float64) [][]float64 {
	m := newMatrix(len(rows))
	for i, row := range rows {
		copy(m.row(i), row)
	}
	m.clip()
	clipped := make([][]float64, len(rows))
	for i := range clipped {
		clipped[i] = m.row(i)[:len(rows)]
	}
	return clipped
}

// SignTail is signTail.
func SignTail(n, k int) float64 { return signTail(n, k) }

// Strengths is a fit clustered by match alone.
func Strengths(results []arena.RatedResult) []arena.FitLine {
	f := NewRefit()
	for _, r := range results {
		f.Add(r)
	}
	lines, err := f.strengths()
	if err != nil {
		panic(err)
	}
	return lines
}
