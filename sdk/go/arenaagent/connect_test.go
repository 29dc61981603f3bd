package arenaagent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agenttest"
)

// connected is an agent that fetches its tasks from an arena.
type connected struct {
	*testing.T
	arena *agenttest.Arena
	stop  context.CancelFunc
	ended chan error
}

// connect starts an agent, which ends with the test at the latest.
func connect(t *testing.T, arena *agenttest.Arena, change func(*arenaagent.Config), h arenaagent.Handler) connected {
	t.Helper()
	config := arenaagent.Config{Arena: arena.URL(), AgentKey: agenttest.AgentKey, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&config)
	}
	ctx, stop := context.WithCancel(t.Context())
	c := connected{t, arena, stop, make(chan error, 1)}
	go func() { c.ended <- arenaagent.Connect(ctx, config, h) }()
	t.Cleanup(func() {
		stop()
		if len(c.ended) == 0 && cap(c.ended) > 0 {
			select {
			case <-c.ended: //nolint:errcheck // a test that cares has received it
			case <-time.After(30 * time.Second):
				t.Error("Connect did not end")
			}
		}
	})
	return c
}

func (c connected) answered(taskID string) agenttest.Reply {
	c.Helper()
	r, err := c.arena.Answered(c.Context(), taskID)
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// end stops the agent and returns what Connect returned.
func (c connected) end() error {
	c.Helper()
	c.stop()
	return c.wait()
}

func (c connected) wait() error {
	c.Helper()
	select {
	case err := <-c.ended:
		c.ended <- err // for the cleanup
		return err
	case <-time.After(30 * time.Second):
		c.Fatal("Connect did not end")
		return nil
	}
}

func TestConnect_answers(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	var got arenaagent.Task
	c := connect(t, arena, nil, func(ctx context.Context, task *task, e *events) (answer, error) {
		got = *task
		e.Thinking("Sydney is larger.")
		return canberra(ctx, task, e)
	})
	r := c.answered(arena.Offer(agenttest.Task{MatchID: "m_1", Options: []string{"Sydney", "Canberra"}}))
	if r.Status != http.StatusOK || r.Answer != "Canberra" {
		t.Errorf("reply is %d %s", r.Status, r.Body)
	}
	if got.Token == "" || !strings.Contains(string(got.Body), `"match_id":"m_1"`) || got.Claims.AgentID != agenttest.AgentID {
		t.Errorf("task is %+v", got)
	}
	if e, err := arena.Events(t.Context(), "m_1", 1); err != nil || e[0].Type != "thinking" {
		t.Errorf("events %v, %v", e, err)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// What a handler returns becomes a status object of the arena.
func TestConnect_statuses(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	c := connect(t, arena, nil, func(ctx context.Context, task *task, _ *events) (answer, error) {
		switch task.MatchID {
		case "m_408":
			return answer{}, arenaagent.ErrTimeout
		case "m_408b":
			<-ctx.Done()
			return answer{}, ctx.Err()
		case "m_429":
			return answer{}, arenaagent.ErrRateLimited
		case "m_503":
			return answer{}, arenaagent.ErrUnavailable
		case "m_raw":
			return answer{Raw: []byte(`{"answer": "as it came", "extra": 1}`)}, nil
		default:
			return answer{}, errors.New("secret detail")
		}
	})
	for match, status := range map[string]int{"m_408": 408, "m_408b": 408, "m_429": 429, "m_503": 503, "m_500": 500, "m_raw": 200} {
		task := agenttest.Task{MatchID: match}
		if match == "m_408b" {
			task.TimeLimit = time.Second
		}
		r := c.answered(arena.Offer(task))
		if r.Status != status || strings.Contains(string(r.Body), "secret") {
			t.Errorf("%s: %d %s", match, r.Status, r.Body)
		}
		if match == "m_raw" && string(r.Body) != `{"answer": "as it came", "extra": 1}` {
			t.Errorf("raw reply is %s", r.Body)
		}
	}
}

// Polls and running tasks together never exceed what the agent registered.
func TestConnect_concurrency(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ registered, configured, want int }{
		"registered": {3, 0, 3}, "configured": {3, 2, 2}, "more than registered": {2, 5, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arena := agenttest.New(t)
			arena.SetMaxConcurrent(test.registered)
			entered, release := make(chan struct{}), make(chan struct{})
			c := connect(t, arena, func(config *arenaagent.Config) { config.MaxConcurrent = test.configured },
				func(ctx context.Context, task *task, e *events) (answer, error) {
					e.Thinking("taken") // acknowledges the delivery
					entered <- struct{}{}
					<-release
					return canberra(ctx, task, e)
				})
			if err := arena.AwaitPolls(t.Context(), test.want); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for i := range test.want + 1 {
				ids = append(ids, arena.Offer(agenttest.Task{MatchID: fmt.Sprint("m_", i)}))
			}
			for range test.want {
				await(t, entered)
			}
			if n := arena.Polls(); n != 0 {
				t.Errorf("%d polls while all places are taken", n)
			}
			close(release)
			await(t, entered)
			for _, id := range ids {
				if r := c.answered(id); r.Status != http.StatusOK {
					t.Errorf("%s: %d", id, r.Status)
				}
			}
		})
	}
}

// A task that is delivered again is worked on once and answered with the same
// bytes.
func TestConnect_redelivery(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	var calls, cut atomic.Int32
	arena.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && cut.Add(1) == 1 {
			panic(http.ErrAbortHandler) // the answer is lost with its connection
		}
		return false
	})
	c := connect(t, arena, nil, func(context.Context, *task, *events) (answer, error) {
		return answer{Value: fmt.Sprint("answer ", calls.Add(1))}, nil
	})
	if r := c.answered(arena.Offer(agenttest.Task{MatchID: "m_1"})); r.Answer != "answer 1" || cut.Load() < 2 {
		t.Errorf("reply is %s after %d posts", r.Body, cut.Load())
	}
	arena.Offer(agenttest.Task{MatchID: "m_1", Attempt: 2}) // as if the 202 had been lost
	c.answered(arena.Offer(agenttest.Task{MatchID: "m_2"}))
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls of the handler for two tasks", n)
	}
}

// The agent retries what may pass, no more often than it should. Threat M4.
func TestConnect_retries(t *testing.T) {
	t.Parallel()
	// The transport repeats a request on its own whose connection was closed.
	requests := map[string]int32{"closed": 6}
	failures := map[string]func(w http.ResponseWriter){
		"status 500":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"status 429":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
		"closed":       func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"not JSON":     func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) },
		"empty object": func(w http.ResponseWriter) { _, _ = w.Write([]byte("{}")) },
		"early 204":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"a flood":      func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 3<<20)) },
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arena := agenttest.New(t)
			var polls atomic.Int32
			began := time.Now()
			arena.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/tasks") || polls.Add(1) > max(3, requests[name]) {
					return false
				}
				fail(w)
				return true
			})
			c := connect(t, arena, nil, canberra)
			c.answered(arena.Offer(agenttest.Task{}))
			// Pauses of at least 125, 250 and 500 ms.
			if took := time.Since(began); took < 875*time.Millisecond {
				t.Errorf("three failures and a success took %s", took)
			}
		})
	}
}

// Threat M4.
func TestConnect_honors_RetryAfter(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	var polls atomic.Int32
	var refusedAt time.Time
	waited := make(chan time.Duration, 1)
	arena.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tasks") {
			return false
		}
		switch polls.Add(1) {
		case 1:
			refusedAt = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		case 2:
			waited <- time.Since(refusedAt)
		}
		return false
	})
	connect(t, arena, nil, canberra)
	if got := <-waited; got < time.Second {
		t.Errorf("came back after %s", got)
	}
}

// Refusals that no retry can change end the agent with a clear error. Threat M2.
func TestConnect_ends(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*arenaagent.Config)
		refuse func(w http.ResponseWriter, r *http.Request) bool
		want   string
	}{
		"key refused":   {change: func(c *arenaagent.Config) { c.AgentKey = "ak_other" }, want: "does not accept the agent key"},
		"key missing":   {change: func(c *arenaagent.Config) { c.AgentKey = "" }, want: "needs Config.AgentKey"},
		"not an agent":  {refuse: on("/v1/me", 200, `{"scope":"owner"}`), want: "not the key of an agent"},
		"has endpoint":  {refuse: on("/tasks", 409, `{"code":"agent_has_endpoint","detail":"it has an endpoint"}`), want: "agent_has_endpoint"},
		"retired":       {refuse: on("/tasks", 410, `{"code":"agent_retired"}`), want: "agent_retired"},
		"unknown agent": {refuse: on("/tasks", 404, `{"code":"not_found"}`), want: "not_found"},
		"redirect":      {refuse: on("/v1/me", 301, ``), want: "redirects"},
		"no arena":      {refuse: on("/v1/me", 404, `not here`), want: "404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arena := agenttest.New(t)
			arena.Intercept(test.refuse)
			c := connect(t, arena, test.change, canberra)
			if err := c.wait(); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "ak_") {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
		})
	}
	t.Run("key revoked", func(t *testing.T) {
		t.Parallel()
		arena := agenttest.New(t)
		c := connect(t, arena, nil, func(ctx context.Context, task *task, e *events) (answer, error) {
			arena.Intercept(on("/answer", 401, `{"code":"unauthorized"}`))
			return canberra(ctx, task, e)
		})
		arena.Offer(agenttest.Task{})
		if err := c.wait(); !errors.Is(err, arenaagent.ErrAgentKey) {
			t.Errorf("error is %v", err)
		}
	})
}

// on refuses requests whose path ends so.
func on(suffix string, status int, body string) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, suffix) {
			return false
		}
		if status == http.StatusMovedPermanently {
			w.Header().Set("Location", "https://elsewhere.example/")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}
}

// An answer that the arena refuses is not repeated, and the agent continues.
func TestConnect_refused_answers(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	var posts atomic.Int32
	arena.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tk_m_1_1/answer") {
			return false
		}
		posts.Add(1)
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"code":"answer_late"}`))
		return true
	})
	c := connect(t, arena, func(config *arenaagent.Config) { config.Events = arenaagent.EventsHTTP }, func(ctx context.Context, task *task, e *events) (answer, error) {
		e.Thinking("late") // acknowledges the delivery: the arena does not repeat it
		return canberra(ctx, task, e)
	})
	arena.Offer(agenttest.Task{MatchID: "m_1"})
	c.answered(arena.Offer(agenttest.Task{MatchID: "m_2"}))
	if n := posts.Load(); n != 1 {
		t.Errorf("%d posts of a late answer", n)
	}
}

// Tokens are verified as at an endpoint. Threats E7, F2 and M4.
func TestConnect_tokens(t *testing.T) {
	t.Parallel()
	forged := agenttest.Task{Claims: map[string]any{"bh": "another body"}}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		arena := agenttest.New(t)
		var calls atomic.Int32
		c := connect(t, arena, nil, func(ctx context.Context, task *task, e *events) (answer, error) {
			calls.Add(1)
			return canberra(ctx, task, e)
		})
		for i := range 3 {
			forged.MatchID = fmt.Sprint("m_", i)
			if r := c.answered(arena.Offer(forged)); r.Status != http.StatusServiceUnavailable {
				t.Errorf("a forged task got %d", r.Status)
			}
		}
		if err := c.wait(); err == nil || !strings.Contains(err.Error(), "do not verify") {
			t.Errorf("error is %v", err)
		}
		if n := calls.Load(); n != 0 {
			t.Errorf("the handler saw %d forged tasks", n)
		}
	})
	t.Run("another issuer", func(t *testing.T) {
		t.Parallel()
		arena := agenttest.New(t)
		c := connect(t, arena, nil, canberra)
		arena.Offer(agenttest.Task{Claims: map[string]any{"iss": "https://arena.example"}})
		if err := c.wait(); err == nil || !strings.Contains(err.Error(), `"https://arena.example"`) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("issuer named by the arena", func(t *testing.T) {
		t.Parallel()
		arena := agenttest.New(t)
		arena.Intercept(on("/v1/me", 200, `{"agent_id":"ag_test","issuer":"https://arena.example"}`))
		c := connect(t, arena, nil, canberra)
		if r := c.answered(arena.Offer(agenttest.Task{Claims: map[string]any{"iss": "https://arena.example"}})); r.Status != http.StatusOK {
			t.Errorf("reply is %d", r.Status)
		}
	})
	t.Run("another body", func(t *testing.T) {
		t.Parallel()
		arena := agenttest.New(t)
		c := connect(t, arena, nil, canberra)
		sum := bodyHash(`{"match_id":"m_test"}`)
		r := c.answered(arena.Offer(agenttest.Task{Body: []byte(`{"match_id":"m_test"}`), Claims: map[string]any{"bh": sum}}))
		if r.Status != http.StatusInternalServerError {
			t.Errorf("a task without a question got %d", r.Status)
		}
	})
}

// When ctx ends, a running task is finished.
func TestConnect_finishes(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	entered, release := make(chan struct{}), make(chan struct{})
	c := connect(t, arena, nil, func(ctx context.Context, task *task, e *events) (answer, error) {
		close(entered)
		<-release
		return canberra(ctx, task, e)
	})
	id := arena.Offer(agenttest.Task{TimeLimit: time.Minute})
	await(t, entered)
	c.stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.wait(); err != nil {
			t.Error(err)
		}
	})
	close(release)
	if r := c.answered(id); r.Answer != "Canberra" {
		t.Errorf("reply is %s", r.Body)
	}
	wg.Wait()
}
