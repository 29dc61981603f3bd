package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/cli"
)

// owner is a user of the command line with an account at a running arena.
type owner struct {
	*testing.T

	arena   *localArena
	token   string
	folder  string
	environ []string
}

// newOwner starts an arena with a league and signs up.
func newOwner(t *testing.T) owner {
	t.Helper()
	app := &App{Process: cli.Process{Ctx: t.Context(), Stdout: io.Discard, Stderr: io.Discard, Now: time.Now}}
	arena, err := startLocal(app, io.Discard, "127.0.0.1:0", LocalFlags{Tokens: "request"}, []target{{endpoint: "http://127.0.0.1:1"}}, nil)
	must(t, err)
	t.Cleanup(func() { must(t, arena.close()) })
	ctx := t.Context()
	must(t, arena.admin.Call(ctx, http.MethodPost, "/v1/leagues", map[string]any{
		"slug": "sums", "title": "Sums", "generator": map[string]any{"name": "arithmetic"}, "rounds": 1, "time_limit_seconds": 10, "rated": false,
	}, nil))
	var made struct{ Token string }
	must(t, arena.admin.As("").Call(ctx, http.MethodPost, "/v1/owners", map[string]string{"name": "Ana"}, &made))
	folder := t.TempDir()
	return owner{T: t, arena: arena, token: made.Token, folder: folder, environ: []string{"ARENA_CONFIG_DIR=" + folder}}
}

// run runs a command with some standard input.
func (o owner) run(stdin string, args ...string) (code int, stdout, stderr string) {
	o.Helper()
	var out, errs bytes.Buffer
	code = run(o.Context(), args, o.environ, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// ok runs a command that must succeed and print each of some texts.
func (o owner) ok(command string, want ...string) string {
	o.Helper()
	code, out, errs := o.run("", strings.Fields(command)...)
	if code != exitOK {
		o.Fatalf("arena %s: exit code %d, stderr %q", command, code, errs)
	}
	for _, text := range want {
		if !strings.Contains(out, text) {
			o.Errorf("arena %s: no %q in\n%s", command, text, out)
		}
	}
	return out
}

// refused runs a command that must fail with a text in its error.
func (o owner) refused(want, command string) {
	o.Helper()
	if code, out, errs := o.run("", strings.Fields(command)...); code != exitFailure || out != "" || !strings.Contains(errs, want) {
		o.Errorf("arena %s: exit code %d, %q, %q, want %q", command, code, out, errs, want)
	}
}

func (o owner) login() {
	o.Helper()
	if code, out, errs := o.run(o.token+"\n", "login", o.arena.LocalURL(), "--with-token"); code != exitOK || !strings.Contains(out, "as Ana, owner") {
		o.Fatalf("exit code %d, %q, %q", code, out, errs)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	arena := o.arena.LocalURL()
	notLoggedIn := "not logged in to " + arena + ": run `arena login " + arena + "`"
	o.refused(notLoggedIn, "admin status --url "+arena)
	o.refused(notLoggedIn, "agent list --url "+arena)
	o.refused("not logged in to http://127.0.0.1:8080: run `arena login http://127.0.0.1:8080`", "agent logs ada")
	o.refused("not a terminal", "login "+arena)
	o.refused("no user or password", "login https://ada:secret@arena.example --with-token")
	for input, want := range map[string]string{
		"wrong": "does not accept this token", "": "is empty", "a b": "one word", strings.Repeat("a", 5000): "at most 4096 bytes",
	} {
		if code, _, errs := o.run(input, "login", arena, "--token-stdin"); code != exitFailure || !strings.Contains(errs, want) {
			t.Errorf("%.20q: exit code %d, %q, want %q", input, code, errs, want)
		}
	}
	if _, err := os.Stat(filepath.Join(o.folder, "contexts.json")); err == nil {
		t.Error("a login that failed was stored")
	}
	o.login()
	info, err := os.Stat(filepath.Join(o.folder, "contexts.json"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the logins have mode %v", info.Mode())
	}
	o.ok("agent list", "no agents")
	if list := o.ok("context list --json", `"as": "Ana"`) + o.ok("context list", arena); strings.Contains(list, o.token) {
		t.Error("the token was printed")
	}
	secret, _ := o.arena.AdminToken()
	if code, out, errs := o.run(secret, "login", "--name", "root", "--with-token"); code != exitOK || !strings.Contains(out, "as admin (context root)") {
		t.Errorf("a second login: exit code %d, %q, %q", code, out, errs)
	}
	o.ok("admin status", `"nodes"`) // with the token of the login
	host := strings.TrimPrefix(arena, "http://")
	o.ok("context use " + host)
	o.refused("403", "admin status")
	o.refused(`no context "nope"`, "context use nope")

	// A revoked token.
	must(t, apiclient.New(arena, secret).Call(t.Context(), http.MethodDelete, "/v1/admin/owners/"+o.ownerID()+"/tokens", nil, nil))
	o.refused(notLoggedIn, "admin token list")
	o.refused(notLoggedIn, "agent list")
	o.refused("refused the token of --token", "admin status --token wrong")
	o.ok("logout", "logged out of "+arena)
	o.refused("no current context", "logout")
	o.ok("context remove root")
	o.refused("not logged in to "+arena, "logout "+arena)
}

// ownerID returns the id of the owner.
func (o owner) ownerID() string {
	o.Helper()
	var me struct {
		ID string `json:"owner_id"`
	}
	must(o.T, apiclient.New(o.arena.LocalURL(), o.token).Call(o.Context(), http.MethodGet, "/v1/me", nil, &me))
	return me.ID
}
