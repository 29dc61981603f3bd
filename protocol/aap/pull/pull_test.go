package pull_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/aap/pull"
	"github.com/agora-arena/arena/protocol/mailbox"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store"
	rows "github.com/agora-arena/arena/store/mailbox"
	"github.com/agora-arena/arena/store/storetest"
)

const interval = 30 * time.Second

// node is the part of a node that carries tasks, on a SQLite store.
type node struct {
	t      testing.TB
	hub    *pull.Hub
	driver *pull.Driver
	url    string
	server *pull.Server
	events events
	client *http.Client
	awake  chan string // agents that polled after an absence; their polls wait

	ahead     atomic.Int64 // of its clock, in nanoseconds
	uncounted atomic.Int64
}

// revoking is a store in which tokens can be revoked.
type revoking struct {
	*rows.PulledTasks

	ids chan string // revoked from now on, one for each look
}

func (r revoking) RevokedSince(context.Context, time.Time) ([]string, error) {
	select {
	case id := <-r.ids:
		return []string{id}, nil
	default:
		return nil, nil
	}
}

// agents is a store in which every id is an agent that fetches its tasks.
type agents struct{}

func (agents) Agent(_ context.Context, id string) (arena.Agent, error) {
	g := arena.Agent{ID: id, OwnerID: "ow_1", Protocol: arena.ProtocolAAP, PullConcurrent: 1, Leagues: []string{"trivia"}}
	switch id {
	case "ag_none":
		return g, arena.Errorf(arena.CodeNotFound, "no agent")
	case "ag_retired":
		g.RetiredAt = time.Now()
	case "ag_listens":
		g.Endpoint = "https://a.example/"
	}
	return g, nil
}

// sign makes a token of the hash that it covers.
func sign(c arena.TaskClaims) (string, error) { return c.AgentID + " " + c.BodyHash, nil }

func newStore(t testing.TB) *rows.PulledTasks {
	t.Helper()
	s, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s.PulledTasks
}

func newNode(t testing.TB, s pull.Store, n *mailbox.Notifier) *node {
	t.Helper()
	a, mux := newHandler(t, s, n)
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	a.url, a.client = front.URL, front.Client()
	return a
}

// newHandler is a node with the handler of its requests, not yet served.
func newHandler(t testing.TB, s pull.Store, n *mailbox.Notifier) (*node, http.Handler) {
	t.Helper()
	a := &node{t: t, awake: make(chan string, 1<<12)}
	now := func() time.Time { return time.Now().Add(time.Duration(a.ahead.Load())) }
	hub := pull.NewHub(pull.HubOptions{Store: s, Notifier: n, Interval: interval, Now: now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	a.hub = hub
	a.driver = pull.NewDriver(hub)
	a.server = pull.NewServer(pull.ServerOptions{Hub: hub, Agents: agents{}, Sign: sign, Events: &a.events, Awake: func(_ context.Context, id string) { a.awake <- id }, Uncount: func(arena.Caller) { a.uncounted.Add(1) }})
	mux := http.NewServeMux()
	caller := func(r *http.Request) arena.Caller {
		return arena.Caller{Scope: arena.ScopeAgent, AgentID: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), TokenID: "to_1"}
	}
	mux.HandleFunc("GET /{id}/tasks", func(w http.ResponseWriter, r *http.Request) {
		answer(w, a.server.Poll(w, r, caller(r), r.PathValue("id")))
	})
	mux.HandleFunc("POST /{id}/tasks/{task}/answer", func(w http.ResponseWriter, r *http.Request) {
		outcome, err := a.server.Answer(w, r, caller(r), r.PathValue("id"), r.PathValue("task"))
		if err == nil {
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, string(outcome))
		}
		answer(w, err)
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); _ = hub.Run(ctx) }()
	t.Cleanup(func() { hub.Close(); stop(); <-done })
	return a, mux
}

// alone is a node without others.
func alone(t testing.TB) *node {
	t.Helper()
	return newNode(t, newStore(t), mailbox.NewNotifier(nil))
}

// answer writes the code of an error with status 400.
func answer(w http.ResponseWriter, err error) {
	if err != nil {
		w.Header().Set("Problem", err.Error())
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, string(arena.CodeOf(err)))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (n *node) do(ctx context.Context, method, path, id, body string) (int, string) {
	n.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, n.url+path, strings.NewReader(body))
	must(n.t, err)
	r.Header.Set("Authorization", "Bearer "+id)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := n.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	must(n.t, err)
	return resp.StatusCode, b.String()
}

type task struct {
	Task     json.RawMessage
	Token    string
	TaskID   string `json:"task_id"`
	Deadline string
	Attempt  int
}

func (n *node) poll(id, wait string) (task, int, string) {
	n.t.Helper()
	status, body := n.do(n.t.Context(), http.MethodGet, "/"+id+"/tasks?wait="+wait, id, "")
	var k task
	if status == http.StatusOK {
		must(n.t, json.Unmarshal([]byte(body), &k))
	}
	return k, status, body
}

func (n *node) answer(id, taskID, body string) (int, string) {
	n.t.Helper()
	return n.do(n.t.Context(), http.MethodPost, "/"+id+"/tasks/"+taskID+"/answer", id, body)
}

// put dispatches an attempt.
func (n *node) put(ctx context.Context, id string, round int, limit time.Duration) <-chan arena.Reply {
	n.t.Helper()
	a := protocoltest.NewAttempt("", limit)
	a.Seat.AgentID, a.Round, a.Task.ID, a.Deadline = id, round, fmt.Sprintf("tk_%d", round), time.Now().Add(limit)
	send, err := n.driver.Prepare(ctx, a)
	must(n.t, err)
	replies := make(chan arena.Reply, 1)
	go func() { replies <- send(ctx) }()
	return replies
}

// The outcome table holds for agents that fetch their tasks.
func TestDriver_outcomes(t *testing.T) {
	t.Parallel()
	n := alone(t)
	protocoltest.RunOutcomeTable(t, func(t *testing.T, does protocoltest.Does, limit time.Duration) arena.Reply {
		t.Helper()
		id := "ag_" + strings.ReplaceAll(string(does), " ", "_")
		reply := n.put(t.Context(), id, 2, limit)
		k, status, body := n.poll(id, "60")
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		given := map[protocoltest.Does]string{
			protocoltest.Answers: `{"answer":"Canberra"}`, protocoltest.SaysLate: `{"status":408}`, protocoltest.RateLimits: `{"status":429,"retry_after":60}`,
			protocoltest.Fails: `{"status":500}`, protocoltest.Leaves: `{"status":503}`, protocoltest.Garbles: `{"status":404}`,
		}[does]
		if given != "" {
			status, body := n.answer(id, k.TaskID, given)
			if want := map[bool]int{true: http.StatusBadRequest, false: http.StatusAccepted}[does == protocoltest.Garbles]; status != want {
				t.Errorf("the answer got %d %s", status, body)
			}
		}
		r := <-reply
		if r.SentAt.IsZero() || !bytes.Equal(r.Request, k.Task) || r.Unreached {
			t.Errorf("reply %+v to %s", r, k.Task)
		}
		if strings.Contains(r.Detail, "endpoint") {
			t.Errorf("an agent without an endpoint reads %q", r.Detail)
		}
		return r
	})
}

// A poll that waits gets a task; its token covers the bytes of the task.
func TestServer_Poll(t *testing.T) {
	t.Parallel()
	n := alone(t)
	got := make(chan task, 1)
	go func() {
		k, _, _ := n.poll("ag_1", "60")
		got <- k
	}()
	if id := <-n.awake; id != "ag_1" || !n.driver.Probe(t.Context(), arena.Agent{ID: id}).OK {
		t.Errorf("%s is absent", id)
	}
	reply := n.put(t.Context(), "ag_1", 1, time.Minute)
	k := <-got
	hash := sha256.Sum256(k.Task)
	if k.Token != "ag_1 "+base64.RawURLEncoding.EncodeToString(hash[:]) || k.TaskID != "tk_1" || k.Attempt != 1 || k.Deadline == "" {
		t.Errorf("poll got %+v", k)
	}
	if _, status, _ := n.poll("ag_1", "0"); status != http.StatusOK { // max_concurrent is 1: the first one counts as lost
		t.Errorf("poll of an agent that lost its task: %d", status)
	}
	if status, body := n.answer("ag_1", "tk_1", `{"answer":"4"}`); status != http.StatusAccepted || body != "answered" {
		t.Errorf("%d %s", status, body)
	}
	if r := <-reply; r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "4" || !strings.Contains(string(r.Request), `"attempt":2`) {
		t.Errorf("%+v, request %s", r, r.Request)
	}
	for given, want := range map[string]string{`{"answer":"4"}`: "202 answered", `{"answer":"5"}`: "400 answer_repeated"} {
		if status, body := n.answer("ag_1", "tk_1", given); fmt.Sprint(status, " ", body) != want {
			t.Errorf("%s got %d %s, want %s", given, status, body, want)
		}
	}
	if len(n.awake) > 0 {
		t.Errorf("%s counts as back without having been absent", <-n.awake)
	}
}

// Polls and answers that are refused. Threat P1.
func TestServer_refuses(t *testing.T) {
	t.Parallel()
	n := alone(t)
	for _, c := range []struct{ id, as, wait, want string }{
		{"ag_1", "ag_2", "60", "400 unauthorized"},
		{"ag_none", "ag_none", "60", "400 not_found"},
		{"ag_retired", "ag_retired", "60", "400 conflict"},
		{"ag_listens", "ag_listens", "60", "400 agent_has_endpoint"},
		{"ag_1", "ag_1", "61", "400 invalid"},
		{"ag_1", "ag_1", "NaN", "400 invalid"},
		{"ag_1", "ag_1", "0", "204 "},
	} {
		if status, body := n.do(t.Context(), http.MethodGet, "/"+c.id+"/tasks?wait="+c.wait, c.as, ""); fmt.Sprint(status, " ", body) != c.want {
			t.Errorf("%+v: %d %s", c, status, body)
		}
		if accepted := len(n.awake) > 0; accepted != (c.want == "204 ") {
			t.Errorf("%+v: the poll was accepted: %t", c, accepted)
		}
	}
	// One more poll than max_concurrent may wait.
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	refused := make(chan string, 3)
	for range 3 {
		waiting.Go(func() {
			if status, body := n.do(ctx, http.MethodGet, "/ag_9/tasks?wait=60", "ag_9", ""); status != 0 {
				refused <- fmt.Sprint(status, " ", body)
			}
		})
	}
	if got := <-refused; got != "400 rate_limited" {
		t.Errorf("a poll too many got %s", got)
	}
	cancel()
	waiting.Wait()

	reply := n.put(t.Context(), "ag_3", 2, time.Minute)
	if _, status, _ := n.poll("ag_3", "60"); status != http.StatusOK {
		t.Fatal(status)
	}
	if status, body := n.answer("ag_3", "tk_2", `{"answer":"`+strings.Repeat("x", 64<<10)+`"}`); fmt.Sprint(status, " ", body) != "400 too_large" {
		t.Errorf("%d %s", status, body)
	}
	if r := <-reply; r.Outcome != arena.OutcomeInvalid || r.Reason != "too_large" || len(r.Head) != 2<<10 {
		t.Errorf("%+v", r)
	}
	if status, body := n.answer("ag_3", "tk_9", `{}`); fmt.Sprint(status, " ", body) != "400 task_not_found" {
		t.Errorf("%d %s", status, body)
	}
}

// A task that is not fetched is as an endpoint that cannot be reached, and one
// that is canceled is gone.
func TestDriver_not_fetched(t *testing.T) {
	t.Parallel()
	n := alone(t)
	for round, want := range map[int]arena.Outcome{1: arena.OutcomeError, 2: arena.OutcomeTimeout} {
		r := <-n.put(t.Context(), "ag_1", round, 10*time.Millisecond)
		if r.Outcome != want || !r.Unreached || r.Reason != "not_fetched" || r.Retry {
			t.Errorf("round %d: %+v", round, r)
		}
	}
	if status, body := n.answer("ag_1", "tk_1", `{"answer":"4"}`); fmt.Sprint(status, " ", body) != "400 answer_late" {
		t.Errorf("%d %s", status, body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reply := n.put(ctx, "ag_2", 3, time.Minute)
	if _, status, _ := n.poll("ag_2", "60"); status != http.StatusOK {
		t.Fatal(status)
	}
	cancel()
	if r := <-reply; r.Outcome != arena.OutcomeVoid {
		t.Errorf("%+v", r)
	}
	if status, body := n.answer("ag_2", "tk_3", `{"answer":"4"}`); fmt.Sprint(status, " ", body) != "400 task_not_found" {
		t.Errorf("%d %s", status, body)
	}
}

// A poll at one node gets the task of a match at another, and its answer may
// come in at either, with and without a bus.
func TestHub_nodes(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"one notifier": true, "each looks by itself": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, first, second := newStore(t), mailbox.NewNotifier(nil), mailbox.NewNotifier(nil)
			if shared {
				second = first
			}
			a, b := newNode(t, s, first), newNode(t, s, second)
			got := make(chan task, 1)
			go func() {
				k, _, _ := b.poll("ag_1", "60")
				got <- k
			}()
			<-b.awake
			reply := a.put(t.Context(), "ag_1", 1, time.Minute)
			k := <-got
			if status, body := b.answer("ag_1", k.TaskID, `{"answer":"4"}`); status != http.StatusAccepted {
				t.Fatalf("%d %s", status, body)
			}
			if r := <-reply; r.Outcome != arena.OutcomeAnswered {
				t.Errorf("%+v", r)
			}
			if !b.driver.Probe(t.Context(), arena.Agent{ID: "ag_1"}).OK {
				t.Error("an agent that has just answered is absent")
			}
		})
	}
}

// A poll ends with 204 when its time is over, and when the node shuts down.
func TestHub_Close(t *testing.T) {
	t.Parallel()
	n := alone(t)
	if _, status, body := n.poll("ag_1", "0.01"); status != http.StatusNoContent {
		t.Errorf("%d %s", status, body)
	}
	ended := make(chan int, 1)
	go func() {
		_, status, _ := n.poll("ag_2", "60")
		ended <- status
	}()
	for <-n.awake != "ag_2" { // the first one was ag_1
	}
	n.hub.Close()
	if status := <-ended; status != http.StatusNoContent {
		t.Errorf("%d", status)
	}
	if _, status, _ := n.poll("ag_3", "60"); status != http.StatusNoContent {
		t.Errorf("a poll after the end: %d", status)
	}
}

// What is revoked ends the polls of its agent, and no others. Threat P2.
func TestHub_revoked(t *testing.T) {
	t.Parallel()
	s := revoking{newStore(t), make(chan string, 1)}
	n := newNode(t, s, mailbox.NewNotifier(nil))
	for i, id := range []string{"to_1", "ow_1", "ag_2"} {
		agent := fmt.Sprintf("ag_%d", i)
		ended := make(chan int, 1)
		go func() {
			_, status, _ := n.poll(agent, "60")
			ended <- status
		}()
		for <-n.awake != agent { // it waits
		}
		s.ids <- "to_other"
		s.ids <- "ag_other" // the hub has looked at the one before
		select {
		case status := <-ended:
			t.Fatalf("a poll of %s ended with %d", agent, status)
		default:
		}
		s.ids <- id
		if status := <-ended; status != http.StatusNoContent {
			t.Errorf("%s: %d", id, status)
		}
	}
}

// away is a store that cannot read tasks until it has failed three times after
// an instant.
type away struct {
	*rows.PulledTasks

	until  atomic.Int64 // unix ns
	failed atomic.Int64
}

func (a *away) Pulled(ctx context.Context, agentID, taskID string) (arena.PulledTask, error) {
	late := time.Now().UnixNano() >= a.until.Load()
	if !late || a.failed.Add(1) <= 3 {
		return arena.PulledTask{}, arena.Errorf(arena.CodeUnavailable, "the storage is unavailable")
	}
	return a.PulledTasks.Pulled(ctx, agentID, taskID)
}

// An answer that came in time counts although the arena cannot read it before
// the time limit is over.
func TestDriver_storage_away(t *testing.T) {
	t.Parallel()
	s := &away{PulledTasks: newStore(t)}
	n := newNode(t, s, mailbox.NewNotifier(nil))
	const limit = time.Second
	s.until.Store(time.Now().Add(limit + 500*time.Millisecond).UnixNano()) // when the driver looks for the last time
	reply := n.put(t.Context(), "ag_1", 2, limit)
	k, _, _ := n.poll("ag_1", "60")
	if status, body := n.answer("ag_1", k.TaskID, `{"answer":"4"}`); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	if r := <-reply; r.Outcome != arena.OutcomeAnswered {
		t.Errorf("%+v", r)
	}
}
