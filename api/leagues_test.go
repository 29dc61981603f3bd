package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_createLeague(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pack := w.do("POST", "/v1/packs?format=jsonl&name=p", w.admin, questions("7")).is(201).str("pack_id")
	with := func(edit object) object {
		body := object{"slug": "quiz", "title": "Quiz", "pack_id": pack, "judge": object{"kind": "exact"}, "rounds": 3, "time_limit_seconds": 5, "rated": true}
		for k, v := range edit {
			body[k] = v
			if v == nil && k != "rounds" {
				delete(body, k)
			}
		}
		return body
	}
	asGame := func(slug string, game any) object {
		return object{"slug": slug, "game": game, "pack_id": nil, "judge": nil, "rounds": nil}
	}
	post := func(name string, edit object, status int, code arena.Code, says string, fields ...string) scenario {
		return scenario{name: name, method: "POST", path: "/v1/leagues", token: w.admin, body: with(edit), status: status, code: code, says: says, fields: fields}
	}
	w.run([]scenario{
		post("plain", nil, 201, "", `"status":"open"`),
		post("slug taken", nil, 409, arena.CodeNameTaken, "quiz"),
		post("judge by its kind alone", object{"slug": "b", "judge": "choice"}, 201, "", `"judge":{"kind":"choice"}`),
		post("judge with tolerance", object{"slug": "c", "judge": object{"kind": "number", "tolerance": 0.5}}, 201, "", `"judge":{"kind":"number","tolerance":0.5}`),
		post("unknown judge", object{"slug": "d", "judge": "oracle"}, 422, arena.CodeInvalid, "exact, choice, number", "judge.kind"),
		post("judge with an unknown member", object{"slug": "d", "judge": object{"kind": "exact", "mood": 1}}, 422, arena.CodeInvalid, "", "judge"),
		post("judge as a list", object{"slug": "d", "judge": []string{"exact"}}, 422, arena.CodeInvalid, "", "judge"),
		post("judge left out", object{"slug": "r", "judge": nil, "pack_id": nil, "generator": object{"name": "arithmetic"}}, 201, "", `"judge":{"kind":"number"}`),
		post("open end", object{"slug": "e", "rounds": nil}, 201, "", `"rounds":null`),
		post("rounds left out", object{"slug": "f", "max_rounds": 7}, 201, "", `"max_rounds":7`),
		post("no rounds", object{"slug": "g", "rounds": 0}, 422, arena.CodeInvalid, ">= 1", "rounds"),
		post("generator", object{"slug": "h", "pack_id": nil, "generator": object{"name": "arithmetic", "difficulty": 3, "harder_every": 4}}, 201, "", `"generator":{"name":"arithmetic","difficulty":3,"harder_every":4}`),
		post("generator that gets harder too late", object{"slug": "h3", "pack_id": nil, "generator": object{"name": "arithmetic", "harder_every": 201}}, 422, arena.CodeInvalid, "200", "generator.harder_every"),
		post("pack and generator", object{"slug": "i", "generator": object{"name": "arithmetic"}}, 422, arena.CodeInvalid, "choose pack_id or generator", "pack_id"),
		post("time limit too short", object{"slug": "i", "time_limit_seconds": 0.5}, 422, arena.CodeInvalid, ">= 1", "time_limit_seconds"),
		post("time limit too long", object{"slug": "i", "time_limit_seconds": 601}, 422, arena.CodeInvalid, "<= 600", "time_limit_seconds"),
		post("rounds that get faster", object{"slug": "h4", "format": "elimination", "format_options": object{"faster_seconds": 1.5}}, 201, "", `"faster_seconds":1.5`),
		post("rounds that get too fast", object{"slug": "h5", "format": "elimination", "format_options": object{"faster_seconds": 61}}, 422, arena.CodeInvalid, "60", "format_options.faster_seconds"),
		post("duels that get faster", object{"slug": "h6", "format_options": object{"faster_seconds": 1}}, 422, arena.CodeInvalid, "only for elimination", "format_options.faster_seconds"),
		post("half a second more", object{"slug": "j", "time_limit_seconds": 1.5}, 201, "", `"time_limit_seconds":1.5`),
		post("sealed by default when rated", object{"slug": "k"}, 201, "", `"visibility":"sealed"`),
		post("live", object{"slug": "l", "visibility": "live"}, 201, "", `"visibility":"live"`),
		post("unknown visibility", object{"slug": "m", "visibility": "delayed"}, 422, arena.CodeInvalid, "live, sealed", "visibility"),
		post("one seat", object{"slug": "m", "min_seats": 1}, 422, arena.CodeInvalid, ">= 2", "min_seats"),
		post("seats crossed", object{"slug": "m", "format": "elimination", "min_seats": 9, "max_seats": 4}, 422, arena.CodeInvalid, "min_seats", "max_seats"),
		post("bad slug", object{"slug": "My League"}, 422, arena.CodeInvalid, "lower-case", "slug"),
		post("pause between rounds", object{"slug": "q", "break_seconds": 2.5}, 201, "", `"break_seconds":2.5`),
		post("pause too long", object{"slug": "m", "break_seconds": 61}, 422, arena.CodeInvalid, "<= 60", "break_seconds"),
		post("schedule", object{"slug": "n", "schedule": "0 12 * * *"}, 201, "", `"schedule":"0 12 * * *"`),
		post("texts", object{"slug": "s", "description": "Two\nlines.", "prize": "A cup", "rules_text": "Be fair.", "signup_until": "2026-12-01T20:00:00+01:00"}, 201, "",
			`"description":"Two\nlines.","prize":"A cup","rules_text":"Be fair.","signup_until":"2026-12-01T19:00:00.000Z"`),
		post("game", asGame("t", object{"name": "connect_four", "time_bank_seconds": 30}), 201, "",
			`"game":{"duplicate":false,"games_per_match":2,"name":"connect_four","show_legal_moves":true,"time_bank_seconds":30}`),
		post("integers in other forms", object{"slug": "u", "rounds": json.RawMessage("5.0"), "max_tokens": json.RawMessage("1e2")}, 201, "", `"rounds":5,`),
		post("no integer", object{"slug": "o", "rounds": json.RawMessage("5.5")}, 422, arena.CodeInvalid, "integer", "rounds"),
		post("beyond integers", object{"slug": "o", "max_rounds": json.RawMessage("1e300")}, 422, arena.CodeInvalid, "<= 200", "max_rounds"),
		post("options of a game in other forms", asGame("v", object{"name": "connect_four", "games_per_match": json.RawMessage("4.0")}), 201, "", `"games_per_match":4,`),
		post("unknown game", asGame("o", object{"name": "ludo"}), 422, arena.CodeInvalid, "connect_four", "game.name"),
		post("unknown option", asGame("o", object{"name": "connect_four", "stones": 3}), 422, arena.CodeInvalid, "no option", "game.stones"),
		post("half an option", asGame("o", object{"name": "connect_four", "stones": 0.5}), 422, arena.CodeInvalid, "integer", "game.stones"),
		post("game of the wrong type", asGame("o", object{"name": "connect_four", "games_per_match": "two"}), 422, arena.CodeInvalid, "", "game.games_per_match"),
		post("game by its name", asGame("o", "connect_four"), 422, arena.CodeInvalid, "", "game"),
		post("game without a name", asGame("o", object{"games_per_match": 2}), 422, arena.CodeInvalid, "", "game.name"),
		post("game and pack", object{"slug": "o", "game": object{"name": "connect_four"}, "judge": nil, "rounds": nil}, 422, arena.CodeInvalid, "", "game"),
		post("no deadline", object{"slug": "o", "signup_until": "tomorrow"}, 422, arena.CodeInvalid, "", "signup_until"),
		post("description too long", object{"slug": "o", "description": strings.Repeat("x", 2001)}, 422, arena.CodeInvalid, "<= 2000", "description"),
		post("rated left out", object{"slug": "o", "rated": nil}, 422, arena.CodeInvalid, "required", "rated"),
		post("unknown field", object{"slug": "o", "drift": 1}, 422, arena.CodeInvalid, "", "drift"),
	})
	r := w.do("GET", "/v1/leagues", "", nil).is(200)
	if n := len(r.at("items").([]any)); n != 17 {
		t.Errorf("%d leagues, want 17", n)
	}
}

// The note of a league comes with its code and values.
func TestAPI_leagueNote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	type noted struct {
		Note   string         `json:"note"`
		Code   string         `json:"note_code"`
		Params map[string]any `json:"note_params"`
	}
	for want, note := range map[*noted]arena.Note{
		{"needs 2 idle agents, has 0", "needs_agents", object{"least": 2.0, "has": 0.0}}:   arena.NeedsAgentsNote(2, 0),
		{"round 3 waits for Ann", "waits_for_agent", object{"round": 3.0, "agent": "Ann"}}: arena.WaitsForAgentNote(3, "Ann"),
		{}: {},
	} {
		_, err := w.store.Leagues.UpdateLeague(t.Context(), "quiz", func(l *arena.League) error { l.Note = note; return nil })
		w.ok(err)
		one := into[noted](w.do("GET", "/v1/leagues/quiz", "", nil).is(200))
		listed := into[struct{ Items []noted }](w.do("GET", "/v1/leagues", "", nil).is(200)).Items
		if d := cmp.Diff([]noted{*want, *want}, append(listed, one)); d != "" {
			t.Error(d)
		}
	}
}

func TestAPI_updateLeague(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", object{"max_tokens": 100, "max_cost_usd": 0.25})
	w.league("royale", object{"format": "elimination"})
	path := "/v1/leagues/quiz"
	patch := func(name string, body any, status int, code arena.Code, says string, fields ...string) scenario {
		return scenario{name: name, method: "PATCH", path: path, token: w.admin, body: body, status: status, code: code, says: says, fields: fields}
	}
	w.run([]scenario{
		patch("title", object{"title": "New"}, 200, "", `"title":"New"`),
		patch("others stay", object{}, 200, "", `"rounds":3,"max_rounds":50,"time_limit_seconds":5,"max_tokens":100,"max_tokens_policy":"note","max_cost_usd":0.25`),
		patch("open end", object{"rounds": nil}, 200, "", `"rounds":null,"max_rounds":50`),
		patch("left out is not null", object{"rounds": 4}, 200, "", `"rounds":4`),
		patch("token policy", object{"max_tokens_policy": "zero_points"}, 200, "", `"max_tokens_policy":"zero_points"`),
		patch("no such token policy", object{"max_tokens_policy": "warn"}, 422, arena.CodeInvalid, "", "max_tokens_policy"),
		{name: "seats", method: "PATCH", path: "/v1/leagues/royale", token: w.admin, body: object{"min_seats": 4, "max_seats": 20}, status: 200, says: `"min_seats":4,"max_seats":20`},
		{name: "seats crossed with what is there", method: "PATCH", path: "/v1/leagues/royale", token: w.admin, body: object{"min_seats": 21}, status: 422, code: arena.CodeInvalid, fields: []string{"max_seats"}},
		patch("generator instead of the pack", object{"generator": object{"name": "arithmetic"}, "judge": "number"}, 200, "", `"generator":{"name":"arithmetic","difficulty":2}`),
		patch("texts", object{"description": "D", "prize": "P", "rules_text": "R", "signup_until": "2030-01-01T00:00:00Z"}, 200, "",
			`"description":"D","prize":"P","rules_text":"R","signup_until":"2030-01-01T00:00:00.000Z"`),
		patch("texts stay", object{"prize": ""}, 200, "", `"description":"D","rules_text":"R","signup_until":"2030-01-01T00:00:00.000Z"`),
		patch("no deadline", object{"signup_until": nil}, 200, "", `"description":"D","rules_text":"R","pace":{`),
		patch("slug", object{"slug": "other"}, 422, arena.CodeInvalid, "", "slug"),
		{name: "unknown league", method: "PATCH", path: "/v1/leagues/none", token: w.admin, body: object{}, status: 404, code: arena.CodeNotFound},
	})
	if body := string(w.do("GET", path, "", nil).is(200).body); strings.Contains(body, "pack_id") {
		t.Errorf("the pack is still there: %s", body)
	}
	w.do("POST", path+"/finish", w.admin, nil).is(200)
	w.do("PATCH", path, w.admin, object{"title": "late"}).is(409)
}

// Each action has a route; the league service tests the states that allow it.
func TestAPI_leagueActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	for _, c := range []struct{ action, status string }{
		{"start", "running"}, {"freeze", "frozen"}, {"resume", "running"}, {"pause", "paused"}, {"finish", "finished"}, {"open", "open"},
	} {
		path := "/v1/leagues/quiz/" + c.action
		if got := w.do("POST", path, w.admin, nil).is(200).str("status"); got != c.status {
			t.Errorf("%s: %s, want %s", c.action, got, c.status)
		}
		if r := w.do("POST", path, w.admin, nil).is(409); r.str("code") != "conflict" || !strings.Contains(r.str("detail"), c.status) {
			t.Errorf("%s again: %s", c.action, r.body)
		}
	}
	w.do("POST", "/v1/leagues/none/open", w.admin, nil).is(404)
	w.do("POST", "/v1/leagues/quiz/start-now", w.admin, nil).is(200)
	w.do("POST", "/v1/leagues/quiz/start-now", w.admin, nil).is(409)
}

func TestAPI_entries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.agent(w.alice, "first"), w.agent(w.alice, "second")
	w.league("quiz", nil)
	w.league("one-each", object{"entry": object{"agents_per_owner": 1}})
	entry := func(method, league, id, token string, status int, code arena.Code) scenario {
		return scenario{
			name: method + " " + league, method: method, path: "/v1/leagues/" + league + "/entries/" + id, token: token, status: status, code: code,
		}
	}
	w.run([]scenario{
		entry("PUT", "quiz", first, w.alice, 204, ""),
		entry("PUT", "quiz", first, w.alice, 204, ""),
		entry("PUT", "quiz", second, w.bob, 404, arena.CodeNotFound),
		entry("PUT", "quiz", second, w.admin, 204, ""),
		entry("PUT", "none", first, w.alice, 404, arena.CodeNotFound),
		entry("PUT", "one-each", first, w.alice, 204, ""),
		entry("PUT", "one-each", first, w.alice, 204, ""),
		entry("PUT", "one-each", second, w.alice, 409, arena.CodeConflict),
		entry("DELETE", "one-each", first, w.alice, 204, ""),
		entry("DELETE", "one-each", first, w.alice, 404, arena.CodeNotFound),
		entry("PUT", "one-each", second, w.alice, 204, ""),
	})
	w.do("DELETE", "/v1/agents/"+first, w.alice, nil).is(204)
	w.do("PUT", "/v1/leagues/quiz/entries/"+first, w.alice, nil).is(409)

	// Many at once: who may enter does, and each of the others hears why not.
	third, bobs := w.agent(w.alice, "third"), w.agent(w.bob, "bobs")
	many := w.do("POST", "/v1/leagues/one-each/entries", w.admin, object{"agents": []string{third, first, "ag_none", bobs, bobs}}).is(200)
	var got []string
	for _, e := range into[entriesView](many).Items {
		got = append(got, fmt.Sprint(e.AgentID, " ", e.Entered, " ", e.Code, " ", e.Message != ""))
	}
	want := []string{third + " false conflict true", first + " false conflict true", "ag_none false not_found true", bobs + " true  false", bobs + " true  false"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	w.do("POST", "/v1/leagues/one-each/entries", w.admin, object{"agents": []string{}}).is(422)
}

func TestAPI_listStandings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	id := w.agent(w.alice, "steady", "quiz")
	r := w.do("GET", "/v1/leagues/quiz/standings", "", nil).is(200)
	if r.str("items.0.agent_id") != id || !strings.Contains(string(r.body), `"rating":1500.000,`) {
		t.Errorf("standings: %s", r.body)
	}
	// The table shows everyone how an agent plays, and nobody where.
	pulls := w.do("POST", "/v1/agents", w.bob, object{"name": "pulls", "model": "LangGraph", "leagues": []string{"quiz"}}).is(201).str("agent_id")
	for _, token := range []string{"", w.alice, w.bob, w.admin} {
		r := w.do("GET", "/v1/leagues/quiz/standings", token, nil).is(200)
		for _, line := range into[standingsView](r).Items {
			want := standingView{Protocol: arena.ProtocolAAP, Pull: line.AgentID == pulls}
			if want.Pull {
				want.Model = "LangGraph"
			}
			if line.Protocol != want.Protocol || line.Pull != want.Pull || line.Model != want.Model {
				t.Errorf("%s: %+v", line.Name, line)
			}
		}
		if strings.Contains(string(r.body), ".example") || strings.Contains(string(r.body), "endpoint") {
			t.Errorf("an endpoint is in the standings: %s", r.body)
		}
	}
	w.do("POST", "/v1/leagues/quiz/start", w.admin, nil).is(200)
	w.do("POST", "/v1/leagues/quiz/freeze", w.admin, nil).is(200)
	for token, want := range map[string]int{"": 0, w.alice: 0, w.admin: 2} {
		r := w.do("GET", "/v1/leagues/quiz/standings", token, nil).is(200)
		if n := len(r.at("items").([]any)); n != want || r.at("frozen") != true {
			t.Errorf("frozen: %d lines, want %d: %s", n, want, r.body)
		}
	}
	w.do("GET", "/v1/leagues/none/standings", "", nil).is(404)
}

// A league takes matches, challenges and entries in its own states only,
// whoever asks. Threat A1.
func TestAPI_leagueStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b, out := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz"), w.agent(w.alice, "out")
	for status, can := range map[arena.LeagueStatus]struct{ play, enter bool }{
		arena.LeagueDraft: {false, false}, arena.LeagueOpen: {true, true}, arena.LeagueRunning: {true, true},
		arena.LeaguePaused: {false, true}, arena.LeagueFrozen: {true, true}, arena.LeagueFinished: {false, false},
	} {
		_, err := w.store.Leagues.UpdateLeague(t.Context(), "quiz", func(l *arena.League) error { l.Status = status; return nil })
		w.ok(err)
		match := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}})
		sparring := w.do("POST", "/v1/challenges", w.alice, object{"league": "quiz", "agent_id": a, "opponent_id": b})
		if want := map[bool]int{true: 201, false: 409}[can.play]; match.status != want || sparring.status != want {
			t.Errorf("%s: a match is answered with %d, a challenge with %d, want %d", status, match.status, sparring.status, want)
		}
		entry := w.do("PUT", "/v1/leagues/quiz/entries/"+out, w.alice, nil)
		if want := map[bool]int{true: 204, false: 409}[can.enter]; entry.status != want {
			t.Errorf("%s: an entry is answered with %d, want %d", status, entry.status, want)
		}
		if can.enter {
			w.do("DELETE", "/v1/leagues/quiz/entries/"+out, w.alice, nil).is(204)
		}
	}
}

// While a table is frozen, no page of an agent shows its rank. Threat F1.
func TestAPI_frozenRanks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	id := w.agent(w.alice, "steady", "quiz")
	var others []string
	for i := range arena.RankedGroups {
		token, _ := w.owner(fmt.Sprint("owner", i))
		others = append(others, w.agent(token, fmt.Sprint("other", i), "quiz"))
	}
	for i := range arena.ProvisionalMatches {
		w.settle(id, others[i%len(others)])
	}
	w.do("POST", "/v1/leagues/quiz/start", w.admin, nil).is(200)
	for _, frozen := range []bool{false, true} {
		for _, path := range []string{"/v1/agents/" + id, "/v1/agents/" + id + "/ratings", "/v1/agents?league=quiz"} {
			if r := w.do("GET", path, w.alice, nil).is(200); strings.Contains(string(r.body), `"rank":1`) == frozen {
				t.Errorf("frozen %t, %s: %s", frozen, path, r.body)
			}
		}
		w.do("POST", "/v1/leagues/quiz/freeze", w.admin, nil)
		w.now.Add(time.Hour.Milliseconds()) // ranks are kept for a while
	}
}

// shownSeason is what a season shows to whoever may see it.
type shownSeason struct {
	Frozen   bool
	Entrants []struct{ Name string }
	Table    []arena.TableRow
	Rounds   []struct {
		Pairings []struct {
			Result string
			Agents []struct{ Score *float64 }
		}
	}
}

// A season in the store, as its league shows it.
func TestAPI_seasons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("cup", object{"format": "swiss", "format_options": object{"rounds": 2, "forfeit_seconds": 30}})
	ann, bob := w.agent(w.alice, "Ann", "cup"), w.agent(w.bob, "Bob", "cup")
	if r := w.do("GET", "/v1/leagues/cup/rounds", "", nil).is(200); strings.TrimSpace(string(r.body)) != `{"items":[],"next_cursor":"","season":0}` {
		t.Errorf("rounds before the first season: %s", r.body)
	}
	w.do("GET", "/v1/leagues/cup/seasons/1", "", nil).is(404)
	w.do("GET", "/v1/leagues/none/rounds", "", nil).is(404)
	w.do("GET", "/v1/leagues/none/seasons", "", nil).is(404)

	season, err := w.store.Leagues.StartSeason(t.Context(), arena.Season{
		ID: "se_1", League: "cup", Format: arena.FormatSwiss, StartedAt: testNow,
		Entrants: []arena.Entrant{{AgentID: ann, Name: "Ann", Rating: 1_600_000, Round: 1}, {AgentID: bob, Name: "Bob", Rating: 1_500_000, Round: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pairing := arena.Pairing{
		Round: 1, Slot: 1, Game: 1, Agents: []string{ann, bob}, Result: arena.PairingForfeit, Scores: []arena.Points{1000, 0}, CreatedAt: testNow, DecidedAt: testNow,
	}
	if err := w.store.Leagues.ChangeSeason(t.Context(), season, arena.SeasonChange{Pairings: []arena.Pairing{pairing}}); err != nil {
		t.Fatal(err)
	}
	want := `[{"round":1,"pairings":[{"slot":1,"game":1,"agents":[{"agent_id":"` + ann + `","name":"Ann","score":1},{"agent_id":"` + bob +
		`","name":"Bob","score":0}],"result":"forfeit","decided_at":"2025-06-01T12:00:00.000Z"}]}]`
	for _, path := range []string{"/v1/leagues/cup/rounds", "/v1/leagues/cup/rounds?season=1", "/v1/leagues/cup/seasons/1"} {
		if r := w.do("GET", path, "", nil).is(200); !strings.Contains(string(r.body), want) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	w.do("GET", "/v1/leagues/cup/rounds?season=2", "", nil).is(404)
	if v := into[shownSeason](w.do("GET", "/v1/leagues/cup/seasons/1", "", nil).is(200)); len(v.Table) != 2 || v.Table[0].AgentID != ann || v.Entrants[0].Name != "Ann" {
		t.Errorf("season %+v", v)
	}

	// Frozen: results are for admins. Threat F1.
	w.do("POST", "/v1/leagues/cup/start", w.admin, nil).is(200)
	w.do("POST", "/v1/leagues/cup/freeze", w.admin, nil).is(200)
	for token, shown := range map[string]bool{"": false, w.alice: false, w.admin: true} {
		v := into[shownSeason](w.do("GET", "/v1/leagues/cup/seasons/1", token, nil).is(200))
		if p := v.Rounds[0].Pairings[0]; v.Frozen == shown || (len(v.Table) == 2) != shown || (p.Result != "") != shown || (p.Agents[0].Score != nil) != shown {
			t.Errorf("frozen season: %+v", v)
		}
		for _, path := range []string{"/v1/leagues/cup/rounds", "/v1/leagues/cup/rounds?season=1"} {
			if r := w.do("GET", path, token, nil).is(200); strings.Contains(string(r.body), want) != shown || strings.Contains(string(r.body), `"result":"forfeit"`) != shown {
				t.Errorf("%s of a frozen league: %s", path, r.body)
			}
		}
	}

	if season, _, err = w.store.Leagues.Season(t.Context(), "cup", 0); err != nil {
		t.Fatal(err)
	}
	end := &arena.SeasonEnd{At: testNow, Table: []arena.TableRow{{Rank: 1, AgentID: ann, Name: "Ann", Score: 1500}, {Rank: 4, AgentID: bob}}}
	if err := w.store.Leagues.ChangeSeason(t.Context(), season, arena.SeasonChange{Finish: end}); err != nil {
		t.Fatal(err)
	}
	if r := w.do("GET", "/v1/leagues/cup/seasons", "", nil).is(200); !strings.Contains(string(r.body), `"podium":[{"rank":1,"agent_id":"`+ann+`","name":"Ann","played":0,"wins":0,"draws":0,"losses":0,"score":1.5}]`) {
		t.Errorf("seasons: %s", r.body)
	}

	// Another one; read one at a time.
	if _, err = w.store.Leagues.StartSeason(t.Context(), arena.Season{ID: "se_2", League: "cup", Format: arena.FormatSwiss, StartedAt: testNow}); err != nil {
		t.Fatal(err)
	}
	type list struct {
		Items []struct {
			Season int `json:"season"`
		} `json:"items"`
		Next string `json:"next_cursor"`
	}
	page := into[list](w.do("GET", "/v1/leagues/cup/seasons?limit=1", "", nil).is(200))
	last := into[list](w.do("GET", "/v1/leagues/cup/seasons?limit=1&cursor="+page.Next, "", nil).is(200))
	if len(page.Items) != 1 || page.Items[0].Season != 2 || len(last.Items) != 1 || last.Items[0].Season != 1 || last.Next != "" {
		t.Errorf("pages %+v, %+v", page, last)
	}
	w.do("GET", "/v1/leagues/cup/seasons?limit=101", "", nil).is(422)
}

// The password comes in a header and is never shown.
func TestAPI_entryPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("club", object{"entry": object{"password": "sesame"}})
	ann := w.agent(w.alice, "Ann")
	entry := func(slug string) string { return "/v1/leagues/" + slug + "/entries/" + ann }
	w.run([]scenario{
		{name: "password", method: "PUT", path: entry("club"), token: w.alice, status: 403, code: arena.CodeForbidden, says: "asks for a password"},
		{name: "wrong password", method: "PUT", path: entry("club"), token: w.alice, header: []string{"X-League-Password", "Sesame"}, status: 403, code: arena.CodeForbidden},
		{name: "right password", method: "PUT", path: entry("club"), token: w.alice, header: []string{"X-League-Password", "sesame"}, status: 204},
	})
	shown := string(w.do("GET", "/v1/leagues/club", "", nil).is(200).body)
	if strings.Contains(shown, "sesame") || strings.Contains(shown, "hash") || !strings.Contains(shown, `"password_required":true`) {
		t.Errorf("the league shows %s", shown)
	}
	// Other rules change, the password stays; an empty one opens the door.
	w.do("PATCH", "/v1/leagues/club", w.admin, object{"entry": object{"agents_per_owner": 5}}).is(200)
	bob := w.agent(w.bob, "Bob")
	w.do("PUT", "/v1/leagues/club/entries/"+bob, w.bob, nil).is(403)
	w.do("PATCH", "/v1/leagues/club", w.admin, object{"entry": object{"password": ""}}).is(200)
	w.do("PUT", "/v1/leagues/club/entries/"+bob, w.bob, nil).is(204)
}

// An archived league leaves the lists and keeps its page; its deadline for entries
// and its archive have errors of their own.
func TestAPI_archiveAndDeleteLeague(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", object{"signup_until": "2000-01-01T00:00:00Z"})
	w.league("spare", nil)
	g := w.agent(w.alice, "late")
	if r := w.do("PUT", "/v1/leagues/quiz/entries/"+g, w.alice, nil).is(409); r.str("code") != "signup_closed" || !strings.Contains(r.str("detail"), "2000-01-01T00:00:00.000Z") {
		t.Errorf("a late entry: %s", r.body)
	}
	w.do("POST", "/v1/leagues/quiz/archive", w.admin, nil).is(200)
	for path, want := range map[string]bool{"/v1/leagues": false, "/v1/leagues?archived=true": true, "/v1/lobby": false, "/llms.txt": false} {
		if body := string(w.do("GET", path, "", nil).is(200).body); strings.Contains(body, "quiz") != want || !strings.Contains(body, "spare") {
			t.Errorf("%s lists quiz: %v, want %v", path, !want, want)
		}
	}
	if at := w.do("GET", "/v1/leagues/quiz", "", nil).is(200).str("archived_at"); at == "" {
		t.Error("the page of an archived league does not show it")
	}
	a, b := w.agent(w.alice, "a", "spare"), w.agent(w.bob, "b", "spare")
	w.do("POST", "/v1/leagues/spare/archive", w.admin, nil).is(200)
	body := object{"league": "spare", "agents": []string{a, b}}
	if r := w.do("POST", "/v1/matches", w.admin, body).is(409); !strings.Contains(r.str("detail"), "archived") {
		t.Errorf("a match of an archived league: %s", r.body)
	}
	w.do("POST", "/v1/leagues/spare/unarchive", w.admin, nil).is(200)
	w.do("POST", "/v1/matches", w.admin, body).is(201)
	if r := w.do("DELETE", "/v1/leagues/spare", w.admin, nil).is(409); !strings.Contains(r.str("detail"), "archive it") {
		t.Errorf("a league with a match: %s", r.body)
	}
	w.do("DELETE", "/v1/leagues/quiz", w.admin, nil).is(204)
	w.do("GET", "/v1/leagues/quiz", "", nil).is(404)
}

// An audit is published with its league, and shows when the settings have changed since.
func TestAPI_leagueAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	type view struct {
		Status, Reason, At string
		Stale              bool
		Cheats             []struct{ Name string }
		Opponents          []struct{ Name string }
		Passed, Tried      int
	}
	path := "/v1/leagues/quiz"
	if v := into[view](w.do("GET", path+"/audit", "", nil).is(200)); v.Status != "none" || v.At != "" || v.Opponents == nil {
		t.Errorf("never audited: %+v", v)
	}
	if v := into[view](w.do("POST", path+"/audit", w.admin, nil).is(200)); v.Status != "done" || v.At == "" || v.Stale || len(v.Cheats) != 2 {
		t.Errorf("audited: %+v", v)
	}
	summary := func() view {
		return into[struct{ Audit view }](w.do("GET", path, "", nil).is(200)).Audit
	}
	if v := summary(); v.Status != "done" || v.Stale || v.Passed != 1 || v.Tried != 1 {
		t.Errorf("summary: %+v", v)
	}
	w.do("PATCH", path, w.admin, object{"time_limit_seconds": 6}).is(200)
	if v := summary(); !v.Stale {
		t.Errorf("summary with other settings: %+v", v)
	}
	if v := into[view](w.do("GET", path+"/audit", "", nil).is(200)); v.Status != "done" || !v.Stale {
		t.Errorf("with other settings: %+v", v)
	}
	w.do("POST", "/v1/leagues", w.admin, object{"slug": "four", "title": "Four", "game": object{"name": "connect_four"}, "time_limit_seconds": 5, "rated": true}).is(201)
	if v := into[view](w.do("GET", "/v1/leagues/four/audit", "", nil).is(200)); v.Status != "none" || !strings.Contains(v.Reason, "plays a game") {
		t.Errorf("a game: %+v", v)
	}
	w.do("POST", "/v1/leagues/four/audit", w.admin, nil).is(409)
}

// Gold items are pairs of answers in a pack of their own, for a judge that the arena asks.
func TestLeagues_gold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	w.league("open", object{"judge": object{"kind": "model", "criteria": "wit"}})
	quiz, own := w.do("GET", "/v1/leagues/quiz", "", nil).str("pack_id"), w.do("GET", "/v1/leagues/open", "", nil).str("pack_id")
	pack := func(name, line string, n int) string {
		return w.do("POST", "/v1/packs?format=jsonl&name="+name, w.admin, strings.Repeat(line+"\n", n)).is(201).str("pack_id")
	}
	const pair = `{"description":"A known joke.","options":["good one","dull one"],"answer":"good one"}`
	gold := pack("gold", pair, 11)
	few := pack("few", pair, 10)
	three := pack("three", `{"description":"A known joke.","options":["good","dull","bad"],"answer":"good"}`, 11)
	both := pack("both", `{"description":"A known joke.","options":["good","dull"],"answer":["good","dull"]}`, 11)
	plain := pack("plain", `{"description":"A known joke.","answer":"good"}`, 11)
	model := func(gold string) object {
		return object{"judge": object{"kind": "model", "criteria": "wit", "gold": gold}}
	}
	for name, judge := range map[string]object{
		"unknown pack":                 model("pk_none"),
		"few pairs":                    model(few),
		"three options":                model(three),
		"two right options":            model(both),
		"no options":                   model(plain),
		"own questions":                model(own),
		"questions of another league":  model(quiz),
		"a judge that is a vote":       {"judge": object{"kind": "crowd", "criteria": "wit", "window_seconds": 30, "min_votes": 1, "voter_accounts": true, "gold": gold}},
		"a judge that asks nobody":     {"judge": object{"kind": "exact", "gold": gold}},
		"a judge that could tell them": {"judge": object{"kind": "panel", "criteria": "wit", "agents": []string{"ag_1"}, "gold": gold}},
	} {
		r := w.do("PATCH", "/v1/leagues/open", w.admin, judge).is(422)
		if !strings.Contains(string(r.body), `"field":"judge.gold"`) || strings.Contains(string(r.body), "joke") {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	w.do("PATCH", "/v1/leagues/open", w.admin, model(gold)).is(200)
	if r := w.do("PATCH", "/v1/leagues/quiz", w.admin, object{"pack_id": gold, "judge": "choice"}).is(422); !strings.Contains(string(r.body), `"field":"pack_id"`) {
		t.Errorf("%s", r.body)
	}
	if r := w.do("PATCH", "/v1/packs/"+gold+"/tasks/0", w.admin, object{"answer": []string{"good one", "dull one"}}).is(422); !strings.Contains(string(r.body), `"field":"options"`) {
		t.Errorf("%s", r.body)
	}
	w.do("PATCH", "/v1/packs/"+gold+"/tasks/0", w.admin, object{"description": "Another joke."}).is(200)
	kim, _ := w.owner("Kim")
	for _, token := range []string{"", kim} {
		for _, path := range []string{"/v1/packs/" + gold, "/v1/packs/" + gold + "/tasks", "/v1/packs"} {
			if r := w.do("GET", path, token, nil); r.status < 400 || strings.Contains(string(r.body), "joke") {
				t.Errorf("%s: %d %s", path, r.status, r.body)
			}
		}
	}
	if r := w.do("GET", "/v1/leagues/open", "", nil).is(200); r.str("judge.gold") != gold || strings.Contains(string(r.body), "joke") {
		t.Errorf("%s", r.body)
	}
}
