package scoring

import (
	"math"

	"github.com/agora-arena/arena/arena"
)

// RankRanges fills in ranks.
func RankRanges(lines []arena.FitLine) { rankRanges(lines) }

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
	variances := m.variances(information)
	errors := make([]arena.MilliElo, m.n)
	for i := range errors {
		errors[i] = milliElo(eloPerNat * math.Sqrt(variances[i]))
	}
	return errors
}
