package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/quota"
)

// Threat A3: a browser adds cookies to the requests of another site. None
// is a token: with every cookie that there could be, a route that needs a
// token is closed.
func TestAPI_cookiesGrantNothing(t *testing.T) {
	t.Parallel()
	m := newMatrixWorld(t)
	cookie := voterCookie + "=x." + m.api.votes.signVoter("x") + "; token=" + m.admin + "; Authorization=Bearer " + m.alice
	for _, r := range routes() {
		if r.scope == scopePublic || r.scope == scopeElsewhere {
			continue
		}
		path, body := m.object(r)
		if got := m.do(r.method, path, "", body, "Cookie", cookie); got.status != http.StatusUnauthorized {
			t.Errorf("%s %s with cookies: status %d: %s", r.method, path, got.status, got.body)
		}
	}
}

// Threat A3: the only cookie names a voter, and another site
// cannot vote with it. What no browser sent, and what our own page sent, is
// taken; so is whatever carries a token, which no browser adds by itself.
func TestAPI_crossSite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Limits = quota.Limits{} })
	w.league("quiz", nil)
	id := w.do("POST", "/v1/matches", w.admin, object{
		"league": "quiz", "agents": []string{w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")},
	}).is(201).str("match_id")
	cookie := voterCookie + "=x." + w.api.votes.signVoter("x")
	const foreign, own = "https://stranger.example", "https://example.com" // the latter is the host of these requests
	for _, tt := range []struct {
		site, origin string
		taken        bool
	}{
		{"", "", true},
		{"same-origin", own, true},
		{"same-origin", foreign, true}, // the browser knows better than a name behind a proxy
		{"none", "", true},
		{"cross-site", foreign, false},
		{"cross-site", own, false},
		{"cross-site", "", false},
		{"same-site", "https://other.example.com", false},
		{"rubbish", "", false},
		{"", foreign, false}, // an old browser
		{"", "null", false},
		{"", own, true},
	} {
		header := []string{"Cookie", cookie}
		if tt.site != "" {
			header = append(header, "Sec-Fetch-Site", tt.site)
		}
		if tt.origin != "" {
			header = append(header, "Origin", tt.origin)
		}
		want := map[bool]int{true: http.StatusConflict, false: http.StatusForbidden}[tt.taken] // no vote is open
		if got := w.do("POST", "/v1/matches/"+id+"/votes", "", object{"round": 1, "better": "A"}, header...); got.status != want {
			t.Errorf("site %q, origin %q: status %d, want %d: %s", tt.site, tt.origin, got.status, want, got.body)
		}
		if got := w.do("GET", "/v1/matches/"+id, "", nil, header...); got.status != http.StatusOK {
			t.Errorf("site %q, origin %q: reading answers %d", tt.site, tt.origin, got.status)
		}
		if got := w.do("POST", "/v1/me/tokens", w.alice, object{"name": "ci"}, header...); got.status != http.StatusCreated {
			t.Errorf("site %q, origin %q: a token's holder gets %d", tt.site, tt.origin, got.status)
		}
		for name := range w.do("GET", "/v1/matches/"+id, "", nil, header...).header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s opens the API to other sites", name)
			}
		}
	}
}
