package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/protocol/conformance"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// freeAddr returns an address on which nothing listens, for agents that must
// know the address of an arena before it starts. Its port is below those that
// systems give to listeners on port 0, so that no server of another test takes
// it before the program under test does.
func freeAddr(t *testing.T) string {
	t.Helper()
	for {
		must(t, t.Context().Err())
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr); err == nil {
			must(t, l.Close())
			return addr
		}
	}
}

// sdkAgent is an agent made with the SDK for the arena at addr. With an id it
// takes no tokens for others.
func sdkAgent(t *testing.T, addr, id string) (endpoint string) {
	t.Helper()
	return sdkAgentThat(t, addr, id, func(context.Context, *arenaagent.Task) {})
}

// sdkAgentThat starts an agent that does something before it answers.
func sdkAgentThat(t *testing.T, addr, id string, then func(context.Context, *arenaagent.Task)) (endpoint string) {
	t.Helper()
	agent, err := arenaagent.New(arenaagent.Config{
		Arena: "http://" + addr, AgentID: id, AnyAgent: id == "", Capabilities: []string{"trivia"},
	}, func(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		events.Thinking("the first that comes to mind")
		then(ctx, task)
		return arenaagent.Answer{Value: append(task.Options, "?")[0]}, nil
	})
	must(t, err)
	s := httptest.NewServer(agent)
	t.Cleanup(func() {
		s.Close()
		must(t, agent.Close())
	})
	return s.URL + "/agora"
}

// checked runs `arena check --json`.
func checked(t *testing.T, want int, args ...string) conformance.Report {
	t.Helper()
	code, out, errs := call(t, append([]string{"check", "--json"}, args...)...)
	var r conformance.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != want || code != exitOK && errs == "" {
		t.Fatalf("exit code %d, want %d; %v, stderr %q\n%s", code, want, err, errs, out)
	}
	return r
}

func TestE2E_Check_sdk_agent(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	endpoint := sdkAgent(t, addr, "ag_check")
	r := checked(t, exitOK, endpoint, "--keys-addr", addr)
	if !r.Passed || r.Must.Fail+r.Must.Skip+r.Should.Fail+r.Should.Skip != 0 || r.Must.Pass < 12 || r.League != "trivia" {
		t.Errorf("report: %+v", r)
	}
	code, out, _ := call(t, "check", endpoint, "--keys-addr", addr, "--verbose") // other keys, same place
	for _, want := range []string{"arena: http://" + addr, "ok    MUST    task.answer", "sent  a task", "got   answered in ", "\nready: MUST 12 ok, 0 failed"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, out)
		}
	}
}

// An agent that answers any caller loses no round by it: it passes, with a warning.
func TestE2E_Check_naive_agent(t *testing.T) {
	t.Parallel()
	naive := protocoltest.NewAgent(t, protocoltest.AgentOptions{
		Play: func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("Canberra") },
	})
	r := checked(t, exitOK, naive.Endpoint(), "--keys-addr", "127.0.0.1:0")
	found := 0
	for _, f := range r.Checks {
		if strings.HasPrefix(f.ID, "token.") && f.Level == conformance.Should && f.Result == conformance.Fail && strings.Contains(f.Cure, "checks no credentials") {
			found++
		}
	}
	if !r.Passed || found != 7 {
		t.Errorf("passed is %t, %d findings about tokens, want 7", r.Passed, found)
	}
}

func TestE2E_Check_bad_agent(t *testing.T) {
	t.Parallel()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<h1>\x1b[2Jhello</h1>")
	}))
	t.Cleanup(bad.Close)
	r := checked(t, exitFailure, bad.URL+"/agora", "--keys-addr", "127.0.0.1:0")
	if r.Passed || r.Must.Fail != 2 {
		t.Errorf("report: %+v", r)
	}
	code, out, errs := call(t, "check", bad.URL+"/agora", "--keys-addr", "127.0.0.1:0")
	if code != exitFailure || !strings.Contains(errs, "2 of 12 MUST checks failed") || strings.Contains(out, "\x1b") {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", code, errs, out)
	}
	for _, want := range []string{"FAIL  MUST    health.ok", "Content-Type", "do    ", "skip  SHOULD  task.long", "not ready"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// An agent that runs for another arena learns what to set.
func TestE2E_Check_other_arena(t *testing.T) {
	t.Parallel()
	endpoint := sdkAgent(t, freeAddr(t), "")
	code, out, _ := call(t, "check", endpoint, "--keys-addr", "127.0.0.1:0", "--arena", "https://keys.example")
	for _, want := range []string{"task.answer", `iss "https://keys.example"`, "ARENA=https://keys.example"} {
		if code != exitFailure || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, out)
		}
	}
}

// Threat S1: the guarded client is the only way out of the kit too.
func TestE2E_Check_blocked_addresses(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"http://169.254.169.254/agora", "http://10.0.0.1/agora", "http://2130706433/agora", "ftp://127.0.0.1/x"} {
		if code, out, errs := call(t, "check", endpoint, "--keys-addr", "127.0.0.1:0"); code != exitFailure || out != "" || errs == "" {
			t.Errorf("%s: exit code %d, %q, %q", endpoint, code, out, errs)
		}
	}
}

// An agent that is registered is checked with the arena's own keys, and its
// rating and its log of matches have no trace of it.
func TestE2E_Check_through_the_API(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("trivia", p.choices(), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	endpoint := sdkAgent(t, strings.TrimPrefix(p.url, "http://"), "")
	agent := p.register("steady", endpoint)
	var got struct {
		Status string             `json:"status"`
		Report conformance.Report `json:"report"`
	}
	p.call(agent.owner, http.MethodPost, "/v1/agents/"+agent.id+"/check?full=true", nil, &got)
	if r := got.Report; got.Status != "active" || !r.Passed || r.Issuer != p.url || r.AgentID != agent.id || r.Should.Fail != 1 {
		t.Errorf("got %+v", got)
	}
	var lists [2]struct{ Items []json.RawMessage }
	for i, list := range []string{"matches", "deliveries"} {
		p.call(agent.owner, http.MethodGet, "/v1/agents/"+agent.id+"/"+list, nil, &lists[i])
		if len(lists[i].Items) != 0 {
			t.Errorf("%s: %s", list, lists[i].Items)
		}
	}
}
