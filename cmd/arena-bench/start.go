package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
)

// BenchStartCmd is `arena bench start`.
type BenchStartCmd struct {
	Matches int    `default:"200" help:"Matches to start, one after another, 10 to 10000."`
	DB      string `name:"db" placeholder:"URL" help:"Database to use, as ARENA_DATABASE_URL; empty: SQLite in a temporary folder. An existing one keeps the matches."`
	JSON    bool   `help:"Print one JSON object."`
}

// Help describes what is measured.
func (c *BenchStartCmd) Help() string {
	return `Starts matches of one round on this machine, one after another, with agents in
another process, and measures the start delay: from the moment in which
POST /v1/matches is written to the one in which the first byte of the first task
has reached an agent. Beside it a bare POST to the same agents, and after each
match the smallest write that the same database takes, a transaction of one row:
two commits lie between the POST and the task, so twice that is the floor.`
}

// startFigures are delays in milliseconds.
type startFigures struct {
	Matches  int    `json:"matches"`
	Database string `json:"database"`
	Start    spread `json:"start_delay_ms"`
	Bare     spread `json:"bare_post_ms"`
	Commit   spread `json:"bare_commit_ms"`
	// Of a whole match of one round and two seats, in this process.
	Commits  float64 `json:"commits_per_match"`
	CPUMilli float64 `json:"cpu_ms_per_match"`
}

// Run measures and prints.
func (c *BenchStartCmd) Run(app *App) (err error) {
	if c.Matches < 10 || c.Matches > 10_000 {
		return fmt.Errorf("%d matches: want 10 to 10000", c.Matches)
	}
	league := fmt.Sprintf("bench-%x", time.Now().UnixNano()) // a database may be used again
	agents, err := startBenchAgents(app, 2, league)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agents.stop()) }()
	f := startFigures{Matches: c.Matches, Database: databaseName(c.DB)}
	if f.Bare, err = c.bare(app.Ctx, agents); err != nil {
		return fmt.Errorf("bare posts: %w", err)
	}
	if err = c.arena(app.Ctx, agents, league, &f); err != nil {
		return fmt.Errorf("matches: %w", err)
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	_, err = fmt.Fprintf(app.Stdout, `
  %d matches on %s, from the POST to the first byte of a task, ms
                  p50     p99     worst
  arena           %6.2f  %6.2f  %6.2f
  bare POST       %6.2f  %6.2f  %6.2f
  bare commit     %6.2f  %6.2f  %6.2f
  a whole match takes %.1f commits and %.1f ms of processor
`, f.Matches, f.Database, f.Start.P50, f.Start.P99, f.Start.Worst, f.Bare.P50, f.Bare.P99, f.Bare.Worst,
		f.Commit.P50, f.Commit.P99, f.Commit.Worst, f.Commits, f.CPUMilli)
	return err
}

// bare measures how long a POST of a task's size takes to reach an agent.
func (c *BenchStartCmd) bare(ctx context.Context, agents *benchAgents) (spread, error) {
	body := []byte(`{"version":"1.0","task":{"description":"` + strings.Repeat("x", 560) + `"}}`)
	var delays []float64
	for range c.Matches {
		began := time.Now()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, agents.endpoints[0], bytes.NewReader(body))
		if err != nil {
			return spread{}, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return spread{}, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return spread{}, err
		}
		delay, err := agents.since(ctx, began)
		if err != nil {
			return spread{}, err
		}
		delays = append(delays, delay)
	}
	return shares(delays), nil
}

// arena starts matches through the whole server.
func (c *BenchStartCmd) arena(ctx context.Context, agents *benchAgents, league string, f *startFigures) (err error) {
	s, stop, err := benchServer(ctx, c.DB, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	admin := apiclient.New(s.URL(), s.admin)
	bench := benchLeague{slug: league, rounds: 1, format: "ladder", minSeats: 2, maxSeats: 2}
	ids, err := bench.prepare(ctx, admin, agents)
	if err != nil {
		return err
	}
	events, err := watchLeague(ctx, s.URL(), bench.slug)
	if err != nil {
		return err
	}
	defer events.Close() //nolint:errcheck // the run is over
	ends := newEnds(events)
	if _, err := agents.since(ctx, time.Now()); err != nil { // forget what came before
		return err
	}
	var delays, commits []float64
	before := s.Store.CommitStats().Commits
	var used time.Duration
	for i := range c.Matches {
		began, cpu := time.Now(), cpuTime()
		if err := admin.Call(ctx, http.MethodPost, "/v1/matches", map[string]any{"league": bench.slug, "agents": ids}, nil); err != nil {
			return err
		}
		if err := ends.await(); err != nil {
			return err
		}
		used += cpuTime() - cpu
		delay, err := agents.since(ctx, began)
		if err != nil {
			return err
		}
		delays = append(delays, delay)
		began = time.Now()
		if _, err := s.Store.Operations.ClaimTick(ctx, league+strconv.Itoa(i), time.Hour); err != nil { // each its own row
			return err
		}
		commits = append(commits, float64(time.Since(began))/1e6)
	}
	f.Start, f.Commit = shares(delays), shares(commits)
	f.Commits = float64(s.Store.CommitStats().Commits-before)/float64(c.Matches) - 1 // less the bare one
	f.CPUMilli = float64(used) / 1e6 / float64(c.Matches)
	return nil
}

// since returns how long after began the first request reached an agent, in
// milliseconds, and forgets the requests; 0 when there was none.
func (a *benchAgents) since(ctx context.Context, began time.Time) (float64, error) {
	var arrivals []int64
	if err := apiclient.New(a.control, "").Call(ctx, http.MethodGet, "/report", nil, &arrivals); err != nil {
		return 0, err
	}
	if len(arrivals) == 0 {
		return 0, nil
	}
	return float64(slices.Min(arrivals)-began.UnixNano()) / 1e6, nil
}
