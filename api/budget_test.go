package api

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_budget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", object{"max_tokens": 100})
	id := w.agent(w.alice, "ann", "quiz")
	path := "/v1/agents/" + id
	patch := func(name string, budget any, status int, says string, fields ...string) scenario {
		code := arena.Code("")
		if status == 422 {
			code = arena.CodeInvalid
		}
		return scenario{name: name, method: "PATCH", path: path, token: w.alice, body: object{"budget": budget}, status: status, code: code, says: says, fields: fields}
	}
	hours := func(zone, from, to string, days ...string) object {
		return object{"hours": object{"zone": zone, "from": from, "to": to, "days": days}}
	}
	w.run([]scenario{
		patch("matches", object{"matches_per_day": 20}, 200, `"budget":{"matches_per_day":20}`),
		patch("all of it is replaced", object{"tokens_per_day": 500}, 200, `"budget":{"tokens_per_day":500}`),
		patch("hours", hours("Europe/Madrid", "22:30", "06:00", "sat", "sun"), 200, `"budget":{"hours":{"zone":"Europe/Madrid","from":"22:30","to":"06:00","days":["sat","sun"]}}`),
		patch("whole days", object{"hours": object{"days": []string{"mon"}}}, 200, `"budget":{"hours":{"zone":"UTC","from":"00:00","to":"24:00","days":["mon"]}}`),
		patch("no such zone", hours("Mars/Olympus", "08:00", "09:00", "mon"), 422, "Mars", "budget.hours.zone"),
		patch("no such time", hours("UTC", "25:00", "09:00", "mon"), 422, "", "budget.hours.from"),
		patch("no such day", hours("UTC", "08:00", "09:00", "noday"), 422, "", "budget.hours.days[0]"),
		patch("too many", object{"matches_per_day": 10_001}, 422, "10000", "budget.matches_per_day"),
		patch("unknown member", object{"matches": 1}, 422, "unexpected", "budget.matches"),
		{name: "others stay", method: "PATCH", path: path, token: w.alice, body: object{"description": "x"}, status: 200, says: `"days":["mon"]`},
		patch("too few tokens for a match", object{"tokens_per_day": 299}, 200, `"cooldown":"budget"`), // 3 rounds of 100 tokens
	})
	use := w.do("GET", path+"/budget", w.alice, nil).is(200)
	if use.at("budget.tokens_per_day") != 299.0 || use.at("tokens_per_match") != 300.0 || use.at("cooldown.reason") != "tokens" || use.at("cooldown.until") != nil ||
		use.at("matches") != 0.0 || use.at("zone") != "UTC" || use.at("forecast.tokens") != 0.0 {
		t.Errorf("%s", use.body)
	}
	w.do("GET", path+"/budget", w.bob, nil).is(404)
	if public := string(w.do("GET", path, "", nil).is(200).body); strings.Contains(public, `"budget":{`) || !strings.Contains(public, `"cooldown":"budget"`) {
		t.Errorf("everyone sees %s", public)
	}
	w.do("PATCH", path, w.bob, object{"budget": nil}).is(404)
	if own := string(w.do("PATCH", path, w.alice, object{"budget": nil}).is(200).body); strings.Contains(own, "budget") {
		t.Errorf("the budget is still there: %s", own)
	}
}

func TestAPI_pace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	w.league("fast", object{"pace": object{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true}})
	w.league("cup", object{"format": "swiss"})
	patch := func(name, slug string, pace any, status int, says string, fields ...string) scenario {
		code := arena.Code("")
		if status == 422 {
			code = arena.CodeInvalid
		}
		return scenario{name: name, method: "PATCH", path: "/v1/leagues/" + slug, token: w.admin, body: object{"pace": pace}, status: status, code: code, says: says, fields: fields}
	}
	w.run([]scenario{
		{name: "default", method: "GET", path: "/v1/leagues/quiz", status: 200, says: `"pace":{"matches_per_day":24,"pause_seconds":600,"unrated_filler":false}`},
		{name: "set", method: "GET", path: "/v1/leagues/fast", status: 200, says: `"pace":{"matches_per_day":0,"pause_seconds":0,"unrated_filler":true}`},
		patch("others stay", "quiz", object{"pause_seconds": 30}, 200, `"pace":{"matches_per_day":24,"pause_seconds":30,"unrated_filler":false}`),
		patch("a cup has one too", "cup", object{"matches_per_day": 5}, 200, `"pace":{"matches_per_day":5,"pause_seconds":0,"unrated_filler":false}`),
		patch("too long", "quiz", object{"pause_seconds": 86401}, 422, "86400", "pace.pause_seconds"),
		patch("too many", "quiz", object{"matches_per_day": 10_001}, 422, "10000", "pace.matches_per_day"),
	})
}
