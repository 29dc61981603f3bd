package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
)

func TestAPI_limits(t *testing.T) {
	t.Parallel()
	t.Run("address", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) { o.Limits.AddressPerMinute = 3 })
		for range 3 {
			w.do("GET", "/v1/leagues", "", nil).is(200)
		}
		r := w.do("GET", "/v1/leagues", "", nil).is(429)
		if r.header.Get("Retry-After") != "20" || r.str("code") != "rate_limited" {
			t.Errorf("%v %s", r.header, r.body)
		}
		// Without a trusted proxy a header does not make another address. Threat V2.
		w.do("GET", "/v1/leagues", "", nil, "X-Forwarded-For", "203.0.113.9").is(429)
		if got := string(w.do("GET", "/v1/stream", "", nil, "X-Forwarded-For", "203.0.113.9").body); got != "stream GET 192.0.2.1:1234" {
			t.Errorf("the stream sees %q", got)
		}
		w.do("GET", "/v1/leagues", w.alice, nil).is(200)
		w.do("GET", "/healthz", "", nil).is(200)
		w.now.Add(20_000)
		w.do("GET", "/v1/leagues", "", nil).is(200)
	})
	t.Run("trusted proxy", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) {
			o.Limits.AddressPerMinute, o.Site.TrustedProxies = 1, []string{"192.0.2.1"} // where httptest comes from
		})
		w.do("GET", "/v1/leagues", "", nil, "X-Forwarded-For", "203.0.113.9").is(200)
		w.do("GET", "/v1/leagues", "", nil, "X-Forwarded-For", "203.0.113.9").is(429)
		w.do("GET", "/v1/leagues", "", nil, "X-Forwarded-For", "203.0.113.10").is(200)
		if got := string(w.do("GET", "/v1/stream", "", nil, "X-Forwarded-For", "203.0.113.9").body); got != "stream GET 203.0.113.9:0" {
			t.Errorf("the stream sees %q", got)
		}
	})
	// Threat A4.
	t.Run("guessing tokens", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) { o.Limits.AddressPerMinute = 5 })
		for i := range 5 {
			w.do("GET", "/v1/me", fmt.Sprint("guess", i), nil).is(401)
		}
		w.do("GET", "/v1/me", "guess5", nil).is(429)
	})
	// Threat V6: more tokens, keys or sessions allow an owner no more.
	t.Run("owner", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) { o.Limits.OwnerPerMinute = 6 })
		owner := w.do("GET", "/v1/me", w.alice, nil).is(200).str("owner_id")
		other := w.do("POST", "/v1/me/tokens", w.alice, object{"name": "ci"}).is(201).str("token")
		key := w.do("POST", "/v1/agents", w.alice, object{"name": "poller", "protocol": "aap"}).is(201).str("agent_key")
		_, session := w.sessionOf(owner)
		me := func(status int) {
			t.Helper()
			for _, token := range []string{other, key, ""} {
				w.do("GET", "/v1/me", token, nil, "Cookie", "__Host-"+sessionCookie+"="+session).is(status)
			}
		}
		me(200)
		me(429)
		w.do("GET", "/v1/me", w.bob, nil).is(200)
		w.do("GET", "/v1/me", w.admin, nil).is(200)
	})
	// Threat V6: nor do more owners at one address. A class there has enough.
	t.Run("owners of an address", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) {
			o.Limits.OwnerPerMinute, o.Limits.RequestsPerMinute, o.Site.TrustedProxies = 3, 5, []string{"192.0.2.1"}
		})
		me := func(token, address string, status int) {
			t.Helper()
			w.do("GET", "/v1/me", token, nil, "X-Forwarded-For", address).is(status)
		}
		for range 3 {
			me(w.alice, "203.0.113.9", 200)
		}
		for range 10 { // they take nothing from the others
			me(w.alice, "203.0.113.9", 429)
		}
		me(w.bob, "203.0.113.9", 200)
		me(w.bob, "203.0.113.9", 200)
		me(w.bob, "203.0.113.9", 429)
		me(w.bob, "203.0.113.10", 200) // which a refusal has left
		me(w.bob, "203.0.113.10", 429)
	})
	t.Run("sign-ups", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) { o.Limits.SignUpsPerHour = 1 })
		w.do("POST", "/v1/owners", "", object{"name": "carol"}).is(201)
		w.do("POST", "/v1/owners", "", object{"name": "dave"}).is(429)
	})
	// Two nodes count together; when they cannot, each counts alone. Threat C4.
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		var keys []string
		var away atomic.Bool
		w := newWorld(t, func(o *parts) {
			o.Limits.SignUpsPerHour, o.Limits.AddressPerMinute = 3, 8
			o.TakeShared = func(_ context.Context, key string, limit int, window time.Duration) (time.Duration, bool, error) {
				if away.Load() {
					return 0, false, errors.New("away")
				}
				keys = append(keys, fmt.Sprint(key, " ", limit, " ", window))
				return 1500 * time.Millisecond, len(keys)%2 == 1, nil
			}
		})
		w.do("POST", "/v1/owners", "", object{"name": "carol"}).is(201)
		if r := w.do("POST", "/v1/owners", "", object{"name": "dave"}).is(429); r.header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After %q, want 2", r.header.Get("Retry-After"))
		}
		w.do("GET", "/v1/me", "guess", nil).is(401)
		w.do("GET", "/v1/me", "guess", nil).is(429)
		w.do("GET", "/v1/leagues", "", nil).is(200) // reading without a token is no login
		want := []string{"signup:192.0.2.1 3 1h0m0s", "signup:192.0.2.1 3 1h0m0s", "login:192.0.2.1 8 1m0s", "login:192.0.2.1 8 1m0s"}
		if !slices.Equal(keys, want) {
			t.Errorf("took %q, want %q", keys, want)
		}
		away.Store(true)
		w.do("POST", "/v1/owners", "", object{"name": "erin"}).is(201)
		w.do("POST", "/v1/owners", "", object{"name": "frank"}).is(429)
		w.do("GET", "/v1/me", "guess", nil).is(401)
		w.do("GET", "/v1/me", "guess", nil).is(429)
	})
	// Threats S7 and N4.
	t.Run("endpoint checks", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) { o.Limits.ChecksPerMinute = 2 })
		id := w.agent(w.alice, "steady")
		other := w.do("POST", "/v1/me/tokens", w.alice, object{"name": "ci"}).is(201).str("token")
		w.do("POST", "/v1/agents/"+id+"/check", w.alice, nil).is(200)
		w.do("POST", "/v1/agents/"+id+"/check", w.alice, nil).is(429)
		w.do("POST", "/v1/agents/"+id+"/check", other, nil).is(429)
	})
	// Threat A4.
	t.Run("passwords of leagues", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) { o.Limits.PasswordsPerHour = quota.DefaultLimits().PasswordsPerHour })
		w.league("club", object{"entry": object{"password": "sesame"}})
		entry := "/v1/leagues/club/entries/" + w.agent(w.alice, "steady")
		for range 60 {
			w.do("PUT", entry, w.alice, nil, "X-League-Password", "guess").is(403)
		}
		w.do("PUT", entry, w.alice, nil, "X-League-Password", "sesame").is(429)
		w.do("PUT", "/v1/leagues/club/entries/"+w.agent(w.bob, "other"), w.bob, nil, "X-League-Password", "sesame").is(204)
	})
	t.Run("agents of one owner", func(t *testing.T) {
		t.Parallel()
		if quota.DefaultLimits().AgentsPerOwner <= 0 {
			t.Error("an owner may have any number of agents")
		}
		const most = 101 // more than a page of a list
		w := newWorld(t, func(o *parts) { o.Limits.AgentsPerOwner = most })
		var id string
		for i := range most {
			id = w.agent(w.alice, fmt.Sprint("steady-", i))
		}
		w.do("POST", "/v1/agents", w.alice, object{"name": "next", "endpoint": "https://next.example"}).is(409)
		w.agent(w.bob, "another")
		w.do("DELETE", "/v1/agents/"+id, w.alice, nil).is(204)
		w.agent(w.alice, "next")
	})
}

// What one address, or one site, asks of the pages, the protocols and the stream
// is counted, and refused in the form of each. Threat V6.
func TestAPI_traffic(t *testing.T) {
	t.Parallel()
	limited := func(t *testing.T) *world {
		t.Helper()
		return newWorld(t, func(o *parts) {
			o.Limits = quota.Limits{PagesPerMinute: 600, RequestsPerMinute: 60, BytesPerMinute: 1 << 20}
			o.Site.TrustedProxies = []string{"192.0.2.1"} // where httptest comes from
		})
	}
	// ask returns how many of n requests for the path are answered with each status.
	ask := func(w *world, n int, path string, from func(i int) string) map[int]int {
		got := map[int]int{}
		for i := range n {
			got[w.do("GET", path, "", nil, "X-Forwarded-For", from(i)).status]++
		}
		return got
	}
	one := func(int) string { return "203.0.113.9" }
	site := func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i) }
	t.Run("pages", func(t *testing.T) {
		t.Parallel()
		w := limited(t)
		if got, want := ask(w, 10_000, "/leagues", one), (map[int]int{200: 600, 429: 9400}); !maps.Equal(got, want) {
			t.Errorf("one address: %v, want %v", got, want)
		}
		if got, want := ask(w, 10_000, "/", site), (map[int]int{200: 600 * arena.SiteFactor, 429: 10_000 - 600*arena.SiteFactor}); !maps.Equal(got, want) {
			t.Errorf("a /48: %v, want %v", got, want)
		}
		r := w.do("GET", "/skill.md", "", nil, "X-Forwarded-For", one(0)).is(429)
		if r.header.Get("Retry-After") != "1" || r.str("code") != "rate_limited" || r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v %s", r.header, r.body)
		}
		w.do("GET", "/v1/leagues", "", nil, "X-Forwarded-For", one(0)).is(200)
		w.do("GET", "/v1/stream", "", nil, "X-Forwarded-For", one(0)).is(200)
		w.do("GET", "/", "", nil, "X-Forwarded-For", "203.0.113.10").is(200)
		w.do("GET", "/healthz", "", nil, "X-Forwarded-For", one(0)).is(200)
	})
	for _, path := range []string{"/v1/stream", "/relay/events", "/agora/wellknown", "/agora/nothing", "/agentprotocol", "/.well-known/agent-card.json"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := limited(t)
			if got, want := ask(w, 100, path, one), (map[int]int{200: 60, 429: 40}); !maps.Equal(got, want) {
				t.Errorf("one address: %v, want %v", got, want)
			}
			if got, want := ask(w, 1000, path, site), (map[int]int{200: 60 * arena.SiteFactor, 429: 1000 - 60*arena.SiteFactor}); !maps.Equal(got, want) {
				t.Errorf("a /48: %v, want %v", got, want)
			}
			if r := w.do("GET", path, "", nil, "X-Forwarded-For", one(0)).is(429); r.str("detail") != "inbound: too many requests from this address; try again in 1 s" {
				t.Errorf("not in the form of the handler: %s", r.body)
			}
			w.do("GET", "/", "", nil, "X-Forwarded-For", one(0)).is(200)
		})
	}
	t.Run("answers in a page", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) {
			o.Limits = quota.Limits{AddressPerMinute: 2}
			o.Site.TrustedProxies = []string{"192.0.2.1"}
			o.Handlers.UI = func(api http.Handler) http.Handler { // as package web does
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					read := httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/v1/leagues", http.NoBody)
					read.RemoteAddr = r.RemoteAddr
					api.ServeHTTP(w, read)
				})
			}
		})
		if got, want := ask(w, 5, "/leagues", one), (map[int]int{200: 2, 429: 3}); !maps.Equal(got, want) {
			t.Errorf("pages: %v, want %v", got, want)
		}
		w.do("GET", "/v1/leagues", "", nil, "X-Forwarded-For", one(0)).is(429)
		w.do("GET", "/v1/leagues", "", nil, "X-Forwarded-For", "203.0.113.10").is(200)
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(o *parts) {
			o.Limits = quota.Limits{BytesPerMinute: 60_000}
			o.Handlers.UI = func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 30_000)) })
			}
		})
		w.do("POST", "/agentprotocol", "", strings.Repeat(" ", 60_000)).is(200)
		w.do("POST", "/agentprotocol", "", strings.Repeat(" ", 60_000)).is(429)
		w.do("GET", "/", "", nil).is(200)
		w.do("GET", "/", "", nil).is(200)
		if r := w.do("GET", "/", "", nil).is(429); r.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q, want 1", r.header.Get("Retry-After"))
		}
		w.now.Add(60_000)
		w.do("GET", "/", "", nil).is(200)
		w.do("POST", "/agentprotocol", "", "x").is(200)
	})
}
