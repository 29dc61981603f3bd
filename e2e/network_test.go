package e2e

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"testing"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// Threat N1: while the target of the canary accepts connections, a connection
// that an agent drops loses its round. When it does not, the round is void for
// all seats, nothing is rated and no agent is paused.
func TestE2E_CutOff(t *testing.T) {
	t.Parallel()
	target, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = target.Close() })
	p := serve(t, t.TempDir(), "ARENA_CANARY_TARGETS="+target.Addr().String(), "ARENA_HEALTH_INTERVAL=1s")
	p.league("duel", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 1})
	drops := p.contestant("Drops", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Drop() }, "duel")
	honest := p.contestant("Honest", answers(""), "duel")
	type seat struct {
		Outcome string
		Points  float64
	}
	play := func() (seats map[string]seat, rated bool) {
		t.Helper()
		s := p.watch(p.schedule("duel", drops, honest), 0)
		var closed struct {
			Seats []struct {
				Outcome string
				Points  float64
				AgentID string `json:"agent_id"`
			}
		}
		must(t, json.Unmarshal(s.until(func(e event) bool { return e.Type == "round_closed" }).Raw, &closed))
		var end struct{ Rated bool }
		s.end(&end)
		seats = map[string]seat{}
		for _, c := range closed.Seats {
			seats[c.AgentID] = seat{c.Outcome, c.Points}
		}
		return seats, end.Rated
	}
	if seats, rated := play(); seats[drops.id].Outcome != "error" || seats[honest.id].Outcome != "answered" || !rated {
		t.Errorf("while the network works: %+v, rated: %t", seats, rated)
	}
	must(t, target.Close())
	if seats, rated := play(); seats[drops.id] != (seat{"void", 0}) || seats[honest.id] != (seat{"void", 0}) || rated {
		t.Errorf("while the arena is cut off: %+v, rated: %t", seats, rated)
	}
	for _, c := range []*contestant{drops, honest} {
		c.SetHealth(protocoltest.HealthFails())
	}
	metric := func(line string) bool {
		var metrics bytes.Buffer
		readAll(t, p.metrics, &metrics)
		return bytes.Contains(metrics.Bytes(), []byte(line))
	}
	testwait.Until(t, "four sweeps do not count", func() bool { return metric("arena_health_sweeps_ignored_total 4") })
	var agent struct{ Status string }
	p.call(p.admin, http.MethodGet, "/v1/agents/"+honest.id, nil, &agent)
	if agent.Status != "active" || !metric("arena_network_cut_off 1") {
		t.Errorf("the agent is %s", agent.Status)
	}
}
