package api

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// An admin makes, lists and revokes tokens with scopes; the secret is shown
// once. Threat T1.
func TestAPI_adminTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	w.league("cup", nil)
	made := w.do("POST", "/v1/admin/tokens", w.admin, object{
		"name": "cup desk", "scope": "organizer", "leagues": []string{"cup"}, "expires_at": "2025-06-01T13:00:00Z",
	}).is(201)
	secret, id := made.str("token"), made.str("token_id")
	list := w.do("GET", "/v1/admin/tokens", w.admin, nil).is(200)
	if body := string(list.body); strings.Contains(body, secret) || !strings.Contains(body, `"name":"cup desk"`) ||
		!strings.Contains(body, `"leagues":["cup"]`) || !strings.Contains(body, `"expires_at":"2025-06-01T13:00:00.000Z"`) {
		t.Errorf("the list is %s", body)
	}
	me := w.do("GET", "/v1/me", secret, nil).is(200)
	if me.str("scope") != "organizer" || me.str("leagues.0") != "cup" {
		t.Errorf("me is %s", me.body)
	}
	a, b := w.agent(w.alice, "Ann", "cup"), w.agent(w.bob, "Bob", "cup")
	match := func(league string) object { return object{"league": league, "agents": []string{a, b}} }
	w.run([]scenario{
		{name: "a match of its league", method: "POST", path: "/v1/matches", token: secret, body: match("cup"), status: 201},
		{name: "a match of another", method: "POST", path: "/v1/matches", token: secret, body: match("quiz"), status: 403, code: arena.CodeForbidden, says: "not for league quiz"},
		{name: "its league", method: "POST", path: "/v1/leagues/cup/start", token: secret, status: 200},
		{name: "another league", method: "POST", path: "/v1/leagues/quiz/start", token: secret, status: 403, code: arena.CodeForbidden},
		{name: "a new league", method: "POST", path: "/v1/leagues", token: secret, body: object{"slug": "x"}, status: 403, code: arena.CodeForbidden},
		{name: "a token of an owner's scope", method: "POST", path: "/v1/admin/tokens", token: w.admin, body: object{"name": "x", "scope": "owner"}, status: 422, code: arena.CodeInvalid, fields: []string{"scope"}},
		{name: "an organizer of nothing", method: "POST", path: "/v1/admin/tokens", token: w.admin, body: object{"name": "x", "scope": "organizer"}, status: 422, code: arena.CodeInvalid, fields: []string{"leagues"}},
		{name: "of no league", method: "POST", path: "/v1/admin/tokens", token: w.admin, body: object{"name": "x", "scope": "organizer", "leagues": []string{"none"}}, status: 422, code: arena.CodeInvalid, fields: []string{"leagues[0]"}},
		{name: "in the past", method: "POST", path: "/v1/admin/tokens", token: w.admin, body: object{"name": "x", "scope": "admin", "expires_at": "2020-01-01T00:00:00Z"}, status: 422, code: arena.CodeInvalid, fields: []string{"expires_at"}},
		{name: "at the zero time", method: "POST", path: "/v1/admin/tokens", token: w.admin, body: object{"name": "x", "scope": "admin", "expires_at": "0001-01-01T00:00:00Z"}, status: 422, code: arena.CodeInvalid, fields: []string{"expires_at"}},
	})
	w.now.Add(3_600_000)
	w.do("GET", "/v1/me", secret, nil).is(401)
	if list := w.do("GET", "/v1/admin/tokens", w.admin, nil).is(200); !strings.Contains(string(list.body), `"expired":true`) {
		t.Errorf("the list is %s", list.body)
	}
	w.do("DELETE", "/v1/admin/tokens/"+id, w.admin, nil).is(204)
	w.do("DELETE", "/v1/admin/tokens/"+id, w.admin, nil).is(404)
}

// A suspended owner's token is rejected, its agents take no match, and both are
// as before once it is restored. Threat T4.
func TestAPI_suspendOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "Ann", "quiz"), w.agent(w.bob, "Bob", "quiz")
	path := "/v1/admin/owners/" + w.aliceI
	if o := w.do("POST", path+"/suspend", w.admin, nil).is(200); o.str("suspended_at") == "" {
		t.Errorf("%s", o.body)
	}
	match := object{"league": "quiz", "agents": []string{a, b}}
	w.run([]scenario{
		{name: "its token", method: "GET", path: "/v1/me", token: w.alice, status: 403, code: arena.CodeForbidden, says: "suspended"},
		{name: "its token on a public route", method: "GET", path: "/v1/leagues", token: w.alice, status: 403, code: arena.CodeForbidden},
		{name: "its agent", method: "GET", path: "/v1/agents/" + a, status: 200, says: `"status":"paused"`},
		{name: "a match", method: "POST", path: "/v1/matches", token: w.admin, body: match, status: 422, code: arena.CodeAgentNotReady, fields: []string{"agents[0]"}},
		{name: "its agent alone", method: "POST", path: "/v1/agents/" + a + "/resume", token: w.admin, status: 409, code: arena.CodeConflict, says: "suspended"},
		{name: "listed", method: "GET", path: "/v1/admin/owners?find=ALICE", token: w.admin, status: 200, says: `"suspended_at"`},
		{name: "restored", method: "POST", path: path + "/restore", token: w.admin, status: 200},
		{name: "its token again", method: "GET", path: "/v1/me", token: w.alice, status: 200},
		{name: "a match again", method: "POST", path: "/v1/matches", token: w.admin, body: match, status: 201},
		{name: "no owner", method: "POST", path: "/v1/admin/owners/ow_none/suspend", token: w.admin, status: 404, code: arena.CodeNotFound},
	})
}

// An admin replaces an owner's tokens. Threat T3.
func TestAPI_reissueTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/v1/admin/owners/" + w.aliceI + "/tokens"
	fresh := w.do("POST", path, w.admin, nil).is(201)
	w.do("GET", "/v1/me", w.alice, nil).is(401)
	if me := w.do("GET", "/v1/me", fresh.str("token"), nil).is(200); me.str("owner_id") != w.aliceI {
		t.Errorf("%s", me.body)
	}
	if list := w.do("GET", path, w.admin, nil).is(200); list.str("items.0.token_id") != fresh.str("token_id") || strings.Contains(string(list.body), fresh.str("token")) {
		t.Errorf("%s", list.body)
	}
	w.do("DELETE", path, w.admin, nil).is(204)
	w.do("GET", "/v1/me", fresh.str("token"), nil).is(401)
	w.do("GET", "/v1/me", w.bob, nil).is(200)
}
