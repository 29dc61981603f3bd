package api

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_createAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	with := func(edit object) object {
		body := object{"name": "steady", "endpoint": "https://steady.example/?plays=quiz", "leagues": []string{"quiz"}}
		maps.Copy(body, edit)
		return body
	}
	post := func(name string, edit object, status int, code arena.Code, says string, fields ...string) scenario {
		return scenario{name: name, method: "POST", path: "/v1/agents", token: w.alice, body: with(edit), status: status, code: code, says: says, fields: fields}
	}
	w.run([]scenario{
		post("healthy, no version declared", nil, 201, "", `"version":"","status":"active"`),
		post("same name in another case", object{"name": "STEADY"}, 409, arena.CodeNameTaken, "STEADY", "name"),
		post("a name that looks the same", object{"name": "stеady"}, 409, arena.CodeNameTaken, "looks the same", "name"), // Cyrillic e
		post("unhealthy", object{"name": "down", "endpoint": "https://down.example"}, 201, "", `"status":"pending"`),
		// Threats S1, S5, S7.
		post("malformed address", object{"name": "a", "endpoint": "ftp://x"}, 422, arena.CodeEndpointInvalid, "http", "endpoint"),
		post("private address", object{"name": "a", "endpoint": "http://10.0.0.1"}, 422, arena.CodeEndpointBlocked, "private", "endpoint"),
		post("own address", object{"name": "a", "endpoint": "https://arena.example"}, 422, arena.CodeEndpointOwn, "itself", "endpoint"),
		post("long address", object{"name": "a", "endpoint": "https://" + strings.Repeat("x", 2048)}, 422, arena.CodeInvalid, "2048", "endpoint"),
		post("league twice", object{"name": "b", "leagues": []string{"quiz", "quiz"}}, 422, arena.CodeInvalid, "unique", "leagues"),
		post("long name", object{"name": strings.Repeat("é", 41)}, 422, arena.CodeInvalid, "40", "name"),
		post("name of 40 letters", object{"name": strings.Repeat("é", 40)}, 201, "", "é"),
		post("control character in the description", object{"name": "b", "description": "a\x1b[31m"}, 422, arena.CodeInvalid, "U+001B", "description"),
		post("model", object{"name": "declares", "model": "LangGraph"}, 201, "", `"model":"LangGraph"`),
		post("description of two lines", object{"name": "b", "description": "one\ntwo"}, 201, "", "one"),
		// Threat A2.
		post("unknown fields", object{"name": "c", "rating": 3000, "owner_id": "ow_x"}, 422, arena.CodeInvalid, "unexpected", "owner_id", "rating"),
		{name: "member in another case", method: "POST", path: "/v1/agents", token: w.alice, body: `{"Name":"c","endpoint":"https://c.example"}`, status: 422, code: arena.CodeInvalid, fields: []string{"body"}},
		{name: "duplicate member", method: "POST", path: "/v1/agents", token: w.alice, body: `{"name":"c","name":"d","endpoint":"https://c.example"}`, status: 400, code: arena.CodeMalformed, fields: []string{"body"}},
		{name: "no body", method: "POST", path: "/v1/agents", token: w.alice, status: 400, code: arena.CodeMalformed},
		{name: "missing members", method: "POST", path: "/v1/agents", token: w.alice, body: object{}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}},
		{name: "no endpoint", method: "POST", path: "/v1/agents", token: w.alice, body: object{"name": "pulls"}, status: 201, says: `"pull":true`},
	})
	// Threat T5: another owner may not use the name.
	w.do("POST", "/v1/agents", w.bob, object{"name": "Steady", "endpoint": "https://steady.example"}).is(409)
}

// The first check may fail for reasons of our own: the agent is registered and
// waits for the next one.
func TestAPI_createAgent_checkFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.CheckAgent = testOptions(t).CheckAgent }) // always an error
	r := w.do("POST", "/v1/agents", w.alice, object{"name": "steady", "endpoint": "https://steady.example"}).is(201)
	if r.str("status") != "pending" {
		t.Errorf("status %s", r.str("status"))
	}
	w.do("POST", "/v1/agents/"+r.str("agent_id")+"/check", w.alice, nil).is(500)
}

func TestAPI_getAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	id := w.agent(w.alice, "steady", "quiz")
	path := "/v1/agents/" + id
	for _, c := range []struct {
		who, token string
		sees       bool
	}{{"nobody", "", false}, {"another owner", w.bob, false}, {"its owner", w.alice, true}, {"an admin", w.admin, true}} {
		for _, p := range []string{path, "/v1/agents?league=quiz"} {
			got := strings.Contains(string(w.do("GET", p, c.token, nil).is(200).body), "steady.example")
			if got != c.sees {
				t.Errorf("%s sees the endpoint in %s: %v, want %v", c.who, p, got, c.sees)
			}
		}
	}
	r := w.do("GET", path, "", nil)
	want := object{
		"ok": true, "checked_at": "2025-06-01T12:00:00.000Z", "latency_ms": 1.5, "capabilities": []any{"quiz"}, "max_concurrent": 2.0,
	}
	if diff := cmp.Diff(want, r.at("health")); diff != "" {
		t.Errorf("health (-want +got):\n%s", diff)
	}
	w.run([]scenario{
		{name: "unknown", method: "GET", path: "/v1/agents/ag_nobody", status: 404, code: arena.CodeNotFound},
		{name: "unknown's matches", method: "GET", path: "/v1/agents/ag_nobody/matches", status: 404, code: arena.CodeNotFound},
		{name: "mine", method: "GET", path: "/v1/agents?owner=me", token: w.alice, status: 200, says: id},
		{name: "mine, of nobody", method: "GET", path: "/v1/agents?owner=me", status: 401, code: arena.CodeUnauthorized},
		{name: "mine, of an admin", method: "GET", path: "/v1/agents?owner=me", token: w.admin, status: 422, code: arena.CodeInvalid, fields: []string{"owner"}},
		{name: "by part of the name", method: "GET", path: "/v1/agents?q=TEAD", status: 200, says: id},
		{name: "page too large", method: "GET", path: "/v1/agents?limit=101", status: 422, code: arena.CodeInvalid, fields: []string{"limit"}},
		{name: "bad cursor", method: "GET", path: "/v1/agents?cursor=x", status: 422, code: arena.CodeInvalid, fields: []string{"cursor"}},
		{name: "unknown parameter", method: "GET", path: "/v1/agents?sort=name", status: 422, code: arena.CodeInvalid, fields: []string{"sort"}},
		{name: "uptime", method: "GET", path: path + "/uptime", status: 200, says: `"items":[]`},
		{name: "opponents", method: "GET", path: path + "/opponents", status: 200, says: `"items":[]`},
		{name: "ratings", method: "GET", path: path + "/ratings", status: 200, says: `"items":[]`},
	})
}

// The page of an agent has the manifest that it published last; lists have none.
func TestAPI_getAgent_manifest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const did, manifest = "did:key:z6Mk1", `{"id":"c","pricing":{"model":"free"},"supported_languages":["en"]}`
	_, owner := w.owner("carol")
	w.ok(w.store.Agents.CreateAgent(t.Context(), arena.Agent{
		ID: "ag_1", OwnerID: owner, Name: "signed", Protocol: arena.ProtocolEnvelope, PublicKey: did, CreatedAt: testNow, KeyProvedAt: testNow,
	}))
	if found := w.do("GET", "/v1/agents/ag_1", "", nil).is(200).at("manifest"); found != nil {
		t.Errorf("a manifest without one: %v", found)
	}
	w.ok(w.store.Relay.SaveManifest(t.Context(), did, []byte(manifest), testNow))
	want := object{"id": "c", "pricing": object{"model": "free"}, "supported_languages": []any{"en"}}
	if diff := cmp.Diff(want, w.do("GET", "/v1/agents/ag_1", "", nil).is(200).at("manifest")); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if body := string(w.do("GET", "/v1/agents", "", nil).is(200).body); strings.Contains(body, "supported_languages") {
		t.Errorf("the list has manifests: %s", body)
	}
}

func TestAPI_listAgents_pages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := map[string]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		want[w.agent(w.alice, name)] = true
	}
	cursor, got := "", map[string]bool{}
	for range 3 {
		r := w.do("GET", "/v1/agents?limit=2&cursor="+cursor, "", nil).is(200)
		for _, item := range r.at("items").([]any) {
			got[item.(object)["agent_id"].(string)] = true
		}
		cursor = r.str("next_cursor")
	}
	if diff := cmp.Diff(want, got); diff != "" || cursor != "" {
		t.Errorf("cursor %q at the end; agents (-want +got):\n%s", cursor, diff)
	}
}

// Everyone may read the marks that owners have chosen; cards draw them.
func TestAPI_marks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	post := func(token string, agent object) string {
		return w.do("POST", "/v1/agents", token, agent).is(201).str("agent_id")
	}
	a, b := post(w.alice, object{"name": "a", "mark": "dots-red", "leagues": []string{"quiz"}}), post(w.bob, object{"name": "b", "leagues": []string{"quiz"}})
	chosen := func(want map[string]string) {
		t.Helper()
		r := w.do("GET", "/v1/marks", "", nil).is(200)
		if got := into[map[string]map[string]string](r)["marks"]; !maps.Equal(got, want) || r.header.Get("Cache-Control") != "public, max-age=60" {
			t.Errorf("marks %v, %v, want %v", got, r.header, want)
		}
	}
	chosen(map[string]string{a: "dots-red"})
	w.do("PATCH", "/v1/agents/"+b, w.bob, object{"mark": "sun-gold"}).is(200)
	w.do("PATCH", "/v1/agents/"+a, w.alice, object{"mark": ""}).is(200)
	chosen(map[string]string{b: "sun-gold"})

	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	w.do("POST", "/v1/leagues", w.admin, object{"slug": "cup", "title": "Cup", "game": object{"name": "connect_four"}, "time_limit_seconds": 5, "rated": false}).is(201)
	_, err := w.store.Leagues.StartSeason(t.Context(), arena.Season{ID: "se_1", League: "cup", Format: arena.FormatSwiss, StartedAt: testNow})
	w.ok(err)
	for _, path := range []string{"/v1/matches/" + id, "/v1/leagues/cup/seasons/1"} {
		if got := string(w.do("GET", path+"/card.png", "", nil).is(200).body); !strings.Contains(got, "with map["+b+":sun-gold]") {
			t.Errorf("card of %s: %q", path, got)
		}
	}
}

func TestAPI_updateAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.agent(w.alice, "steady")
	w.agent(w.alice, "other")
	path := "/v1/agents/" + id
	w.run([]scenario{
		{name: "version", method: "PATCH", path: path, token: w.alice, body: object{"version": "2"}, status: 200, says: `"version":"2"`},
		{name: "model", method: "PATCH", path: path, token: w.alice, body: object{"model": "gpt-4.1-mini"}, status: 200, says: `"model":"gpt-4.1-mini"`},
		{name: "no model", method: "PATCH", path: path, token: w.alice, body: object{"model": ""}, status: 200},
		{name: "long model", method: "PATCH", path: path, token: w.alice, body: object{"model": strings.Repeat("é", 81)}, status: 422, code: arena.CodeInvalid, fields: []string{"model"}},
		{name: "mark", method: "PATCH", path: path, token: w.alice, body: object{"mark": "star-teal"}, status: 200, says: `"mark":"star-teal"`},
		{name: "no such mark", method: "PATCH", path: path, token: w.alice, body: object{"mark": "teal-star"}, status: 422, code: arena.CodeInvalid, fields: []string{"mark"}, says: "shapes: propeller, pinwheel"},
		{name: "name taken", method: "PATCH", path: path, token: w.alice, body: object{"name": "Other"}, status: 409, code: arena.CodeNameTaken, fields: []string{"name"}},
		{name: "another's agent", method: "PATCH", path: path, token: w.bob, body: object{"version": "3"}, status: 404, code: arena.CodeNotFound},
		{name: "own protocol", method: "PATCH", path: path, token: w.alice, body: object{"protocol": "aap"}, status: 422, code: arena.CodeInvalid, fields: []string{"protocol"}},
		{name: "private address", method: "PATCH", path: path, token: w.alice, body: object{"endpoint": "http://10.1.1.1"}, status: 422, code: arena.CodeEndpointBlocked, fields: []string{"endpoint"}},
		{name: "nothing", method: "PATCH", path: path, token: w.alice, body: object{}, status: 200, says: `"status":"active"`},
		{name: "by an admin", method: "PATCH", path: path, token: w.admin, body: object{"description": "hi"}, status: 200, says: `"description":"hi"`},
		// A new endpoint has passed nothing yet.
		{name: "endpoint that is down", method: "PATCH", path: path, token: w.alice, body: object{"endpoint": "https://down.example"}, status: 200, says: `"status":"pending"`},
		{name: "endpoint that works", method: "PATCH", path: path, token: w.alice, body: object{"endpoint": "https://up.example"}, status: 200, says: `"status":"active"`},
		{name: "retire", method: "DELETE", path: path, token: w.alice, status: 204},
		{name: "retire again", method: "DELETE", path: path, token: w.alice, status: 204},
		{name: "still to be seen", method: "GET", path: path, status: 200, says: `"status":"retired"`},
		{name: "change when retired", method: "PATCH", path: path, token: w.alice, body: object{"version": "3"}, status: 409, code: arena.CodeConflict},
		{name: "check when retired", method: "POST", path: path + "/check", token: w.alice, status: 409, code: arena.CodeConflict},
	})
}

func TestAPI_pauseAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.agent(w.alice, "steady")
	path := "/v1/agents/" + id
	rateLimit := func(g *arena.Agent) error {
		g.Pauses = append(g.Pauses, arena.Pause{Reason: arena.PauseRateLimit, Since: testNow, Until: testNow.Add(5 * time.Minute)})
		return nil
	}
	w.run([]scenario{
		{name: "resume when not paused", method: "POST", path: path + "/resume", token: w.alice, status: 200, says: `"active"`},
		{name: "pause", method: "POST", path: path + "/pause", token: w.alice, status: 200, says: `"reason":"owner"`},
		{name: "pause again", method: "POST", path: path + "/pause", token: w.alice, status: 200, says: `"reason":"owner"`},
		{name: "pause by an admin", method: "POST", path: path + "/pause", token: w.admin, status: 200, says: `"reason":"admin"`},
		{name: "the owner lifts its own", method: "POST", path: path + "/resume", token: w.alice, status: 200, says: `"reason":"admin"`},
		{name: "and no more", method: "POST", path: path + "/resume", token: w.alice, status: 409, code: arena.CodeConflict, says: "admin"},
		{name: "the admin lifts it", method: "POST", path: path + "/resume", token: w.admin, status: 200, says: `"status":"active"`},
	})
	if _, _, err := w.store.Agents.UpdateAgent(t.Context(), id, rateLimit); err != nil {
		t.Fatal(err)
	}
	w.run([]scenario{
		{name: "a 429 ends by itself", method: "POST", path: path + "/resume", token: w.admin, status: 409, code: arena.CodeConflict, says: "2025-06-01T12:05:00.000Z"},
	})
	want := []arena.EventType{
		arena.EventAgentPaused, arena.EventAgentPaused, arena.EventAgentResumed, arena.EventAgentResumed,
	}
	if diff := cmp.Diff(want, w.pub.types()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if body := string(w.pub.events[0].Body); body != `{"name":"steady","reason":"owner"}` {
		t.Errorf("event body %s", body)
	}
}

// A failure without a code is logged and not shown.
func TestAPI_problemOf_unknown(t *testing.T) {
	t.Parallel()
	a := newAPI(t, testOptions(t))
	p := a.problemOf(t.Context(), errors.New("password=hunter2"))
	if p.Status != 500 || p.Code != arena.CodeInternal || strings.Contains(p.Detail, "hunter2") {
		t.Errorf("%+v", p)
	}
	p = a.problemOf(t.Context(), &arena.Error{Code: arena.CodeLeaseLost, Message: "node nd_1 has it"})
	if p.Status != 500 || p.Code != arena.CodeInternal || strings.Contains(p.Detail, "nd_1") {
		t.Errorf("%+v", p)
	}
}
