package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
)

// BenchAgentsCmd is `arena bench agents`: the other side of the benchmarks.
type BenchAgentsCmd struct {
	Count  int      `arg:"" help:"Number of agents."`
	League []string `default:"bench" help:"Leagues that they can play in."`
	Stall  bool     `help:"Never answer a task, and report how many tasks the arena gave up."`
	Play   bool     `help:"Answer with the first option of each task: in a game, the first legal move."`
}

const benchAnswer = "42"

// Run serves agents on ports of their own until standard input ends. It
// prints one JSON object with their endpoints first.
func (c *BenchAgentsCmd) Run(app *App) error {
	var mu sync.Mutex
	arrivals := []int64{}
	var task lastTask
	left := 0
	answer := func(text string) []byte {
		body, _ := json.Marshal(map[string]any{"answer": text, "confidence": 0.9, "tokens": 12}) // texts and numbers always encode
		return body
	}
	reply := answer(benchAnswer)
	leagues, err := json.Marshal(c.League)
	if err != nil {
		return fmt.Errorf("leagues: %w", err)
	}
	health := fmt.Appendf(nil, `{"status":"ok","version":"1.0","capabilities":%s,"max_concurrent":1000}`, leagues)
	send := func(w http.ResponseWriter, body []byte) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the arena may have hung up
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /agora", func(w http.ResponseWriter, r *http.Request) {
		at := time.Now().UnixNano()
		body, _ := io.ReadAll(r.Body) // only the replies of players depend on it
		mu.Lock()
		arrivals = append(arrivals, at)
		task.Body, task.Token = body, r.Header.Get("Authorization")
		mu.Unlock()
		if c.Stall {
			<-r.Context().Done()
			mu.Lock()
			left++
			mu.Unlock()
			return
		}
		if c.Play {
			var asked struct{ Task struct{ Options []string } }
			if json.Unmarshal(body, &asked) == nil && len(asked.Task.Options) > 0 {
				send(w, answer(asked.Task.Options[0]))
				return
			}
		}
		send(w, reply)
	})
	mux.HandleFunc("GET /agora/health", func(w http.ResponseWriter, _ *http.Request) { send(w, health) })
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := json.Marshal(arrivals) // numbers always encode
		arrivals = arrivals[:0]
		send(w, body)
	})
	mux.HandleFunc("GET /stalled", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := json.Marshal(stalled{len(arrivals), left}) // numbers always encode
		send(w, body)
	})
	mux.HandleFunc("GET /last", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := json.Marshal(task) // texts always encode
		send(w, body)
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	var wg sync.WaitGroup
	var hello struct {
		Endpoints []string `json:"endpoints"`
		Control   string   `json:"control"`
	}
	for range c.Count {
		var lc net.ListenConfig
		l, err := lc.Listen(app.Ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		wg.Go(func() { _ = srv.Serve(l) }) // ends with ErrServerClosed
		hello.Control = "http://" + l.Addr().String()
		hello.Endpoints = append(hello.Endpoints, hello.Control+"/agora")
	}
	if err := json.NewEncoder(app.Stdout).Encode(hello); err != nil {
		return fmt.Errorf("say where the agents are: %w", err)
	}
	_, _ = io.Copy(io.Discard, app.Stdin) // until the other side closes it
	err = srv.Close()
	wg.Wait()
	return err
}

// stalled is how many requests came, and how many of them the arena gave up.
type stalled struct {
	Came int `json:"came"`
	Left int `json:"left"`
}

// lastTask is the last request that an agent got.
type lastTask struct {
	Body  []byte `json:"body"`
	Token string `json:"token"` // the Authorization header
}

// spread is how far the first and the last of a group are apart, over all
// groups, in milliseconds.
type spread struct {
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Worst float64 `json:"worst"`
}

// String returns p50, p99 and worst.
func (s spread) String() string { return fmt.Sprintf("%.1f · %.1f · %.1f", s.P50, s.P99, s.Worst) }

// spreadOf cuts arrivals (unix nanoseconds) into groups of n in order of time:
// a round's requests all come before the next round's.
func spreadOf(arrivals []int64, n int) spread {
	slices.Sort(arrivals)
	var ms []float64
	for group := range slices.Chunk(arrivals, n) {
		ms = append(ms, float64(group[len(group)-1]-group[0])/1e6)
	}
	if len(ms) == 0 {
		return spread{}
	}
	return shares(ms)
}

// shares returns the middle, nearly the worst and the worst of at least one
// duration in milliseconds.
func shares(ms []float64) spread {
	slices.Sort(ms)
	at := func(share float64) float64 { return ms[min(len(ms)-1, int(share*float64(len(ms))))] }
	return spread{P50: at(0.5), P99: at(0.99), Worst: ms[len(ms)-1]}
}

// benchAgents are agents in a process of their own.
type benchAgents struct {
	cmd       *exec.Cmd
	stdin     io.Closer
	endpoints []string
	control   string
}

func startBenchAgents(app *App, n int, league string, flags ...string) (*benchAgents, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(app.Ctx, self, append([]string{"agents", "--league", league, fmt.Sprint(n)}, flags...)...) //nolint:gosec // this very program
	cmd.Stderr = app.Stderr
	stdin, err := cmd.StdinPipe() // the agents end when it is closed
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

// report returns how far apart the requests of each round of n came, and
// forgets them.
func (a *benchAgents) report(ctx context.Context, n int) (spread, error) {
	var arrivals []int64
	if err := apiclient.New(a.control, "").Call(ctx, http.MethodGet, "/report", nil, &arrivals); err != nil {
		return spread{}, err
	}
	return spreadOf(arrivals, n), nil
}

// last returns the body and the Authorization header of the last task.
func (a *benchAgents) last(ctx context.Context) (body []byte, token string, err error) {
	var task lastTask
	err = apiclient.New(a.control, "").Call(ctx, http.MethodGet, "/last", nil, &task)
	return task.Body, task.Token, err
}
