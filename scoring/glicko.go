package scoring

import (
	"math"
	"time"

	"github.com/agora-arena/arena/arena"
)

// GlickoRating is an agent's rating by Glicko-2 and its deviation, in Elo.
type GlickoRating struct {
	Rating, Deviation arena.MilliElo
}

// Glicko rates all agents of results by Glicko-2 (Glickman, "Example of the
// Glicko-2 system"), from 1500 with a deviation of 350 and a volatility of
// 0.06, tau 0.5. A rating period is a UTC day; results stand in the order of
// their settlements. Deviations are those of the last day with results.
//
// As in "agora-elo-1", a match of N is N-1 games of weight 1/(N-1) for each, by
// places, and agents of one owner do not play each other.
func Glicko(results []arena.RatedResult) map[string]GlickoRating {
	f := NewRefit()
	for _, r := range results {
		f.Add(r)
	}
	ratings := f.glicko.finish()
	byID := make(map[string]GlickoRating, len(f.agents))
	for i, id := range f.agents {
		byID[id] = ratings[i]
	}
	return byID
}

// The settings of Glicko-2. On its own scale a rating is mu = (r-1500)/173.7178
// and a deviation phi = RD/173.7178.
const (
	glickoScale      = 173.7178
	glickoDeviation  = 350 / glickoScale
	glickoVolatility = 0.06
	glickoTau        = 0.5
	glickoPeriod     = 24 * time.Hour
	glickoTolerance  = 1e-6
)

// glicko is the state of a league during a rating period.
type glicko struct {
	period  int64 // of the games, days since 1970
	players []glickoPlayer
	games   []glickoGame // of the period
	met     []int32      // players with games in the period
}

type glickoPlayer struct {
	mu, phi, sigma float64
	period         int64 // up to which phi has grown
	playing        bool  // in the period

	g, v, delta float64 // of the period: g(phi), 1/v, and the sum behind delta
}

type glickoGame struct {
	a, b          int32
	score, weight float64 // score is a's
}

// at begins the period of a time, unless a later one has begun: the clocks of
// nodes may differ.
func (l *glicko) at(t time.Time) {
	if period := t.Unix() / int64(glickoPeriod/time.Second); period > l.period {
		l.end()
		l.period = period
	}
}

// join adds a player.
func (l *glicko) join() {
	l.players = append(l.players, glickoPlayer{phi: glickoDeviation, sigma: glickoVolatility, period: l.period})
}

// play adds a game between two players.
func (l *glicko) play(g glickoGame) {
	l.games = append(l.games, g)
	for _, i := range [...]int32{g.a, g.b} {
		if !l.players[i].playing {
			l.players[i].playing = true
			l.met = append(l.met, i)
		}
	}
}

// end rates the games of the period, all from the ratings before it.
func (l *glicko) end() {
	for _, i := range l.met {
		p := &l.players[i]
		p.grow(l.period)
		p.g, p.v, p.delta = 1/math.Sqrt(1+3*p.phi*p.phi/(math.Pi*math.Pi)), 0, 0
	}
	for _, m := range l.games {
		a, b := &l.players[m.a], &l.players[m.b]
		a.meet(b.mu, b.g, m.score, m.weight)
		b.meet(a.mu, a.g, 1-m.score, m.weight)
	}
	for _, i := range l.met {
		l.players[i].update()
		l.players[i].playing = false
	}
	l.games, l.met = l.games[:0], l.met[:0]
}

// grow increases the deviation for the periods without games before this one.
func (p *glickoPlayer) grow(period int64) {
	if idle := period - p.period; idle > 0 {
		p.phi = min(glickoDeviation, math.Sqrt(p.phi*p.phi+float64(idle)*p.sigma*p.sigma))
		p.period = period
	}
}

// meet adds one game (the paper's steps 3 and 4).
func (p *glickoPlayer) meet(mu, g, score, weight float64) {
	e := 1 / (1 + math.Exp(-g*(p.mu-mu)))
	p.v += weight * g * g * e * (1 - e)
	p.delta += weight * g * (score - e)
}

// update ends a period of a player (steps 5 to 7). Its deviation at the end
// already holds the growth of this period.
func (p *glickoPlayer) update() {
	v := 1 / p.v
	p.sigma = volatility(p.sigma, p.phi, v, v*p.delta)
	before := p.phi*p.phi + p.sigma*p.sigma
	p.phi = 1 / math.Sqrt(1/before+p.v)
	p.mu += p.phi * p.phi * p.delta
	p.period++
}

// volatility solves step 5 by the Illinois method.
func volatility(sigma, phi, v, delta float64) float64 {
	a := math.Log(sigma * sigma)
	f := func(x float64) float64 {
		e := math.Exp(x)
		d := phi*phi + v + e
		return e*(delta*delta-d)/(2*d*d) - (x-a)/(glickoTau*glickoTau)
	}
	low := a
	var high float64
	if square := delta*delta - phi*phi - v; square > 0 {
		high = math.Log(square)
	} else {
		for high = a - glickoTau; f(high) < 0; {
			high -= glickoTau
		}
	}
	atLow, atHigh := f(low), f(high)
	for math.Abs(high-low) > glickoTolerance {
		x := low + (low-high)*atLow/(atHigh-atLow)
		atX := f(x)
		if atX*atHigh <= 0 {
			low, atLow = high, atHigh
		} else {
			atLow /= 2
		}
		high, atHigh = x, atX
	}
	return math.Exp(low / 2)
}

// finish ends the last period and returns all ratings, in the order in which the
// players joined.
func (l *glicko) finish() []GlickoRating {
	l.end()
	ratings := make([]GlickoRating, len(l.players))
	for i := range l.players {
		p := &l.players[i]
		p.grow(l.period + 1)
		ratings[i] = GlickoRating{
			Rating:    arena.StartRating + milliElo(p.mu*glickoScale),
			Deviation: milliElo(p.phi * glickoScale),
		}
	}
	return ratings
}

// milliElo rounds Elo to thousandths.
func milliElo(elo float64) arena.MilliElo { return arena.MilliElo(math.Round(1000 * elo)) }
