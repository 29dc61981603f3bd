package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agora-arena/arena/server"
)

// call runs the program with an environment of its own.
func call(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, environ, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestRun_Help(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "login", "logout", "context", "agent", "agent logs", "agent keys list", "completion", "demo", "serve", "watch", "export", "mcp", "pack", "pack check", "check", "play", "replay", "verify", "admin", "admin league", "bench",
		"migrate", "backup", "healthcheck", "config", "keys", "keys list", "keys rotate", "version",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call(t, nil, append(strings.Fields(command), "--help")...)
			if code != exitOK || errs != "" {
				t.Fatalf("exit code %d, stderr %q", code, errs)
			}
			if !strings.Contains(out, "Usage: "+strings.TrimSpace("arena "+command)) {
				t.Errorf("help does not begin with the usage:\n%s", out)
			}
		})
	}
}

// Without arguments the program shows how to begin.
func TestRun_noArguments(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, nil)
	if code != exitOK || errs != "" {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	for _, want := range []string{"arena demo ", "arena join URL", "arena login URL", "Play and watch\n  join, login", "Run an arena\n  demo, serve", "arena --help"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "\n"); n > 24 || strings.Contains(out, "__complete") {
		t.Errorf("%d lines:\n%s", n, out)
	}
}

func TestRun_ServeHelpNamesTheSettings(t *testing.T) {
	t.Parallel()
	_, out, _ := call(t, nil, "serve", "--help")
	for _, s := range server.Settings() {
		if name := flagName(s); name != "" && !strings.Contains(out, "--"+name+"=") {
			t.Errorf("no flag --%s for %s", name, s.Key)
		}
	}
}

func TestRun_UsageErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, want string }{
		{"nonsense", `unexpected argument nonsense`},
		{"swerve", `arena: unexpected argument swerve, did you mean "serve"? (see "arena --help")`},
		{"serve --adr :1", `arena: unknown flag --adr, did you mean "--addr"? (see "arena serve --help")`},
		{"config --check --markdown", `arena: --check and --markdown can't be used together (see "arena config --help")`},
		{"bench", `(see "arena bench --help")`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			code, _, errs := call(t, nil, strings.Fields(tc.args)...)
			if code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			if !strings.Contains(errs, tc.want) {
				t.Errorf("stderr %q, want %q in it", errs, tc.want)
			}
		})
	}
}

func TestRun_Config(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, []string{"ARENA_ADDR=:9001"}, "config", "--addr=:9002", "--log-level", "debug")
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d, stderr %q", code, errs)
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		switch f[0] {
		case "ARENA_ADDR":
			if f[1] != ":9002" || f[2] != "flag" {
				t.Errorf("want the flag to win: %s", line)
			}
		case "ARENA_PUBLIC_URL":
			if f[1] != "http://localhost:9002" {
				t.Errorf("want it made from the address: %s", line)
			}
		}
	}
}

func TestRun_ConfigCheck(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, nil, "config", "--check")
	if code != exitOK || out == "" || errs != "" {
		t.Errorf("good settings: exit code %d, stdout %q, stderr %q", code, out, errs)
	}
	// Threat O5: unsafe settings are named, and are no error.
	code, out, errs = call(t, []string{"ARENA_PUBLIC_URL=http://arena.example", "ARENA_ADMIN_TOKEN=password12345678"}, "config", "--check")
	if code != exitOK || errs != "" || !strings.HasPrefix(out, "warning: ARENA_PUBLIC_URL: ") || !strings.Contains(out, "\nwarning: ARENA_ADMIN_TOKEN: ") ||
		!strings.HasSuffix(out, "\nthe settings work, but some are unsafe\n") || strings.Contains(out, "password12345678") {
		t.Errorf("unsafe settings: exit code %d, stdout %q, stderr %q", code, out, errs)
	}
	code, out, errs = call(t, []string{"ARENA_SIGNUP=x", "ARENA_JWT_ALG=none"}, "config", "--check")
	want := "arena: config: ARENA_SIGNUP: \"x\" is none of open, invite, closed\n" +
		"arena: config: ARENA_JWT_ALG: \"none\" is none of ES256, EdDSA, RS256\n"
	if code != exitFailure || out != "" || errs != want {
		t.Errorf("bad settings: exit code %d, stdout %q, stderr %q, want %q", code, out, errs, want)
	}
}

func TestRun_Version(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version"} {
		code, out, errs := call(t, nil, arg)
		if code != exitOK || errs != "" || !strings.HasPrefix(out, "arena ") || !strings.Contains(out, "go1.") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", arg, code, out, errs)
		}
	}
}

func TestBuildInfo_String(t *testing.T) {
	t.Parallel()
	b := buildInfo{
		Version: "v1.2.3", Revision: "0123456789abcdef0123", Time: "2026-11-21T00:00:00Z", Modified: true,
		Go: "go1.26", Platform: "linux/amd64",
	}
	want := "arena v1.2.3, commit 0123456789ab of 2026-11-21T00:00:00Z with local changes, go1.26 linux/amd64"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
