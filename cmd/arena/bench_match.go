package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agora-arena/arena/arena/api"
)

// BenchMatchCmd is `arena bench match`.
type BenchMatchCmd struct {
	Seats  int  `default:"100" help:"Seats of the match, 3 to 128."`
	Rounds int  `default:"20" help:"Rounds of the match, 1 to 200."`
	JSON   bool `help:"Print one JSON object."`
}

// Help says what is measured.
func (c *BenchMatchCmd) Help() string {
	return `Plays one match with agents in another process on this machine, on SQLite with
full sync, and measures this process: CPU per seat and round with everything on
(signing, judging, log, settlement), rounds per second, and how far apart the
seats of a round get their task. Beside it, in the same run, a bare loop that only
posts the same number of bytes to the same agents and reads the replies.`
}

// matchFigures is what one run measured.
type matchFigures struct {
	Seats         int     `json:"seats"`
	Rounds        int     `json:"rounds"`
	CPUMicros     float64 `json:"cpu_us_per_seat_round"`
	BareCPUMicros float64 `json:"bare_cpu_us_per_seat_round"`
	Ratio         float64 `json:"ratio"`
	RoundsPerSec  float64 `json:"rounds_per_second"`
	BarePerSec    float64 `json:"bare_rounds_per_second"`
	Gun           spread  `json:"start_gun_spread_ms"`
	BareGun       spread  `json:"bare_spread_ms"`
}

// Run measures and prints.
func (c *BenchMatchCmd) Run(app *App) (err error) {
	if c.Seats < 3 || c.Seats > 128 || c.Rounds < 1 || c.Rounds > 200 {
		return fmt.Errorf("%d seats and %d rounds: want 3 to 128 seats and 1 to 200 rounds", c.Seats, c.Rounds)
	}
	agents, err := startBenchAgents(app, c.Seats, "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agents.stop()) }()
	f := matchFigures{Seats: c.Seats, Rounds: c.Rounds}
	progress := func(what string) {
		if !c.JSON {
			_, _ = fmt.Fprintln(app.Stderr, what)
		}
	}
	progress(fmt.Sprintf("bare loop: %d posts, %d times …", c.Seats, c.Rounds))
	if err := c.bare(app.Ctx, agents, &f); err != nil {
		return fmt.Errorf("bare loop: %w", err)
	}
	progress(fmt.Sprintf("arena: a match of %d seats and %d rounds …", c.Seats, c.Rounds))
	if err := c.match(app.Ctx, agents, &f); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	f.Ratio = f.CPUMicros / f.BareCPUMicros
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	_, err = fmt.Fprintf(app.Stdout, `
                  CPU µs per        rounds      start gun, ms
                  seat and round    per second  p50     p99     worst
  arena           %8.1f          %8.1f    %6.2f  %6.2f  %6.2f
  bare loop       %8.1f          %8.1f    %6.2f  %6.2f  %6.2f
  ratio           %8.2f
`, f.CPUMicros, f.RoundsPerSec, f.Gun.P50, f.Gun.P99, f.Gun.Worst,
		f.BareCPUMicros, f.BarePerSec, f.BareGun.P50, f.BareGun.P99, f.BareGun.Worst, f.Ratio)
	return err
}

// bare posts what a task POST of this size is, to all agents at once, and
// reads the replies.
func (c *BenchMatchCmd) bare(ctx context.Context, agents *benchAgents, f *matchFigures) error {
	body := []byte(`{"version":"1.0","task":{"description":"` + strings.Repeat("x", 560) + `"}}`)
	token := "Bearer " + strings.Repeat("t", 560)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4, MaxIdleConns: 500, DisableCompression: true}}
	defer client.CloseIdleConnections()
	post := func(url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", token)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return errors.Join(err, resp.Body.Close())
	}
	began, cpu := time.Now(), cpuTime()
	for range c.Rounds {
		gun := make(chan struct{})
		failed := make(chan error, c.Seats)
		var wg sync.WaitGroup
		for _, url := range agents.endpoints {
			wg.Go(func() {
				<-gun
				if err := post(url); err != nil {
					failed <- err
				}
			})
		}
		close(gun)
		wg.Wait()
		close(failed)
		for err := range failed {
			return err
		}
	}
	took, used := time.Since(began), cpuTime()-cpu
	f.BareCPUMicros = float64(used.Microseconds()) / float64(c.Seats*c.Rounds)
	f.BarePerSec = float64(c.Rounds) / took.Seconds()
	var err error
	f.BareGun, err = agents.report(ctx, c.Seats)
	return err
}

// match plays one match through the whole server.
func (c *BenchMatchCmd) match(ctx context.Context, agents *benchAgents, f *matchFigures) (err error) {
	dir, err := os.MkdirTemp("", "arena-bench-")
	if err != nil {
		return fmt.Errorf("folder for the database: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg, err := Load(Sources{Flags: map[string]string{
		"ARENA_ADDR": "127.0.0.1:0", "ARENA_METRICS_ADDR": "", "ARENA_ALLOW_CIDRS": "127.0.0.0/8",
		"ARENA_DATABASE_URL": "sqlite:" + filepath.Join(dir, "arena.db"), "ARENA_HEALTH_INTERVAL": "1h",
	}})
	if err != nil {
		return err
	}
	s, err := newServer(ctx, cfg, slog.New(slog.DiscardHandler), serverOptions{limits: &api.Limits{}})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	admin := newClient(s.url, s.adminToken)
	bench := benchLeague{slug: "bench", rounds: c.Rounds, format: "elimination", minSeats: 3, maxSeats: 128}
	ids, err := bench.prepare(ctx, admin, agents)
	if err != nil {
		return err
	}
	if _, err := agents.report(ctx, c.Seats); err != nil { // forget what came before
		return err
	}
	events, err := watchLeague(ctx, s.url, bench.slug)
	if err != nil {
		return err
	}
	defer events.Close() //nolint:errcheck // the run is over

	began, cpu := time.Now(), cpuTime()
	if err := admin.call(ctx, http.MethodPost, "/v1/matches", map[string]any{"league": bench.slug, "agents": ids}, nil); err != nil {
		return err
	}
	if err := newEnds(events).await(); err != nil {
		return err
	}
	took, used := time.Since(began), cpuTime()-cpu
	f.CPUMicros = float64(used.Microseconds()) / float64(c.Seats*c.Rounds)
	f.RoundsPerSec = float64(c.Rounds) / took.Seconds()
	f.Gun, err = agents.report(ctx, c.Seats)
	return err
}

// cpuTime is what this process has used of the processors so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchAgents are agents in a process of their own.
type benchAgents struct {
	cmd       *exec.Cmd
	stdin     io.Closer
	endpoints []string
	control   string
}

func startBenchAgents(app *App, n int, league string) (*benchAgents, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(app.Ctx, self, "bench", "agents", "--league", league, fmt.Sprint(n)) //nolint:gosec // this very program
	cmd.Stderr = app.Stderr
	stdin, err := cmd.StdinPipe() // its end tells the agents to end
	if err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	a := &benchAgents{cmd: cmd, stdin: stdin}
	var hello struct {
		Endpoints []string `json:"endpoints"`
		Control   string   `json:"control"`
	}
	if err := json.NewDecoder(stdout).Decode(&hello); err != nil {
		return nil, errors.Join(fmt.Errorf("agents do not answer: %w", err), a.stop())
	}
	a.endpoints, a.control = hello.Endpoints, hello.Control
	return a, nil
}

func (a *benchAgents) stop() error {
	return errors.Join(a.stdin.Close(), a.cmd.Wait())
}

// report gives how far apart the requests of each round of n came, and
// forgets them.
func (a *benchAgents) report(ctx context.Context, n int) (spread, error) {
	var arrivals []int64
	if err := newClient(a.control, "").call(ctx, http.MethodGet, "/report", nil, &arrivals); err != nil {
		return spread{}, err
	}
	return spreadOf(arrivals, n), nil
}
