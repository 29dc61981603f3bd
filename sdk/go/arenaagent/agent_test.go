package arenaagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agenttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	task   = arenaagent.Task
	events = arenaagent.Events
	answer = arenaagent.Answer
)

// bench is one agent and one arena.
type bench struct {
	*testing.T
	arena    *agenttest.Arena
	agent    *arenaagent.Agent
	endpoint string
}

func newBench(t *testing.T, change func(*arenaagent.Config), h arenaagent.Handler) bench {
	t.Helper()
	arena := agenttest.New(t)
	config := arenaagent.Config{Arena: arena.URL() + "/", AnyAgent: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&config)
	}
	agent, err := arenaagent.New(config, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	})
	return bench{t, arena, agent, arena.Serve(agent)}
}

func (b bench) ask(task agenttest.Task) agenttest.Reply {
	b.Helper()
	r, err := b.arena.Ask(b.Context(), b.endpoint, task)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b bench) expect(status int, task agenttest.Task) agenttest.Reply {
	b.Helper()
	r := b.ask(task)
	if r.Status != status {
		b.Errorf("status is %d, want %d: %s", r.Status, status, r.Body)
	}
	return r
}

// await ends the test when what it waits for never comes.
func await(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(30 * time.Second):
		t.Fatal("waited in vain")
	}
}

func canberra(context.Context, *task, *events) (answer, error) {
	return answer{Value: "Canberra", Confidence: 0.95, Reasoning: "It is not Sydney."}, nil
}

func TestAgent_answers(t *testing.T) {
	t.Parallel()
	var got arenaagent.Task
	b := newBench(t, nil, func(ctx context.Context, task *task, _ *events) (answer, error) {
		got = *task
		if _, ok := ctx.Deadline(); !ok {
			return answer{}, errors.New("no deadline")
		}
		return canberra(ctx, task, nil)
	})
	r := b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1", Round: 5, Options: []string{"Sydney", "Canberra"}, TimeLimit: 30 * time.Second})
	if r.Answer != "Canberra" || *r.Confidence != 0.95 || r.Reasoning != "It is not Sydney." {
		t.Errorf("reply is %s", r.Body)
	}
	var members map[string]any
	if err := json.Unmarshal(r.Body, &members); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"answer", "confidence", "reasoning", "subagents_used", "tools_used", "latency_ms"} {
		if v, ok := members[name]; !ok || v == nil {
			t.Errorf("reply has no %s: %s", name, r.Body)
		}
	}
	if time.Until(got.Deadline) > 30*time.Second || got.Claims.AgentID != agenttest.AgentID || got.Claims.BodyHash == "" {
		t.Errorf("task is %+v", got)
	}
	got.Deadline, got.Claims, got.Body, got.Token = time.Time{}, arenaagent.Claims{}, nil, ""
	if diff := diff(arenaagent.Task{
		Version: "1.0", League: "trivia", MatchID: "m_1", Round: 5, Description: "What is the capital of Australia?",
		InputFormat: "string", OutputFormat: "string", Options: []string{"Sydney", "Canberra"}, TimeLimit: 30 * time.Second,
		MaxTokens: 500, Rules: []string{"only_one_answer"}, Opponents: 1, TaskID: "tk_m_1_5", Attempt: 1,
	}, got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
}

// Threats E7 and F2, on the agent's side.
func TestAgent_tokens(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	b := newBench(t, func(c *arenaagent.Config) { c.AgentID = agenttest.AgentID }, func(ctx context.Context, task *task, e *events) (answer, error) {
		calls.Add(1)
		return canberra(ctx, task, e)
	})
	now := time.Now().Unix()
	body, good, err := b.arena.Make(agenttest.Task{})
	if err != nil {
		t.Fatal(err)
	}
	bearer := func(s string) agenttest.Task { return agenttest.Task{Bearer: &s, Body: body} }
	header := func(name string, v any) agenttest.Task { return agenttest.Task{Header: map[string]any{name: v}} }
	claim := func(name string, v any) agenttest.Task { return agenttest.Task{Claims: map[string]any{name: v}} }
	for name, task := range map[string]agenttest.Task{
		"none":               bearer(""),
		"garbage":            bearer("abc.def.ghi"),
		"cut":                bearer(good[:len(good)-9]),
		"padded":             bearer(good + "="),
		"another body":       {Body: []byte(strings.Replace(string(body), "Australia", "Austria", 1))},
		"no kid":             header("kid", nil),
		"kid a list":         header("kid", []string{"key_0"}),
		"unknown kid":        header("kid", "key_9"),
		"jwk":                header("jwk", map[string]any{"kty": "EC"}),
		"jku":                header("jku", "http://127.0.0.1:1/jwks.json"),
		"crit":               header("crit", []string{"exp"}),
		"another typ":        header("typ", "JWT"),
		"another iss":        claim("iss", "http://127.0.0.1:1"),
		"no exp":             claim("exp", nil),
		"no iat":             claim("iat", nil),
		"iat in the future":  claim("iat", now+60),
		"expired":            {Claims: map[string]any{"exp": now - 20, "expires_at": now - 20, "iat": now - 40}},
		"expires_at differs": claim("expires_at", now+1),
		"aud another agent":  claim("aud", "ag_other"),
		"aud a list":         claim("aud", []string{agenttest.AgentID, "ag_other"}),
		"sub another agent":  claim("sub", "ag_other"),
		"another agent":      {AgentID: "ag_other"},
		"another match":      claim("match_id", "m_other"),
		"another round":      claim("round", 2),
		"no bh":              claim("bh", nil),
	} {
		if r := b.ask(task); r.Status != http.StatusUnauthorized {
			t.Errorf("%s: status %d, %s", name, r.Status, r.Body)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the handler saw %d of the tasks", n)
	}
	b.expect(http.StatusOK, bearer(`"`+good+`"`)) // as the AAP text shows it
	b.agent.SetAgentID("ag_later")
	b.expect(http.StatusUnauthorized, agenttest.Task{})
	b.expect(http.StatusOK, agenttest.Task{AgentID: "ag_later"})
}

// An agent without an id accepts no task until it has one. Threat T6.
func TestAgent_unknownID(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *arenaagent.Config) { c.AnyAgent = false }, canberra)
	b.expect(http.StatusUnauthorized, agenttest.Task{})
	b.agent.SetAgentID(agenttest.AgentID)
	b.expect(http.StatusOK, agenttest.Task{})
	b.expect(http.StatusUnauthorized, agenttest.Task{AgentID: "ag_other"})
}

func TestAgent_keys(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, canberra)
	b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1"})
	b.arena.RotateKey()
	var wg sync.WaitGroup
	for i := range 8 { // one asks for the new key, all get it
		wg.Go(func() {
			r, err := b.arena.Ask(t.Context(), b.endpoint, agenttest.Task{MatchID: fmt.Sprint("m_", i)})
			if err != nil || r.Status != http.StatusOK && r.Status != http.StatusServiceUnavailable { // 503: full
				t.Errorf("%v, %v", r.Status, err)
			}
		})
	}
	wg.Wait()
	if n := b.arena.KeyFetches(); n != 2 {
		t.Errorf("%d reads of the keys, want 2", n)
	}
}

func TestAgent_keys_not_there_yet(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	arena.SetDown(true)
	agent, err := arenaagent.New(arenaagent.Config{Arena: arena.URL(), AnyAgent: true}, canberra)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	b := bench{t, arena, agent, arena.Serve(agent)}
	b.expect(http.StatusServiceUnavailable, agenttest.Task{})
	arena.SetDown(false)
	b.expect(http.StatusOK, agenttest.Task{})
}

// Keys are not read from where the arena redirects to. Threat M2.
func TestAgent_keys_redirect(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	named := httptest.NewServer(http.RedirectHandler(arena.URL()+"/.well-known/jwks.json", http.StatusFound))
	t.Cleanup(named.Close)
	agent, err := arenaagent.New(arenaagent.Config{Arena: named.URL, Issuer: arena.URL(), AnyAgent: true}, canberra)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	bench{t, arena, agent, arena.Serve(agent)}.expect(http.StatusServiceUnavailable, agenttest.Task{})
	if n := arena.KeyFetches(); n != 0 {
		t.Errorf("%d reads of the keys", n)
	}
}

func TestAgent_statuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(_ context.Context, task *task, _ *events) (answer, error) {
		switch task.Description {
		case "408":
			return answer{}, fmt.Errorf("model: %w", context.DeadlineExceeded)
		case "408 too":
			return answer{}, arenaagent.ErrTimeout
		case "429":
			return answer{}, fmt.Errorf("model: %w", arenaagent.ErrRateLimited)
		case "503":
			return answer{}, arenaagent.ErrUnavailable
		case "panic":
			var none []int
			return answer{Value: fmt.Sprint(none[task.Round])}, nil
		default:
			return answer{}, errors.New("secret detail")
		}
	})
	for description, status := range map[string]int{"408": 408, "408 too": 408, "429": 429, "503": 503, "panic": 500, "500": 500} {
		r := b.expect(status, agenttest.Task{MatchID: description, Description: description})
		if strings.Contains(string(r.Body), "secret") {
			t.Errorf("reply contains the error: %s", r.Body)
		}
	}
	for name, body := range map[string]string{"not json": "{", "no task": `{"match_id":"m_test","round":1}`, "no time": `{"match_id":"m_1","task":{"description":"?"}}`} {
		sum := bodyHash(body)
		r := b.ask(agenttest.Task{Body: []byte(body), Claims: map[string]any{"bh": sum}})
		if r.Status != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, r.Status)
		}
	}
	big := strings.Repeat(" ", 1<<20+1)
	b.expect(http.StatusRequestEntityTooLarge, agenttest.Task{Body: []byte(big)})
}

func TestAgent_duplicate(t *testing.T) {
	t.Parallel()
	t.Run("handled_once", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		entered, release := make(chan struct{}), make(chan struct{})
		b := newBench(t, func(c *arenaagent.Config) { c.MaxConcurrent = 1 }, func(context.Context, *task, *events) (answer, error) {
			n := calls.Add(1)
			close(entered)
			<-release
			return answer{Value: fmt.Sprint("answer ", n)}, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { b.expect(http.StatusOK, agenttest.Task{}) })
		await(t, entered)
		for i := range 3 { // no slot is free: only joining the work under way can succeed
			wg.Go(func() {
				if r := b.expect(http.StatusOK, agenttest.Task{Attempt: 2 + i}); r.Answer != "answer 1" {
					t.Errorf("a repeated delivery got %q", r.Answer)
				}
			})
		}
		close(release)
		wg.Wait()
		if r := b.expect(http.StatusOK, agenttest.Task{Attempt: 9}); r.Answer != "answer 1" || calls.Load() != 1 {
			t.Errorf("a late delivery got %q after %d calls", r.Answer, calls.Load())
		}
	})
	t.Run("connection_lost", func(t *testing.T) {
		t.Parallel()
		entered, release := make(chan struct{}), make(chan struct{})
		b := newBench(t, nil, func(ctx context.Context, _ *task, _ *events) (answer, error) {
			close(entered) // panics when called twice
			<-release
			return answer{Value: "kept"}, ctx.Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-entered
			cancel()
		}()
		if _, err := b.arena.Ask(ctx, b.endpoint, agenttest.Task{}); err == nil {
			t.Error("the first delivery was not cut")
		}
		close(release)
		if r := b.expect(http.StatusOK, agenttest.Task{Attempt: 2}); r.Answer != "kept" {
			t.Errorf("the second delivery got %s", r.Body)
		}
	})
	t.Run("failure_is_tried_again", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, nil, func(_ context.Context, task *task, _ *events) (answer, error) {
			if task.Attempt == 1 {
				return answer{}, errors.New("no luck")
			}
			return answer{Value: "luck"}, nil
		})
		b.expect(http.StatusInternalServerError, agenttest.Task{})
		b.expect(http.StatusOK, agenttest.Task{Attempt: 2})
	})
	t.Run("other_rounds_are_other_tasks", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		// One task at a time: the place is free again when the reply is there.
		b := newBench(t, func(c *arenaagent.Config) { c.MaxConcurrent = 1 }, func(context.Context, *task, *events) (answer, error) {
			return answer{Value: fmt.Sprint(calls.Add(1))}, nil
		})
		for i := range 300 { // more than are kept
			if r := b.expect(http.StatusOK, agenttest.Task{Round: i + 1}); r.Answer != fmt.Sprint(i+1) {
				t.Fatalf("round %d got %q", i+1, r.Answer)
			}
		}
	})
}

func TestAgent_full(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		whenFull error
		status   int
	}{"unavailable": {nil, 503}, "rate_limited": {arenaagent.ErrRateLimited, 429}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entered, release := make(chan struct{}), make(chan struct{})
			b := newBench(t, func(c *arenaagent.Config) { c.MaxConcurrent, c.WhenFull = 1, test.whenFull },
				func(context.Context, *task, *events) (answer, error) {
					entered <- struct{}{}
					<-release
					return answer{}, nil
				})
			var wg sync.WaitGroup
			wg.Go(func() { b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1"}) })
			await(t, entered)
			b.expect(test.status, agenttest.Task{MatchID: "m_2"})
			close(release)
			wg.Wait()
			wg.Go(func() { b.expect(http.StatusOK, agenttest.Task{MatchID: "m_2", Attempt: 2}) })
			await(t, entered)
			wg.Wait()
		})
	}
}

func TestAgent_time_limit(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := newBench(t, nil, func(ctx context.Context, task *task, _ *events) (answer, error) {
		if task.Description == "deaf" {
			<-release // ignores the context
			return answer{}, nil
		}
		<-ctx.Done()
		return answer{}, ctx.Err()
	})
	var wg sync.WaitGroup
	for _, d := range []string{"deaf", "hears"} {
		wg.Go(func() {
			r, err := b.arena.Ask(t.Context(), b.endpoint, agenttest.Task{MatchID: d, Description: d, TimeLimit: time.Second})
			if err != nil || r.Status != http.StatusRequestTimeout {
				t.Errorf("%s: %d, %v", d, r.Status, err)
			}
		})
	}
	wg.Wait()
	close(release)
}

func TestAgent_health(t *testing.T) {
	t.Parallel()
	var sick atomic.Bool
	b := newBench(t, func(c *arenaagent.Config) {
		c.Capabilities = []string{"trivia", "debate"}
		c.MaxConcurrent = 7
		c.Health = func(context.Context) error {
			if sick.Load() {
				return errors.New("asleep")
			}
			return nil
		}
	}, canberra)
	get := func(method, path string, want int) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(b.endpoint, "/agora")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s %s: %d, %v; want %d", method, path, resp.StatusCode, err, want)
		}
		return string(data)
	}
	want := `{"status":"ok","version":"1.0","capabilities":["trivia","debate"],"avg_latency_ms":0,"max_concurrent":7}`
	if got := get(http.MethodGet, "/agora/health", 200); got != want {
		t.Errorf("health is %s", got)
	}
	sick.Store(true)
	get(http.MethodGet, "/agora/health", 503)
	get(http.MethodPost, "/agora/health", 405)
	get(http.MethodGet, "/agora", 405)
	get(http.MethodGet, "/", 404)
}

func TestServe(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	agent, err := arenaagent.New(arenaagent.Config{Arena: arena.URL(), AnyAgent: true}, func(context.Context, *task, *events) (answer, error) {
		close(entered)
		<-release
		return answer{Value: "at the last moment"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.Serve(ctx, ln) }()
	var wg sync.WaitGroup
	wg.Go(func() {
		r, err := arena.Ask(t.Context(), "http://"+ln.Addr().String()+"/agora", agenttest.Task{})
		if err != nil || r.Answer != "at the last moment" {
			t.Errorf("%+v, %v", r, err)
		}
	})
	await(t, entered)
	cancel() // a task at work is finished
	close(release)
	wg.Wait()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := agent.Close(); err != nil {
		t.Error(err)
	}
	if err := arenaagent.Serve(t.Context(), arenaagent.Config{Arena: arena.URL(), Addr: "256.0.0.1:1"}, canberra); err == nil {
		t.Error("listening on no address succeeded")
	}
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	good := arenaagent.Config{Arena: "http://127.0.0.1:1"}
	for name, change := range map[string]func(*arenaagent.Config){
		"no arena":      func(c *arenaagent.Config) { c.Arena = "" },
		"not a URL":     func(c *arenaagent.Config) { c.Arena = "arena.example" },
		"ftp":           func(c *arenaagent.Config) { c.Arena = "ftp://arena.example" },
		"path":          func(c *arenaagent.Config) { c.Path = "agora" },
		"concurrency":   func(c *arenaagent.Config) { c.MaxConcurrent = -1 },
		"when full":     func(c *arenaagent.Config) { c.WhenFull = io.EOF },
		"events":        func(c *arenaagent.Config) { c.Events = "pigeon" },
		"root endpoint": func(c *arenaagent.Config) { c.Path = "/" },
	} {
		c := good
		change(&c)
		if _, err := arenaagent.New(c, canberra); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := arenaagent.New(good, nil); err == nil {
		t.Error("no handler: no error")
	}
}
