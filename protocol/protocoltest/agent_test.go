package protocoltest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call makes a request on a connection of its own.
func call(t *testing.T, method, url, body string) (status int, text string, err error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer signed")
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestAgent(t *testing.T) {
	t.Parallel()
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{
		Capabilities: []string{"trivia"},
		Play: func(r protocoltest.Request) protocoltest.Behaviour {
			if r.Task.Round == 2 {
				return protocoltest.RateLimited()
			}
			return protocoltest.Answer("Canberra")
		},
	})
	if status, text, err := call(t, http.MethodPost, agent.Endpoint(), `{"match_id":"m_1","round":1,"task":{"options":["a"]}}`); status != 200 || text != `{"answer":"Canberra"}` || err != nil {
		t.Errorf("round 1: %d %s %v", status, text, err)
	}
	if status, _, err := call(t, http.MethodPost, agent.Endpoint(), `{"round":2}`); status != 429 || err != nil {
		t.Errorf("round 2: %d %v", status, err)
	}
	first, err := agent.WaitRequest(t.Context(), 1)
	if err != nil || first.N != 1 || first.Task.MatchID != "m_1" || first.Task.Task.Options[0] != "a" || first.Token() != "signed" || first.At.IsZero() {
		t.Errorf("first request %+v, %v", first, err)
	}
	if n := len(agent.Requests()); n != 2 {
		t.Errorf("%d requests in the journal", n)
	}
	if status, text, err := call(t, http.MethodGet, agent.Endpoint()+"/health", ""); status != 200 || !strings.Contains(text, `"capabilities":["trivia"]`) || err != nil {
		t.Errorf("health: %d %s %v", status, text, err)
	}
	agent.SetHealth(protocoltest.HealthFails())
	if status, _, err := call(t, http.MethodGet, agent.Endpoint()+"/health", ""); status != 500 || agent.HealthChecks() != 2 || err != nil {
		t.Errorf("failing health: %d, %d checks, %v", status, agent.HealthChecks(), err)
	}
}

func TestAgent_WaitRequest_waits(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{Play: func(protocoltest.Request) protocoltest.Behaviour {
		return protocoltest.When(gate, protocoltest.Answer("42"))
	}})
	done := make(chan error, 1)
	go func() {
		_, _, err := call(t, http.MethodPost, agent.Endpoint(), `{}`)
		done <- err
	}()
	if r, err := agent.WaitRequest(t.Context(), 1); err != nil || r.N != 1 {
		t.Errorf("request %+v, %v", r, err)
	}
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := agent.WaitRequest(ctx, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Closing an agent ends its waits; it accepts no calls afterwards.
func TestAgent_Close(t *testing.T) {
	t.Parallel()
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{Play: func(r protocoltest.Request) protocoltest.Behaviour {
		return map[int]protocoltest.Behaviour{
			1: protocoltest.Stall(), 2: protocoltest.Late(time.Hour, protocoltest.Answer("42")), 3: protocoltest.When(nil, protocoltest.Answer("42")),
		}[r.N]
	}})
	done := make(chan error, 3)
	for range 3 {
		go func() {
			_, _, err := call(t, http.MethodPost, agent.Endpoint(), `{}`)
			done <- err
		}()
	}
	if _, err := agent.WaitRequest(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	agent.Close()
	for range 3 {
		if err := <-done; err == nil {
			t.Error("a waiting behaviour answered")
		}
	}
	if _, _, err := call(t, http.MethodPost, agent.Endpoint(), `{}`); err == nil {
		t.Error("a closed agent answered")
	}
}
