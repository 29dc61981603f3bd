package main

import (
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/certs/certstest"
	"github.com/agora-arena/arena/store"
)

// operator runs commands against one database of its own.
type operator struct {
	t       *testing.T
	environ []string
	file    string
}

func newOperator(t *testing.T) operator {
	t.Helper()
	file := filepath.Join(t.TempDir(), "arena.db")
	return operator{t: t, environ: []string{"ARENA_DATABASE_URL=sqlite:" + file, "ARENA_LOG_LEVEL=error"}, file: file}
}

// ok runs a command that must succeed and returns what it printed.
func (o operator) ok(args ...string) string {
	o.t.Helper()
	code, out, errs := call(o.t, o.environ, args...)
	if code != exitOK || errs != "" {
		o.t.Fatalf("arena %s: exit code %d, stderr %q", strings.Join(args, " "), code, errs)
	}
	return out
}

// refused runs a command that must fail with want in its message.
func (o operator) refused(want string, args ...string) {
	o.t.Helper()
	code, _, errs := call(o.t, o.environ, args...)
	if code != exitFailure || !strings.Contains(errs, want) {
		o.t.Fatalf("arena %s: exit code %d, stderr %q, want %q in it", strings.Join(args, " "), code, errs, want)
	}
}

// withoutSchema makes a database that has no tables yet.
func (o operator) withoutSchema() {
	o.t.Helper()
	s, err := store.Open(o.t.Context(), "sqlite:"+o.file, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		o.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		o.t.Fatal(err)
	}
}

// states returns the states of the printed keys, newest first.
func states(list string) string {
	var s []string
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); strings.HasPrefix(f[0], "key_") {
			s = append(s, f[1]+" "+f[2])
		}
	}
	return strings.Join(s, ", ")
}

func TestRun_Migrate(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.refused("arena: migrate up: there is no database sqlite:"+o.file, "migrate", "--status")
	if files, _ := filepath.Glob(filepath.Dir(o.file) + "/*"); len(files) != 0 {
		t.Errorf("looking for a database made one: %v", files)
	}
	if out := o.ok("migrate"); !strings.Contains(out, "migrated from 0") {
		t.Errorf("first run: %q", out)
	}
	for _, args := range [][]string{{"migrate"}, {"migrate", "--status"}} {
		if out := o.ok(args...); !strings.Contains(out, "nothing to do") {
			t.Errorf("%v: %q", args, out)
		}
	}
}

func TestRun_Keys(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.refused("there is no database", "keys", "list")
	o.ok("migrate")
	if out := o.ok("keys", "list"); !strings.Contains(out, "no keys yet") {
		t.Errorf("without keys: %q", out)
	}
	if got := states(o.ok("keys", "rotate")); got != "ES256 signing" {
		t.Errorf("the first rotation makes the first key: %q", got)
	}
	if got := states(o.ok("keys", "rotate", "--after", "0s")); got != "ES256 signing, ES256 retiring" {
		t.Errorf("--after 0s signs at once: %q", got)
	}
	o.refused("must be 0 to", "keys", "rotate", "--after", "200h")

	o.environ = append(o.environ, "ARENA_JWT_ALG=EdDSA")
	before := o.ok("keys", "list")
	if again := o.ok("keys", "list"); states(again) != states(before) || strings.Contains(before, "EdDSA") {
		t.Errorf("listing changed the keys:\n%s\n%s", before, again)
	}
	if got := states(o.ok("keys", "rotate")); got != "EdDSA next, ES256 signing, ES256 retiring" {
		t.Errorf("a rotation to another algorithm makes one key, which waits: %q", got)
	}
	if got := states(o.ok("keys", "rotate")); got != "EdDSA next, EdDSA next, ES256 signing, ES256 retiring" {
		t.Errorf("a rotation makes one key, which waits: %q", got)
	}
}

func TestRun_KeysNeedTheSchema(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.withoutSchema()
	o.refused("arena migrate --status", "keys", "rotate")
	o.refused("this binary wants", "migrate", "--status")
}

// Threat O7: a copy holds the signing keys, so only its owner may read it.
func TestRun_Backup(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	target := filepath.Join(t.TempDir(), "copy.db")
	o.refused("there is no database", "backup", target)
	o.ok("migrate")
	o.ok("keys", "rotate")
	if out := o.ok("backup", target); !strings.Contains(out, target) {
		t.Errorf("printed %q", out)
	}
	info, err := os.Stat(target)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v", info.Mode())
	}
	o.refused("exists; a backup never replaces a file", "backup", target)
	o.environ = append(o.environ, "ARENA_BACKUP_TO="+filepath.Join(t.TempDir(), "missing"))
	o.refused("missing: no such file or directory", "backup")
	before := o.ok("keys", "list")
	o.environ[0] = "ARENA_DATABASE_URL=sqlite:" + target
	if after := o.ok("keys", "list"); after != before {
		t.Errorf("the copy has the keys\n%s\nwant\n%s", after, before)
	}
	o.refused("ARENA_DATABASE_URL: "+target+" exists", "restore", target)
	restored := filepath.Join(t.TempDir(), "restored.db")
	o.environ[0] = "ARENA_DATABASE_URL=sqlite:" + restored
	if out := o.ok("restore", target); !strings.Contains(out, "Next: start the arena") {
		t.Errorf("printed %q", out)
	}
	if after := o.ok("keys", "list"); after != before {
		t.Errorf("the restored arena has the keys\n%s\nwant\n%s", after, before)
	}
}

func TestRun_Healthcheck(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(s.Close)
	addr := s.Listener.Addr().String()
	_, port, err := net.SplitHostPort(addr)
	must(t, err)
	for _, addr := range []string{addr, ":" + port, "0.0.0.0:" + port} {
		for code, want := range map[int32]int{200: exitOK, 503: exitFailure, 404: exitFailure} {
			status.Store(code)
			if got, out, errs := call(t, []string{"ARENA_ADDR=" + addr}, "healthcheck"); got != want {
				t.Errorf("ARENA_ADDR=%s answers %d: exit code %d, %s%s", addr, code, got, out, errs)
			}
		}
	}
	s.Close()
	for addr, want := range map[string]string{addr: "connection refused", ":0": "a port that only it knows", "x": "ARENA_ADDR"} {
		if code, _, errs := call(t, []string{"ARENA_ADDR=" + addr}, "healthcheck"); code != exitFailure || !strings.Contains(errs, want) {
			t.Errorf("ARENA_ADDR=%s: exit code %d, %q", addr, code, errs)
		}
	}
	// The image and the example of a deployment ask in this way.
	for _, file := range []string{"Dockerfile", "compose.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		must(t, err)
		if !regexp.MustCompile(`(?m)^ *(HEALTHCHECK|test:) .*/arena"?, "?healthcheck`).Match(text) {
			t.Errorf("%s does not use arena healthcheck", file)
		}
	}
}

// The health check asks over TLS when the server has it, whatever its certificate
// is, under the public name.
func TestRun_Healthcheck_tls(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.URL.Path != "/readyz" || r.TLS.ServerName != "arena.test" {
			t.Errorf("asked %s of %q", r.URL.Path, r.TLS.ServerName)
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	must(t, err)
	code, out, errs := call(t, []string{"ARENA_ADDR=:" + port, "ARENA_TLS=cert.pem,key.pem", "ARENA_PUBLIC_URL=https://arena.test"}, "healthcheck")
	if code != exitOK || asked.Load() != 1 {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}

// `arena config --check` tests the certificate or the ACME server, which the
// server itself does not need to start.
func TestRun_ConfigCheck_tls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, other := filepath.Join(dir, "good.pem"), filepath.Join(dir, "other.pem")
	certstest.Write(t, good, "arena.local", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	certstest.Write(t, other, "other.local", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	answer := `{"newOrder": "x"}`
	acme := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/dir" {
			_, _ = w.Write([]byte(answer))
		}
	}))
	t.Cleanup(acme.Close)
	ca := filepath.Join(dir, "ca.pem")
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: acme.Certificate().Raw}), 0o600))
	closed := httptest.NewTLSServer(nil)
	closed.Close()
	for _, tc := range []struct{ settings, want string }{
		{"ARENA_TLS=" + good + "," + good, ""},
		{"ARENA_TLS=" + other + "," + other, "ARENA_TLS: " + other + ": the certificate is for [other.local], and the host of ARENA_PUBLIC_URL is arena.local"},
		{"ARENA_TLS=" + good + "," + other, "private key does not match"},
		{"ARENA_TLS=none.pem,none.pem", "ARENA_TLS: open none.pem"},
		{"ARENA_TLS=auto ARENA_ACME_URL=" + acme.URL + "/dir ARENA_ACME_CA_FILE=" + ca, ""},
		{"ARENA_TLS=auto ARENA_ACME_URL=" + acme.URL + "/other ARENA_ACME_CA_FILE=" + ca, "and no ACME directory"},
		{"ARENA_TLS=auto ARENA_ACME_URL=" + acme.URL + "/dir", "ARENA_ACME_URL: the ACME server does not answer: Get "},
		{"ARENA_TLS=auto ARENA_ACME_URL=" + closed.URL + "/dir", "connection refused"},
		{"ARENA_TLS=auto ARENA_ACME_URL=" + acme.URL + "/dir ARENA_ACME_CA_FILE=" + filepath.Join(dir, "none.pem"), "ARENA_ACME_CA_FILE: open "},
	} {
		code, out, errs := call(t, append([]string{"ARENA_PUBLIC_URL=https://arena.local"}, strings.Fields(tc.settings)...), "config", "--check")
		if tc.want == "" && (code != exitOK || errs != "") || tc.want != "" && (code != exitFailure || !strings.Contains(errs, tc.want)) {
			t.Errorf("%s: exit code %d, %s%s", tc.settings, code, out, errs)
		}
	}
}
