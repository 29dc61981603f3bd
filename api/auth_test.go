package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
)

// Every route has a scope and is denied to the others. Threat A1.
func TestAPI_routes_scopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	agent := w.agent(w.alice, "steady", "quiz")
	organizer, moderator := w.scoped(arena.ScopeOrganizer, "quiz"), w.scoped(arena.ScopeModerator)
	ids := strings.NewReplacer("{id}", agent, "{slug}", "quiz", "{agent_id}", agent)
	for _, r := range routes() {
		path := ids.Replace(r.path)
		denied := func(token string, want ...int) {
			t.Helper()
			got := w.do(r.method, path, token, nil)
			if !slices.Contains(want, got.status) {
				t.Errorf("%s %s, scope %s: status %d, want %v: %s", r.method, path, r.scope, got.status, want, got.body)
			}
			if got.status == http.StatusUnauthorized && got.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: 401 without WWW-Authenticate", r.method, path)
			}
		}
		if r.scope == scopePublic || r.scope == scopeElsewhere {
			continue
		}
		admitted := r.scope.admits()
		if len(admitted) == 0 {
			t.Errorf("%s %s has no scope", r.method, r.path)
		}
		denied("", 401)
		denied("wrong", 401)
		for scope, token := range map[arena.Scope]string{
			arena.ScopeOwner: w.alice, arena.ScopeAdmin: w.admin, arena.ScopeOrganizer: organizer, arena.ScopeModerator: moderator,
		} {
			if !slices.Contains(admitted, scope) {
				denied(token, 403)
			}
		}
		if r.scope == scopeOwnerOrAdmin && strings.Contains(path, agent) {
			// Another's agent is not found, or the body is refused first.
			denied(w.bob, 404, 400)
		}
	}
	// What the denied requests asked for did not happen.
	if got := w.do("GET", "/v1/agents/"+agent, "", nil).is(200).str("status"); got != "active" {
		t.Errorf("agent is %s", got)
	}
	if got := w.do("GET", "/v1/leagues/quiz", "", nil).is(200).str("status"); got != "open" {
		t.Errorf("league is %s", got)
	}
}

// The table is the whole router: no route stands beside it. Threat A1.
func TestAPI_routes_complete(t *testing.T) {
	t.Parallel()
	a := newAPI(t, testOptions(t))
	var want, got []string
	for _, r := range routes() {
		want = append(want, r.method+" "+strings.NewReplacer("{", ":", "}", "").Replace(r.path))
	}
	for _, r := range a.engine.Routes() {
		if r.Method == http.MethodOptions {
			continue // of reads that pages of other sites may ask for
		}
		got = append(got, r.Method+" "+r.Path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("routes\n%v\nwant\n%v", got, want)
	}
}

// A token counts as Bearer alone; whatever else stands in the header is a bad
// token, on every route. Threat A1.
func TestAPI_tokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run([]scenario{
		{name: "scheme in any case", method: "GET", path: "/v1/me", header: []string{"Authorization", "bEaReR " + w.alice}, status: 200, says: `"name":"alice"`},
		{name: "another scheme", method: "GET", path: "/v1/me", header: []string{"Authorization", "Basic " + w.alice}, status: 401, code: arena.CodeUnauthorized},
		{name: "bad token on a public route", method: "GET", path: "/v1/leagues", token: "wrong", status: 401, code: arena.CodeUnauthorized},
		{name: "another scheme on a public route", method: "GET", path: "/v1/leagues", header: []string{"Authorization", "Basic " + w.alice}, status: 401, code: arena.CodeUnauthorized},
		{name: "no scheme", method: "GET", path: "/v1/leagues", header: []string{"Authorization", w.alice}, status: 401, code: arena.CodeUnauthorized},
		{name: "empty token", method: "GET", path: "/v1/leagues", header: []string{"Authorization", "Bearer "}, status: 401, code: arena.CodeUnauthorized},
		{name: "admin", method: "GET", path: "/v1/me", token: w.admin, status: 200, says: `"scope":"admin"`},
		{name: "name with a line break", method: "POST", path: "/v1/me/tokens", token: w.alice, body: object{"name": "a\nb"}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}},
		{name: "another's token", method: "DELETE", path: "/v1/me/tokens/to_nobody", token: w.alice, status: 404, code: arena.CodeNotFound},
	})

	made := w.do("POST", "/v1/me/tokens", w.alice, object{"name": "laptop"}).is(201)
	second := made.str("token")
	list := w.do("GET", "/v1/me/tokens", second, nil).is(200)
	if items := list.at("items").([]any); len(items) != 2 {
		t.Errorf("%d tokens, want 2: %s", len(items), list.body)
	}
	if strings.Contains(string(list.body), second) {
		t.Error("the list shows a secret")
	}
	w.do("DELETE", "/v1/me/tokens/"+made.str("token_id"), w.bob, nil).is(404)
	w.do("DELETE", "/v1/me/tokens/"+made.str("token_id"), w.alice, nil).is(204)
	w.do("GET", "/v1/me", second, nil).is(401)
}

func TestAPI_signUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run([]scenario{
		{name: "good", method: "POST", path: "/v1/owners", body: object{"name": "carol", "email": "c@example.org"}, status: 201, says: `"owner_id":"ow_`},
		{name: "a name that looks the same", method: "POST", path: "/v1/owners", body: object{"name": "Carοl"}, status: 409, code: arena.CodeNameTaken, fields: []string{"name"}},
		{name: "no name", method: "POST", path: "/v1/owners", body: object{}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}},
		{name: "empty name", method: "POST", path: "/v1/owners", body: object{"name": ""}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}},
		{name: "long name", method: "POST", path: "/v1/owners", body: object{"name": strings.Repeat("x", 41)}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}, says: "40"},
		{name: "letters that show nothing", method: "POST", path: "/v1/owners", body: object{"name": "\u3164\u115f"}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}, says: "U+3164"},
		{name: "a blank that is no space", method: "POST", path: "/v1/owners", body: object{"name": "\u2800"}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}, says: "shows"},
		{name: "joiners alone", method: "POST", path: "/v1/owners", body: object{"name": "\u200d"}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}, says: "shows"},
		{name: "joined emoji", method: "POST", path: "/v1/owners", body: object{"name": "\U0001f469\u200d\U0001f680 \u2764\ufe0f"}, status: 201},
		{name: "right-to-left override", method: "POST", path: "/v1/owners", body: object{"name": "evil\u202egnp"}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}, says: "U+202E"},
		{name: "blank edge", method: "POST", path: "/v1/owners", body: object{"name": " dan"}, status: 422, code: arena.CodeInvalid, fields: []string{"name"}},
		{name: "not an email", method: "POST", path: "/v1/owners", body: object{"name": "dan", "email": "dan"}, status: 422, code: arena.CodeInvalid, fields: []string{"email"}},
		// Threat A2.
		{name: "mass assignment", method: "POST", path: "/v1/owners", body: object{"name": "dan", "scope": "admin"}, status: 422, code: arena.CodeInvalid, fields: []string{"scope"}},
	})

	token := w.do("POST", "/v1/owners", "", object{"name": "erin"}).is(201).str("token")
	if me := w.do("GET", "/v1/me", token, nil).is(200); me.str("name") != "erin" || me.str("scope") != "owner" {
		t.Errorf("who am I: %s", me.body)
	}
	for mode, invited := range map[string]int{account.SignupOpen: 201, account.SignupInvite: 201, account.SignupClosed: 403} {
		w := newWorld(t, func(o *parts) { o.SignupMode = mode })
		if mode != account.SignupOpen {
			w.do("POST", "/v1/owners", "", object{"name": "frank"}).is(403)
			w.do("POST", "/v1/owners", w.alice, object{"name": "frank"}).is(403)
		}
		made := w.do("POST", "/v1/owners", w.admin, object{"name": "grace"}).is(invited)
		if invited != 201 {
			continue
		}
		if me := w.do("GET", "/v1/me", made.str("token"), nil).is(200); me.str("name") != "grace" || me.str("scope") != "owner" {
			t.Errorf("%s: who am I: %s", mode, me.body)
		}
		log := w.do("GET", "/v1/admin/audit?find=sign-up", w.admin, nil).is(200)
		if log.str("items.0.target") != made.str("owner_id") || strings.Contains(string(log.body), made.str("token")) {
			t.Errorf("%s: the invitation in the audit log: %s", mode, log.body)
		}
	}
}

// An admin invites as many as it likes from one address.
func TestAPI_signUp_invitations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.SignupMode, o.Limits = account.SignupInvite, quota.Limits{SignUpsPerHour: 1} })
	for _, name := range []string{"ann", "ben", "cyd"} {
		w.do("POST", "/v1/owners", w.admin, object{"name": name}).is(201)
	}
}

// Each check holds by itself, also where another one stands before it today:
// who is not known owns nothing whatever else is set, nobody owns what has no
// owner, and a scope lets in only the tokens that it names. Threat A1.
func TestCaller_layers(t *testing.T) {
	t.Parallel()
	const otherScope arena.Scope = "other" // of a kind that there may be one day
	holder := func(s arena.Scope, owner string) arena.Caller { return arena.Caller{Scope: s, OwnerID: owner} }
	all := []scope{
		scopePublic, scopeOwner, scopeAdmin, scopeOwnerOrAdmin, scopeOrganize, scopeOwnLog, scopeEnter, scopeEnd, scopePause, scopeTasks, scopeAnyToken, scopeElsewhere, "unheard of", "",
	}
	for _, tt := range []struct {
		name          string
		who           arena.Caller
		admin         bool
		owns, ownerly bool // of ow_1; of what has no owner
		let           []scope
	}{
		{"nobody", arena.Caller{}, false, false, false, []scope{scopePublic}},
		{"an owner", holder(arena.ScopeOwner, "ow_1"), false, true, false, []scope{scopePublic, scopeOwner, scopeOwnerOrAdmin, scopeOwnLog, scopeEnter, scopePause, scopeTasks, scopeAnyToken}},
		{"another owner", holder(arena.ScopeOwner, "ow_2"), false, false, false, []scope{scopePublic, scopeOwner, scopeOwnerOrAdmin, scopeOwnLog, scopeEnter, scopePause, scopeTasks, scopeAnyToken}},
		{"an owner without a name", holder(arena.ScopeOwner, ""), false, false, false, []scope{scopePublic, scopeOwner, scopeOwnerOrAdmin, scopeOwnLog, scopeEnter, scopePause, scopeTasks, scopeAnyToken}},
		{"an admin", holder(arena.ScopeAdmin, ""), true, true, true, []scope{scopePublic, scopeAdmin, scopeOwnerOrAdmin, scopeOrganize, scopeOwnLog, scopeEnter, scopeEnd, scopePause, scopeAnyToken}},
		{"an organizer", holder(arena.ScopeOrganizer, ""), false, false, false, []scope{scopePublic, scopeOrganize, scopeEnter, scopeEnd, scopeAnyToken}},
		{"a moderator", holder(arena.ScopeModerator, ""), false, false, false, []scope{scopePublic, scopeEnd, scopePause, scopeAnyToken}},
		{"an agent of ow_1", holder(arena.ScopeAgent, "ow_1"), false, false, false, []scope{scopePublic, scopeOwnLog, scopeEnter, scopeTasks, scopeAnyToken}},
		{"an owner's id without a token", arena.Caller{OwnerID: "ow_1"}, false, false, false, []scope{scopePublic}},
		{"a token of another scope", holder(otherScope, "ow_3"), false, false, false, []scope{scopePublic}},
	} {
		if tt.who.IsAdmin() != tt.admin || tt.who.Owns("ow_1") != tt.owns || tt.who.Owns("") != tt.ownerly {
			t.Errorf("%s: admin %v, owns ow_1 %v, owns what is nobody's %v", tt.name, tt.who.IsAdmin(), tt.who.Owns("ow_1"), tt.who.Owns(""))
		}
		for _, s := range all {
			if err := permit(tt.who, s); (err == nil) != slices.Contains(tt.let, s) {
				t.Errorf("%s on a route for %q: %v", tt.name, s, err)
			}
		}
	}
}
