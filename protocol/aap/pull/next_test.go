package pull_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/mailbox"
)

// events records what agents reported.
type events struct {
	mu   sync.Mutex
	seen []string
}

func (e *events) Accept(_ context.Context, matchID, agentID string, event []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, matchID+" "+agentID+" "+string(event))
	return nil
}

func holds(id string) arena.Caller {
	return arena.Caller{Scope: arena.ScopeAgent, AgentID: id, TokenID: "to_1"}
}

type nexted struct {
	task arena.PulledTask
	ok   bool
	err  error
}

// next waits for a task in the background.
func (n *node) next(ctx context.Context, id string) <-chan nexted {
	n.t.Helper()
	got := make(chan nexted, 1)
	go func() {
		t, ok, err := n.server.Next(ctx, holds(id), id, time.Minute)
		got <- nexted{t, ok, err}
	}()
	for <-n.awake != id { // it waits
	}
	return got
}

// A caller in this process gets the task that an agent's poll would get, reports
// and answers it.
func TestServer_Next(t *testing.T) {
	t.Parallel()
	n := alone(t)
	got := n.next(t.Context(), "ag_1")
	reply := n.put(t.Context(), "ag_1", 1, time.Minute)
	g := <-got
	if !g.ok || g.err != nil || g.task.TaskID != "tk_1" || g.task.Attempt != 1 || g.task.Deadline.IsZero() {
		t.Fatalf("%+v", g)
	}
	event := []byte(`{"type":"thinking","message":"hm"}`)
	must(t, n.server.Report(t.Context(), holds("ag_1"), "ag_1", "tk_1", event))
	var request struct {
		MatchID string `json:"match_id"`
	}
	must(t, json.Unmarshal(g.task.Body, &request))
	if want := request.MatchID + " ag_1 " + string(event); len(n.events.seen) != 1 || n.events.seen[0] != want {
		t.Errorf("reported %q, want %q", n.events.seen, want)
	}
	outcome, err := n.server.Submit(t.Context(), holds("ag_1"), "ag_1", "tk_1", []byte(`{"answer":"Canberra"}`))
	if outcome != arena.OutcomeAnswered || err != nil {
		t.Errorf("%s %v", outcome, err)
	}
	if r := <-reply; r.Outcome != arena.OutcomeAnswered || !bytes.Equal(r.Request, g.task.Body) {
		t.Errorf("%+v", r)
	}
	if err := n.server.Report(t.Context(), holds("ag_1"), "ag_1", "tk_1", event); arena.CodeOf(err) != arena.CodeRoundClosed {
		t.Errorf("a report after the answer: %v", err)
	}
}

// The rules for polls over HTTP hold.
func TestServer_Next_refuses(t *testing.T) {
	t.Parallel()
	n := alone(t)
	large := []byte(`{"answer":"` + strings.Repeat("x", protocol.MaxBody) + `"}`)
	for name, c := range map[string]struct {
		do   func() error
		want arena.Code
	}{
		"a foreign key": {func() error { _, _, err := n.server.Next(t.Context(), holds("ag_1"), "ag_2", 0); return err }, arena.CodeUnauthorized},
		"no agent":      {func() error { _, _, err := n.server.Next(t.Context(), holds("ag_none"), "ag_none", 0); return err }, arena.CodeNotFound},
		"an agent with endpoint": {func() error {
			_, _, err := n.server.Next(t.Context(), holds("ag_listens"), "ag_listens", 0)
			return err
		}, arena.CodeHasEndpoint},
		"an answer of another":     {func() error { _, err := n.server.Submit(t.Context(), holds("ag_1"), "ag_2", "tk_1", nil); return err }, arena.CodeUnauthorized},
		"a report of another":      {func() error { return n.server.Report(t.Context(), holds("ag_1"), "ag_2", "tk_1", nil) }, arena.CodeUnauthorized},
		"a report on another task": {func() error { return n.server.Report(t.Context(), holds("ag_1"), "ag_1", "tk_none", nil) }, arena.CodeTaskNotFound},
		"an answer to no task": {func() error {
			_, err := n.server.Submit(t.Context(), holds("ag_1"), "ag_1", "tk_none", nil)
			return err
		}, arena.CodeTaskNotFound},
		"an answer over 64 KiB": {func() error {
			reply := n.put(t.Context(), "ag_3", 1, time.Minute)
			<-n.next(t.Context(), "ag_3")
			_, err := n.server.Submit(t.Context(), holds("ag_3"), "ag_3", "tk_1", large)
			if r := <-reply; r.Outcome != arena.OutcomeInvalid {
				t.Errorf("%+v", r)
			}
			return err
		}, arena.CodeTooLarge},
	} {
		if err := c.do(); arena.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	n.next(t.Context(), "ag_4")
	refused := make(chan error, 2)
	for range 2 { // max_concurrent is 1, so that two may wait
		go func() {
			_, _, err := n.server.Next(t.Context(), holds("ag_4"), "ag_4", time.Minute)
			refused <- err
		}()
	}
	if err := <-refused; arena.CodeOf(err) != arena.CodeRateLimited {
		t.Errorf("the third that waits: %v", err)
	}
}

// A wait ends when its time is over, its caller is gone, or the node shuts down,
// and none of them claims a task.
func TestServer_Next_ends(t *testing.T) {
	t.Parallel()
	s, notifier := newStore(t), mailbox.NewNotifier(nil)
	n := newNode(t, s, notifier)
	if _, ok, err := n.server.Next(t.Context(), holds("ag_1"), "ag_1", time.Millisecond); ok || err != nil {
		t.Errorf("%t %v", ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := n.next(ctx, "ag_2")
	cancel()
	if g := <-got; g.ok || !errors.Is(g.err, context.Canceled) {
		t.Errorf("%+v", g)
	}
	reply := n.put(t.Context(), "ag_2", 1, time.Minute)
	k, status, _ := n.poll("ag_2", "60")
	if status != http.StatusOK || k.Attempt != 1 {
		t.Errorf("%d, attempt %d: the wait that ended took the task", status, k.Attempt)
	}
	if status, body := n.answer("ag_2", k.TaskID, `{"answer":"4"}`); status != http.StatusAccepted {
		t.Errorf("%d %s", status, body)
	}
	<-reply
	got = n.next(t.Context(), "ag_3")
	n.hub.Close()
	if g := <-got; g.ok || g.err != nil {
		t.Errorf("%+v", g)
	}
	if g := fmt.Sprint(n.server.Next(t.Context(), holds("ag_3"), "ag_3", time.Minute)); !strings.Contains(g, "false <nil>") {
		t.Errorf("after the end: %s", g)
	}
}
