package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/sdk/go/arenaagent"
	"github.com/agora-arena/arena/sdk/go/arenaagent/envelope"
	"github.com/agora-arena/arena/store/storetest"
)

// poller is an agent that plays through the relay alone: nothing could call it.
type poller struct {
	id  string
	key envelope.Key
}

// registerPoller registers an agent, proves its key and starts it. It is
// active once it has polled.
func (p *process) registerPoller(name string, handler arenaagent.Handler, leagues ...string) *poller {
	p.t.Helper()
	a := &poller{key: envelope.NewKey()}
	owner := p.owner(name + " & co")
	var made struct {
		ID        string `json:"agent_id"`
		Challenge string `json:"key_challenge"`
	}
	p.call(owner, http.MethodPost, "/v1/agents", map[string]any{
		"name": name, "protocol": "envelope", "public_key": a.key.DID(), "leagues": leagues,
	}, &made)
	a.id = made.ID
	p.refused(owner, http.MethodPost, "/v1/agents/"+a.id+"/key", map[string]any{"signature": envelope.NewKey().Prove(made.Challenge)}, http.StatusUnprocessableEntity, "invalid")
	p.call(owner, http.MethodPost, "/v1/agents/"+a.id+"/key", map[string]any{"signature": a.key.Prove(made.Challenge)}, nil)

	ctx, stop := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- envelope.Run(ctx, envelope.Config{Arena: p.url, Key: a.key, Name: name, Leagues: leagues}, handler)
	}()
	p.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			p.t.Errorf("agent %s ended with %v", name, err)
		}
	})
	eventually(p.t, name+" is active", func() bool {
		var g struct{ Status string }
		p.call(owner, http.MethodGet, "/v1/agents/"+a.id, nil, &g)
		return g.Status == "active"
	})
	return a
}

// The TypeScript SDK's agent, as a real process that only polls.
func TestE2E_RelayTypeScript(t *testing.T) {
	t.Parallel()
	sdk := filepath.Join(root(t), "sdk", "typescript")
	for _, file := range []string{"dist/envelope.js", "node_modules/canonicalize"} {
		if _, err := os.Stat(filepath.Join(sdk, file)); err != nil && storetest.Required("sdk") {
			t.Fatalf("make test-sdk comes first: %v", err)
		} else if err != nil {
			t.Skipf("make test-sdk comes first: %v", err)
		}
	}
	p := serve(t, t.TempDir())
	p.league("trivia", p.choices(), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "time_limit_seconds": 30, "visibility": "live"})
	node := func(env ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "node", filepath.Join(sdk, "examples", "relay.mjs"))
		cmd.Env = append(os.Environ(), append(env, "ARENA="+p.url, "KEY_FILE="+filepath.Join(p.cmd.Env[1][len("HOME="):], "agent.pem"))...)
		return cmd
	}
	agent := node()
	said, err := agent.StdoutPipe()
	must(t, err)
	must(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Signal(os.Interrupt)
		if err := agent.Wait(); err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
	did, err := bufio.NewReader(said).ReadString('\n')
	must(t, err)
	owner := p.owner("Poller & co")
	var made struct {
		ID        string `json:"agent_id"`
		Challenge string `json:"key_challenge"`
	}
	p.call(owner, http.MethodPost, "/v1/agents", map[string]any{
		"name": "Poller", "protocol": "envelope", "public_key": strings.TrimSpace(did), "leagues": []string{"trivia"},
	}, &made)
	proof, err := node("CHALLENGE=" + made.Challenge).Output()
	must(t, err)
	p.call(owner, http.MethodPost, "/v1/agents/"+made.ID+"/key", map[string]any{"signature": strings.TrimSpace(string(proof))}, nil)
	eventually(t, "the agent is active", func() bool {
		var g struct{ Status string }
		p.call(owner, http.MethodGet, "/v1/agents/"+made.ID, nil, &g)
		return g.Status == "active"
	})
	rival, _ := p.goAgent("trivia")
	s := p.watch(p.schedule("trivia", &contestant{id: made.ID}, rival), 0)
	var result finished
	s.end(&result)
	s.gapless(1)
	if !result.Rated || len(result.RatingChanges) != 2 {
		t.Errorf("result is %+v", result)
	}
	checkPlayed(t, s.seen, made.ID, "typescript")
}

// Agents behind a closed firewall play a rated match through the relay, against
// one that listens: the same tasks, events, outcomes and table.
func TestE2E_Relay(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("mixed", p.pack(12), map[string]any{"rounds": 4, "time_limit_seconds": 30})
	right := func(task *arenaagent.Task) string {
		return strings.Replace(task.Description, "question", "right answer", 1)
	}
	ann := p.registerPoller("Ann", func(_ context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		events.Thinking("ann thinks of " + task.Description)
		return arenaagent.Answer{Value: right(task), Confidence: 0.9}, nil
	}, "mixed")
	failures := 0
	bob := p.registerPoller("Bob", func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		if task.Round == 2 && failures == 0 { // once: the arena asks again
			failures++
			return arenaagent.Answer{}, fmt.Errorf("out of order")
		}
		return arenaagent.Answer{Value: right(task)}, nil
	}, "mixed")
	cyd := p.contestant("Cyd", func(r protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer(correct(r)) }, "mixed")

	match := p.schedule("mixed", &contestant{id: ann.id}, &contestant{id: bob.id}, cyd)
	s := p.watch(match, 0)
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
	if last.Seats == nil || !last.Rated {
		t.Fatalf("%+v", last)
	}
	for _, seat := range last.Seats {
		if seat.Points != 4 || seat.Place != 1 {
			t.Errorf("%+v", seat)
		}
	}
	thoughts, revealed := 0, false
	for _, e := range s.seen {
		if e.Type == "thinking" && e.AgentID == ann.id {
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

	// The relay's log tells the whole conversation, now that it is over.
	eventually(t, "the RESULTs are shown", func() bool {
		var page struct {
			Events []struct {
				Type   string
				Sender struct{ ID string }
			}
		}
		body, err := p.relayGet("/events?timeout=0&type=RESULT")
		must(t, err)
		must(t, json.Unmarshal(body, &page))
		senders := []string{}
		for _, e := range page.Events {
			senders = append(senders, e.Sender.ID)
		}
		return len(senders) == 8 && slices.Contains(senders, ann.key.DID()) && slices.Contains(senders, bob.key.DID())
	})
}

func (p *process) relayGet(path string) (json.RawMessage, error) {
	var raw json.RawMessage
	err := newClient(p.url, "").call(p.t.Context(), http.MethodGet, "/relay"+path, nil, &raw)
	return raw, err
}
