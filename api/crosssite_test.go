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
	}
}

// Threat A3: pages of other sites read what everyone may read, without the
// cookies of their reader, and nothing else.
func TestAPI_anyOrigin(t *testing.T) {
	t.Parallel()
	want := map[string]bool{
		"list-agents": true, "list-marks": true, "get-agent": true, "get-agent-conformance": true, "get-agent-badge": true, "list-agent-ratings": true, "list-agent-matches": true,
		"list-agent-uptime": true, "list-agent-opponents": true, "get-agent-calibration": true, "get-agent-outcomes": true, "list-agent-losses": true, "list-agent-topics": true, "get-agent-calendar": true, "get-agent-feed": true, "get-league-calendar": true, "get-league-feed": true,
		"list-leagues": true, "get-league": true, "list-standings": true, "export-league": true, "compare-agents": true, "list-league-rounds": true, "list-seasons": true, "get-season": true, "get-season-card": true,
		"get-judge": true, "get-audit": true, "list-league-matches": true, "list-games": true, "get-game": true, "get-lobby": true, "list-guesses": true, "get-recap": true,
		"list-matches": true, "get-match": true, "list-verdicts": true, "get-ballot": true, "list-match-events": true, "list-match-rounds": true, "get-match-record": true,
		"get-match-notation": true, "get-match-card": true, "watch": true,
		"get-jwks": true, "get-catalog": true, "get-openapi": true, "get-docs": true, "get-skill": true, "get-llms": true, "list-sdks": true, "get-install-script": true, "get-program": true, "get-program-checksum": true,
		"get-banner": true, "get-version": true, "get-health": true, "get-readiness": true,
	}
	w := newWorld(t, func(o *parts) { o.Limits = quota.Limits{} })
	anyID := strings.NewReplacer("{", "", "}", "")
	for _, r := range routes() {
		path := anyID.Replace(r.path)
		headers := map[string]http.Header{
			r.method:  w.do(r.method, path, "", nil, "Origin", "https://stranger.example", "Sec-Fetch-Site", "cross-site").header,
			"OPTIONS": w.do("OPTIONS", path, "", nil, "Origin", "https://stranger.example", "Access-Control-Request-Method", r.method).header,
		}
		if r.method != http.MethodGet {
			delete(headers, "OPTIONS") // a GET of the same path may have an answer
		}
		for method, h := range headers {
			if open := h.Get("Access-Control-Allow-Origin") == "*"; open != want[r.id] {
				t.Errorf("%s %s (%s) is open to other sites: %t", method, path, r.id, open)
			}
			for name := range h {
				if strings.HasPrefix(name, "Access-Control-") && (!want[r.id] || name == "Access-Control-Allow-Credentials") {
					t.Errorf("%s %s has %s", method, path, name)
				}
			}
		}
	}
	got := w.do("OPTIONS", "/v1/matches", "", nil, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization").is(http.StatusNoContent)
	if methods, headers := got.header.Get("Access-Control-Allow-Methods"), got.header.Get("Access-Control-Allow-Headers"); methods != "GET, HEAD" ||
		strings.Contains(strings.ToLower(headers), "authorization") || !strings.Contains(headers, "If-None-Match") {
		t.Errorf("other sites may use %s with %s", methods, headers)
	}
	if got := w.do("GET", "/v1/matches/none", "", nil).is(404).header; got.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(got.Get("Access-Control-Expose-Headers"), "Retry-After") {
		t.Errorf("a problem: %v", got)
	}
}
