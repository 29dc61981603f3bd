package api

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/vitals"
)

// An operation has the scope, the answer and the audit entry of its route.
// Threats A1 and G8.
func TestOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	endpoint, other := w.agent(w.alice, "first", "quiz"), w.agent(w.bob, "other")
	made := w.do("POST", "/v1/agents", w.alice, object{"name": "Pia"}).is(201)
	id, key := made.str("agent_id"), made.str("agent_key")
	o := newOperations(w.api.resources)
	as := func(token string) arena.Caller {
		caller, err := w.api.accounts.Identify(t.Context(), arena.Credentials{Secret: token, Given: token != ""})
		if err != nil {
			t.Fatal(err)
		}
		return caller
	}
	want := func(operation string, err error, code arena.Code) {
		t.Helper()
		if arena.CodeOf(err) != code {
			t.Errorf("%s: %v, want %q", operation, err, code)
		}
	}
	same := func(path string, v any, err error) {
		t.Helper()
		var body bytes.Buffer
		if err == nil {
			err = writeJSON(&body, v)
		}
		if want := w.do("GET", path, "", nil).is(200); err != nil || body.String() != string(want.body) {
			t.Errorf("%s, %v, the route %s answers %s", &body, err, path, want.body)
		}
	}
	leagues, err := o.Leagues(t.Context(), as(""))
	same("/v1/leagues", leagues, err)
	standings, err := o.Standings(t.Context(), as(""), "quiz", 1)
	same("/v1/leagues/quiz/standings?limit=1", standings, err)
	for _, c := range []struct {
		token, agent string
		code         arena.Code
	}{{key, other, arena.CodeNotFound}, {key, id, ""}, {"", id, arena.CodeUnauthorized}, {w.alice, id, ""}} {
		want("enter", o.Enter(t.Context(), as(c.token), "quiz", c.agent, ""), c.code)
	}
	for _, c := range []struct {
		token, agent string
		code         arena.Code
	}{{key, id, ""}, {key, endpoint, arena.CodeNotFound}, {"", id, arena.CodeUnauthorized}} {
		_, err := o.Deliveries(t.Context(), as(c.token), c.agent, "", "", 1)
		want("deliveries", err, c.code)
	}
	for token, code := range map[string]arena.Code{"": arena.CodeUnauthorized, w.alice: ""} {
		_, err := o.MyAgents(t.Context(), as(token))
		want("mine", err, code)
	}
	for token, code := range map[string]arena.Code{key: arena.CodeForbidden, w.bob: arena.CodeNotFound, w.alice: ""} {
		_, err := o.Check(t.Context(), as(token), endpoint)
		want("check", err, code)
	}
	if latest, err := o.LatestMatch(t.Context(), as(key), id); err != nil || latest != "" {
		t.Errorf("latest match: %q, %v", latest, err)
	}
	_, err = o.Rehearse(t.Context(), as(key), endpoint, "quiz", nil)
	want("rehearse", err, arena.CodeForbidden)
	if entries := w.do("GET", "/v1/admin/audit?find=enter-league", w.admin, nil).is(200); !strings.Contains(string(entries.body), id) {
		t.Errorf("audit: %s", entries.body)
	}

	for operation, admits := range map[string]map[arena.Scope]bool{
		"list-leagues":          {"": true, arena.ScopeAgent: true, arena.ScopeOwner: true, arena.ScopeAdmin: true},
		"create-agent":          {"": false, arena.ScopeAgent: false, arena.ScopeOwner: true, arena.ScopeAdmin: false},
		"list-agent-deliveries": {"": false, arena.ScopeAgent: true, arena.ScopeOwner: true, arena.ScopeModerator: false},
		"no operation":          {"": false, arena.ScopeAdmin: false},
	} {
		for scope, want := range admits {
			if o.Admits(operation, scope) != want {
				t.Errorf("%s admits %q: %t", operation, scope, !want)
			}
		}
	}
}

// A message of MCP is read under the limits of the API, and a bad token is rejected
// before anything else. Threats A4 and G8.
func TestAPI_mcp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run([]scenario{
		{name: "bad token", method: "POST", path: "/mcp", token: "arg_wrong", body: object{}, status: 401, code: arena.CodeUnauthorized},
		{name: "no JSON", method: "POST", path: "/mcp", token: w.alice, body: "{", status: 400, code: arena.CodeMalformed},
		{name: "too large", method: "POST", path: "/mcp", token: w.alice, body: `"` + strings.Repeat("x", maxMCPBody) + `"`, status: 413, code: arena.CodeTooLarge},
		{name: "another method", method: "GET", path: "/mcp", status: 405, code: arena.CodeNoMethod},
	})
	list := object{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
	for token, want := range map[string]bool{"": false, w.alice: true} {
		got := w.do("POST", "/mcp", token, list, "Accept", "application/json, text/event-stream").is(200)
		if strings.Contains(string(got.body), "register_agent") != want {
			t.Errorf("a caller with the token %q has the tools %s", token, got.body)
		}
	}
}

// someVitals is what the status shows in tests.
func someVitals(context.Context, arena.Operations) ([]vitals.Fact, error) {
	return []vitals.Fact{{Name: vitals.Disk, Level: vitals.Warning, Subject: "/data", Value: 15, Of: 100}}, nil
}

// A seat of a game that spends its time bank is not overdue.
func TestNodeHandlers_overdue(t *testing.T) {
	t.Parallel()
	h := nodeHandlers{now: func() time.Time { return testNow }}
	round := func(age time.Duration) arena.OpenRound {
		return arena.OpenRound{OpenedAt: testNow.Add(-age), Settings: arena.Settings{TimeLimit: time.Minute, Game: &arena.GameSpec{TimeBank: 10 * time.Minute}}}
	}
	if slow := h.overdue([]arena.OpenRound{round(11 * time.Minute)}); len(slow) != 0 {
		t.Errorf("%+v", slow)
	}
	if slow := h.overdue([]arena.OpenRound{round(12 * time.Minute)}); len(slow) != 1 || slow[0].OverdueSeconds != 45 {
		t.Errorf("%+v", slow)
	}
}
