package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// The first agent of an arena meets built-in opponents, in a game and with questions. They
// are marked, have no rank and belong to nobody, and the records of their matches hold.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "built_in": []string{"p05"}})
	p.call(p.admin, http.MethodPost, "/v1/leagues", map[string]any{
		"slug": "four", "title": "Four", "game": map[string]any{"name": "tic_tac_toe"}, "time_limit_seconds": 30, "rated": true, "built_in": []string{"random", "search"},
	}, nil)
	for _, slug := range []string{"trivia", "four"} {
		p.call(p.admin, http.MethodPost, "/v1/leagues/"+slug+"/start", nil, nil)
	}
	ann := p.contestant("Ann", func(r protocoltest.Request) protocoltest.Behaviour {
		if o := r.Task.Task.Options; len(o) > 0 {
			return protocoltest.Answer(o[0])
		}
		return protocoltest.Answer(correct(r))
	}, "trivia", "four")

	type seat struct {
		AgentID string `json:"agent_id"`
		BuiltIn bool   `json:"built_in"`
		Outcome string
		Delta   *float64 `json:"rating_delta"`
	}
	for _, slug := range []string{"trivia", "four"} {
		var list struct {
			Items []struct {
				ID     string `json:"match_id"`
				Status string
				Rated  bool
				Seats  []seat
			}
		}
		testwait.Until(t, "a match in "+slug+" is over", func() bool {
			p.call(p.admin, http.MethodGet, "/v1/leagues/"+slug+"/matches?status=finished", nil, &list)
			return len(list.Items) > 0
		})
		m := list.Items[len(list.Items)-1]
		if !m.Rated || !slices.ContainsFunc(m.Seats, func(s seat) bool { return s.AgentID == ann.id }) {
			t.Errorf("%s: %+v", slug, m)
		}
		for _, s := range m.Seats {
			if s.Outcome != "answered" || s.Delta == nil || s.BuiltIn == (s.AgentID == ann.id) {
				t.Errorf("%s: %+v", slug, s)
			}
		}
		record := filepath.Join(dir, slug+".json")
		save(t, p.url+"/v1/matches/"+m.ID+"/record", record)
		if code, out, errs := call(t, "verify", record, "--jwks", p.url+"/.well-known/jwks.json"); code != exitOK {
			t.Errorf("%s: the record: exit code %d, %s%s", slug, code, out, errs)
		}
		var table struct {
			Items []struct {
				AgentID string `json:"agent_id"`
				BuiltIn bool   `json:"built_in"`
				Rank    int
			}
		}
		p.call(p.admin, http.MethodGet, "/v1/leagues/"+slug+"/standings", nil, &table)
		for _, row := range table.Items {
			if row.BuiltIn == (row.AgentID == ann.id) || row.Rank != 0 {
				t.Errorf("%s: %+v", slug, row)
			}
		}
	}

	k, _ := arena.BuiltInOf("random")
	path := "/v1/agents/" + k.Agent(time.Time{}).ID
	var g struct {
		Name, Status, Protocol string
		BuiltIn                bool   `json:"built_in"`
		OwnerID                string `json:"owner_id"`
		Leagues                []string
	}
	p.call(ann.owner, http.MethodGet, path, nil, &g)
	if !g.BuiltIn || g.Status != "active" || !slices.Equal(g.Leagues, []string{"four"}) {
		t.Errorf("%+v", g)
	}
	p.refused(ann.owner, http.MethodPost, path+"/pause", nil, 404, "not_found")
	p.refused(p.admin, http.MethodDelete, path, nil, 403, "forbidden")
	p.refused(p.admin, http.MethodPatch, path, map[string]any{"name": "Mine"}, 403, "forbidden")
	p.refused(p.admin, http.MethodDelete, "/v1/leagues/four/entries/"+strings.TrimPrefix(path, "/v1/agents/"), nil, 403, "forbidden")
	p.refused(p.admin, http.MethodPost, "/v1/admin/owners/"+g.OwnerID+"/tokens", nil, 403, "forbidden")
	p.refused(ann.owner, http.MethodPost, "/v1/agents", map[string]any{"name": "Bob", "protocol": "built_in"}, 422, "invalid")
	p.refused(p.admin, http.MethodPatch, "/v1/leagues/four", map[string]any{"built_in": []string{"p50"}}, 422, "invalid")

	p.call(p.admin, http.MethodPatch, "/v1/leagues/four", map[string]any{"built_in": []string{"search"}}, nil)
	p.call(ann.owner, http.MethodGet, path, nil, &g)
	if len(g.Leagues) != 0 {
		t.Errorf("a withdrawn opponent: %+v", g)
	}
}
