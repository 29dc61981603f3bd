package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mrand "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/server"
	"github.com/agora-arena/arena/arena/token"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/store"
)

// BenchSweepCmd is `arena bench sweep`.
type BenchSweepCmd struct {
	Agents   int           `default:"10000" help:"Agents, 100 to 100000."`
	Interval time.Duration `default:"30s" help:"Time between two checks of an agent, 2s to 10m."`
	DB       string        `name:"db" placeholder:"URL" help:"Database to use, as ARENA_DATABASE_URL; empty: SQLite in a temporary folder. An existing one keeps the agents."`
	JSON     bool          `help:"Print one JSON object."`
	Profile  string        `placeholder:"FILE" help:"Write a profile of the processor time."`
}

// Help describes what is measured.
func (c *BenchSweepCmd) Help() string {
	return `Checks the health of many agents twice, as a node does, with the agents in another
process on this machine, and measures the second sweep in this process: the share
of a processor over the interval, and how evenly the checks come.`
}

// sweepFigures is what one run measured.
type sweepFigures struct {
	Database  string  `json:"database"`
	Agents    int     `json:"agents"`
	Interval  float64 `json:"interval_seconds"`
	Took      float64 `json:"took_seconds"`
	Cores     float64 `json:"cores"` // over the interval
	CPUMicros float64 `json:"cpu_us_per_check"`
	Mean      float64 `json:"checks_per_second"`
	Most      int     `json:"most_checks_in_a_second"`
	Commits   int64   `json:"commits"`
}

// Run measures and prints.
func (c *BenchSweepCmd) Run(app *App) (err error) {
	if c.Agents < 100 || c.Agents > 100_000 || c.Interval < 2*time.Second || c.Interval > 10*time.Minute {
		return fmt.Errorf("%d agents every %s: want 100 to 100000 agents and 2s to 10m", c.Agents, c.Interval)
	}
	b, err := startBenchArena(app, c.DB, 100, "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	if !c.JSON {
		_, _ = fmt.Fprintf(app.Stderr, "%d agents …\n", c.Agents)
	}
	ids, err := benchPeople(app.Ctx, b.server, c.Agents, b.agents.endpoints)
	if err != nil {
		return err
	}
	f := sweepFigures{Database: databaseName(c.DB), Agents: c.Agents, Interval: c.Interval.Seconds()}
	if err := c.sweep(app.Ctx, b.server, ids, b.agents, &f); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	_, err = fmt.Fprintf(app.Stdout, `
  %d agents every %s on %s
  processor       %.2f of one over the interval, %.0f µs for each check with its row
  checks          %.0f in a second, at most %d; done after %.1f s, %d commits
`, f.Agents, c.Interval, f.Database, f.Cores, f.CPUMicros, f.Mean, f.Most, f.Took, f.Commits)
	return err
}

func (c *BenchSweepCmd) sweep(ctx context.Context, s *benchNode, ids []string, agents *benchAgents, f *sweepFigures) error {
	driver, err := aap.New(aap.Options{Client: s.Client, Sign: s.Keys.Sign, Now: time.Now})
	if err != nil {
		return err
	}
	sweeper, err := health.New(health.Options{
		Store: ownAgents{s.Store, ids}, Probers: map[string]health.Prober{"aap": driver}, Recorder: s.Pauses, CutOff: s.CutOff, Now: time.Now,
		Workers: s.Config.HealthWorkers, Spread: server.HealthSpread(c.Interval),
		Logger: slog.New(slog.DiscardHandler), Rand: mrand.New(mrand.NewPCG(1, 1)), //nolint:gosec // G404: the order of a sweep
	})
	if err != nil {
		return err
	}
	if _, err := sweeper.Sweep(ctx); err != nil { // connections and statements are made
		return err
	}
	if _, err := agents.report(ctx, 1); err != nil { // forget what came before
		return err
	}
	cpu, commits := cpuTime(), s.Store.CommitStats().Commits
	err = profiled(c.Profile, func() error {
		r, err := sweeper.Sweep(ctx)
		if err == nil && r.Failed > 0 {
			err = fmt.Errorf("%d of %d checks failed", r.Failed, r.Probed)
		}
		f.Took = r.Took.Seconds()
		return err
	})
	used := cpuTime() - cpu
	f.Commits = s.Store.CommitStats().Commits - commits
	f.Cores = used.Seconds() / c.Interval.Seconds()
	f.CPUMicros = float64(used.Microseconds()) / float64(c.Agents)
	var arrivals []int64
	err = errors.Join(err, apiclient.New(agents.control, "").Call(ctx, http.MethodGet, "/report", nil, &arrivals))
	if err != nil || len(arrivals) == 0 {
		return err
	}
	slices.Sort(arrivals)
	seconds := map[int64]int{}
	for _, at := range arrivals {
		n := (at - arrivals[0]) / int64(time.Second)
		seconds[n]++
		f.Most = max(f.Most, seconds[n])
	}
	f.Mean = float64(len(arrivals)-1) / time.Duration(arrivals[len(arrivals)-1]-arrivals[0]).Seconds()
	return nil
}

// ownAgents restricts the agents that are probed to those of this run: a
// database that is used again has others, whose endpoints are gone.
type ownAgents struct {
	*store.Store
	ids []string
}

// DueForProbe returns the agents of this run.
func (o ownAgents) DueForProbe(ctx context.Context) ([]arena.Agent, error) {
	found, err := o.AgentsByID(ctx, o.ids)
	return slices.Collect(maps.Values(found)), err
}

// benchPeople makes active agents of leagues that share some endpoints, and
// returns their ids.
func benchPeople(ctx context.Context, s *benchNode, n int, endpoints []string, leagues ...string) ([]string, error) {
	now := time.Now().UTC()
	owner := arena.Owner{ID: arena.NewID(arena.OwnerPrefix, now), Name: "bench", CreatedAt: now}
	_, hash := token.NewSecret(token.OwnerSecretPrefix)
	key := arena.Token{ID: arena.NewID(arena.TokenPrefix, now), OwnerID: owner.ID, Scope: arena.ScopeOwner, Hash: hash, CreatedAt: now}
	if err := s.Store.CreateOwner(ctx, owner, key); err != nil {
		return nil, err
	}
	ids := make([]string, n)
	failed := make(chan error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range 64 { // that share commits
		wg.Go(func() {
			for i := range next {
				ids[i] = arena.NewID(arena.AgentPrefix, now)
				if err := s.Store.CreateAgent(ctx, arena.Agent{
					ID: ids[i], OwnerID: owner.ID, Name: fmt.Sprintf("agent %d", i), Protocol: "aap",
					Endpoint: endpoints[i%len(endpoints)], Leagues: leagues, CreatedAt: now, PassedAt: now,
					Health: arena.Health{OK: true, Capabilities: leagues, MaxConcurrent: 1000},
				}); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	close(failed)
	return ids, <-failed
}
