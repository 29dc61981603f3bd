package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Threats O5 and O8: unsafe settings are named, each with its key, and safe ones are not.
func TestConfig_Warnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ []string
		warned  string // keys
	}{
		{nil, ""},
		{[]string{"ARENA_PUBLIC_URL=http://arena.example"}, "ARENA_PUBLIC_URL"},
		{[]string{"ARENA_PUBLIC_URL=http://203.0.113.7:8080"}, "ARENA_PUBLIC_URL"},
		{[]string{"ARENA_PUBLIC_URL=http://[2001:db8::7]"}, "ARENA_PUBLIC_URL"},
		{[]string{"ARENA_PUBLIC_URL=https://arena.example"}, "ARENA_TRUSTED_PROXIES"},
		{[]string{"ARENA_PUBLIC_URL=https://arena.example", "ARENA_TRUSTED_PROXIES=10.0.0.7"}, ""},
		{[]string{"ARENA_PUBLIC_URL=https://arena.example", "ARENA_TLS=auto"}, ""},
		{[]string{"ARENA_PUBLIC_URL=http://localhost:8080"}, ""},
		{[]string{"ARENA_PUBLIC_URL=http://192.168.1.5"}, ""},
		{[]string{"ARENA_PUBLIC_URL=http://arena1:8080"}, ""},
		{[]string{"ARENA_PUBLIC_URL=http://arena.internal"}, ""},
		{[]string{"ARENA_PUBLIC_URL=https://arena.example", "ARENA_ALLOW_CIDRS=10.0.0.0/8", "ARENA_ALLOW_CIDRS_FORCE=1", "ARENA_TRUSTED_PROXIES=10.0.0.7"}, "ARENA_ALLOW_CIDRS"},
		{[]string{"ARENA_ALLOW_CIDRS=127.0.0.0/8"}, ""},
		{[]string{"ARENA_ALLOW_HTTP_ENDPOINTS=1"}, "ARENA_ALLOW_HTTP_ENDPOINTS"},
		{[]string{"ARENA_METRICS_ADDR=:9090"}, "ARENA_METRICS_ADDR"},
		{[]string{"ARENA_METRICS_ADDR=0.0.0.0:9090"}, "ARENA_METRICS_ADDR"},
		{[]string{"ARENA_METRICS_ADDR=[::]:9090"}, "ARENA_METRICS_ADDR"},
		{[]string{"ARENA_METRICS_ADDR=203.0.113.7:9090"}, "ARENA_METRICS_ADDR"},
		{[]string{"ARENA_METRICS_ADDR=10.0.0.5:9090"}, ""},
		{[]string{"ARENA_METRICS_ADDR="}, ""},
		{[]string{"ARENA_ADMIN_TOKEN=aaaaaaaaaaaaaaaaaaaaaaaa"}, "ARENA_ADMIN_TOKEN"},
		{[]string{"ARENA_ADMIN_TOKEN=password12345678"}, "ARENA_ADMIN_TOKEN"},
		{[]string{"ARENA_ADMIN_TOKEN=Arena-Admin-Token-2026"}, "ARENA_ADMIN_TOKEN"},
		{[]string{"ARENA_ADMIN_TOKEN=my-super-secret-token"}, "ARENA_ADMIN_TOKEN"},
		{[]string{"ARENA_ADMIN_TOKEN=q7Zk2mXw9RtB4nVc"}, ""},
		{[]string{"ARENA_ADMIN_TOKEN=arena-admin-7f3c0a9be2d14865f07a3c9d1be84526"}, ""},
		{[]string{"ARENA_TRUSTED_PROXIES=0.0.0.0/1,128.0.0.0/1"}, "ARENA_TRUSTED_PROXIES ARENA_TRUSTED_PROXIES"},
		{[]string{"ARENA_TRUSTED_PROXIES=2000::/3"}, "ARENA_TRUSTED_PROXIES"},
		{[]string{"ARENA_TRUSTED_PROXIES=10.0.0.0/8,172.16.0.0/12,fc00::/7,104.16.0.0/13,2400:cb00::/32"}, ""},
	} {
		var keys []string
		for _, w := range load(t, c.environ...).Warnings() {
			keys = append(keys, w.Key)
		}
		if got := strings.Join(keys, " "); got != c.warned {
			t.Errorf("%v: warned of %q, want %q", c.environ, got, c.warned)
		}
	}
}

// Threat O5: the log repeats the warnings at each start, without the secret.
func TestServer_logsWarnings(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, "sqlite:"+t.TempDir()+"/arena.db")
	cfg.AdminToken = "password12345678"
	var log bytes.Buffer
	s, err := New(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)), Options{})
	must(t, err)
	must(t, s.Close())
	if text := log.String(); !strings.Contains(text, `level=WARN msg="unsafe setting" setting=ARENA_ADMIN_TOKEN`) || strings.Contains(text, cfg.AdminToken) {
		t.Errorf("logged %s", text)
	}
}
