package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	rtmetrics "runtime/metrics"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
)

// waitFigures is what many matches cost that wait for their agents.
type waitFigures struct {
	Matches    int     `json:"matches"`
	MatchBytes int64   `json:"bytes_per_match"` // of what the process holds of the machine's memory
	Stacks     int64   `json:"stack_bytes_per_match"`
	Objects    int64   `json:"object_bytes_per_match"`
	Goroutines float64 `json:"goroutines_per_match"`
	CPUPercent float64 `json:"cpu_percent"` // of one processor, while all wait
	Staggered  waitEnd `json:"staggered"`   // starts are spread, as real ones are
	AtOnce     waitEnd `json:"at_once"`     // all start at one moment
}

// waitEnd is how the time limits of a run ended.
type waitEnd struct {
	Came   float64 `json:"came_seconds"`   // from the first start to the last request
	Timer  spread  `json:"timer_drift_ms"` // from the moment at which a seat is to be given up to the one at which it was
	Bare   spread  `json:"bare_timer_ms"`  // of a timer of this process behind which nothing is done, meanwhile
	Closed spread  `json:"closed_ms"`      // from the limit of a round's last seat until the round is closed in the log
}

const (
	// waitBetween is between two starts when they are spread: 5,000 take 40 s.
	waitBetween = 8 * time.Millisecond
	// waitRest is how long all wait after the last start.
	waitRest = 20 * time.Second
	// waitGrace is how long the arena listens for a reply that is late already.
	waitGrace = 25 * time.Millisecond
)

// wait lets many duels wait for agents that never answer.
func (c *BenchMatchCmd) wait(app *App) (err error) {
	if err := allowFiles(uint64(2*c.Waiting + 500)); err != nil { //nolint:gosec // G115: at most 10,500
		return err
	}
	slug := fmt.Sprintf("bench-wait-%x", time.Now().UnixNano()) // a database may be used again
	b, err := startBenchArena(app, c.DB, benchCrowd, slug, "--stall")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	span := time.Duration(c.Waiting) * waitBetween
	w := waiting{benchArena: b, slug: slug, profile: c.Profile, limit: (span + waitRest).Truncate(time.Second), f: waitFigures{Matches: c.Waiting}}
	league := benchLeague{slug: slug, rounds: 1, format: "ladder", minSeats: 2, maxSeats: 2, limit: w.limit}
	if w.ids, err = league.prepare(app.Ctx, apiclient.New(b.server.URL(), b.server.admin), b.agents); err != nil {
		return err
	}
	f := &w.f
	if f.Staggered, err = w.run(app.Ctx, span); err != nil {
		return fmt.Errorf("starts over %s: %w", span, err)
	}
	if f.AtOnce, err = w.run(app.Ctx, 0); err != nil {
		return fmt.Errorf("starts at once: %w", err)
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(matchFigures{Database: databaseName(c.DB), Waiting: f})
	}
	_, err = fmt.Fprintf(app.Stdout, `
  %d duels wait for their agents on %s
  memory          %.1f KB for each match; of it %.1f objects, %.1f stacks of %.1f goroutines
  processor       %.1f %% of one while they wait
  after the limit, ms, p50 · p99 · worst
  %s %s
  %s %s
`, f.Matches, databaseName(c.DB), kb(f.MatchBytes), kb(f.Objects), kb(f.Stacks), f.Goroutines, f.CPUPercent,
		fmt.Sprintf("started over %.0f s", f.Staggered.Came), f.Staggered, fmt.Sprintf("started in %.1f s", f.AtOnce.Came), f.AtOnce)
	return err
}

func kb(bytes int64) float64 { return float64(bytes) / 1024 }

// String returns the two figures of the end.
func (e waitEnd) String() string {
	return fmt.Sprintf("timer %s, bare timer %s, round closed %s", e.Timer, e.Bare, e.Closed)
}

// waiting measures matches that wait.
type waiting struct {
	*benchArena
	slug    string
	ids     []string // of the agents
	profile string
	limit   time.Duration // of the round
	left    int           // requests given up when this run and those before are over
	f       waitFigures
}

// held is what the process holds.
type held struct{ bytes, stacks, objects int64 }

func heldNow() held {
	bytes := memoryUsed() // collects what is garbage first
	s := []rtmetrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	rtmetrics.Read(s)
	return held{bytes, int64(s[0].Value.Uint64()), int64(s[1].Value.Uint64())} //nolint:gosec // G115: far below 2^63
}

// run plays all matches once, their starts spread over a time.
func (w *waiting) run(ctx context.Context, span time.Duration) (end waitEnd, err error) {
	n := w.f.Matches
	load := matchLoad{Matches: n, Seats: 2, Rounds: 1, span: span}
	start, err := load.schedule(ctx, apiclient.New(w.server.URL(), w.server.admin), w.slug, w.ids)
	if err != nil {
		return end, err
	}
	if _, err := w.agents.report(ctx, 2); err != nil { // forget what came before
		return end, err
	}
	before, goroutines := heldNow(), runtime.NumGoroutine()
	time.Sleep(time.Until(start))
	seen, err := w.agents.await(ctx, func(seen stalled) bool { return seen.Came == 2*n })
	if err != nil {
		return end, err
	}
	end.Came = time.Since(start).Seconds()
	if seen.Left > w.left {
		return end, errors.New("this machine is too busy: some matches were over before all were asked")
	}
	w.left += 2 * n
	if span > 0 {
		if err := w.rest(before, goroutines); err != nil {
			return end, err
		}
	}
	bare := bareTimer()
	_, err = w.agents.await(ctx, func(seen stalled) bool { return seen.Left == w.left })
	if end.Bare = bare(); err != nil {
		return end, err
	}
	if err := until(ctx, func() bool { return w.server.Runner.Playing() == 0 }); err != nil {
		return end, err
	}
	return end, w.ended(ctx, load.ids, &end)
}

// bareTimer sets a timer again and again, until stop is called, which returns
// how late they came.
func bareTimer() (stop func() spread) {
	over, late := make(chan struct{}), make(chan spread)
	go func() {
		var ms []float64
		for {
			due := time.Now().Add(10 * time.Millisecond)
			t := time.NewTimer(time.Until(due))
			select {
			case <-t.C:
				ms = append(ms, float64(time.Since(due))/1e6)
			case <-over:
				t.Stop()
				late <- shares(append(ms, 0))
				return
			}
		}
	}()
	return func() spread { close(over); return <-late }
}

// rest measures the process while all matches wait.
func (w *waiting) rest(before held, goroutines int) error {
	n := int64(w.f.Matches)
	now := heldNow()
	w.f.MatchBytes, w.f.Stacks, w.f.Objects = (now.bytes-before.bytes)/n, (now.stacks-before.stacks)/n, (now.objects-before.objects)/n
	w.f.Goroutines = float64(runtime.NumGoroutine()-goroutines) / float64(n)
	if w.profile != "" { // of the memory: a processor that waits has no profile
		out, err := os.Create(w.profile)
		if err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		if err := errors.Join(pprof.WriteHeapProfile(out), out.Close()); err != nil {
			return fmt.Errorf("profile: %w", err)
		}
	}
	began, cpu := time.Now(), cpuTime()
	time.Sleep(5 * time.Second)
	w.f.CPUPercent = 100 * (cpuTime() - cpu).Seconds() / time.Since(began).Seconds()
	return nil
}

// ended reads how the limits ended.
func (w *waiting) ended(ctx context.Context, matches []string, end *waitEnd) error {
	var timers, closed []float64
	for _, match := range matches {
		answers, err := w.server.Store.Matches.Answers(ctx, match)
		if err != nil {
			return fmt.Errorf("read answers: %w", err)
		}
		rounds, err := w.server.Store.Matches.Rounds(ctx, match)
		if err != nil {
			return fmt.Errorf("read rounds: %w", err)
		}
		var limit time.Time
		for _, a := range answers {
			timers = append(timers, float64(a.Elapsed-w.limit-waitGrace)/1e6)
			if at := a.ArrivedAt.Add(w.limit - a.Elapsed); at.After(limit) {
				limit = at
			}
		}
		for _, r := range rounds {
			closed = append(closed, float64(r.ClosedAt.Sub(limit))/1e6)
		}
	}
	if len(timers) != 2*w.f.Matches || len(closed) != w.f.Matches {
		return fmt.Errorf("%d seats and %d rounds ended: %w", len(timers), len(closed), arena.Errorf(arena.CodeInternal, "not all were played"))
	}
	end.Timer, end.Closed = shares(timers), shares(closed)
	return nil
}

// allowFiles lets this process, and those it starts, open as many files as a
// run needs.
func allowFiles(need uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if l.Cur >= need && l.Max >= need {
		return nil
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: need, Max: max(need, l.Max)}); err != nil {
		return fmt.Errorf("this run opens %d files in each of two processes and only %d are allowed: run `ulimit -Hn %d; ulimit -n %d` as root in the same shell before, or take fewer: %w",
			need, l.Max, need, need, err)
	}
	return nil
}

// await polls the agents until enough has happened, at most two minutes.
func (a *benchAgents) await(ctx context.Context, enough func(stalled) bool) (seen stalled, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		if err := apiclient.New(a.control, "").Call(ctx, http.MethodGet, "/stalled", nil, &seen); err != nil {
			return seen, fmt.Errorf("%d requests have come, %d were given up: %w", seen.Came, seen.Left, err)
		}
		if enough(seen) {
			return seen, nil
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// until polls a condition every millisecond and fails after 30 seconds.
func until(ctx context.Context, holds func() bool) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-limit.C:
			return errors.New("the condition did not hold within 30 s")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
