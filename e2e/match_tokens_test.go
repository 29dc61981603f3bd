package e2e

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/internal/testwait"
)

// With ARENA_TASK_TOKENS=match one token serves a seat for a match, whether its
// tasks are posted or fetched, and opens the stream for its events.
func TestE2E_MatchTokens(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "ARENA_TASK_TOKENS=match")
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	ada := p.contestant("Ada", answers(""), "trivia")
	bob := p.puller("Bob", "trivia")
	var mu sync.Mutex
	tokens := map[string][]string{} // by agent
	p.runs("Bob", func(ctx context.Context) error {
		return arenaagent.Connect(ctx, arenaagent.Config{Arena: p.url, AgentKey: bob.key}, func(_ context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			tokens[bob.id] = append(tokens[bob.id], task.Token)
			events.Thinking("with the token of the match")
			return arenaagent.Answer{Value: "?"}, nil
		})
	})
	testwait.Until(t, "Bob is active", func() bool {
		var a struct{ Status string }
		p.call(p.admin, http.MethodGet, "/v1/agents/"+bob.id, nil, &a)
		return a.Status == "active"
	})

	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "trivia", "agents": []string{ada.id, bob.id}}, &m)
	s := p.watch(m.ID, 0)
	var result finished
	s.end(&result)
	thoughts := 0
	for _, e := range s.seen {
		if e.Type == "thinking" && e.AgentID == bob.id {
			thoughts++
		}
	}
	if result.Seats[0].State != "active" || result.Seats[1].State != "active" || thoughts != 3 {
		t.Errorf("result %+v, %d events of Bob in 3 rounds", result, thoughts)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, r := range ada.Requests() {
		tokens[ada.id] = append(tokens[ada.id], r.Token())
	}
	for id, got := range tokens {
		claims := jwt.MapClaims{}
		_, _, err := jwt.NewParser().ParseUnverified(got[0], claims)
		must(t, err)
		if len(got) != 3 || got[1] != got[0] || got[2] != got[0] {
			t.Errorf("agent %s got the tokens %q in 3 rounds", id, got)
		}
		if claims["round"] != nil || claims["bh"] != nil || claims["agent_id"] != id || claims["match_id"] != m.ID {
			t.Errorf("claims of agent %s: %v", id, claims)
		}
	}
}
