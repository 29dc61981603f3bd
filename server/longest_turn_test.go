package server

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// A seat may have an hour of time bank after a time limit of ten minutes: the
// arena signs its task over every protocol that has task tokens, and accepts the
// token until the turn ends.
func TestServer_LongestTurn(t *testing.T) {
	t.Parallel()
	node := newTestServer(t)
	league := request(t, node, "POST", "/v1/leagues", testAdmin, `{"slug":"slow","title":"Slow","rated":false,"time_limit_seconds":600,`+
		`"rounds":null,"game":{"name":"connect_four","time_bank_seconds":3600}}`)
	if league.Code != http.StatusCreated {
		t.Fatalf("the league answers %d: %s", league.Code, league.Body)
	}
	const limit = 600*time.Second + 3600*time.Second
	attempt := func(agentID, endpoint string) arena.Attempt {
		return arena.Attempt{
			MatchID: "m_1", League: "slow", Round: 1, Number: 1, Task: arena.Task{ID: "t_1", Description: "Move."}, TimeLimit: limit, RoundLimit: 600 * time.Second,
			Deadline: time.Now().Add(limit), Seat: arena.Seat{AgentID: agentID, Endpoint: endpoint}, Batch: &arena.Batch{},
		}
	}
	for _, protocol := range []string{arena.ProtocolAAP, arena.ProtocolA2A} {
		if _, err := node.protocols[protocol].driver.Prepare(t.Context(), attempt("ag_1", "http://127.0.0.1:1")); err != nil {
			t.Errorf("%s: %v", protocol, err)
		}
	}
	t.Run("fetched", func(t *testing.T) {
		t.Parallel()
		var owner struct{ Token string }
		must(t, json.Unmarshal(request(t, node, "POST", "/v1/owners", "", `{"name":"alice"}`).Body.Bytes(), &owner))
		var agent struct {
			ID  string `json:"agent_id"`
			Key string `json:"agent_key"`
		}
		must(t, json.Unmarshal(request(t, node, "POST", "/v1/agents", owner.Token, `{"name":"Patient","protocol":"aap"}`).Body.Bytes(), &agent))
		send, err := node.protocols[arena.ProtocolAAP].driver.Prepare(t.Context(), attempt(agent.ID, ""))
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); send(ctx) }()
		defer func() { cancel(); <-ended }()
		var fetched struct{ Token string }
		for fetched.Token == "" {
			w := request(t, node, "GET", "/v1/agents/"+agent.ID+"/tasks?wait=0", agent.Key, "")
			switch w.Code {
			case http.StatusOK:
				must(t, json.Unmarshal(w.Body.Bytes(), &fetched))
			case http.StatusNoContent: // not stored yet
			default:
				t.Fatalf("the poll answers %d: %s", w.Code, w.Body)
			}
		}
		claims, err := node.keys.Verify(t.Context(), fetched.Token)
		if left := time.Until(claims.ExpiresAt); err != nil || left < limit-time.Minute {
			t.Errorf("the token is valid for %s, want %s: %v", left, limit, err)
		}
	})
}
