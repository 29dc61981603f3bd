package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// waitFigures is what many matches cost that wait for their agents.
type waitFigures struct {
	Matches    int     `json:"matches"`
	MatchBytes int64   `json:"bytes_per_match"`
	Drift      spread  `json:"drift_ms"`     // of the time limit
	CPUPercent float64 `json:"cpu_percent"`  // of one processor, while all wait
	Came       float64 `json:"came_seconds"` // from the start to the last request
}

const (
	waitLimit = time.Minute
	// waitGrace is how long the arena listens for a reply that is late already.
	waitGrace = 25 * time.Millisecond
)

// wait lets many duels wait for agents that never answer.
func (c *BenchMatchCmd) wait(app *App) (err error) {
	slug := fmt.Sprintf("bench-wait-%x", time.Now().UnixNano()) // a database may be used again
	agents, err := startBenchAgents(app, benchCrowd, slug, "--stall")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agents.stop()) }()
	s, stop, err := benchServer(app.Ctx, c.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	f := waitFigures{Matches: c.Waiting}
	if err := f.measure(app.Ctx, s, agents, slug); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(matchFigures{Database: databaseName(c.DB), Waiting: &f})
	}
	_, err = fmt.Fprintf(app.Stdout, `
  %d duels wait for their agents on %s; all were asked within %.1f s
  memory          %.1f KB for each match
  processor       %.1f %% of one while they wait
  time limit      kept within %.1f ms (p50), %.1f ms (p99), %.1f ms (worst)
`, f.Matches, databaseName(c.DB), f.Came, float64(f.MatchBytes)/1024, f.CPUPercent, f.Drift.P50, f.Drift.P99, f.Drift.Worst)
	return err
}

func (f *waitFigures) measure(ctx context.Context, s *server, agents *benchAgents, slug string) error {
	admin := newClient(s.url, s.adminToken)
	league := benchLeague{slug: slug, rounds: 1, format: "ladder", minSeats: 2, maxSeats: 2, limit: waitLimit}
	ids, err := league.prepare(ctx, admin, agents)
	if err != nil {
		return err
	}
	load := matchLoad{Matches: f.Matches, Seats: 2, Rounds: 1}
	start, err := load.schedule(ctx, admin, slug, ids)
	if err != nil {
		return err
	}
	if _, err := agents.report(ctx, 2); err != nil { // forget what came before
		return err
	}
	before := memoryUsed()
	time.Sleep(time.Until(start))
	seen, err := agents.await(ctx, func(seen stalled) bool { return seen.Came == 2*f.Matches })
	if err != nil {
		return err
	}
	f.Came = time.Since(start).Seconds()
	if len(seen.Waits) > 0 {
		return errors.New("this machine is too busy: some matches were over before all were asked")
	}
	f.MatchBytes = (memoryUsed() - before) / int64(f.Matches)
	began, cpu := time.Now(), cpuTime()
	time.Sleep(5 * time.Second)
	f.CPUPercent = 100 * (cpuTime() - cpu).Seconds() / time.Since(began).Seconds()
	seen, err = agents.await(ctx, func(seen stalled) bool { return len(seen.Waits) == 2*f.Matches })
	if err != nil {
		return err
	}
	drifts := make([]float64, len(seen.Waits))
	for i, waited := range seen.Waits {
		drifts[i] = (time.Duration(waited) - waitLimit - waitGrace).Abs().Seconds() * 1000
	}
	f.Drift = shares(drifts)
	return nil
}

// await asks the agents until enough has happened, at most two minutes.
func (a *benchAgents) await(ctx context.Context, enough func(stalled) bool) (seen stalled, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*waitLimit)
	defer cancel()
	for {
		if err := newClient(a.control, "").call(ctx, http.MethodGet, "/stalled", nil, &seen); err != nil {
			return seen, err
		}
		if enough(seen) {
			return seen, nil
		}
		time.Sleep(200 * time.Millisecond)
	}
}
