package api

import (
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// No name, query or body makes a route fail: errors name what is wrong.
// The rows are real. Threat A5.
func FuzzAPI(f *testing.F) {
	o := testOptions(f)
	o.Logger, o.Limits = slog.New(slog.DiscardHandler), quota.Limits{}
	s, err := store.Open(f.Context(), storetest.SQLite(f), store.Options{Logger: o.Logger, Now: o.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() }) // nothing in it is needed
	if err := s.Migrate(f.Context()); err != nil {
		f.Fatal(err)
	}
	o.useStore(f, s)
	o.Publisher = &publisher{}
	a := newAPI(f, o)
	secret, hash := token.NewSecret(token.OwnerSecretPrefix)
	owner := arena.NewID(arena.OwnerPrefix, testNow)
	if err := s.Accounts.CreateOwner(f.Context(), arena.Owner{ID: owner, Name: "o", CreatedAt: testNow}, arena.Token{
		ID: arena.NewID(arena.TokenPrefix, testNow), OwnerID: owner, Scope: arena.ScopeOwner, Hash: hash, CreatedAt: testNow,
	}); err != nil {
		f.Fatal(err)
	}
	boss, hash := token.NewSecret(token.AdminSecretPrefix)
	if err := s.Accounts.CreateToken(f.Context(), arena.Token{ID: "to_admin", Scope: arena.ScopeAdmin, Hash: hash, CreatedAt: time.UnixMilli(1)}); err != nil {
		f.Fatal(err)
	}
	var routed []route
	for _, r := range routes() {
		// These stand in the tests with parts that fail on purpose.
		if r.scope != scopeElsewhere && r.id != "verify-ratings" && r.id != "check-agent" {
			routed = append(routed, r)
		}
	}
	for i, r := range routed {
		f.Add(uint8(i), "x", "limit=3&cursor=a&status=running&league=quiz", `{"name":"n","endpoint":"https://a.example","slug":"quiz","title":"Quiz","judge":"exact","rounds":3}`)
		f.Add(uint8(i), "'; --", "limit=-1&cursor=%00%ff&since=1e9&format=jsonl&name=p", "\"a\"\n")
		if strings.Contains(r.path, "{") {
			f.Add(uint8(i), "m_\x00\u202e", "since=99999999999999999999", `{"round":1e400}`)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, name, query, body string) {
		r := routed[int(n)%len(routed)]
		path := r.path
		for strings.Contains(path, "{") {
			from, to := strings.Index(path, "{"), strings.Index(path, "}")
			path = path[:from] + url.PathEscape(name) + path[to+1:]
		}
		u, err := url.Parse(path)
		if err != nil || len(query) > 4096 {
			return
		}
		u.RawQuery = query
		for _, token := range []string{boss, secret} {
			req := httptest.NewRequestWithContext(t.Context(), r.method, "/", strings.NewReader(body))
			req.URL = u
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			a.ServeHTTP(w, req)
			if w.Code == 500 {
				t.Fatalf("%s %s?%s %q: %s", r.method, u.Path, query, body, w.Body)
			}
		}
	})
}
