package aap_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T) *protocol.Client {
	t.Helper()
	guard, err := protocol.NewGuard(protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := protocol.NewClient(guard, protocol.ClientOptions{Now: time.Now, TLSTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func newDriver(t *testing.T, sign func(arena.TaskClaims) (string, error)) *aap.Driver {
	t.Helper()
	if sign == nil {
		sign = func(arena.TaskClaims) (string, error) { return "signed", nil }
	}
	d := aap.New(aap.Options{Client: newClient(t), Sign: sign, Now: time.Now})
	return d
}

// Threats R1 to R4, R6, R8, R9, R11, S4.
func TestDriver_Suite(t *testing.T) {
	t.Parallel()
	protocoltest.RunDriverSuite(t, protocoltest.Suite{Driver: newDriver(t, nil)})
}

func fullAttempt(endpoint string) arena.Attempt {
	a := protocoltest.NewAttempt(endpoint, 12500*time.Millisecond)
	a.MatchID, a.Round, a.TotalRounds, a.Number, a.Opponents = "m_abc123def", 5, 10, 2, 99
	a.RoundLimit = 30 * time.Second
	a.Rules, a.Task.Rules, a.Task.MaxTokens = []string{"only_one_answer"}, []string{"no_external_search", "only_one_answer"}, 300
	a.Deadline = time.Date(2026, 11, 21, 12, 0, 30, 250e6, time.FixedZone("CET", 3600))
	a.Previous = &arena.PreviousRound{Outcome: arena.OutcomeAnswered, Correct: "a < b & \"c\"", Points: 500, Measured: 340 * time.Millisecond}
	a.Previous.Receipt = &arena.Receipt{SHA256: strings.Repeat("0f", 32), ArrivedAt: a.Deadline.Add(-time.Minute)}
	return a
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSuffix(string(want), "\n"), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Every byte of a task and every claim of its token. Threat F2.
func TestDriver_Prepare_golden(t *testing.T) {
	t.Parallel()
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	var claims arena.TaskClaims
	d := newDriver(t, func(c arena.TaskClaims) (string, error) { claims = c; return "signed", nil })

	minimal := protocoltest.NewAttempt(agent.Endpoint(), 30*time.Second)
	minimal.TotalRounds, minimal.MaxTokens, minimal.Rules, minimal.Task.Options, minimal.RoundLimit = 0, 0, nil, nil, 0
	for name, a := range map[string]arena.Attempt{"minimal": minimal, "full": fullAttempt(agent.Endpoint())} {
		send, err := d.Prepare(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "request_"+name+".golden", send(t.Context()).Request)
	}

	if _, err := d.Prepare(t.Context(), fullAttempt(agent.Endpoint())); err != nil {
		t.Fatal(err)
	}
	if claims.ID == "" || claims.IssuedAt.IsZero() {
		t.Errorf("claims without id or time: %+v", claims)
	}
	claims.ID, claims.IssuedAt = "", time.Time{}
	claims.ExpiresAt = claims.ExpiresAt.UTC()
	text, err := json.MarshalIndent(claims, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "claims.golden", text)
}

// Threat F2: a token outlives its deadline by at most 5 s, and always lives as
// long as the deadline.
func TestDriver_Prepare_token_life(t *testing.T) {
	t.Parallel()
	var claims arena.TaskClaims
	d := newDriver(t, func(c arena.TaskClaims) (string, error) { claims = c; return "signed", nil })
	seen := map[string]bool{}
	for ms := range 100 {
		a := fullAttempt("http://127.0.0.1/agora")
		a.Deadline = a.Deadline.Add(time.Duration(ms) * 37 * time.Millisecond)
		if _, err := d.Prepare(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if life := claims.ExpiresAt.Sub(a.Deadline); life <= 0 || life > 5*time.Second || claims.ExpiresAt.Nanosecond() != 0 {
			t.Fatalf("deadline %v, token expires %v", a.Deadline, claims.ExpiresAt)
		}
		if seen[claims.ID] {
			t.Fatalf("token id %s twice", claims.ID)
		}
		seen[claims.ID] = true
	}
}

func TestDriver_Prepare_headers(t *testing.T) {
	t.Parallel()
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	d := newDriver(t, nil)
	send, err := d.Prepare(t.Context(), fullAttempt(agent.Endpoint()))
	if err != nil {
		t.Fatal(err)
	}
	r := send(t.Context())
	got, err := agent.WaitRequest(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Body) != string(r.Request) || got.Task.MatchID != "m_abc123def" || got.Token() != "signed" || got.Proto != "HTTP/1.1" {
		t.Errorf("agent got %+v", got)
	}
	want := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"identity"}, "Authorization": {"Bearer signed"},
		"Content-Type": {"application/json"}, "User-Agent": {"AgoraArena/1.0"}, "Content-Length": got.Header["Content-Length"],
	}
	if diff := cmp.Diff(want, got.Header); diff != "" { // Threat R9: no Idempotency-Key.
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestDriver_Prepare_errors(t *testing.T) {
	t.Parallel()
	broken := errors.New("no key")
	d := newDriver(t, func(arena.TaskClaims) (string, error) { return "", broken })
	if _, err := d.Prepare(t.Context(), fullAttempt("http://127.0.0.1/")); !errors.Is(err, broken) {
		t.Errorf("error %v, want the signer's", err)
	}
	if _, err := d.Prepare(t.Context(), fullAttempt("")); err == nil {
		t.Error("an attempt without endpoint was prepared")
	}
}

func TestDriver_Probe(t *testing.T) {
	t.Parallel()
	ok := `{"status":"ok","version":"1.0"`
	reply := func(body string) protocoltest.Behaviour {
		return protocoltest.Reply(http.StatusOK, "application/json", body)
	}
	for _, c := range []struct {
		name   string
		health protocoltest.Behaviour
		want   arena.Health
	}{
		{"full", reply(ok + `,"capabilities":["trivia","debate"],"avg_latency_ms":340.5,"max_concurrent":5,"mood":"fine"}`), arena.Health{
			OK: true, Capabilities: []string{"trivia", "debate"}, DeclaredLatency: 340500 * time.Microsecond, MaxConcurrent: 5,
		}},
		{"numbers of another form", reply(ok + `,"max_concurrent":5.0}`), arena.Health{OK: true, MaxConcurrent: 5}},
		{"least", reply(ok + `}`), arena.Health{OK: true, MaxConcurrent: 1}},
		{"out of bounds", reply(ok + `,"avg_latency_ms":1e300,"max_concurrent":100000}`), arena.Health{OK: true, MaxConcurrent: 1000, DeclaredLatency: time.Hour}},
		{"negative", reply(ok + `,"avg_latency_ms":-1,"max_concurrent":-5}`), arena.Health{OK: true, MaxConcurrent: 1}},
		{"starting", reply(`{"status":"starting","version":"1.0"}`), arena.Health{Reason: "not_ok", MaxConcurrent: 1}},
		{"other version", reply(`{"status":"ok","version":"2.0"}`), arena.Health{Reason: "bad_version", MaxConcurrent: 1}},
		{"wrong case", reply(`{"Status":"ok","version":"1.0"}`), arena.Health{Reason: "bad_json"}},
		{"twice", reply(ok + `,"status":"ok"}`), arena.Health{Reason: "bad_json"}},
		{"wrong type", reply(ok + `,"max_concurrent":"5"}`), arena.Health{Reason: "bad_json"}},
		// Threat R12.
		{"huge", reply(ok + `,"x":"` + strings.Repeat("x", 5<<10) + `"}`), arena.Health{Reason: "too_large"}},
		{"html", protocoltest.Reply(http.StatusOK, "text/html", ok+"}"), arena.Health{Reason: "bad_content_type"}},
		{"redirect", protocoltest.Redirect("/agora/health2"), arena.Health{Reason: "redirect"}},
		{"503", protocoltest.Unavailable(), arena.Health{Reason: "status_503"}},
		{"404", protocoltest.Status(http.StatusNotFound), arena.Health{Reason: "status_404"}},
		{"drop", protocoltest.Drop(), arena.Health{Reason: "dropped"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{Health: c.health})
			got := newDriver(t, nil).Probe(t.Context(), arena.Agent{Endpoint: agent.Endpoint() + "/?key=1"})
			if got.CheckedAt.IsZero() || got.Latency <= 0 && c.want.OK || (got.Detail == "") != got.OK {
				t.Errorf("checked %v, latency %v, detail %q", got.CheckedAt, got.Latency, got.Detail)
			}
			if got.OK && len(got.Body) == 0 {
				t.Error("the agent's description of itself is missing")
			}
			got.CheckedAt, got.Latency, got.Detail, got.Body = time.Time{}, 0, "", nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("health (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDriver_Probe_cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if h := newDriver(t, nil).Probe(ctx, arena.Agent{Endpoint: "http://127.0.0.1:1/agora"}); h.OK || h.Reason != "cancelled" {
		t.Errorf("health %+v", h)
	}
}
