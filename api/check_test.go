package api

import (
	"testing"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_checkAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Limits.ChecksPerMinute = 1 + 1 + 20 })
	w.league("quiz", nil)
	path := "/v1/agents/" + w.agent(w.alice, "steady", "quiz") + "/check"
	if plain := w.do("POST", path, w.alice, nil).is(200); plain.at("report") != nil || plain.str("status") != "active" {
		t.Errorf("a plain check gave %s", plain.body)
	}
	full := w.do("POST", path+"?full=true", w.alice, nil).is(200)
	if full.str("status") != "active" || full.at("report.passed") != true || full.at("report.agent_id") != full.str("agent_id") {
		t.Errorf("a full check gave %s", full.body)
	}
	// Threat S7: registering the address of an untrusted host sends no tasks there.
	down := w.do("POST", "/v1/agents", w.bob, object{"name": "down", "endpoint": "https://down.example/agora", "leagues": []string{"quiz"}}).is(201)
	w.run([]scenario{
		{
			name: "a full check before the first passed one", method: "POST", path: "/v1/agents/" + down.str("agent_id") + "/check?full=true", token: w.bob, status: 422,
			code: arena.CodeAgentNotReady, says: "refused",
		},
		{name: "a full check costs many", method: "POST", path: path + "?full=true", token: w.alice, status: 429, code: arena.CodeRateLimited},
		{name: "of another's agent", method: "POST", path: path + "?full=true", token: w.bob, status: 404, code: arena.CodeNotFound},
		{name: "by nobody", method: "POST", path: path + "?full=true", status: 401, code: arena.CodeUnauthorized},
	})
}
