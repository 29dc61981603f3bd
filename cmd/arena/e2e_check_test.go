package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/protocol/conformance"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/sdk/go/arenaagent"
)

// freeAddr gives an address at which nobody listens now: an agent must know
// where the keys will be before they are there.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return l.Addr().String()
}

// sdkAgent is an agent made with the SDK for the arena at addr. With an id it
// takes no tokens for others.
func sdkAgent(t *testing.T, addr, id string) (endpoint string) {
	t.Helper()
	agent, err := arenaagent.New(arenaagent.Config{
		Arena: "http://" + addr, AgentID: id, Capabilities: []string{"trivia"},
	}, func(_ context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		events.Thinking("the first that comes to mind")
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
	code, out, errs := call(t, nil, append([]string{"check", "--json"}, args...)...)
	var r conformance.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != want || (code == exitOK) != (errs == "") {
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
	code, out, _ := call(t, nil, "check", endpoint, "--keys-addr", addr, "--verbose") // other keys, same place
	for _, want := range []string{"issuer http://" + addr, "ok    MUST    task.answer", "sent  POST a task", "got   200 in ", "\nready: MUST 12 ok, 0 failed"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, out)
		}
	}
}

// An agent that answers anybody loses no round by it: it passes, and is told.
func TestE2E_Check_naive_agent(t *testing.T) {
	t.Parallel()
	naive := protocoltest.NewAgent(t, protocoltest.AgentOptions{
		Play: func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("Canberra") },
	})
	r := checked(t, exitOK, naive.Endpoint(), "--keys-addr", "127.0.0.1:0")
	found := 0
	for _, f := range r.Checks {
		if strings.HasPrefix(f.ID, "token.") && f.Level == conformance.Should && f.Result == conformance.Fail && strings.Contains(f.Cure, "checks no tokens") {
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
	code, out, errs := call(t, nil, "check", bad.URL+"/agora", "--keys-addr", "127.0.0.1:0")
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
	code, out, _ := call(t, nil, "check", endpoint, "--keys-addr", "127.0.0.1:0", "--arena", "https://keys.example")
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
		if code, out, errs := call(t, nil, "check", endpoint, "--keys-addr", "127.0.0.1:0"); code != exitFailure || out != "" || errs == "" {
			t.Errorf("%s: exit code %d, %q, %q", endpoint, code, out, errs)
		}
	}
}

// An agent that is registered is checked with the arena's own keys, and its
// rating and its log of matches know nothing of it.
func TestE2E_Check_through_the_API(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	p.league("trivia", p.choices(), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	endpoint := sdkAgent(t, strings.TrimPrefix(p.url, "http://"), "")
	agent := p.register("steady", endpoint, "trivia")
	var got struct {
		Status string             `json:"status"`
		Report conformance.Report `json:"report"`
	}
	p.call(agent.owner, http.MethodPost, "/v1/agents/"+agent.id+"/check?full=true", nil, &got)
	if r := got.Report; got.Status != "active" || !r.Passed || r.Issuer != p.url || r.AgentID != agent.id || r.Should.Fail != 1 {
		t.Errorf("got %+v", got)
	}
	checkAgain(t, p, dir, agent)
	var lists [2]struct{ Items []json.RawMessage }
	for i, list := range []string{"matches", "deliveries"} {
		p.call(agent.owner, http.MethodGet, "/v1/agents/"+agent.id+"/"+list, nil, &lists[i])
		if len(lists[i].Items) != 0 {
			t.Errorf("%s: %s", list, lists[i].Items)
		}
	}
}

// checkAgain checks that the badge follows the agent's version: another node
// finds the new one, checks it once, and leaves it alone.
func checkAgain(t *testing.T, p *process, dir string, agent *contestant) {
	t.Helper()
	type shown struct {
		Passed  bool
		Version string
		Must    struct{ Pass, Total int }
	}
	badge := func() (s shown, whole string) {
		var got struct{ Conformance shown }
		p.call(p.admin.As(""), http.MethodGet, "/v1/agents/"+agent.id, nil, &got)
		var report struct {
			CheckedAt string `json:"checked_at"`
		}
		p.call(p.admin.As(""), http.MethodGet, "/v1/agents/"+agent.id+"/conformance", nil, &report)
		return got.Conformance, report.CheckedAt
	}
	first, at := badge()
	if !first.Passed || first.Version != "" || first.Must.Pass != first.Must.Total || first.Must.Total < 12 {
		t.Errorf("the badge is %+v", first)
	}
	cfg, err := Load(Sources{Flags: map[string]string{
		"ARENA_ADDR": "127.0.0.1:0", "ARENA_METRICS_ADDR": "", "ARENA_PUBLIC_URL": p.url, "ARENA_ADMIN_TOKEN": e2eAdmin,
		"ARENA_DATABASE_URL": "sqlite:" + filepath.Join(dir, "arena.db"), "ARENA_ALLOW_CIDRS": "127.0.0.0/8",
	}})
	must(t, err)
	node, err := newServer(t.Context(), cfg, discard(), serverOptions{})
	must(t, err)
	defer func() { must(t, node.Close()) }()
	later := time.Now().Add(recheckPause)
	must(t, node.recheck(t.Context(), later))
	if _, now := badge(); now != at {
		t.Error("an agent that has not changed was checked")
	}
	p.call(agent.owner, http.MethodPatch, "/v1/agents/"+agent.id, map[string]any{"version": "2"}, nil)
	must(t, node.recheck(t.Context(), time.Now()))
	if _, now := badge(); now != at {
		t.Error("it was checked too soon")
	}
	must(t, node.recheck(t.Context(), later))
	second, then := badge()
	if !second.Passed || second.Version != "2" || then == at {
		t.Errorf("after the change of version the badge is %+v", second)
	}
	must(t, node.recheck(t.Context(), later.Add(time.Hour)))
	if _, now := badge(); now != then {
		t.Error("it was checked twice")
	}
}
