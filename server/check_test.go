package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Threat O5: a setting that names something which cannot be used is found before the
// start, with what was tried and why it failed, and without a secret.
func TestConfig_CheckServices_wrong(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-of-the-test"
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error": "invalid_client", "error_description": "` + secret + `"}`))
			return
		}
		at := "http://" + r.Host
		_, _ = w.Write([]byte(`{"issuer": "` + at + `", "authorization_endpoint": "` + at + `/auth", "token_endpoint": "` + at + `/token", "jwks_uri": "` + at + `/keys"}`))
	}))
	t.Cleanup(issuer.Close)
	missing := filepath.Join(t.TempDir(), "none")
	text := filepath.Join(t.TempDir(), "text.db")
	must(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600))
	for _, c := range []struct {
		name, wants string
		settings    []string
	}{
		{"no server of the database", "ARENA_DATABASE_URL: connect to 127.0.0.1:1/arena: ", []string{"ARENA_DATABASE_URL=postgres://arena:" + secret + "@127.0.0.1:1/arena"}},
		{"no folder of the database", "ARENA_DATABASE_URL: no files can be made in " + missing + ": no such file or directory", []string{"ARENA_DATABASE_URL=sqlite:" + missing + "/arena.db"}},
		{"no database", "ARENA_DATABASE_URL: open " + text + ": ", []string{"ARENA_DATABASE_URL=sqlite:" + text}},
		{"no Redis", "ARENA_REDIS_URL: connect to 127.0.0.1:1/0: ", []string{"ARENA_REDIS_URL=redis://:" + secret + "@127.0.0.1:1/0"}},
		{"no collector", "ARENA_OTLP_URL: export to http://127.0.0.1:1: ", []string{"ARENA_OTLP_URL=http://127.0.0.1:1", "ARENA_OTLP_HEADERS=Authorization=" + secret}},
		{"no canary", "ARENA_CANARY_TARGETS: connect to 127.0.0.1:1: ", []string{"ARENA_CANARY_TARGETS=127.0.0.1:1"}},
		{
			"another client secret", "ARENA_OIDC_CLIENT_SECRET: authenticate as arena at " + issuer.URL + ": the issuer refuses the client: invalid_client",
			[]string{"ARENA_OIDC_ISSUER=" + issuer.URL, "ARENA_OIDC_CLIENT_ID=arena", "ARENA_OIDC_CLIENT_SECRET=" + secret},
		},
		{"no folder of backups", "ARENA_BACKUP_TO: no files can be made in " + missing + ": ", []string{"ARENA_BACKUP_TO=" + missing}},
		{"no folder of messages", "ARENA_AGENTPROTOCOL_DIR: no files can be made in " + missing + ": ", []string{"ARENA_AGENTPROTOCOL_DIR=" + missing}},
		{"no folder of programs", "ARENA_DOWNLOAD_DIR: open " + missing + ": ", []string{"ARENA_DOWNLOAD_DIR=" + missing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			settings := append([]string{"ARENA_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "arena.db")}, c.settings...)
			if strings.HasPrefix(c.settings[0], "ARENA_DATABASE_URL") {
				settings = c.settings
			}
			cfg, err := Load(Sources{Environ: settings})
			must(t, err)
			problem := cfg.CheckServices(t.Context())
			if problem == nil || !strings.HasPrefix(problem.Error(), c.wants) || strings.Count(problem.Error(), "ARENA_") != 1 || strings.Contains(problem.Error(), secret) {
				t.Errorf("got %v, want %s…", problem, c.wants)
			}
		})
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("the check made %s: %v", missing, err)
	}
}

// The check looks and leaves no trace: no database, no file in a folder. Threat O5.
func TestConfig_CheckServices_leavesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cfg := testConfig(t, "sqlite:"+filepath.Join(folder, "arena.db"), "ARENA_BACKUP_TO="+folder, "ARENA_AGENTPROTOCOL_DIR="+folder)
	must(t, cfg.CheckServices(t.Context()))
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	s := newTestServerOn(t, cfg.DatabaseURL) // a server that runs is no hindrance
	must(t, s.cfg.CheckServices(t.Context()))
}

// Services that accept a connection and then say nothing take their time together,
// not one after the other, and each is named. Threat O5.
func TestConfig_CheckServices_silent(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	at := l.Addr().String()
	cfg := testConfig(t, "postgres://arena@"+at+"/arena", "ARENA_REDIS_URL=redis://"+at, "ARENA_OTLP_URL=http://"+at)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	problem := cfg.CheckServices(ctx)
	for _, key := range []string{"ARENA_DATABASE_URL: ", "ARENA_REDIS_URL: ", "ARENA_OTLP_URL: "} {
		if problem == nil || !strings.Contains(problem.Error(), key) {
			t.Errorf("no %s in %v", key, problem)
		}
	}
}
