package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agora-arena/arena/api/mcp"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/aap/pull"
	"github.com/agora-arena/arena/protocol/mailbox"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// world is a server of MCP over the tasks of a real store and operations of a test.
type world struct {
	t      *testing.T
	server *mcp.Server
	driver *pull.Driver
	url    string
	awake  chan string // agents that wait for a task
	ended  chan error  // of waits for a task
	ops    *operations
}

// tasks report how each wait for a task ended.
type tasks struct {
	mcp.Tasks

	ended chan error
}

func (t tasks) Next(ctx context.Context, c arena.Caller, agentID string, wait time.Duration) (arena.PulledTask, bool, error) {
	task, ok, err := t.Tasks.Next(ctx, c, agentID, wait)
	t.ended <- err
	return task, ok, err
}

// operations are those of the tests: a league, and a match with events.
type operations struct {
	mcp.Operations

	mu     sync.Mutex
	looked chan struct{} // at the match
	events []arena.Event
	over   bool
	err    error
}

func (*operations) Admits(operation string, s arena.Scope) bool {
	switch operation {
	case "create-agent":
		return s == arena.ScopeOwner
	case "list-agent-deliveries", "enter-league":
		return s == arena.ScopeOwner || s == arena.ScopeAgent
	case "check-agent", "rehearse":
		return s == arena.ScopeOwner || s == arena.ScopeAdmin
	}
	return true
}

func (*operations) Guide() string { return "# Rules" }

func (o *operations) Leagues(context.Context, arena.Caller) (any, error) {
	return map[string]any{"items": []any{}}, o.err
}

func (*operations) Standings(_ context.Context, _ arena.Caller, league string, limit int) (any, error) {
	return map[string]any{"items": []any{}, "league": league, "limit": limit}, nil
}

func (*operations) Compare(_ context.Context, _ arena.Caller, league, a, b string) (any, error) {
	return map[string]any{"items": []any{league, a, b}}, nil
}

func (*operations) Audit(_ context.Context, _ arena.Caller, league string) (any, error) {
	return map[string]any{"items": []any{league}}, nil
}

func (*operations) Enter(_ context.Context, c arena.Caller, league, agentID, password string) error {
	if c.AgentID != agentID || password != "sesame" {
		return arena.Errorf(arena.CodeForbidden, "league %s asks for a password", league)
	}
	return nil
}

func (*operations) Deliveries(_ context.Context, c arena.Caller, agentID, _ string, _ arena.Outcome, limit int) (any, error) {
	if c.AgentID != agentID {
		return nil, arena.Errorf(arena.CodeNotFound, "you have no agent %s", agentID)
	}
	return map[string]any{"items": []any{agentID, limit}}, nil
}

func (*operations) Losses(_ context.Context, _ arena.Caller, f arena.LossFilter, limit int) (any, error) {
	return map[string]any{"items": []any{f.AgentID, f.League, f.Topic, f.Version, limit}}, nil
}

func (*operations) Topics(_ context.Context, _ arena.Caller, f arena.LossFilter) (any, error) {
	return map[string]any{"items": []any{f.AgentID, f.League, f.Version}}, nil
}

func (*operations) LatestMatch(context.Context, arena.Caller, string) (string, error) {
	return "m_1", nil
}

func (o *operations) Match(_ context.Context, _ arena.Caller, id string) (m any, seq int64, over bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.looked <- struct{}{}:
	default:
	}
	if id != "m_1" {
		return nil, 0, false, arena.Errorf(arena.CodeNotFound, "there is no match %s", id)
	}
	return map[string]any{"match_id": id}, int64(len(o.events)), o.over, nil
}

func (o *operations) Events(_ context.Context, _ arena.Caller, _ string, since int64, limit int) ([]arena.Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	events := o.events[since:]
	return events[:min(limit, len(events))], nil
}

func (o *operations) happens(over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, arena.Event{Seq: int64(len(o.events) + 1), MatchID: "m_1", Type: arena.EventThinking, Body: json.RawMessage(`{}`)})
	o.over = over
}

// agents are those of the tests: every id is an agent that fetches its tasks.
type agents struct{}

func (agents) Agent(_ context.Context, id string) (arena.Agent, error) {
	return arena.Agent{ID: id, OwnerID: "ow_1", Protocol: arena.ProtocolAAP, PullConcurrent: 1, Leagues: []string{"trivia"}}, nil
}

// reports refuses events without a message.
type reports struct{}

func (reports) Accept(_ context.Context, _, _ string, event []byte) error {
	if !strings.Contains(string(event), "message") {
		return arena.Errorf(arena.CodeEventRefused, "message is missing")
	}
	return nil
}

// slots allow one client to watch.
type slots struct{ free chan struct{} }

func (s slots) Acquire(string) (release func(), err error) {
	select {
	case <-s.free:
		return func() { s.free <- struct{}{} }, nil
	default:
		return nil, arena.Errorf(arena.CodeRateLimited, "too many streams")
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{Logger: log, Now: time.Now})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	hub := pull.NewHub(pull.HubOptions{Store: s.PulledTasks, Notifier: mailbox.NewNotifier(nil), Interval: 30 * time.Second, Now: time.Now, Logger: log})
	w := &world{t: t, awake: make(chan string, 1<<10), ended: make(chan error, 1<<10), ops: &operations{looked: make(chan struct{}, 1)}}
	w.driver = pull.NewDriver(hub)
	pulls := pull.NewServer(pull.ServerOptions{
		Hub: hub, Agents: agents{}, Sign: func(arena.TaskClaims) (string, error) { return "", nil }, Events: reports{},
		Awake: func(_ context.Context, id string) { w.awake <- id }, Uncount: func(arena.Caller) {},
	})
	watches := slots{make(chan struct{}, 1)}
	watches.free <- struct{}{}
	w.server, err = mcp.New(mcp.Options{Operations: w.ops, Tasks: tasks{pulls, w.ended}, Watches: watches, URL: "https://arena.example/", Version: "1", Logger: log})
	must(t, err)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var c arena.Caller
		switch id := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); {
		case strings.HasPrefix(id, "ag_"):
			c = arena.Caller{Scope: arena.ScopeAgent, AgentID: id, OwnerID: "ow_1", TokenID: "to_1"}
		case id != "":
			c = arena.Caller{Scope: arena.Scope(id), OwnerID: "ow_1", TokenID: "to_2"}
		}
		if err := w.server.Serve(rw, r, body, c, "192.0.2.1"); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(front.Close)
	w.url = front.URL
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); _ = hub.Run(ctx) }()
	t.Cleanup(func() { hub.Close(); w.server.Close(); stop(); <-done })
	return w
}

// post sends a body with headers, of which empty ones are left out.
func (w *world) post(t *testing.T, body string, headers ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, strings.NewReader(body))
	must(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	return resp.StatusCode, string(data)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bearer puts a token on each request. Each has a connection of its own: a test
// server that closes closes the idle ones of the default transport, and one counts as
// idle just before its answer, if that has no body, is handed over.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Close = true
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// client is a real client of the protocol.
type client struct {
	t       *testing.T
	session *sdk.ClientSession
}

func (w *world) client(t *testing.T, token string) client {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: w.url, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true,
	}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return client{t, session}
}

// use calls a tool. failed is what a call that failed says.
func (c client) use(tool string, args any) (out map[string]any, failed string) {
	c.t.Helper()
	r, err := c.session.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err.Error()
	}
	if r.IsError {
		return nil, r.Content[0].(*sdk.TextContent).Text
	}
	out, _ = r.StructuredContent.(map[string]any)
	return out, ""
}

func (c client) must(tool string, args any) map[string]any {
	c.t.Helper()
	out, failed := c.use(tool, args)
	if failed != "" {
		c.t.Fatalf("%s %v: %s", tool, args, failed)
	}
	return out
}

type object = map[string]any

// put dispatches a task.
func (w *world) put(t *testing.T, id string, limit time.Duration) <-chan arena.Reply {
	t.Helper()
	a := protocoltest.NewAttempt("", limit)
	a.Seat.AgentID, a.Round, a.Task.ID, a.Deadline = id, 2, "tk_1", time.Now().Add(limit)
	send, err := w.driver.Prepare(t.Context(), a)
	must(t, err)
	replies := make(chan arena.Reply, 1)
	go func() { replies <- send(t.Context()) }()
	return replies
}
