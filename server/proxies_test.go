package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/vitals"
)

// Threat V2: the clients of a proxy that no setting names share the limits of one
// address. The first request through it is logged, and the health of the arena names it.
func TestServer_undeclaredProxy(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, err := New(t.Context(), testConfig(t, "sqlite:"+t.TempDir()+"/arena.db", "ARENA_TRUSTED_PROXIES=10.0.0.0/8"), slog.New(slog.NewTextHandler(&log, nil)), Options{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	send := func(from, forwarded string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/version", nil)
		r.RemoteAddr = from
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		s.public.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	fact := func() vitals.Fact {
		facts, err := s.newVitals().Facts(t.Context(), arena.Operations{})
		must(t, err)
		for _, f := range facts {
			if f.Name == vitals.Proxy {
				return f
			}
		}
		t.Fatalf("nothing about proxies in %+v", facts)
		return vitals.Fact{}
	}
	send("192.0.2.1:1000", "")
	send("10.1.2.3:1000", "198.51.100.7")
	send("[::ffff:10.1.2.3]:1000", "198.51.100.7")
	if f := fact(); f.Level != vitals.OK || strings.Contains(log.String(), "X-Forwarded-For") {
		t.Errorf("a declared proxy: %+v, %s", f, log.String())
	}
	for i := range 70 {
		send("192.0.2.9:1000", fmt.Sprintf("198.51.100.%d", i))
	}
	if f := fact(); f.Level != vitals.Warning || f.Subject != "192.0.2.9" || f.At.IsZero() {
		t.Errorf("an undeclared proxy: %+v", f)
	}
	if text := log.String(); strings.Count(text, "X-Forwarded-For") != 1 || !strings.Contains(text, "ARENA_TRUSTED_PROXIES") || !strings.Contains(text, "address=192.0.2.9") {
		t.Errorf("logged %s", text)
	}
	for i := range 100 { // any client can send the header
		send(fmt.Sprintf("203.0.113.%d:1000", i), "198.51.100.7")
	}
	if n := strings.Count(log.String(), "X-Forwarded-For"); n != maxProxies {
		t.Errorf("logged %d addresses, want %d", n, maxProxies)
	}
}

// A public https URL without TLS of its own means a proxy, before any request. Threat V2.
func TestServer_proxyMissing(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]bool{"ARENA_TRUSTED_PROXIES=": true, "ARENA_TRUSTED_PROXIES=10.0.0.0/8": false} {
		s := newTestServer(t, "ARENA_PUBLIC_URL=https://arena.example", "ARENA_ALLOW_CIDRS_FORCE=1", setting)
		if address, _, found := s.undeclaredProxy(); address != "" || found != want {
			t.Errorf("%s: %q, %v", setting, address, found)
		}
	}
}
