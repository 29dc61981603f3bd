package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/signin/signintest"
)

// browser is a browser with cookies at an arena on https.
type browser struct {
	t       *testing.T
	arena   *Server
	cookies map[string]*http.Cookie
}

// send sends a request, as a page of the site would, and keeps the cookies.
func (b *browser) send(method, path, site string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, nil)
	r.Header.Set("Sec-Fetch-Site", site)
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.arena.api.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return w
}

func (b *browser) is(w *httptest.ResponseRecorder, status int) *httptest.ResponseRecorder {
	b.t.Helper()
	if w.Code != status {
		b.t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	return w
}

// signIn signs a person in at the provider, and returns where the arena sends
// the browser then.
func (b *browser) signIn(idp signintest.Provider, login, returnTo string) (back *url.URL, page string) {
	b.t.Helper()
	begun := b.is(b.send("GET", "/v1/signin/start?return="+url.QueryEscape(returnTo), "same-origin"), 303)
	back = idp.SignIn(b.t, begun.Header().Get("Location"), login)
	return back, b.is(b.send("GET", back.RequestURI(), "cross-site"), 303).Header().Get("Location")
}

// A person signs in at a real provider and out again. Threats A1 and A3.
func TestSignIn_real(t *testing.T) {
	t.Parallel()
	idp := signintest.Start(t, "https://arena.example"+callbackPath)
	settings := []string{
		"ARENA_PUBLIC_URL=https://arena.example", "ARENA_ALLOW_CIDRS_FORCE=1", "ARENA_OIDC_ISSUER=" + idp.Issuer, "ARENA_OIDC_CLIENT_ID=" + idp.ClientID,
		"ARENA_OIDC_CLIENT_SECRET=" + idp.ClientSecret, "ARENA_OIDC_NAME=Acme",
	}
	s := newTestServer(t, settings...)
	if problems := s.cfg.CheckServices(t.Context()); problems != nil {
		t.Error(problems)
	}
	wrong := s.cfg
	wrong.OIDCClientSecret = "another"
	if problems := wrong.CheckServices(t.Context()); problems == nil || !strings.HasPrefix(problems.Error(), "ARENA_OIDC_CLIENT_SECRET: ") {
		t.Errorf("another secret: %v", problems)
	}
	const session = "__Host-arena_session"
	b := &browser{t, s, map[string]*http.Cookie{}}
	back, page := b.signIn(idp, "kim", "/console?tab=agents")
	if page != "/console?tab=agents" {
		t.Errorf("sent to %s", page)
	}
	first := b.cookies[session]
	if len(b.cookies) != 1 || first == nil || !first.HttpOnly || !first.Secure || first.SameSite != http.SameSiteLaxMode || first.Path != "/" || first.Domain != "" {
		t.Fatalf("cookies %v", b.cookies)
	}
	var me struct {
		Name, Email, Scope, Role string
		OwnerID                  string `json:"owner_id"`
		Session                  bool
	}
	who := func() {
		t.Helper()
		if err := json.Unmarshal(b.is(b.send("GET", "/v1/me", "same-origin"), 200).Body.Bytes(), &me); err != nil {
			t.Fatal(err)
		}
	}
	if who(); me.Name != "kim of the tests" || me.Email != "kim@example.org" || me.Scope != "owner" || !me.Session || me.Role != "" {
		t.Errorf("%+v", me)
	}
	kim := me.OwnerID
	b.is(b.send("GET", "/v1/me", "cross-site"), 401)
	b.is(b.send("DELETE", "/v1/me/session", "cross-site"), 401)
	b.is(b.send("GET", "/v1/admin/owners", "same-origin"), 403)

	// The same code again, with or without the cookie of the attempt.
	if got := b.is(b.send("GET", back.RequestURI(), "cross-site"), 303).Header().Get("Location"); !strings.HasSuffix(got, "?signin=unauthorized") {
		t.Errorf("a replayed code: sent to %s", got)
	}
	// Another sign-in is another session of the same owner; another browser
	// cannot finish it.
	begun := b.is(b.send("GET", "/v1/signin/start", "same-origin"), 303)
	back = idp.SignIn(t, begun.Header().Get("Location"), "kim")
	other := &browser{t, s, map[string]*http.Cookie{}}
	if got := other.is(other.send("GET", back.RequestURI(), "cross-site"), 303).Header().Get("Location"); !strings.HasSuffix(got, "?signin=unauthorized") || len(other.cookies) != 0 {
		t.Errorf("another browser: sent to %s with %v", got, other.cookies)
	}
	b.is(b.send("GET", back.RequestURI(), "cross-site"), 303)
	if b.cookies[session].Value == first.Value {
		t.Error("the session is the same")
	}
	if who(); me.OwnerID != kim {
		t.Errorf("%+v", me)
	}
	b.is(b.send("DELETE", "/v1/me/session", "same-origin"), 204)
	if len(b.cookies) != 0 {
		t.Errorf("cookies %v", b.cookies)
	}
	b.is(b.send("GET", "/v1/me", "same-origin"), 401)

	// The issuer names admins. A deleted owner's session is over at once.
	admin := &browser{t, s, map[string]*http.Cookie{}}
	admin.signIn(idp, "admin", "/admin")
	admin.is(admin.send("GET", "/v1/admin/owners", "same-origin"), 200)
	b.signIn(idp, "kim", "")
	if w := request(t, s, "DELETE", "/v1/admin/owners/"+kim+"?confirm="+url.QueryEscape(me.Name), testAdmin, ""); w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	b.is(b.send("GET", "/v1/me", "same-origin"), 401)
}

// An arena whose provider is wrong runs on, and the check names what is wrong.
func TestConfig_CheckServices(t *testing.T) {
	t.Parallel()
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name := map[string]string{"/other": "https://other.example", "/none": "http://" + r.Host + "/none"}[strings.TrimSuffix(r.URL.Path, "/.well-known/openid-configuration")]
		if name == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"issuer": "` + name + `", "jwks_uri": "http://` + r.Host + `/keys"}`))
	}))
	t.Cleanup(odd.Close)
	for path, want := range map[string]string{"": "404", "/other": "names itself", "/none": "no authorization code flow"} {
		s := newTestServer(t, "ARENA_PUBLIC_URL=https://arena.example", "ARENA_ALLOW_CIDRS_FORCE=1", "ARENA_OIDC_ISSUER="+odd.URL+path, "ARENA_OIDC_CLIENT_ID=arena")
		problems := s.cfg.CheckServices(t.Context())
		if problems == nil || strings.Count(problems.Error(), "ARENA_") != 1 || !strings.Contains(problems.Error(), want) || !strings.Contains(problems.Error(), "ARENA_OIDC_ISSUER") {
			t.Errorf("%s: %v", path, problems)
		}
		if w := request(t, s, "GET", "/v1/signin", "", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"available":false`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if w := request(t, s, "GET", "/v1/me", testAdmin, ""); w.Code != 200 && w.Code != 404 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
