package a2a_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	a2ago "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/a2a"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// goAgent is an agent on the Go library for A2A 0.3.
type goAgent struct {
	way string // how it replies

	mu       sync.Mutex
	contexts []string
	canceled chan struct{}
}

// Execute handles one message.
func (g *goAgent) Execute(ctx context.Context, q *a2asrv.RequestContext, out eventqueue.Queue) error {
	g.mu.Lock()
	g.contexts = append(g.contexts, q.ContextID)
	g.mu.Unlock()
	data, isData := q.Message.Parts[1].(a2ago.DataPart)
	if !isData {
		return fmt.Errorf("parts %v", q.Message.Parts)
	}
	task, _ := data.Data["task"].(map[string]any)
	options, _ := task["options"].([]any)
	answer := a2ago.DataPart{Data: map[string]any{"answer": options[1], "confidence": 0.5}}
	status := func(s a2ago.TaskState, text string) error {
		var m *a2ago.Message
		if text != "" {
			m = a2ago.NewMessageForTask(a2ago.MessageRoleAgent, q, a2ago.TextPart{Text: text})
		}
		e := a2ago.NewStatusUpdateEvent(q, s, m)
		e.Final = s.Terminal()
		return out.Write(ctx, e)
	}
	if g.way == "message" {
		return out.Write(ctx, a2ago.NewMessage(a2ago.MessageRoleAgent, answer))
	}
	must := []func() error{
		func() error { return status(a2ago.TaskStateSubmitted, "") },
		func() error { return status(a2ago.TaskStateWorking, "looking at a map") },
	}
	switch g.way {
	case "task":
		must = append(must,
			func() error { return out.Write(ctx, a2ago.NewArtifactEvent(q, answer)) },
			func() error { return status(a2ago.TaskStateCompleted, "done") })
	case "fails":
		must = append(must, func() error { return status(a2ago.TaskStateFailed, "no map") })
	case "stalls":
		must = append(must, func() error {
			select {
			case <-g.canceled:
			case <-ctx.Done():
			}
			return nil
		})
	}
	for _, step := range must {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Cancel notes that a task was canceled.
func (g *goAgent) Cancel(ctx context.Context, q *a2asrv.RequestContext, out eventqueue.Queue) error {
	close(g.canceled)
	e := a2ago.NewStatusUpdateEvent(q, a2ago.TaskStateCanceled, nil)
	e.Final = true
	return out.Write(ctx, e)
}

// The types of the library for Go read the arena's card and its answers.
func TestInterop_go_asks(t *testing.T) {
	t.Parallel()
	var s *a2a.Server
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	var err error
	if s, err = a2a.NewServer(a2a.ServerOptions{
		URL: server.URL, Version: "1", Logger: slog.New(slog.DiscardHandler),
		Ask: func(_ context.Context, _, text string) (string, error) { return "echo " + text, nil },
		Skills: []a2a.Skill{{ID: "standings", Name: "Standings", Action: func(context.Context, string, json.RawMessage) (any, error) {
			return map[string]string{"league": "trivia"}, nil
		}}},
	}); err != nil {
		t.Fatal(err)
	}
	get := func(r *http.Request, into any) {
		t.Helper()
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if err := json.NewDecoder(response.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	var card a2ago.AgentCard
	get(newRequest(t, http.MethodGet, server.URL+a2asrv.WellKnownAgentCardPath, nil), &card)
	if card.URL != server.URL+a2a.Root || card.PreferredTransport != a2ago.TransportProtocolJSONRPC || len(card.Skills) != 1 {
		t.Errorf("card %+v", card)
	}
	for name, c := range map[string]struct{ ask, want a2ago.Part }{
		"words": {a2ago.TextPart{Text: "hello"}, a2ago.TextPart{Text: "echo hello"}},
		"data":  {a2ago.DataPart{Data: map[string]any{"action": "standings"}}, a2ago.DataPart{Data: map[string]any{"league": "trivia"}}},
	} {
		body, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": a2ago.MessageSendParams{Message: a2ago.NewMessage(a2ago.MessageRoleUser, c.ask)},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := newRequest(t, http.MethodPost, card.URL, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		var reply struct{ Result json.RawMessage }
		get(r, &reply)
		got, err := a2ago.UnmarshalEventJSON(reply.Result)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, isMessage := got.(*a2ago.Message)
		if !isMessage || len(m.Parts) != 1 || !reflect.DeepEqual(m.Parts[0], c.want) || m.ContextID == "" || m.Role != a2ago.MessageRoleAgent {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

type collected struct {
	mu     sync.Mutex
	events []string
}

// Accept keeps an event.
func (c *collected) Accept(_ context.Context, _, _ string, event []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, string(event))
	return nil
}

// The library for Go, version 0.3, on the other side: as a message, as a task, in a
// stream, and a task that must be canceled.
func TestInterop_go(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		way       string
		streaming bool
		limit     time.Duration
		want      arena.Outcome
		reason    string
		events    []string
	}{
		{"message", false, time.Minute, arena.OutcomeAnswered, "", nil},
		{"message", true, time.Minute, arena.OutcomeAnswered, "", nil},
		{"task", false, time.Minute, arena.OutcomeAnswered, "", nil},
		{"task", true, time.Minute, arena.OutcomeAnswered, "", []string{`{"message":"looking at a map","type":"thinking"}`}},
		{"fails", false, time.Minute, arena.OutcomeError, "a2a_failed", nil},
		{"stalls", true, 3 * time.Second, arena.OutcomeTimeout, "time_limit", []string{`{"message":"looking at a map","type":"thinking"}`}},
	} {
		t.Run(fmt.Sprintf("%s, streaming %t", c.way, c.streaming), func(t *testing.T) {
			t.Parallel()
			g := &goAgent{way: c.way, canceled: make(chan struct{})}
			mux := http.NewServeMux()
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(g)))
			mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&a2ago.AgentCard{
				Name: "Go", URL: server.URL + "/rpc", ProtocolVersion: "0.3.0", PreferredTransport: a2ago.TransportProtocolJSONRPC,
				Capabilities: a2ago.AgentCapabilities{Streaming: c.streaming}, Skills: []a2ago.AgentSkill{},
			}))
			shown := &collected{}
			d := driverFor(t, shown)
			if h := d.Probe(t.Context(), arena.Agent{Endpoint: server.URL, Leagues: []string{"trivia"}}); !h.OK {
				t.Fatalf("health %+v", h)
			}
			for round := range 2 {
				at := protocoltest.NewAttempt(server.URL, c.limit)
				at.Round, at.Task.ID = round+1, fmt.Sprint("tk_", round)
				send, err := d.Prepare(t.Context(), at)
				if err != nil {
					t.Fatal(err)
				}
				r := send(t.Context())
				if r.Outcome != c.want || r.Reason != c.reason || r.Answer != nil && r.Answer.Answer != "Canberra" {
					t.Errorf("reply %+v", r)
				}
				if c.way == "stalls" {
					select {
					case <-g.canceled:
					case <-t.Context().Done():
					}
					break
				}
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			if len(slices.Compact(g.contexts)) != 1 {
				t.Errorf("contexts %v", g.contexts)
			}
			if n := len(c.events); n > 0 && (len(shown.events) < n || !slices.Equal(shown.events[:n], c.events)) {
				t.Errorf("events %v", shown.events)
			}
		})
	}
}

func driverFor(t *testing.T, events a2a.Events) *a2a.Driver {
	t.Helper()
	guard, err := protocol.NewGuard(protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := protocol.NewClient(guard, protocol.ClientOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	d := a2a.New(a2a.Options{
		Client: client, Key: ed25519.NewKeyFromSeed(make([]byte, 32)), Events: events, Now: time.Now,
		Sign: func(arena.TaskClaims) (string, error) { return "signed", nil },
	})
	t.Cleanup(d.Close)
	return d
}

func newRequest(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
