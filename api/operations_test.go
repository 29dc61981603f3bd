package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/vitals"
)

// fakeMCP answers with the caller, or performs the operation that a message names.
type fakeMCP struct{ operations Operations }

func (f fakeMCP) Serve(w http.ResponseWriter, r *http.Request, body []byte, caller arena.Caller, _ string) error {
	var in struct{ Operation, Agent, League string }
	if err := json.Unmarshal(body, &in); err != nil {
		return arena.Errorf(arena.CodeMalformed, "not JSON")
	}
	var out any = caller
	var err error
	switch in.Operation {
	case "leagues":
		out, err = f.operations.Leagues(r.Context(), caller)
	case "standings":
		out, err = f.operations.Standings(r.Context(), caller, in.League, 1)
	case "mine":
		out, err = f.operations.MyAgents(r.Context(), caller)
	case "enter":
		err = f.operations.Enter(r.Context(), caller, in.League, in.Agent, "")
	case "deliveries":
		out, err = f.operations.Deliveries(r.Context(), caller, in.Agent, "", "", 1)
	case "latest":
		var id string
		id, err = f.operations.LatestMatch(r.Context(), caller, in.Agent)
		out = object{"match_id": id}
	case "rehearse":
		out, err = f.operations.Rehearse(r.Context(), caller, in.Agent, in.League, nil)
	case "check":
		out, err = f.operations.Check(r.Context(), caller, in.Agent)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", jsonType)
	return writeJSON(w, out)
}

// An operation has the scope, the answer and the audit entry of its route.
// Threats A1 and G8.
func TestOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	endpoint, other := w.agent(w.alice, "first", "quiz"), w.agent(w.bob, "other")
	made := w.do("POST", "/v1/agents", w.alice, object{"name": "Pia"}).is(201)
	id, key := made.str("agent_id"), made.str("agent_key")
	do := func(token, operation, agent string) response {
		return w.do("POST", "/mcp", token, object{"Operation": operation, "Agent": agent, "League": "quiz"})
	}
	for path, operation := range map[string]string{"/v1/leagues": "leagues", "/v1/leagues/quiz/standings?limit=1": "standings"} {
		if got, want := do("", operation, "").is(200), w.do("GET", path, "", nil).is(200); string(got.body) != string(want.body) {
			t.Errorf("%s: %s, the route answers %s", operation, got.body, want.body)
		}
	}
	do(key, "enter", other).is(404)
	do(key, "enter", id).is(200)
	do("", "enter", id).is(401)
	do(w.alice, "enter", id).is(200)
	do(key, "deliveries", id).is(200)
	do(key, "deliveries", endpoint).is(404)
	do("", "deliveries", id).is(401)
	do("", "mine", "").is(401)
	do(w.alice, "mine", "").is(200)
	do(key, "check", id).is(403)
	do(w.bob, "check", endpoint).is(404)
	do(w.alice, "check", endpoint).is(200)
	if got := do(key, "latest", id).is(200); got.str("match_id") != "" {
		t.Errorf("latest match: %s", got.body)
	}
	do(key, "rehearse", endpoint).is(403)
	do(w.alice, "rehearse", endpoint)
	if entries := w.do("GET", "/v1/admin/audit?find=enter-league", w.admin, nil).is(200); !strings.Contains(string(entries.body), id) {
		t.Errorf("audit: %s", entries.body)
	}

	o := newOperations(w.api.resources)
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
	if got := w.do("POST", "/mcp", w.alice, object{}).is(200); !strings.Contains(string(got.body), w.aliceI) {
		t.Errorf("the caller is %s", got.body)
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
