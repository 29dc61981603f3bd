package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/server"
)

// BenchSoakCmd is `arena bench soak`.
type BenchSoakCmd struct {
	Spectators int           `default:"10000" help:"Spectators at once, 10 to 15000; as many files must be allowed."`
	Hostile    int           `default:"300" help:"Hostile agents of every kind, 25 to 1000."`
	Honest     int           `default:"50" help:"Honest agents, 6 to 2000."`
	Duels      int           `default:"0" help:"Duels of honest agents at once; 0: of half of them."`
	Waiting    int           `default:"0" help:"Agents without an endpoint that wait for tasks in polls of 50 seconds, 0 to 10000."`
	Duration   time.Duration `default:"5m" help:"How long, 5s to 3h."`
	Settle     time.Duration `default:"3m" help:"How long the server is left alone before the crowd comes, and at most after it has left, 1s to 1h."`
	Short      bool          `help:"300 spectators, 50 hostile and 10 honest agents, 10 seconds; memory is not waited for."`
	Profile    string        `placeholder:"FILE" help:"Write a profile of the server's processor time while the crowd is there."`
	Heap       string        `placeholder:"FILE" help:"Write a profile of what is held after all have left."`
	JSON       bool          `help:"Print one JSON object."`
}

// Help describes what is measured.
func (c *BenchSoakCmd) Help() string {
	return `A whole server on SQLite, and around it in other processes: spectators, some of whom
never read, honest agents that meet each other, and hostile agents that meet the rest of
the honest ones. Measured is what honest agents notice: from the POST of a match to the
first byte of its first task, how long after its deadline a round is closed in which
somebody does not answer, and how many of their rounds are answered. And what stays
behind: memory, goroutines and files. Before is a server that has played a match of each
kind before a few spectators and was then left alone; after is when it has given back what
the crowd used, by itself, or has not within that time.`
}

// soakFigures is the whole result.
type soakFigures struct {
	Spectators int     `json:"spectators"`
	Hostile    int     `json:"hostile"`
	Honest     int     `json:"honest"`
	Waiting    int     `json:"waiting"`
	Seconds    float64 `json:"seconds"`
	CPUs       int     `json:"cpus"`

	Matches        int            `json:"matches"`
	Void           int            `json:"void"`
	HonestRounds   int            `json:"honest_rounds"`
	HonestAnswered int            `json:"honest_answered"`
	HostileRounds  map[string]int `json:"hostile_rounds"` // by outcome
	Start          spread         `json:"start_delay_ms"`
	Deadline       spread         `json:"deadline_error_ms"`

	Deliveries int64 `json:"deliveries"`
	Wrong      int64 `json:"out_of_order"`
	Closed     int64 `json:"spectators_closed"`
	Polls      int64 `json:"polls"`
	Refused    int64 `json:"polls_refused"` // that did not end with 204 No Content

	// Of the processors, in seconds, while the crowd was there. The agents' also
	// has their start and end.
	ServerCPU float64 `json:"server_cpu_seconds"`
	CrowdCPU  float64 `json:"spectators_cpu_seconds"`
	AgentsCPU float64 `json:"agents_cpu_seconds"`

	Before soakState `json:"before"`
	Most   soakState `json:"most"`
	After  soakState `json:"after"`

	PagesBefore int64 `json:"before_page_bytes"` // SQLite's
	PagesAfter  int64 `json:"after_page_bytes"`

	Settled float64  `json:"settled_seconds"` // from when all had left to when After was taken
	Left    []string `json:"left"`            // what was still more than before then
}

// Run measures and prints.
func (c *BenchSoakCmd) Run(app *App) error {
	if c.Short {
		c.Spectators, c.Hostile, c.Honest, c.Duration = 300, 50, 10, 10*time.Second
		c.Settle = 0
	}
	if c.Duels == 0 {
		c.Duels = (c.Honest - 2) / 4
	}
	if c.Spectators < 10 || c.Spectators > 15_000 || c.Hostile < 25 || c.Hostile > 1000 || c.Honest < 6 || c.Honest > 2000 || c.Waiting < 0 || c.Waiting > 10_000 ||
		c.Duration < 5*time.Second || c.Duration > 3*time.Hour || c.Settle > time.Hour || !c.Short && c.Settle < time.Second {
		return errors.New("want 10 to 15000 spectators, 25 to 1000 hostile and 6 to 2000 honest agents, at most 10000 that wait, 5s to 3h, 1s to 1h of rest")
	}
	if c.Duels < 1 || 2*c.Duels+3 > c.Honest {
		return fmt.Errorf("%d duels of %d honest agents: want at least one, and three agents for the other matches", c.Duels, c.Honest)
	}
	s := &soak{cmd: c, app: app, figures: soakFigures{
		Spectators: c.Spectators, Hostile: c.Hostile, Honest: c.Honest, Waiting: c.Waiting, Seconds: c.Duration.Seconds(), CPUs: runtime.GOMAXPROCS(0),
		HostileRounds: map[string]int{},
	}}
	if err := s.run(app.Ctx); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(s.figures)
	}
	_, err := fmt.Fprint(app.Stdout, s.figures.table())
	return err
}

func (f soakFigures) table() string {
	var b strings.Builder
	var hostile []string
	for _, outcome := range slices.Sorted(maps.Keys(f.HostileRounds)) {
		hostile = append(hostile, fmt.Sprintf("%s %d", outcome, f.HostileRounds[outcome]))
	}
	fmt.Fprintf(&b, `
  %d spectators, %d hostile and %d honest agents, %.0f s, %d processors
                               p50      p99    worst
  start delay, ms         %8.1f %8.1f %8.1f
  deadline error, ms      %8.1f %8.1f %8.1f
  honest rounds answered  %d of %d, in %d matches (%d void)
  hostile rounds          %s
  deliveries              %d, out of order %d, spectators closed %d
  agents that wait        %d, polls %d, refused %d
  processor time, s       server %.0f, spectators %.0f, agents %.0f
`, f.Spectators, f.Hostile, f.Honest, f.Seconds, f.CPUs, f.Start.P50, f.Start.P99, f.Start.Worst,
		f.Deadline.P50, f.Deadline.P99, f.Deadline.Worst, f.HonestAnswered, f.HonestRounds, f.Matches, f.Void, strings.Join(hostile, ", "),
		f.Deliveries, f.Wrong, f.Closed, f.Waiting, f.Polls, f.Refused, f.ServerCPU, f.CrowdCPU, f.AgentsCPU)
	b.WriteString(f.memoryTable())
	return b.String()
}

// soak is one run.
type soak struct {
	cmd     *BenchSoakCmd
	app     *App
	server  *benchNode
	admin   *apiclient.Client
	fleet   hostileHello
	figures soakFigures

	honest map[string]bool // ids

	mu      sync.Mutex
	matches map[string]*soakMatch
	late    []float64
}

// soakMatch is a match that is being played.
type soakMatch struct {
	posted   time.Time
	deadline time.Time // of the open round
	over     chan struct{}
}

func (s *soak) say(what string) {
	if !s.cmd.JSON {
		_, _ = fmt.Fprintln(s.app.Stderr, what)
	}
}

func (s *soak) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "arena-bench-")
	if err != nil {
		return fmt.Errorf("folder for the database: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Four addresses of this machine stand for all; an agent that answered 429
	// is back soon, to do it again.
	s.server, err = newBenchNode(ctx, map[string]string{
		"ARENA_ADDR": "127.0.0.1:0", "ARENA_METRICS_ADDR": "", "ARENA_ALLOW_CIDRS": "127.0.0.0/8",
		"ARENA_DATABASE_URL": "sqlite:" + filepath.Join(dir, "arena.db"), "ARENA_ARCHIVE_AFTER": "30s", "ARENA_SHUTDOWN_GRACE": "5s",
	}, server.Options{RateLimitPause: time.Second})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.server.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	s.admin = apiclient.New(s.server.URL(), s.server.admin)
	agents, err := s.startFleet()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agents()) }()
	return s.play(ctx)
}

// startFleet starts the agents' process; stop ends it.
func (s *soak) startFleet() (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(s.app.Ctx, self, "hostile", "--stream", s.server.URL()+"/v1/stream", fmt.Sprint(s.cmd.Honest), fmt.Sprint(s.cmd.Hostile)) //nolint:gosec // this very program
	cmd.Stderr = s.app.Stderr
	stdin, err := cmd.StdinPipe() // the agents end when it is closed
	if err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	var stdout io.Reader
	if stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	stop = func() error {
		err := errors.Join(stdin.Close(), cmd.Wait())
		s.figures.AgentsCPU = cpuOf(cmd.ProcessState).Seconds()
		return err
	}
	if err := json.NewDecoder(stdout).Decode(&s.fleet); err != nil {
		return nil, errors.Join(fmt.Errorf("agents do not answer: %w", err), stop())
	}
	return stop, nil
}

// arrivals returns when the first tasks of matches came, and forgets them. A
// POST also turns the attacks on health checks on.
func (s *soak) arrivals(ctx context.Context, method string) (map[string]int64, error) {
	at := map[string]int64{}
	return at, apiclient.New(s.fleet.Control, "").Call(ctx, method, "/", nil, &at)
}
