package e2e

import (
	"net/http"
	"testing"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// Threat F5: an agent that always answers 503 loses nothing and
// gains nothing. The third no-show appears in its record, and the ladder excludes it
// while others play. Admins can still create matches with it.
func TestE2E_NoShows(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("ladder", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	absentee := p.contestant("Absentee", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Unavailable() }, "ladder")
	honest := p.contestant("Honest", answers(""), "ladder")
	type page struct {
		Ratings map[string]any
		NoShows []struct {
			League         string
			Count          int
			SuspendedUntil string `json:"suspended_until"`
		} `json:"dodges"`
	}
	look := func(id string) (a page) {
		t.Helper()
		p.call(p.admin, http.MethodGet, "/v1/agents/"+id, nil, &a)
		return a
	}
	for n := 1; n <= 3; n++ {
		s := p.watch(p.schedule("ladder", absentee, honest), 0)
		s.until(func(e event) bool { return e.Type == "match_void" })
		a := look(absentee.id)
		if len(a.NoShows) != 1 || a.NoShows[0].League != "ladder" || a.NoShows[0].Count != n || (a.NoShows[0].SuspendedUntil != "") != (n >= 3) {
			t.Errorf("after %d no-shows its record is %+v", n, a.NoShows)
		}
	}
	p.call(p.admin, http.MethodPost, "/v1/leagues/ladder/start", nil, nil)
	testwait.Until(t, "the ladder says that one agent is too few", func() bool {
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
	testwait.Until(t, "the other two are paired", func() bool {
		p.call(p.admin, http.MethodGet, "/v1/leagues/ladder/matches", nil, &matches)
		return len(matches.Items) > 3
	})
	for _, seat := range matches.Items[0].Seats {
		if seat.AgentID != honest.id && seat.AgentID != third.id {
			t.Errorf("the ladder seated the suspended agent: %+v", matches.Items[0])
		}
	}
	s := p.watch(p.schedule("ladder", absentee, third), 0) // by an admin
	s.until(func(e event) bool { return e.Type == "match_void" })
	if a := look(absentee.id); len(a.Ratings) != 0 || a.NoShows[0].Count != 4 {
		t.Errorf("the no-show moved a rating, or lost count: %+v", a)
	}
	if a := look(honest.id); len(a.NoShows) != 0 {
		t.Errorf("the no-show record of its opponent has %+v", a.NoShows)
	}
}
