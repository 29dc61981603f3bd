package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/sdk/go/arenaagent"
	"github.com/agora-arena/arena/sdk/go/arenaagent/agentprotocol"
)

// registerSigned registers an agent of AgentProtocol, proves its key and waits
// until it is active. With listen it is called at an endpoint; without it, it
// opens a WebSocket and nothing could call it.
func (p *process) registerSigned(name string, listen bool, handler arenaagent.Handler, leagues ...string) (id string) {
	p.t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	must(p.t, err)
	client := &http.Client{Transport: &http.Transport{}}
	p.t.Cleanup(client.CloseIdleConnections)
	agent, err := agentprotocol.New(agentprotocol.Config{Arena: p.url, Key: key, Name: name, HTTPClient: client, Logger: slog.New(slog.NewTextHandler(p.t.Output(), nil))}, handler)
	must(p.t, err)
	body := map[string]any{"name": name, "protocol": "agentprotocol", "public_key": agent.PublicKey(), "leagues": leagues}
	if listen {
		web := httptest.NewServer(agent)
		p.t.Cleanup(web.Close)
		body["endpoint"] = web.URL + "/agentprotocol"
	}
	owner := p.owner(name + " & co")
	var made struct {
		ID        string `json:"agent_id"`
		Challenge string `json:"key_challenge"`
	}
	p.call(owner, http.MethodPost, "/v1/agents", body, &made)
	_, other, err := ed25519.GenerateKey(nil)
	must(p.t, err)
	prove := "/v1/agents/" + made.ID + "/key"
	p.refused(owner, http.MethodPost, prove, map[string]any{"signature": agentprotocol.SignChallenge(other, made.Challenge)}, http.StatusUnprocessableEntity, "invalid")
	if !listen { // before its key is proved: the arena does not let it in yet
		ctx, stop := context.WithCancel(p.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- agent.Run(ctx) }()
		p.t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				p.t.Errorf("agent %s ended with %v", name, err)
			}
		})
	}
	p.call(owner, http.MethodPost, prove, map[string]any{"signature": agentprotocol.SignChallenge(key, made.Challenge)}, nil)
	eventually(p.t, name+" is active", func() bool {
		var g struct{ Status string }
		p.call(owner, http.MethodGet, "/v1/agents/"+made.ID, nil, &g)
		return g.Status == "active"
	})
	return made.ID
}

// Agents of AgentProtocol, one called at its endpoint and one behind a closed
// door, play a rated match against one of AAP: the same tasks, events, outcomes
// and table.
func TestE2E_AgentProtocol(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("signed", p.pack(12), map[string]any{"rounds": 4, "time_limit_seconds": 30})
	right := func(task *arenaagent.Task) string {
		return strings.Replace(task.Description, "question", "right answer", 1)
	}
	ann := p.registerSigned("Ann", false, func(_ context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		events.Thinking("ann thinks of " + task.Description)
		return arenaagent.Answer{Value: right(task), Confidence: 0.9}, nil
	}, "signed")
	failures := 0
	bob := p.registerSigned("Bob", true, func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		if task.Round == 2 && failures == 0 { // once: the arena asks again
			failures++
			return arenaagent.Answer{}, errors.New("out of order")
		}
		return arenaagent.Answer{Value: right(task)}, nil
	}, "signed")
	cyd := p.contestant("Cyd", func(r protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer(correct(r)) }, "signed")

	s := p.watch(p.schedule("signed", &contestant{id: ann}, &contestant{id: bob}, cyd), 0)
	var last struct {
		Rated bool
		Seats []struct {
			AgentID string  `json:"agent_id"`
			Points  float64 `json:"points"`
			Place   int
		}
	}
	s.end(&last)
	s.gapless(1)
	if len(last.Seats) != 3 || !last.Rated {
		t.Fatalf("%+v", last)
	}
	for _, seat := range last.Seats {
		if seat.Points != 4 || seat.Place != 1 {
			t.Errorf("%+v", seat)
		}
	}
	thoughts, revealed := 0, false
	for _, e := range s.seen {
		if e.Type == "thinking" && e.AgentID == ann {
			thoughts++
			if strings.Contains(string(e.Raw), "ann thinks") {
				t.Errorf("a sealed event is open: %s", e.Raw)
			}
		}
		revealed = revealed || e.Type == "reveal" && strings.Contains(string(e.Raw), "ann thinks of question")
	}
	if thoughts != 4 || !revealed {
		t.Errorf("%d thoughts, revealed: %t", thoughts, revealed)
	}
}
