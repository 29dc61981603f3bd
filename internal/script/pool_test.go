package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/script"
	"github.com/agora-arena/arena/internal/script/worker"
	"github.com/agora-arena/arena/internal/testwait"
)

// TestMain makes this test binary its own worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "script-worker" {
		if err := worker.Serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// newPool returns a pool that is closed, without any process left, at the end
// of the test.
func newPool(t *testing.T, change ...func(*script.Options)) *script.Pool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := script.Options{Command: []string{self, "script-worker"}, Logger: slog.New(slog.DiscardHandler), Workers: 2}
	for _, c := range change {
		c(&o)
	}
	p := script.NewPool(o)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if s := p.Stats(); s.Workers != 0 {
			t.Errorf("after Close: %+v", s)
		}
	})
	return p
}

func calls(args ...string) []json.RawMessage {
	raw := make([]json.RawMessage, len(args))
	for i, a := range args {
		raw[i] = json.RawMessage(a)
	}
	return raw
}

func solve(source string, args ...string) arena.Script {
	return arena.Script{Source: source, Function: "solve", Calls: calls(args...), Budget: 10}
}

func TestPool_Run(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	for _, tt := range []struct {
		name   string
		script arena.Script
		want   []arena.CallResult
	}{
		{"results", solve(`function solve(a, b) { return [a + b, '<&>'] }`, `[1,2]`, `["x","y"]`), []arena.CallResult{{Value: `[3,"<&>"]`}, {Value: `["xy","<&>"]`}}},
		{"an error of one call", solve(`function solve(a) { if (a) throw 'no'; return 1 }`, `[1]`, `[0]`), []arena.CallResult{{Error: `threw "no"`}, {Value: "1"}}},
		{
			"the first error ends it",
			arena.Script{Source: `function solve(a) { throw 'no' }`, Function: "solve", Calls: calls(`[]`, `[]`), Budget: 1, StopOnError: true},
			[]arena.CallResult{{Error: `threw "no"`}, {Error: "not called: an earlier call failed"}},
		},
		{"another function", arena.Script{Source: `const turn = (s) => s`, Function: "turn", Calls: calls(`[{"a":1}]`), Budget: 1}, []arena.CallResult{{Value: `{"a":1}`}}},
		{"steps", solve(`function solve() { for (;;); }`, `[]`), []arena.CallResult{{Error: "too many steps"}}},
		{"a result of the largest size", solve(`function solve() { return '<'.repeat(65534) }`, `[]`), []arena.CallResult{{Value: `"` + strings.Repeat("<", 65534) + `"`}}},
	} {
		got, err := p.Run(t.Context(), tt.script)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	got, err := p.Run(t.Context(), solve(`I think it is 4`, `[]`, `[]`))
	if err != nil || len(got) != 2 || !strings.Contains(got[1].Error, "syntax") {
		t.Errorf("a source that does not compile: %+v, %v", got, err)
	}
	if s := p.Stats(); s.Started != 1 || len(s.Killed) != 0 || s.Workers != 1 || s.Busy != 0 {
		t.Errorf("one worker should have done all this: %+v", s)
	}
}

// A worker keeps games, and evicts the one that was used longest ago.
func TestPool_Run_games(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	for i := range 30 {
		source := fmt.Sprintf("const info = %d; let n = 0; function parse() { n++; return n + info }", i%10)
		got, err := p.Run(t.Context(), arena.Script{Source: source, Function: "parse", Calls: calls(`[{},0,""]`, `[{},0,""]`), Budget: 2, Game: true})
		want := arena.CallResult{Value: fmt.Sprintf("%q", fmt.Sprint(i%10+1))}
		if err != nil || got[0] != want || got[1] != want {
			t.Fatalf("game %d: %+v, %v, want %+v", i, got, err, want)
		}
	}
	got, err := p.Run(t.Context(), arena.Script{Source: "\nfunction parse(", Function: "parse", Calls: calls(`[]`), Budget: 1, Game: true})
	if err != nil || !strings.HasPrefix(got[0].Error, "2:16: syntax: ") {
		t.Errorf("a source that does not compile: %+v, %v", got, err)
	}
	// One, but the race detector multiplies the memory of a worker, and a large one
	// is replaced.
	if s := p.Stats(); s.Started > 6 {
		t.Errorf("%d workers for 31 scripts: %+v", s.Started, s)
	}
}

// parserBomb makes the parser of the interpreter allocate until its process
// dies: it copies the labels around each label.
func parserBomb() string {
	return strings.Repeat("a:", 16_300) + "function solve(){}"
}

// Threat J1: a source that makes the parser allocate without end costs its own
// worker and nothing else; the next script gets a new one.
func TestPool_ParserBomb(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	_, err := p.Run(t.Context(), solve(parserBomb(), `[]`))
	if !errors.Is(err, arena.ErrScriptLimit) {
		t.Fatalf("it was not ended: %v", err)
	}
	got, err := p.Run(t.Context(), solve(`const solve = () => 1`, `[]`))
	if err != nil || got[0].Value != "1" {
		t.Errorf("the next script: %+v, %v", got, err)
	}
}

// Threat J2: what the interpreter cannot interrupt is ended by the processor
// time of its process, and not by waiting for it.
func TestPool_UninterruptibleParser(t *testing.T) {
	t.Parallel()
	p := newPool(t, func(o *script.Options) { o.Compile = 300 * time.Millisecond })
	for _, around := range [][2]string{{"(a=b=>", ")=>1"}, {"({a:", "})=>1"}} {
		source := "x=" + strings.Repeat(around[0], 40) + "1" + strings.Repeat(around[1], 40)
		if _, err := p.Run(t.Context(), solve(source, `[]`)); !errors.Is(err, arena.ErrScriptLimit) {
			t.Errorf("%q: %v", around, err)
		}
	}
	if s := p.Stats(); s.Killed["compile"] != 2 {
		t.Errorf("%+v", s)
	}
}

func TestPool_Memory(t *testing.T) {
	t.Parallel()
	p := newPool(t, func(o *script.Options) { o.Compile = time.Minute })
	if _, err := p.Run(t.Context(), solve(parserBomb(), `[]`)); !errors.Is(err, arena.ErrScriptLimit) || p.Stats().Killed["memory"] != 1 {
		t.Errorf("%v, %+v", err, p.Stats())
	}
}

// signal sends a signal to a worker.
func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Error(err)
	}
}

// Threat J10: a worker that the machine does not run is no fault of its script,
// which runs again. Processor time ends a script, waiting does not.
func TestPool_Starved(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, func(o *script.Options) { o.Workers, o.Wall = 1, 5*time.Second })
		run := func() {
			t.Helper()
			if got, err := p.Run(t.Context(), solve(`const solve = (a) => a`, `[7]`)); err != nil || got[0].Value != "7" {
				t.Errorf("%+v, %v", got, err)
			}
		}
		run() // starts the worker
		signal(t, p.Pids()[0], syscall.SIGSTOP)
		run()
		if s := p.Stats(); s.Started < 2 || len(s.Killed) != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("again and again", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, func(o *script.Options) { o.Wall = 20 * time.Millisecond })
		_, err := p.Run(t.Context(), endless())
		if err == nil || errors.Is(err, arena.ErrScriptLimit) || len(p.Stats().Killed) != 0 || p.Stats().Started != 3 {
			t.Errorf("%v, %+v", err, p.Stats())
		}
	})
}

// A script that works for too long is ended by its processor time.
func TestPool_ProcessorTime(t *testing.T) {
	t.Parallel()
	p := newPool(t, func(o *script.Options) { o.CPU = 50 * time.Millisecond })
	if _, err := p.Run(t.Context(), endless()); !errors.Is(err, arena.ErrScriptLimit) || p.Stats().Killed["cpu"] != 1 {
		t.Errorf("%v, %+v", err, p.Stats())
	}
}

// busy waits until so many scripts run.
func busy(t *testing.T, p *script.Pool, n int) {
	t.Helper()
	testwait.Until(t, fmt.Sprint(n, " scripts run"), func() bool { return p.Stats().Busy == n })
}

// endless needs about a second in each call.
func endless() arena.Script {
	s := solve(`function solve() { for (;;); }`)
	for range 50 {
		s.Calls = append(s.Calls, json.RawMessage(`[]`))
	}
	s.Budget = 50
	return s
}

// slow needs about a second, and returns the number of each call.
func slow() arena.Script {
	s := solve(`function solve(a) { for (let i = 0; i < 200000; i++); return a }`)
	for i := range 20 {
		s.Calls = append(s.Calls, json.RawMessage(fmt.Sprintf("[%d]", i)))
	}
	return s
}

// Threat J3: the end of a context ends its script at once, also one that
// waits for a worker.
func TestPool_ContextEnds(t *testing.T) {
	t.Parallel()
	p := newPool(t, func(o *script.Options) { o.Workers = 1 })
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the match has another node")
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if _, err := p.Run(ctx, endless()); !errors.Is(err, why) || errors.Is(err, arena.ErrScriptLimit) {
				t.Errorf("%v", err)
			}
		})
	}
	busy(t, p, 1)
	cancel(why)
	group.Wait()
	if s := p.Stats(); s.Busy != 0 || s.Workers != 0 || len(s.Killed) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestPool_Close(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := p.Run(t.Context(), endless()); err == nil || errors.Is(err, arena.ErrScriptLimit) {
				t.Errorf("%v", err)
			}
		})
	}
	busy(t, p, 2)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	group.Wait()
	if _, err := p.Run(t.Context(), endless()); err == nil {
		t.Error("a closed pool ran a script")
	}
}

// A worker that somebody else kills is no fault of its script: it runs again,
// alone. One that dies twice is.
func TestPool_KilledFromOutside(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	type outcome struct {
		results []arena.CallResult
		err     error
	}
	done := make(chan outcome, 1)
	run := func() { r, err := p.Run(t.Context(), slow()); done <- outcome{r, err} }

	go run()
	busy(t, p, 1)
	signal(t, p.Pids()[0], syscall.SIGKILL)
	if o := <-done; o.err != nil || len(o.results) != 20 || o.results[19].Value != "19" {
		t.Errorf("killed once: %+v", o)
	}
	if s := p.Stats(); s.Started != 2 || len(s.Killed) != 0 {
		t.Errorf("killed once: %+v", s)
	}

	// An idle worker that has died is replaced before anything is sent.
	signal(t, p.Pids()[0], syscall.SIGKILL)
	if r, err := p.Run(t.Context(), solve(`const solve = () => 1`, `[]`)); err != nil || r[0].Value != "1" {
		t.Errorf("after an idle worker died: %+v, %v", r, err)
	}

	go run()
	busy(t, p, 1)
	first := p.Pids()[0]
	signal(t, first, syscall.SIGKILL)
	testwait.Until(t, "another worker runs it", func() bool {
		pids := p.Pids()
		return len(pids) == 1 && pids[0] != first && p.Stats().Busy == 1
	})
	signal(t, p.Pids()[0], syscall.SIGKILL)
	if o := <-done; !errors.Is(o.err, arena.ErrScriptLimit) || p.Stats().Killed["death"] != 1 {
		t.Errorf("killed twice: %+v, %+v", o, p.Stats())
	}
}

func TestPool_NoWorkerStarts(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"no such program":     {"/nonexistent/arena"},
		"exits at once":       {"/bin/true"},
		"says something else": {"/bin/echo", "hello, I am not a worker"},
	} {
		p := newPool(t, func(o *script.Options) { o.Command = command })
		if _, err := p.Run(t.Context(), solve(`const solve = () => 1`, `[]`)); err == nil || errors.Is(err, arena.ErrScriptLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := script.NewPool(script.Options{Command: []string{self, "script-worker"}, Logger: slog.New(slog.DiscardHandler)})
	defer func() { _ = p.Close() }()
	for _, cases := range []int{1, 6} {
		s := solve(`function solve(a, b) { let s = 0; for (let i = 0; i < 100; i++) s += i; return a + b }`)
		for range cases {
			s.Calls = append(s.Calls, json.RawMessage(`[1, 2]`))
		}
		b.Run(fmt.Sprintf("calls=%d", cases), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Run(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
