package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// BenchRatingsCmd is `arena bench ratings`.
type BenchRatingsCmd struct {
	Results int  `default:"1000000" help:"Duels to replay and to fit, 1000 to 10000000."`
	Agents  int  `default:"1000" help:"Agents that play them, 2 to 2000."`
	Seats   int  `default:"100" help:"Seats of the match that is settled, 2 to 128."`
	JSON    bool `help:"Print one JSON object."`
}

// Help describes what is measured.
func (c *BenchRatingsCmd) Help() string {
	return `Measures processor time of what ratings cost, from memory: the replay of duels by
agora-elo-1, a refit of them with intervals, and the settlement of one
large match of 20 rounds. Beside each a bare loop on the same machine: as many calls of
math.Pow as there are pairs; for the refit one textbook Cholesky factorization of a
matrix of all agents. Each is done three times, and the least counts.`
}

// ratingsFigures are processor times in seconds.
type ratingsFigures struct {
	Results    int         `json:"results"`
	Agents     int         `json:"agents"`
	Seats      int         `json:"seats"`
	Replay     ratingsTime `json:"replay"`
	Refit      ratingsTime `json:"refit"`
	Settlement ratingsTime `json:"settlement"`
}

// ratingsTime is a measurement beside its bare loop.
type ratingsTime struct {
	CPU   float64 `json:"cpu_seconds"`
	Bare  float64 `json:"bare_cpu_seconds"`
	Ratio float64 `json:"ratio"`
}

// Run measures and prints.
func (c *BenchRatingsCmd) Run(app *App) error {
	switch {
	case c.Results < 1000 || c.Results > 10_000_000:
		return fmt.Errorf("%d results: want 1000 to 10000000", c.Results)
	case c.Agents < 2 || c.Agents > scoring.MaxFitAgents:
		return fmt.Errorf("%d agents: want 2 to %d", c.Agents, scoring.MaxFitAgents)
	case c.Seats < 2 || c.Seats > 128:
		return fmt.Errorf("%d seats: want 2 to 128", c.Seats)
	}
	f := ratingsFigures{Results: c.Results, Agents: c.Agents, Seats: c.Seats}
	results := benchDuels(c.Results, c.Agents)
	var err error
	f.Replay = besideBare(1, func() { scoring.Replay(results) }, func() { barePowers(c.Results) })
	f.Refit = besideBare(1, func() { _, err = scoring.Fit(results) }, func() { bareCholesky(c.Agents) })
	if err != nil {
		return err
	}
	settings, seats, answers := benchRated(c.Seats)
	f.Settlement = besideBare(100, func() { scoring.Rate(settings, seats, answers, nil) }, func() { barePowers(c.Seats * (c.Seats - 1) / 2) })
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	_, err = fmt.Fprintf(app.Stdout, `
                                        CPU, ms    bare, ms   ratio
  replay of %-10d duels          %9.2f   %9.2f  %6.2f
  refit of them, %-5d agents          %9.2f   %9.2f  %6.2f
  settlement of %-3d seats              %9.3f   %9.3f  %6.2f
`, f.Results, 1e3*f.Replay.CPU, 1e3*f.Replay.Bare, f.Replay.Ratio,
		f.Agents, 1e3*f.Refit.CPU, 1e3*f.Refit.Bare, f.Refit.Ratio,
		f.Seats, 1e3*f.Settlement.CPU, 1e3*f.Settlement.Bare, f.Settlement.Ratio)
	return err
}

// besideBare measures work and the bare loop in turn and keeps the least of
// three times; each is done n times.
func besideBare(n int, work, bare func()) ratingsTime {
	measure := func(what func()) float64 {
		runtime.GC() // what was made before is not its business
		began := cpuTime()
		for range n {
			what()
		}
		return (cpuTime() - began).Seconds() / float64(n)
	}
	t := ratingsTime{CPU: math.Inf(1), Bare: math.Inf(1)}
	for range 3 {
		t.CPU = min(t.CPU, measure(work))
		t.Bare = min(t.Bare, measure(bare))
	}
	t.Ratio = t.CPU / t.Bare
	return t
}

// benchDuels makes duels, 10,000 a day, of agents whose strengths lie about
// 200 Elo around 1500; a tenth are draws.
func benchDuels(n, agents int) []arena.RatedResult {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // G404: the same duels each time
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	strengths, ids, owners := make([]float64, agents), make([]string, agents), make([]string, agents)
	for i := range ids {
		strengths[i], ids[i], owners[i] = 200*random.NormFloat64(), fmt.Sprintf("ag_%026d", i), fmt.Sprintf("ow_%026d", i)
	}
	results, seats := make([]arena.RatedResult, n), make([]arena.RatedSeat, 2*n)
	for i := range results {
		a := random.IntN(agents)
		b := (a + 1 + random.IntN(agents-1)) % agents
		first, second := 1, 1
		if random.IntN(10) > 0 {
			if random.Float64() < 1/(1+math.Pow(10, (strengths[b]-strengths[a])/400)) {
				second = 2
			} else {
				first = 2
			}
		}
		seats[2*i] = arena.RatedSeat{AgentID: ids[a], OwnerID: owners[a], Place: first}
		seats[2*i+1] = arena.RatedSeat{AgentID: ids[b], OwnerID: owners[b], Place: second}
		results[i] = arena.RatedResult{Seq: int64(i + 1), At: began.Add(time.Duration(i) * 24 * time.Hour / 10_000), Seats: seats[2*i : 2*i+2 : 2*i+2]}
	}
	return results
}

// benchRated makes a match of 20 rounds that is to be settled.
func benchRated(n int) (arena.Settings, []arena.Seat, []arena.Answer) {
	const rounds = 20
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // G404: the same match each time
	var seats []arena.Seat
	var answers []arena.Answer
	for i := range n {
		s := arena.Seat{No: i, AgentID: fmt.Sprintf("ag_%026d", i), OwnerID: fmt.Sprintf("ow_%026d", i), State: arena.SeatActive}
		for round := range rounds {
			points := arena.Points(random.IntN(2)) * arena.OnePoint
			s.Points += points
			answers = append(answers, arena.Answer{Round: round + 1, AgentID: s.AgentID, Outcome: arena.OutcomeAnswered, Points: points, Judged: true})
		}
		seats = append(seats, s)
	}
	return arena.Settings{Format: arena.FormatElimination, Rated: true, ScoreMode: arena.ScoreMatch}, seats, answers
}

// barePowers computes nothing but n expected scores.
func barePowers(n int) {
	sum := 0.0
	for i := range n {
		sum += 1 / (1 + math.Pow(10, float64(i%800-400)/400))
	}
	runtime.KeepAlive(sum)
}

// bareCholesky factors one matrix of n rows as textbooks do.
func bareCholesky(n int) {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
		m[i][i] = float64(n)
		for j := range i {
			sum := -0.5
			for k := range j {
				sum -= m[i][k] * m[j][k]
			}
			m[i][j] = sum / m[j][j]
			m[i][i] -= m[i][j] * m[i][j]
		}
		m[i][i] = math.Sqrt(m[i][i])
	}
	runtime.KeepAlive(m)
}
