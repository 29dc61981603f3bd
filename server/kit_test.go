package server

import (
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

const testAdmin = "admin-token-of-the-tests"

// newTestServer returns a server on a new SQLite database that is closed with
// the test. Its Run is not called. Settings are KEY=VALUE.
func newTestServer(t *testing.T, settings ...string) *Server {
	t.Helper()
	return newTestServerOn(t, "sqlite:"+filepath.Join(t.TempDir(), "arena.db"), settings...)
}

// newTestServerOn is newTestServer on another database.
func newTestServerOn(t *testing.T, database string, settings ...string) *Server {
	t.Helper()
	s, err := New(t.Context(), testConfig(t, database, settings...), slog.New(slog.DiscardHandler), Options{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func testConfig(t *testing.T, database string, settings ...string) Config {
	t.Helper()
	cfg, err := Load(Sources{Environ: settings, Flags: map[string]string{
		"ARENA_ADDR": "127.0.0.1:0", "ARENA_METRICS_ADDR": "", "ARENA_ADMIN_TOKEN": testAdmin,
		"ARENA_DATABASE_URL": database, "ARENA_ALLOW_CIDRS": "127.0.0.0/8",
	}})
	must(t, err)
	return cfg
}

// request sends one request to the API; body "" is none, token "" is none.
func request(t *testing.T, s *Server, method, path, token, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
