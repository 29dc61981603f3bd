package e2e

import (
	"net/http"
	"testing"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// Threat F5: an agent that answers 503 whenever it is asked loses nothing and
// gains nothing. The third time its page says so, and the ladder leaves it out
// while others play; an admin's match is still its own affair.
func TestE2E_Dodger(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("ladder", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	dodger := p.contestant("Dodger", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Unavailable() }, "ladder")
	honest := p.contestant("Honest", answers(""), "ladder")
	type page struct {
		Ratings map[string]any
		Dodges  []struct {
			League         string
			Count          int
			SuspendedUntil string `json:"suspended_until"`
		}
	}
	look := func(id string) (a page) {
		t.Helper()
		p.call(p.admin, http.MethodGet, "/v1/agents/"+id, nil, &a)
		return a
	}
	for n := 1; n <= 3; n++ {
		s := p.watch(p.schedule("ladder", dodger, honest), 0)
		s.until(func(e event) bool { return e.Type == "match_void" })
		a := look(dodger.id)
		if len(a.Dodges) != 1 || a.Dodges[0].League != "ladder" || a.Dodges[0].Count != n || (a.Dodges[0].SuspendedUntil != "") != (n >= 3) {
			t.Errorf("after %d dodges its page says %+v", n, a.Dodges)
		}
	}
	p.call(p.admin, http.MethodPost, "/v1/leagues/ladder/start", nil, nil)
	eventually(t, "the ladder says that one agent is too few", func() bool {
		var l struct{ Note string }
		p.call(p.admin, http.MethodGet, "/v1/leagues/ladder", nil, &l)
		return l.Note != ""
	})
	third := p.contestant("Third", answers(""), "ladder")
	var matches struct {
		Items []struct {
			Seats []struct {
				AgentID string `json:"agent_id"`
			}
		}
	}
	eventually(t, "the other two are paired", func() bool {
		p.call(p.admin, http.MethodGet, "/v1/leagues/ladder/matches", nil, &matches)
		return len(matches.Items) > 3
	})
	for _, seat := range matches.Items[0].Seats {
		if seat.AgentID != honest.id && seat.AgentID != third.id {
			t.Errorf("the ladder seated the suspended agent: %+v", matches.Items[0])
		}
	}
	s := p.watch(p.schedule("ladder", dodger, third), 0) // by an admin
	s.until(func(e event) bool { return e.Type == "match_void" })
	if a := look(dodger.id); len(a.Ratings) != 0 || a.Dodges[0].Count != 4 {
		t.Errorf("the ledger moved a rating, or lost count: %+v", a)
	}
	if a := look(honest.id); len(a.Dodges) != 0 {
		t.Errorf("the ledger of its opponent holds %+v", a.Dodges)
	}
}
