package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// Every row of the outcome table, over real HTTP: eleven seats of one match
// misbehave, each in its own way; two are honest.
func TestE2E_OutcomeTable(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	const limit = 10 * time.Second // of which only the two that it must end use more than a moment
	p.league("table", p.pack(9), map[string]any{"rounds": 2, "visibility": "live", "time_limit_seconds": limit.Seconds()})
	in := func(round int, b protocoltest.Behaviour) func(protocoltest.Request) protocoltest.Behaviour {
		return func(r protocoltest.Request) protocoltest.Behaviour {
			if r.Task.Round == round {
				return b
			}
			return protocoltest.Answer(correct(r))
		}
	}
	second := func(r protocoltest.Request) protocoltest.Behaviour { // 500, then right
		if r.Task.Round == 1 && r.Task.Attempt == 1 {
			return protocoltest.Status(500)
		}
		return protocoltest.Answer(correct(r))
	}
	json200 := func(body string) protocoltest.Behaviour {
		return protocoltest.Reply(http.StatusOK, "application/json", body)
	}
	rows := []struct {
		name    string
		play    func(protocoltest.Request) protocoltest.Behaviour
		outcome string // in round 1
		reason  string
		asked   int    // in round 1
		state   string // at the end
	}{
		{"right", answers(""), "answered", "", 1, "active"},
		{"right too", answers(""), "answered", "", 1, "active"},
		{"408", in(1, protocoltest.Status(408)), "timeout", "status_408", 1, "out"},
		{"late", in(1, protocoltest.Late(limit+limit/2, protocoltest.Answer("x"))), "timeout", "", 1, "out"},
		{"stall", in(1, protocoltest.Stall()), "timeout", "", 1, "out"},
		{"429", in(1, protocoltest.RateLimited()), "rate_limited", "status_429", 1, "out"}, // paused beyond its grace round
		{"500 twice", in(1, protocoltest.Status(500)), "error", "status_500", 2, "out"},
		{"502 twice", in(1, protocoltest.Status(502)), "error", "status_502", 2, "out"},
		{"500 once", second, "answered", "", 2, "active"},
		{"dropped twice", in(1, protocoltest.Drop()), "error", "", 2, "out"},
		{"503", in(1, protocoltest.Unavailable()), "unavailable", "status_503", 1, "left"},
		{"garbage", in(1, protocoltest.Garbage()), "invalid", "bad_json", 1, "out"},
		{"duplicate member", in(1, json200(`{"answer":"a","answer":"b"}`)), "invalid", "bad_json", 1, "out"},
		{"no answer", in(1, json200(`{"answer":null}`)), "invalid", "", 1, "out"},
		{"418", in(1, protocoltest.Status(418)), "invalid", "status_418", 1, "out"},
		{"204", in(1, protocoltest.Status(204)), "invalid", "status_204", 1, "out"},
		{"redirect", in(1, protocoltest.Redirect(p.url)), "invalid", "", 1, "out"},
		{"HTML", in(1, protocoltest.Reply(200, "text/html", `{"answer":"a"}`)), "invalid", "bad_content_type", 1, "out"},
		{"65 KiB", in(1, json200(`{"answer":"`+strings.Repeat("a", 65<<10)+`"}`)), "invalid", "too_large", 1, "out"},
	}
	var seats []*contestant
	for _, r := range rows {
		seats = append(seats, p.contestant(r.name, r.play, "table"))
	}
	gone := p.contestant("gone", answers(""), "table")
	gone.Close()
	id := p.schedule("table", append(slices.Clone(seats), gone)...)
	s := p.watch(id, 0)
	var result finished
	s.end(&result)
	s.gapless(1)
	got := map[string][2]string{}
	for _, e := range s.seen {
		var m struct{ Outcome, Reason string }
		must(t, json.Unmarshal(e.Raw, &m))
		if e.Type == "seat_outcome" && e.Round == 1 {
			got[e.AgentID] = [2]string{m.Outcome, m.Reason}
		}
	}
	states := map[string]string{}
	for _, seat := range result.Seats {
		states[seat.AgentID] = seat.State
	}
	for i, r := range rows {
		a := seats[i]
		if got[a.id][0] != r.outcome || r.reason != "" && got[a.id][1] != r.reason {
			t.Errorf("%s: outcome is %v, want %s %s", r.name, got[a.id], r.outcome, r.reason)
		}
		tasks, asked := map[string]bool{}, 0
		for _, q := range a.Requests() {
			if q.Task.Round == 1 {
				asked++
				tasks[q.Task.TaskID] = true
				if q.Task.Attempt != asked {
					t.Errorf("%s: request %d is attempt %d", r.name, asked, q.Task.Attempt)
				}
			}
		}
		if asked != r.asked || len(tasks) != 1 {
			t.Errorf("%s: asked %d times for %d tasks, want %d times", r.name, asked, len(tasks), r.asked)
		}
		if states[a.id] != r.state {
			t.Errorf("%s: seat is %s, want %s", r.name, states[a.id], r.state)
		}
	}
	if got[gone.id][0] != "unavailable" || states[gone.id] != "left" {
		t.Errorf("the endpoint that refuses: %v, %s", got[gone.id], states[gone.id])
	}
	for _, c := range result.RatingChanges {
		if c.AgentID == gone.id || c.AgentID == seats[10].id {
			t.Errorf("the rating of a seat that left moved by %s", c.Delta)
		}
	}
	checkPause(p, seats[5])
	checkDeliveries(p, seats[6], 2)
}

// checkPause checks that a 429 paused the agent for five minutes.
func checkPause(p *process, a *contestant) {
	p.t.Helper()
	var agent struct {
		Status string
		Pause  struct {
			Reason string
			Until  time.Time
		}
	}
	p.call(p.admin, http.MethodGet, "/v1/agents/"+a.id, nil, &agent)
	left := time.Until(agent.Pause.Until)
	if agent.Status != "paused" || agent.Pause.Reason != "rate_limit" || left < 4*time.Minute || left > 5*time.Minute {
		p.t.Errorf("after a 429 the agent is %+v", agent)
	}
	p.refused(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "table", "agents": []string{a.id, "ag_x", "ag_y"}}, 422, "invalid")
}

// checkDeliveries checks that only the owner finds the reason of
// a lost round.
func checkDeliveries(p *process, a *contestant, n int) {
	p.t.Helper()
	var list struct {
		Items []struct {
			Status, Attempt int
			Outcome, Reason string
		}
	}
	p.call(a.owner, http.MethodGet, "/v1/agents/"+a.id+"/deliveries", nil, &list)
	if len(list.Items) != n || list.Items[0].Status != 500 || list.Items[0].Outcome != "error" {
		p.t.Errorf("deliveries are %+v", list.Items)
	}
	p.refused(p.owner("a stranger"), http.MethodGet, "/v1/agents/"+a.id+"/deliveries", nil, 404, "not_found")
	p.refused(apiclient.New(p.url, ""), http.MethodGet, "/v1/agents/"+a.id+"/deliveries", nil, 401, "unauthorized")
}
