package protocoltest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Driver is the part of a driver that the suite uses.
type Driver interface {
	Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error)
	Probe(ctx context.Context, a arena.Agent) arena.Health
}

// Suite describes a driver to RunDriverSuite.
type Suite struct {
	// Driver may dial 127.0.0.1 on every port. Its client's set-up and TLS
	// time-outs should be short.
	Driver Driver
	// Answer and Healthy reply in the driver's protocol; default AAP's.
	Answer  func(text string) Behaviour
	Healthy Behaviour
	// Check recognizes a health check that comes as a POST by its body; nil: health
	// checks have a path of their own.
	Check func(body []byte) bool
	// Greets reports whether a first send asks the agent something before it puts the
	// task.
	Greets bool
}

func (s Suite) agent(t *testing.T, o AgentOptions) *Agent {
	t.Helper()
	o.Check = s.Check
	if o.Health == nil {
		o.Health = s.Healthy // a driver may check an agent before it puts the task
	}
	return NewAgent(t, o)
}

// The time limits of the suite. Nothing is measured against them: enough ends
// an attempt that must not be cut, short one that nothing else ends, if need be
// before the agent of a busy machine has read the request.
const (
	enough = time.Minute
	short  = 500 * time.Millisecond
)

// NewAttempt returns an attempt of a usual task at endpoint, to be changed by
// the test.
func NewAttempt(endpoint string, limit time.Duration) arena.Attempt {
	return arena.Attempt{
		MatchID: "m_1", League: "trivia", Round: 1, TotalRounds: 3, Number: 1,
		Task: arena.Task{
			ID: "tk_1", Description: "What is the capital of Australia?",
			Options: []string{"Sydney", "Canberra", "Melbourne", "Perth"},
		},
		TimeLimit: limit, RoundLimit: limit, MaxTokens: 500, Rules: []string{"only_one_answer"}, Opponents: 1,
		Deadline: time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC),
		Seat:     arena.Seat{AgentID: "ag_1", Name: "Fake", Endpoint: endpoint},
	}
}

// RunDriverSuite checks what the engine requires of every driver: simultaneous
// dispatch, every outcome, one request per send, an end to every attack, and health.
func RunDriverSuite(t *testing.T, s Suite) {
	t.Helper()
	if s.Answer == nil {
		s.Answer = Answer
	}
	if s.Healthy == nil {
		s.Healthy = Healthy(5, "trivia")
	}
	t.Run("table", s.outcomeTable)
	t.Run("outcomes", s.outcomes)
	t.Run("start_gun", s.simultaneousDispatch)
	t.Run("refused", s.refused)
	t.Run("cancelled", s.cancelled)
	t.Run("attacks", s.attacks)
	t.Run("health", s.health)
	t.Run("flood", s.flood)
}

// send plays an attempt in a match of the test's own: a driver may remember
// agents of a match by their addresses, and ports come again.
func (s Suite) send(t *testing.T, a arena.Attempt) arena.Reply {
	t.Helper()
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name()))
	a.MatchID = fmt.Sprintf("m_%x", name.Sum64())
	send, err := s.Driver.Prepare(t.Context(), a)
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	return send(t.Context())
}

// flood checks that probes of unhealthy agents are limited by address (threat
// N3), and probes of healthy agents are not.
func (s Suite) flood(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	endpoint := "http://" + l.Addr().String() + "/agora"
	_ = l.Close() // nothing listens there
	busy := func(healthy bool) (n int) {
		for i := range 150 {
			a := arena.Agent{ID: fmt.Sprintf("ag_%d", i), Endpoint: endpoint, Health: arena.Health{OK: healthy}}
			if s.Driver.Probe(t.Context(), a).Reason == arena.ReasonHostBusy {
				n++
			}
		}
		return n
	}
	if busy(false) == 0 {
		t.Error("150 probes of unhealthy agents at one address were sent")
	}
	if n := busy(true); n > 0 {
		t.Errorf("%d of 150 probes of healthy agents were not sent", n)
	}
}

func (s Suite) outcomes(t *testing.T) {
	t.Parallel()
	elsewhere := NewAgent(t, AgentOptions{})
	for _, c := range []struct {
		name      string
		behaviour Behaviour
		limit     time.Duration
		want      arena.Outcome
		retry     bool
	}{
		{"answer", s.Answer("Canberra"), enough, arena.OutcomeAnswered, false},
		{"408", Status(http.StatusRequestTimeout), enough, arena.OutcomeTimeout, false},
		{"429", RateLimited(), enough, arena.OutcomeRateLimited, false},
		{"500", Status(http.StatusInternalServerError), enough, arena.OutcomeError, true},
		{"502", Status(http.StatusBadGateway), enough, arena.OutcomeError, true},
		{"503", Unavailable(), enough, arena.OutcomeUnavailable, false},
		{"504", Status(http.StatusGatewayTimeout), enough, arena.OutcomeError, true},
		{"418", Status(http.StatusTeapot), enough, arena.OutcomeInvalid, false},
		{"204", Status(http.StatusNoContent), enough, arena.OutcomeInvalid, false},
		{"redirect", Redirect(elsewhere.Endpoint()), enough, arena.OutcomeInvalid, false},
		{"garbage", Garbage(), enough, arena.OutcomeInvalid, false},
		{"drop", Drop(), enough, arena.OutcomeError, true},
		{"stall", Stall(), short, arena.OutcomeTimeout, false},
		{"late", Late(enough, s.Answer("Canberra")), short, arena.OutcomeTimeout, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			agent := s.agent(t, AgentOptions{Play: func(Request) Behaviour { return c.behaviour }})
			r := s.send(t, NewAttempt(agent.Endpoint(), c.limit))
			if r.Outcome != c.want || r.Retry != c.retry || r.Unreached {
				t.Errorf("outcome %q, retry %t, unreached %t; want %q, %t, false: %s %s", r.Outcome, r.Retry, r.Unreached, c.want, c.retry, r.Reason, r.Detail)
			}
			if answered := c.want == arena.OutcomeAnswered; answered != (r.Answer != nil) || answered != (r.Reason == "") {
				t.Errorf("answer %v with reason %q", r.Answer, r.Reason)
			}
			if r.SentAt.IsZero() || len(r.Request) == 0 {
				t.Errorf("sent at %v, %d bytes", r.SentAt, len(r.Request))
			}
			if n := len(agent.Requests()); n > 1 || n == 0 && c.limit == enough { // Threat R9.
				t.Errorf("one send made %d requests", n)
			}
		})
	}
	if n := len(elsewhere.Requests()); n != 0 { // Threat S4.
		t.Errorf("a redirect was followed %d times", n)
	}
}

// simultaneousDispatch shows that Prepare sends nothing.
func (s Suite) simultaneousDispatch(t *testing.T) {
	t.Parallel()
	server := NewRaw(t, hold)
	if _, err := s.Driver.Prepare(t.Context(), NewAttempt(server.URL(), enough)); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	if n := server.Conns(); n != 0 {
		t.Errorf("%d connections before send", n)
	}
}

func (s Suite) refused(t *testing.T) {
	t.Parallel()
	agent := NewAgent(t, AgentOptions{})
	agent.Close()
	r := s.send(t, NewAttempt(agent.Endpoint(), enough))
	if r.Outcome != arena.OutcomeError || !r.Unreached || !r.Retry {
		t.Errorf("outcome %q, unreached %t, retry %t; want error, true, true", r.Outcome, r.Unreached, r.Retry)
	}
}

// cancelled shows that the end of the caller's context is never the agent's
// fault.
func (s Suite) cancelled(t *testing.T) {
	t.Parallel()
	agent := s.agent(t, AgentOptions{Play: func(Request) Behaviour { return Stall() }})
	send, err := s.Driver.Prepare(t.Context(), NewAttempt(agent.Endpoint(), enough))
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	replies := make(chan arena.Reply, 1)
	go func() { replies <- send(ctx) }()
	if _, err := agent.WaitRequest(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel(errors.New("lease lost"))
	if r := <-replies; r.Outcome != arena.OutcomeVoid || r.Retry {
		t.Errorf("outcome %q, retry %t; want void, false", r.Outcome, r.Retry)
	}
}

func (s Suite) attacks(t *testing.T) {
	t.Parallel()
	for _, a := range Attacks() {
		t.Run(a.Threat+"/"+a.Name, func(t *testing.T) {
			t.Parallel()
			server := NewRaw(t, a.Serve)
			limit, endpoint := enough, server.URL()
			if a.Stalls {
				limit = short
			}
			if a.TLS {
				endpoint = strings.Replace(endpoint, "http:", "https:", 1)
			}
			r := s.send(t, NewAttempt(endpoint, limit))
			if s.Greets && r.Retry && a.Outcome == arena.OutcomeInvalid { // the server closed the connection of the question
				r = s.send(t, NewAttempt(endpoint, limit))
			}
			if r.Outcome != a.Outcome || r.Unreached != a.TLS {
				t.Errorf("outcome %q, unreached %t; want %q, %t: %s %s", r.Outcome, r.Unreached, a.Outcome, a.TLS, r.Reason, r.Detail)
			}
			if len(r.Head) > 2<<10 {
				t.Errorf("kept %d bytes of the reply", len(r.Head))
			}
			want := 1
			if s.Greets && !a.TLS {
				want = 2
			}
			if n := server.Conns(); n != want { // Threat R9.
				t.Errorf("one send made %d connections, want %d", n, want)
			}
			if h := s.Driver.Probe(t.Context(), arena.Agent{ID: "ag_1", Endpoint: endpointOf(t, a)}); h.OK || h.Reason == "" {
				t.Errorf("probe: ok %t, reason %q", h.OK, h.Reason)
			}
		})
	}
}

// endpointOf starts a server for the probe of an attack. One that only a limit
// would end is left out: it would take the probe's whole 5 s.
func endpointOf(t *testing.T, a Attack) string {
	t.Helper()
	serve := a.Serve
	if a.Stalls || a.TLS {
		serve = func(c net.Conn) { _ = c.Close() }
	}
	return NewRaw(t, serve).URL()
}

func (s Suite) health(t *testing.T) {
	t.Parallel()
	agent := s.agent(t, AgentOptions{Health: s.Healthy})
	if h := s.Driver.Probe(t.Context(), arena.Agent{ID: "ag_1", Endpoint: agent.Endpoint()}); !h.OK || h.Reason != "" || h.MaxConcurrent < 1 || h.CheckedAt.IsZero() {
		t.Errorf("healthy: %+v", h)
	}
	agent.SetHealth(HealthFails())
	if h := s.Driver.Probe(t.Context(), arena.Agent{ID: "ag_1", Endpoint: agent.Endpoint()}); h.OK || h.Reason == "" || h.Detail == "" {
		t.Errorf("failing: %+v", h)
	}
	agent.Close()
	if h := s.Driver.Probe(t.Context(), arena.Agent{ID: "ag_1", Endpoint: agent.Endpoint()}); h.OK || h.Reason == "" {
		t.Errorf("gone: %+v", h)
	}
}
