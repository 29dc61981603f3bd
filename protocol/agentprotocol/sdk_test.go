package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
	sdk "github.com/agora-arena/agora-go/arenaagent/agentprotocol"
	"github.com/agora-arena/arena/arena"
)

// sdkAgent is an agent written on the Go SDK, registered in the test arena.
func (h *testArena) sdkAgent(n *node, handler arenaagent.Handler) (*fake, *sdk.Agent) {
	h.t.Helper()
	f := h.agent()
	client := &http.Client{Transport: &http.Transport{}}
	h.t.Cleanup(client.CloseIdleConnections)
	agent, err := sdk.New(sdk.Config{Arena: n.web.URL, Key: f.key, Name: "Sdk", MaxConcurrent: 2, HTTPClient: client, Logger: discard()}, handler)
	if err != nil {
		h.t.Fatal(err)
	}
	if agent.PublicKey() != rawID(f.public()) {
		h.t.Errorf("key %s", agent.PublicKey())
	}
	return f, agent
}

// An agent on the Go SDK plays over HTTP and over a WebSocket, shows events
// and has every outcome.
func TestSDK_Go(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, agent *sdk.Agent) string{
		"HTTP": func(t *testing.T, agent *sdk.Agent) string {
			t.Helper()
			web := httptest.NewServer(agent)
			t.Cleanup(web.Close)
			return web.URL
		},
		"WebSocket": func(t *testing.T, agent *sdk.Agent) string {
			t.Helper()
			ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
			done := make(chan error, 1)
			go func() { done <- agent.Run(ctx) }()
			t.Cleanup(func() {
				stop()
				if err := <-done; err != nil {
					t.Errorf("run: %v", err)
				}
			})
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newArena(t)
			n := h.node()
			var fails error
			f, agent := h.sdkAgent(n, func(_ context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
				events.Thinking("reading " + task.League)
				events.ToolCall("map", 1)
				return arenaagent.Answer{Value: task.Options[1], Confidence: 0.9}, fails
			})
			endpoint := start(t, agent)
			a := arena.Agent{ID: f.id, Endpoint: endpoint, PublicKey: rawID(f.public()), KeyProvedAt: time.Now(), Leagues: []string{"trivia"}}
			if endpoint == "" {
				<-n.connected
			}
			health := n.driver.Probe(t.Context(), a)
			if !health.OK || health.MaxConcurrent != 2 || !slices.Equal(health.Capabilities, []string{"trivia"}) {
				t.Errorf("health %+v", health)
			}
			for _, c := range []struct {
				err  error
				want arena.Outcome
			}{
				{nil, arena.OutcomeAnswered},
				{arenaagent.ErrTimeout, arena.OutcomeTimeout},
				{arenaagent.ErrRateLimited, arena.OutcomeRateLimited},
				{arenaagent.ErrUnavailable, arena.OutcomeUnavailable},
				{errors.New("broken"), arena.OutcomeError},
			} {
				fails = c.err
				r := n.send(t, f.attempt(endpoint, enough))
				if r.Outcome != c.want {
					t.Errorf("%v: %q, want %q: %s", c.err, r.Outcome, c.want, r.Detail)
				}
				if r.Answer != nil && (r.Answer.Answer != "Canberra" || !slices.Equal(r.Answer.ToolsUsed, []string{"map"})) {
					t.Errorf("answer %+v", r.Answer)
				}
			}
			got := n.events.all()
			if len(got) < 2 || got[0] != "m_1 "+f.id+` {"message":"reading trivia","type":"thinking"}` {
				t.Errorf("%d events: %v", len(got), got)
			}
		})
	}
}

// A handler is called once for a request that comes again over another socket,
// and the proof of the key is one that registration takes.
func TestSDK_Go_reconnect(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	second := h.node()
	called, answer := make(chan struct{}, 9), make(chan struct{})
	f, agent := h.sdkAgent(n, func(context.Context, *arenaagent.Task, *arenaagent.Events) (arenaagent.Answer, error) {
		called <- struct{}{}
		<-answer
		return arenaagent.Answer{Value: "Canberra"}, nil
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	<-n.connected
	send, err := second.driver.Prepare(t.Context(), f.attempt("", enough))
	if err != nil {
		t.Fatal(err)
	}
	replies := make(chan arena.Reply, 1)
	go func() { replies <- send(t.Context()) }()
	<-called
	n.mu.Lock()
	lost := n.sockets[f.id]
	n.mu.Unlock()
	_ = lost.ws.CloseNow()
	<-n.connected // it has come back
	close(answer)
	if r := <-replies; r.Outcome != arena.OutcomeAnswered || len(called) != 0 {
		t.Errorf("%q, %d more calls: %s", r.Outcome, len(called), r.Detail)
	}
	a := arena.Agent{ID: f.id, PublicKey: rawID(f.public())}
	challenge := a.KeyChallenge("https://arena.example")
	signature, err := base64.StdEncoding.DecodeString(sdk.SignChallenge(f.key, challenge))
	if err != nil || !ed25519.Verify(f.public(), []byte(challenge), signature) {
		t.Errorf("challenge: %v", err)
	}
}

// An SDK agent answers the arena alone.
func TestSDK_Go_untrusted(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f, agent := h.sdkAgent(n, func(context.Context, *arenaagent.Task, *arenaagent.Events) (arenaagent.Answer, error) {
		t.Error("an unregistered agent's task was worked on")
		return arenaagent.Answer{}, nil
	})
	web := httptest.NewServer(agent)
	t.Cleanup(web.Close)
	request := map[string]any{"action": "arena:round/trivia", "correlationId": "1", "params": map[string]any{}}
	unregistered := &fake{t: t, key: newKey(t), arena: f.public()}
	unregistered.name = rawID(unregistered.public())
	pretender := &fake{t: t, key: newKey(t), arena: f.public(), name: rawID(f.arena)}
	self := &fake{t: t, key: h.key, arena: f.public(), name: rawID(f.arena)}
	for name, c := range map[string]struct {
		data   []byte
		status int
	}{
		"unregistered": {unregistered.message("request", request), 401},
		"pretender":    {pretender.message("request", request), 401},
		"old":          {self.with("request", request, set("timestamp", "2026-02-01T15:08:00Z")), 400},
		"another's":    {self.with("request", request, set("to", map[string]any{"agentId": unregistered.name})), 400},
		"garbage":      {[]byte("{"), 401},
		"code":         {self.message("request", map[string]any{"action": "code-review", "correlationId": "1"}), 200},
	} {
		status, body := f.post(web.URL, c.data)
		if status != c.status || !strings.Contains(string(body), `"type":"error"`) {
			t.Errorf("%s: status %d, %s", name, status, body)
		}
	}
}
