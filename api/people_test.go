package api

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
)

// invitation makes an invitation and returns the secret of its link.
func (w *world) invitation(body any) string {
	w.t.Helper()
	if body == nil {
		body = object{}
	}
	return path.Base(w.do("POST", "/v1/admin/invitations", w.admin, body).is(201).str("url"))
}

// session signs the owner of a token in with a browser and returns the id of the
// session.
func (w *world) session(token string) string {
	w.t.Helper()
	id, _ := w.sessionOf(w.do("GET", "/v1/me", token, nil).is(200).str("owner_id"))
	return id
}

// sessionOf stores a session of an owner and returns its id and secret.
func (w *world) sessionOf(ownerID string) (id, secret string) {
	w.t.Helper()
	secret, hash := token.NewSecret(token.SessionSecretPrefix)
	now := w.api.now().UTC()
	id = arena.NewID(arena.SessionPrefix, now)
	w.ok(w.store.People.CreateSession(w.t.Context(), arena.Session{ID: id, OwnerID: ownerID, Hash: hash, CreatedAt: now, LastUsedAt: now}))
	return id, secret
}

// provider stands in for the OIDC provider: the code is the person's name.
type provider struct{ away bool }

func (p provider) Begin(context.Context) (string, arena.SignInAttempt, error) {
	if p.away {
		return "", arena.SignInAttempt{}, arena.Errorf(arena.CodeUnavailable, "away")
	}
	return "https://issuer.example/auth?state=s1", arena.SignInAttempt{State: "s1", Nonce: "n", Verifier: "v"}, nil
}

func (provider) Finish(_ context.Context, a arena.SignInAttempt, query url.Values) (arena.Identity, error) {
	if a.State == "" || query.Get("state") != a.State {
		return arena.Identity{}, arena.Errorf(arena.CodeUnauthorized, "begun elsewhere")
	}
	return arena.Identity{Issuer: "https://issuer.example", Subject: query.Get("code"), Name: query.Get("code"), Admin: query.Get("code") == "ann"}, nil
}

func (p provider) Ready(context.Context) error {
	if p.away {
		return arena.Errorf(arena.CodeUnavailable, "away")
	}
	return nil
}

// cookies returns the Set-Cookie headers of a reply by name.
func cookies(r response) map[string]*http.Cookie {
	all := map[string]*http.Cookie{}
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		all[c.Name] = c
	}
	return all
}

// signIn signs a person in at the provider and returns the cookie of the
// session.
func (w *world) signIn(name, query string) *http.Cookie {
	w.t.Helper()
	begun := w.do("GET", "/v1/signin/start?"+query, "", nil).is(303)
	attempt := cookies(begun)["__Host-"+attemptCookie]
	if attempt == nil || !strings.HasPrefix(begun.header.Get("Location"), "https://issuer.example/") {
		w.t.Fatalf("begun: %v", begun.header)
	}
	done := w.do("GET", "/v1/signin/callback?state=s1&code="+name, "", nil, "Cookie", attempt.Name+"="+attempt.Value, "Sec-Fetch-Site", "cross-site").is(303)
	c := cookies(done)["__Host-"+sessionCookie]
	if c == nil {
		w.t.Fatalf("no session: %v", done.header)
	}
	return c
}

// A person signs in at the provider and gets a session, which identifies the
// browser until it is ended.
func TestAPI_signIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Site.SignIn = SignInOptions{Provider: provider{}, Name: "Acme", Signup: "open"} })
	if ways := w.do("GET", "/v1/signin", "", nil).is(200); ways.str("provider.name") != "Acme" || ways.at("provider.available") != true {
		t.Errorf("%s", ways.body)
	}
	c := w.signIn("kim", "return=/console/new")
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie %+v", c)
	}
	cookie := c.Name + "=" + c.Value
	if brief := w.signIn("ann", "remember=false"); c.MaxAge != int(arena.SessionLongest/time.Second) || brief.MaxAge != 0 || !brief.Expires.IsZero() {
		t.Errorf("remembered for %d s, else for %d s until %v", c.MaxAge, brief.MaxAge, brief.Expires)
	}
	me := w.do("GET", "/v1/me", "", nil, "Cookie", cookie).is(200)
	if me.str("name") != "kim" || me.str("scope") != "owner" || me.at("session") != true || me.at("role") != nil {
		t.Errorf("%s", me.body)
	}
	for cookie, want := range map[string]bool{cookie: true, "": false, cookie + "x": false} {
		if got := w.do("GET", "/v1/signin", "", nil, "Cookie", cookie).is(200); got.at("session") != want {
			t.Errorf("%s", got.body)
		}
	}
	w.do("GET", "/v1/me", c.Value, nil).is(401) // it is no bearer token
	w.do("GET", "/v1/me", "bad", nil, "Cookie", cookie).is(401)
	if list := w.do("GET", "/v1/me/sessions", "", nil, "Cookie", cookie).is(200); list.at("items.0.current") != true {
		t.Errorf("%s", list.body)
	}
	w.now.Add((11 * time.Hour).Milliseconds())
	w.do("GET", "/v1/me", "", nil, "Cookie", cookie).is(200) // and lasts from now
	w.now.Add((11 * time.Hour).Milliseconds())
	if out := w.do("DELETE", "/v1/me/session", "", nil, "Cookie", cookie).is(204); cookies(out)[c.Name].MaxAge >= 0 {
		t.Errorf("%v", out.header)
	}
	w.do("GET", "/v1/me", "", nil, "Cookie", cookie).is(401)
	w.do("GET", "/v1/agents", "", nil, "Cookie", cookie).is(200) // what is public stays so

	again := w.signIn("kim", "")
	w.now.Add(arena.SessionIdle.Milliseconds())
	w.do("GET", "/v1/me", "", nil, "Cookie", again.Name+"="+again.Value).is(401)
}

// Whoever the issuer names an admin is one, and for no longer than eight hours.
func TestAPI_signIn_admin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Site.SignIn = SignInOptions{Provider: provider{}, Name: "Acme", Signup: "closed"} })
	c := w.signIn("ann", "return=/admin")
	cookie := c.Name + "=" + c.Value
	w.do("GET", "/v1/admin/status", "", nil, "Cookie", cookie).is(200)
	w.now.Add((7 * time.Hour).Milliseconds())
	w.do("GET", "/v1/admin/status", "", nil, "Cookie", cookie).is(200)
	w.now.Add(time.Hour.Milliseconds())
	w.do("GET", "/v1/admin/status", "", nil, "Cookie", cookie).is(401)
}

// A sign-in that fails shows the page that it began on, with the reason.
func TestAPI_signIn_failures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Site.SignIn = SignInOptions{Provider: provider{}, Signup: "open"} })
	for _, to := range []string{"https://stranger.example", "//stranger.example", "/\\stranger.example", "javascript:alert(1)", "console"} {
		w.do("GET", "/v1/signin/start?return="+url.QueryEscape(to), "", nil).is(422)
	}
	begun := cookies(w.do("GET", "/v1/signin/start?return=/admin", "", nil).is(303))["__Host-"+attemptCookie]
	for _, tt := range []struct{ query, cookie, want string }{
		{"state=s2&code=kim", begun.Value, "/admin?signin=unauthorized"},
		{"state=s1&code=kim", "", "/console?signin=unauthorized"},
		{"state=s1&code=kim", "rubbish", "/console?signin=unauthorized"},
	} {
		got := w.do("GET", "/v1/signin/callback?"+tt.query, "", nil, "Cookie", begun.Name+"="+tt.cookie).is(303)
		if got.header.Get("Location") != tt.want || cookies(got)["__Host-"+sessionCookie] != nil {
			t.Errorf("%+v: %v", tt, got.header)
		}
	}
	away := newWorld(t, func(o *parts) { o.Site.SignIn = SignInOptions{Provider: provider{away: true}, Signup: "open"} })
	if got := away.do("GET", "/v1/signin/start", "", nil).is(303); got.header.Get("Location") != "/console?signin=unavailable" {
		t.Errorf("%v", got.header)
	}
	if ways := away.do("GET", "/v1/signin", "", nil).is(200); ways.at("provider.available") != false {
		t.Errorf("%s", ways.body)
	}
}

// Threat A3: the cookie of a session acts for pages of the arena alone, reads
// included.
func TestAPI_session_crossSite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, secret := w.sessionOf(w.do("GET", "/v1/me", w.alice, nil).str("owner_id"))
	cookie := "__Host-" + sessionCookie + "=" + secret
	for _, tt := range []struct {
		site, origin string
		own          bool
	}{
		{"", "", true},
		{"same-origin", "https://example.com", true},
		{"none", "", true},
		{"", "https://example.com", true},
		{"cross-site", "https://stranger.example", false},
		{"cross-site", "", false},
		{"same-site", "https://other.example.com", false},
		{"", "https://stranger.example", false},
		{"", "null", false},
		{"rubbish", "", false},
	} {
		header := []string{"Cookie", cookie}
		if tt.site != "" {
			header = append(header, "Sec-Fetch-Site", tt.site)
		}
		if tt.origin != "" {
			header = append(header, "Origin", tt.origin)
		}
		read, write := 401, 401
		if tt.own {
			read, write = 200, 201
		}
		w.do("GET", "/v1/me", "", nil, header...).is(read)
		w.do("POST", "/v1/me/tokens", "", object{"name": "ci"}, header...).is(write)
	}
	// A name that another host of the domain could set is not taken.
	w.do("GET", "/v1/me", "", nil, "Cookie", sessionCookie+"="+secret).is(401)
}

// A link is used once, and says why it cannot be used.
func TestAPI_invitations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.SignupMode = "invite" })
	w.do("POST", "/v1/owners", "", object{"name": "Kim"}).is(403)
	secret := w.invitation(object{"name": "Kim"})
	if got := w.do("POST", "/v1/invitations/check", "", object{"invitation": secret}).is(200); got.str("name") != "Kim" {
		t.Errorf("%s", got.body)
	}
	joined := w.do("POST", "/v1/invitations/join", "", object{"invitation": secret}).is(201)
	if me := w.do("GET", "/v1/me", joined.str("token"), nil).is(200); me.str("name") != "Kim" || me.at("role") != nil {
		t.Errorf("%s", me.body)
	}
	refused := func(status int, secret, code string) {
		t.Helper()
		for _, path := range []string{"check", "join"} {
			body := object{"invitation": secret}
			if got := w.do("POST", "/v1/invitations/"+path, "", body).is(status); got.str("code") != code {
				t.Errorf("%s: %s", path, got.body)
			}
		}
	}
	refused(409, secret, "invitation_used")
	refused(404, "wrong", "not_found")
	brief := w.invitation(object{"expires_in": 60})
	w.now.Add(time.Minute.Milliseconds())
	refused(409, brief, "invitation_expired")
	made := w.do("POST", "/v1/admin/invitations", w.admin, object{}).is(201)
	w.do("DELETE", "/v1/admin/invitations/"+made.str("invitation_id"), w.admin, nil).is(204)
	w.do("DELETE", "/v1/admin/invitations/"+made.str("invitation_id"), w.admin, nil).is(404)
	refused(409, path.Base(made.str("url")), "invitation_revoked")

	for name, body := range map[string]object{
		"uses with a role": {"role": "admin", "uses": 2}, "no league": {"role": "organizer"}, "unknown league": {"role": "organizer", "leagues": []string{"none"}},
		"league without a role": {"leagues": []string{"quiz"}}, "expires_in": {"expires_in": 59}, "uses": {"uses": 101},
	} {
		if got := w.do("POST", "/v1/admin/invitations", w.admin, body); got.status != 422 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// A person gets a role by an invitation, uses it with whatever signs them in, and
// loses it at once. Threat A1.
func TestAPI_roles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Site.SignIn = SignInOptions{Provider: provider{}, Signup: "open"} })
	w.league("quiz", nil)
	w.league("cup", nil)
	boss := w.do("POST", "/v1/invitations/join", "", object{"invitation": w.invitation(object{"role": "admin"}), "name": "Boss"}).is(201)
	bossToken := boss.str("token")
	w.do("GET", "/v1/admin/status", bossToken, nil).is(200)
	w.do("POST", "/v1/me/tokens", bossToken, object{"name": "cli"}).is(201) // and is an owner still

	// Alice, who has an account, becomes the organizer of one league.
	w.do("POST", "/v1/invitations/join", w.alice, object{"invitation": w.invitation(nil)}).is(409)
	w.do("POST", "/v1/invitations/join", w.alice, object{"invitation": w.invitation(object{"role": "organizer", "leagues": []string{"quiz"}})}).is(201)
	w.do("PATCH", "/v1/leagues/quiz", w.alice, object{"title": "Mine"}).is(200)
	w.do("PATCH", "/v1/leagues/cup", w.alice, object{"title": "Mine"}).is(403)
	w.do("GET", "/v1/admin/status", w.alice, nil).is(403)
	w.do("POST", "/v1/invitations/join", w.alice, object{"invitation": w.invitation(object{"role": "admin"})}).is(409)
	_, secret := w.sessionOf(w.aliceI)
	cookie := "__Host-" + sessionCookie + "=" + secret
	w.do("PATCH", "/v1/leagues/quiz", "", object{"title": "Ours"}, "Cookie", cookie).is(200)

	// An agent's key never runs the arena.
	agent := w.agent(w.alice, "a", "quiz")
	key := w.do("POST", "/v1/agents/"+agent+"/keys", w.alice, object{"name": "k"}).is(201).str("agent_key")
	w.do("PATCH", "/v1/leagues/quiz", key, object{"title": "Theirs"}).is(403)

	// At the provider, Kim takes up an invitation as a moderator.
	c := w.signIn("kim", "invitation="+w.invitation(object{"role": "moderator"}))
	kim := w.do("GET", "/v1/me", "", nil, "Cookie", c.Name+"="+c.Value).is(200)
	if kim.str("role") != "moderator" {
		t.Errorf("%s", kim.body)
	}
	if people := w.do("GET", "/v1/admin/people", bossToken, nil).is(200); people.str("items.0.name") != "Boss" || people.at("items.0.current") != true || people.str("items.2.owner_id") != w.aliceI {
		t.Errorf("%s", people.body)
	}
	w.do("PUT", "/v1/admin/people/"+kim.str("owner_id"), bossToken, object{"role": "organizer", "leagues": []string{"cup"}}).is(200)
	w.do("PUT", "/v1/admin/people/"+boss.str("owner_id"), bossToken, object{"role": "moderator"}).is(409)
	w.do("DELETE", "/v1/admin/people/"+boss.str("owner_id"), bossToken, nil).is(409)
	w.do("PUT", "/v1/admin/people/ow_none", bossToken, object{"role": "moderator"}).is(404)
	w.do("DELETE", "/v1/admin/people/"+w.aliceI, bossToken, nil).is(204)
	w.do("PATCH", "/v1/leagues/quiz", w.alice, object{"title": "Mine"}).is(403)
	w.do("PATCH", "/v1/leagues/quiz", "", object{"title": "Mine"}, "Cookie", cookie).is(403)
	log := w.do("GET", "/v1/admin/audit", w.admin, nil).is(200)
	for _, action := range []string{"invite", "join", "set-role", "remove-role"} {
		if !strings.Contains(string(log.body), `"`+action+`"`) {
			t.Errorf("%s is not audited", action)
		}
	}
	if !strings.Contains(string(log.body), `"actor":"`+boss.str("owner_id")+`"`) {
		t.Error("the audit log does not name the person")
	}

	// Re-issuing a person's access ends the sessions, too.
	w.do("POST", "/v1/admin/owners/"+w.aliceI+"/tokens", w.admin, nil).is(201)
	w.do("GET", "/v1/me", "", nil, "Cookie", cookie).is(401)
}
