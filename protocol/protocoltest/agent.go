package protocoltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Behaviour answers one request. The request's context ends when the caller
// hangs up and when the agent closes, so a behaviour that waits for it never
// outlives the test.
type Behaviour = http.HandlerFunc

// Task is what a fake agent reads of a task POST (AAP, "Request format").
type Task struct {
	League        string   `json:"league"`
	MatchID       string   `json:"match_id"`
	Round         int      `json:"round"`
	Attempt       int      `json:"attempt"`
	TaskID        string   `json:"task_id"`
	OpponentCount int      `json:"opponent_count"`
	Rules         []string `json:"rules"`
	Task          struct {
		Description string   `json:"description"`
		Options     []string `json:"options"`
	} `json:"task"`
}

// Request is one received task POST.
type Request struct {
	N      int // 1 for the first
	At     time.Time
	Proto  string // "HTTP/1.1"
	Header http.Header
	Body   []byte
	Task   Task // zero when Body is not an AAP task
}

// Token returns the bearer token, "" when there is none.
func (r Request) Token() string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// AgentOptions say how a fake agent behaves.
type AgentOptions struct {
	// Play chooses the behaviour for a task; default is Answer("42") always. It is
	// called by one goroutine per request.
	Play func(Request) Behaviour
	// Health answers health checks; default is Healthy(1000, Capabilities...).
	Health Behaviour
	// Capabilities are the slugs that the default health lists.
	Capabilities []string
	// Check recognizes a health check that comes as a POST by its body; nil: none does.
	Check func(body []byte) bool
}

// Agent is a fake AAP agent on 127.0.0.1. All methods may be called by many
// goroutines.
type Agent struct {
	server *httptest.Server
	cancel context.CancelFunc
	play   func(Request) Behaviour
	check  func(body []byte) bool

	mu      sync.Mutex
	health  Behaviour
	checks  int
	journal []Request
	grown   chan struct{} // closed and replaced when the journal grows
}

// NewAgent starts a fake agent. It is closed when the test ends.
func NewAgent(t testing.TB, o AgentOptions) *Agent {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	a := &Agent{cancel: cancel, play: o.Play, check: o.Check, health: o.Health, grown: make(chan struct{})}
	if a.play == nil {
		a.play = func(Request) Behaviour { return Answer("42") }
	}
	if a.health == nil {
		a.health = Healthy(1000, o.Capabilities...)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /agora", a.serveTask)
	mux.HandleFunc("GET /agora/health", a.serveHealth)
	mux.HandleFunc("GET /agora/.well-known/agent-card.json", a.serveHealth) // A2A's
	a.server = httptest.NewUnstartedServer(mux)
	a.server.Config.BaseContext = contextOf(ctx)
	a.server.Start()
	t.Cleanup(a.Close)
	return a
}

// Endpoint returns the URL to register.
func (a *Agent) Endpoint() string { return a.server.URL + "/agora" }

// Close ends all waiting behaviours and stops the server. Later connections
// are refused. It may be called twice.
func (a *Agent) Close() {
	a.cancel()
	a.server.Close()
}

// SetHealth changes how health checks are answered from now on.
func (a *Agent) SetHealth(b Behaviour) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health = b
}

// HealthChecks returns how many health checks came.
func (a *Agent) HealthChecks() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.checks
}

// Requests returns the task POSTs received so far, in order.
func (a *Agent) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.journal)
}

// WaitRequest waits for the n-th task POST, counted from 1, and returns it.
func (a *Agent) WaitRequest(ctx context.Context, n int) (Request, error) {
	for {
		a.mu.Lock()
		have, grown := len(a.journal), a.grown
		if have >= n {
			r := a.journal[n-1]
			a.mu.Unlock()
			return r, nil
		}
		a.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("wait for request %d, have %d: %w", n, have, context.Cause(ctx))
		}
	}
}

func (a *Agent) serveTask(w http.ResponseWriter, r *http.Request) {
	at := time.Now() //nolint:forbidigo // a fake agent lives in real time
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller hung up
	}
	if a.check != nil && a.check(body) {
		a.serveHealth(w, r)
		return
	}
	req := Request{At: at, Proto: r.Proto, Header: r.Header.Clone(), Body: body}
	if json.Unmarshal(body, &req.Task) != nil {
		req.Task = Task{}
	}
	a.mu.Lock()
	req.N = len(a.journal) + 1
	a.journal = append(a.journal, req)
	close(a.grown)
	a.grown = make(chan struct{})
	a.mu.Unlock()
	a.play(req)(w, r)
}

func (a *Agent) serveHealth(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.checks++
	health := a.health
	a.mu.Unlock()
	health(w, r)
}
