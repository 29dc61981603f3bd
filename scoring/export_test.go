package scoring

import (
	"math"

	"github.com/agora-arena/arena/arena"
)

// GlickoStart begins a league of Glicko-2 with players who have been rated
// before; games are by their numbers.
func GlickoStart(before []GlickoRating) *glicko {
	l := &glicko{}
	for _, r := range before {
		l.join()
		p := &l.players[len(l.players)-1]
		p.mu = float64(r.Rating-arena.StartRating) / 1000 / glickoScale
		p.phi = float64(r.Deviation) / 1000 / glickoScale
	}
	return l
}

// Play notes a game.
func (l *glicko) Play(a, b int32, score float64) {
	l.play(glickoGame{a: a, b: b, score: score, weight: 1})
}

// Finish ends the period.
func (l *glicko) Finish() []GlickoRating { return l.finish() }

// Volatility returns a player's sigma.
func (l *glicko) Volatility(i int) float64 { return l.players[i].sigma }

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
