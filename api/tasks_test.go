package api

import (
	"net/http"
	"testing"

	"github.com/agora-arena/arena/api/mcp"
	"github.com/agora-arena/arena/arena"
)

// The key of an agent opens its tasks and its deliveries, enters the agent into
// leagues, and does nothing else.
// Threats A1 and P2.
func TestAPI_agentKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	pia := object{"name": "Pia", "leagues": []string{"quiz"}, "max_concurrent": 3}
	made := w.do("POST", "/v1/agents", w.alice, pia, "Idempotency-Key", "5f1c8a52-0d0e-4c3a").is(201)
	if again := w.do("POST", "/v1/agents", w.alice, pia, "Idempotency-Key", "5f1c8a52-0d0e-4c3a").is(201); string(again.body) != string(made.body) {
		t.Errorf("repeated, it registered %s", again.body)
	}
	w.do("POST", "/v1/agents", w.alice, pia).is(409)
	id, first := made.str("agent_id"), made.str("agent_key")
	if made.at("pull") != true || made.at("max_concurrent") != 3.0 || first == "" {
		t.Errorf("registered %s", made.body)
	}
	if got := w.do("GET", "/v1/me", first, nil).is(200); got.str("agent_id") != id || got.str("scope") != "agent" || got.str("owner_id") == "" || got.str("issuer") != "https://arena.example" {
		t.Errorf("me is %s", got.body)
	}
	if got := w.do("GET", "/v1/me", w.alice, nil).is(200); got.at("issuer") != nil {
		t.Errorf("me of an owner is %s", got.body)
	}
	if got := w.do("PATCH", "/v1/agents/"+id, w.alice, object{"max_concurrent": 7}).is(200); got.at("max_concurrent") != 7.0 || got.at("health.max_concurrent") != 7.0 {
		t.Errorf("changed to %s", got.body)
	}
	if got := w.do("PATCH", "/v1/agents/"+id, w.alice, object{"version": "2"}).is(200); got.at("max_concurrent") != 7.0 {
		t.Errorf("another change made it %s", got.body)
	}
	tasks := "/v1/agents/" + id + "/tasks"
	w.do("GET", tasks, first, nil).is(204)
	w.do("GET", tasks, "", nil).is(401)
	if got := w.do("POST", tasks+"/tk_1/answer", first, object{"answer": "4"}).is(202); got.str("outcome") != "answered" {
		t.Errorf("answer: %s", got.body)
	}
	if got := w.do("POST", tasks+"/late/answer", first, object{"answer": "4"}).is(409); got.str("code") != string(arena.CodeAnswerLate) {
		t.Errorf("answer: %s", got.body)
	}
	for _, r := range routes() {
		switch r.scope {
		case scopePublic, scopeElsewhere, scopeTasks, scopeEnter, scopeOwnLog, scopeAnyToken:
			continue
		}
		if err := permit(arena.Caller{Scope: arena.ScopeAgent, OwnerID: "ow_1", AgentID: id}, r.scope); err == nil {
			t.Errorf("the key of an agent opens %s %s", r.method, r.path)
		}
	}
	if got := w.do("GET", "/v1/agents/"+id, first, nil).is(200); got.at("key_challenge") != nil || got.at("endpoint") != nil {
		t.Errorf("%s", got.body)
	}

	w.league("open", nil)
	sibling := w.agent(w.alice, "sibling")
	w.do("PUT", "/v1/leagues/open/entries/"+id, first, nil).is(204)
	w.do("PUT", "/v1/leagues/open/entries/"+sibling, first, nil).is(404)
	w.do("PUT", "/v1/leagues/open/entries/"+sibling, w.alice, nil).is(204)
	w.do("DELETE", "/v1/leagues/open/entries/"+sibling, first, nil).is(404)
	w.do("DELETE", "/v1/leagues/open/entries/"+id, first, nil).is(204)

	w.do("GET", "/v1/agents/"+id+"/deliveries", first, nil).is(200)
	w.do("GET", "/v1/agents/"+sibling+"/deliveries", first, nil).is(404)
	w.do("GET", "/v1/agents/"+sibling+"/deliveries", w.alice, nil).is(200)

	second := w.do("POST", "/v1/agents/"+id+"/keys", w.alice, object{"name": "laptop"}).is(201)
	w.do("POST", "/v1/agents/"+id+"/keys", w.bob, object{}).is(404)
	w.do("POST", "/v1/agents/"+id+"/keys", first, object{}).is(403)
	list := w.do("GET", "/v1/agents/"+id+"/keys", w.alice, nil).is(200)
	if items := list.at("items").([]any); len(items) != 2 {
		t.Fatalf("keys are %s", list.body)
	}
	if items := w.do("GET", "/v1/me/tokens", w.alice, nil).is(200).at("items").([]any); len(items) != 1 {
		t.Errorf("the keys of agents are among the owner's tokens: %v", items)
	}
	w.do("DELETE", "/v1/agents/"+id+"/keys/"+second.str("key_id"), w.alice, nil).is(204)
	w.do("DELETE", "/v1/agents/"+id+"/keys/"+second.str("key_id"), w.alice, nil).is(404)
	w.do("GET", tasks, second.str("agent_key"), nil).is(401)
	w.do("GET", tasks, first, nil).is(204)

	w.run([]scenario{
		{name: "max_concurrent of an endpoint", method: "POST", path: "/v1/agents", token: w.alice, body: object{"name": "x", "endpoint": "https://x.example", "max_concurrent": 2}, status: 422, code: arena.CodeInvalid, fields: []string{"max_concurrent"}},
		{name: "max_concurrent of an endpoint, changed", method: "PATCH", path: "/v1/agents/" + w.agent(w.alice, "listens"), token: w.alice, body: object{"max_concurrent": 2}, status: 422, code: arena.CodeInvalid, fields: []string{"max_concurrent"}},
		{name: "max_concurrent with an endpoint", method: "PATCH", path: "/v1/agents/" + id, token: w.alice, body: object{"endpoint": "https://x.example", "max_concurrent": 2}, status: 422, code: arena.CodeInvalid, fields: []string{"max_concurrent"}},
		{name: "no max_concurrent", method: "PATCH", path: "/v1/agents/" + id, token: w.alice, body: object{"max_concurrent": 0}, status: 422, code: arena.CodeInvalid, fields: []string{"max_concurrent"}},
		{name: "max_concurrent by the agent", method: "PATCH", path: "/v1/agents/" + id, token: first, body: object{"max_concurrent": 2}, status: 403, code: arena.CodeForbidden},
		{name: "max_concurrent over the limit", method: "POST", path: "/v1/agents", token: w.alice, body: object{"name": "x", "max_concurrent": 1001}, status: 422, code: arena.CodeInvalid, fields: []string{"max_concurrent"}},
	})
}

// fakeTasks are of agents that the caller may fetch tasks for.
type fakeTasks struct{ mcp.Tasks }

func (fakeTasks) Poll(w http.ResponseWriter, _ *http.Request, caller arena.Caller, agentID string) error {
	if caller.Scope == arena.ScopeAgent && caller.AgentID != agentID {
		return arena.Errorf(arena.CodeUnauthorized, "not yours")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (fakeTasks) Answer(_ http.ResponseWriter, _ *http.Request, caller arena.Caller, agentID, taskID string) (arena.Outcome, error) {
	if caller.Scope == arena.ScopeAgent && caller.AgentID != agentID {
		return "", arena.Errorf(arena.CodeUnauthorized, "not yours")
	}
	if taskID == "late" {
		return "", arena.Errorf(arena.CodeAnswerLate, "too late")
	}
	return arena.OutcomeAnswered, nil
}
