package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// store adds logins, the last of which is the current one.
func store(t *testing.T, p *Process, logins ...login) {
	t.Helper()
	c, err := p.contexts()
	must(t, err)
	for _, l := range logins {
		c.put(l)
	}
	must(t, c.save())
}

// Flags come before the environment, and that before the stored logins. A stored
// token goes to the arena of its login only.
func TestTarget_precedence(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte("of-file\n"), 0o600))
	logins := []login{
		{Name: "b", URL: "https://b.example", Token: "of-b", Scope: scopeOwner},
		{Name: "admin", URL: "https://a.example", Token: "of-admin", Scope: "admin"},
		{Name: "a", URL: "https://a.example", Token: "of-a", Scope: scopeOwner},
	}
	for name, c := range map[string]struct {
		logins     []login
		environ    []string
		url, token string // flags
		wantURL    string
		wantToken  string
		stored     bool
	}{
		"nothing":                      {wantURL: "http://127.0.0.1:8080"},
		"the current login":            {logins: logins, wantURL: "https://a.example", wantToken: "of-a", stored: true},
		"flag of another login":        {logins: logins, url: "https://b.example/", wantURL: "https://b.example", wantToken: "of-b", stored: true},
		"variable of another login":    {logins: logins, environ: []string{"ARENA_URL=b.example"}, wantURL: "https://b.example", wantToken: "of-b", stored: true},
		"flag of an unknown arena":     {logins: logins, url: "https://c.example", wantURL: "https://c.example"},
		"flag before variable":         {logins: logins, environ: []string{"ARENA_URL=https://c.example"}, url: "https://b.example", wantURL: "https://b.example", wantToken: "of-b", stored: true},
		"variable of an unknown arena": {logins: logins, environ: []string{"ARENA_URL=https://c.example"}, wantURL: "https://c.example"},
		"another scheme":               {logins: logins, url: "http://a.example", wantURL: "http://a.example"},
		"another port":                 {logins: logins, url: "https://a.example:444", wantURL: "https://a.example:444"},
		"token variable":               {logins: logins, environ: []string{"ARENA_TOKEN=of-env"}, wantURL: "https://a.example", wantToken: "of-env"},
		"token file":                   {logins: logins, environ: []string{"ARENA_TOKEN_FILE=" + file}, wantURL: "https://a.example", wantToken: "of-file"},
		"token flag":                   {logins: logins, environ: []string{"ARENA_TOKEN=of-env"}, token: "of-flag", wantURL: "https://a.example", wantToken: "of-flag"},
		"both flags":                   {logins: logins, url: "https://c.example", token: "of-flag", wantURL: "https://c.example", wantToken: "of-flag"},
		"this machine":                 {url: "localhost:9000", wantURL: "http://localhost:9000"},
		"capitals":                     {logins: logins, url: "https://A.Example", wantURL: "https://a.example", wantToken: "of-a", stored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process(t, &bytes.Buffer{}, c.environ...)
			if c.logins != nil {
				store(t, p, c.logins...)
			}
			got, err := Remote{URL: c.url, Token: c.token}.target(p)
			must(t, err)
			if got.URL != c.wantURL || got.Token != c.wantToken || got.Stored() != c.stored || got.Owner() != c.stored {
				t.Errorf("%+v, want %s with %q", got, c.wantURL, c.wantToken)
			}
		})
	}
}

func TestTarget_refuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ftp://a.example": "not the http or https URL", "https://": "not the http or https URL", "https://ada:secret@a.example?x=1": "no query",
		"a b": "not the http or https URL",
	} {
		_, err := Remote{URL: text}.target(process(t, &bytes.Buffer{}))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	p := process(t, &bytes.Buffer{}, "ARENA_TOKEN_FILE=/does/not/exist")
	if _, err := (Remote{}).target(p); err == nil || !strings.Contains(err.Error(), "ARENA_TOKEN_FILE") {
		t.Errorf("a missing file of a token: %v", err)
	}
	p = process(t, &bytes.Buffer{})
	file := filepath.Join(p.Getenv("ARENA_CONFIG_DIR"), "contexts.json")
	must(t, os.WriteFile(file, []byte("{"), 0o600))
	if _, err := (Remote{}).target(p); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a broken file of logins: %v", err)
	}
	if _, err := (Remote{URL: "https://a.example", Token: "x"}).target(p); err != nil {
		t.Errorf("a broken file of logins that is not needed: %v", err)
	}
}

func TestContexts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := process(t, &out)
	store(t, p, login{Name: "b", URL: "https://b.example", Token: "1"}, login{Name: "a", URL: "https://a.example", Token: "2"}, login{Name: "b", URL: "https://b.example", Token: "3"})
	info, err := os.Stat(filepath.Join(p.Getenv("ARENA_CONFIG_DIR"), "contexts.json"))
	must(t, err)
	if info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("the logins have mode %v", info.Mode())
	}
	must(t, (&contextListCmd{}).Run(p))
	if want := "   NAME  ARENA              AS  SCOPE\n   a     https://a.example\n*  b     https://b.example\n"; out.String() != want {
		t.Errorf("listed\n%s, want\n%s", out.String(), want)
	}
	must(t, (&contextUseCmd{"a"}).Run(p))
	must(t, (&contextRemoveCmd{"b"}).Run(p))
	c, err := p.contexts()
	must(t, err)
	if l, found := c.current(); !found || l.Token != "2" || len(c.Logins) != 1 {
		t.Errorf("left: %+v", c)
	}
	// Two arenas of one host do not share a name.
	if name := c.contextName(login{URL: "http://b.example"}); name != "b.example" {
		t.Errorf("named %q", name)
	}
	c.put(login{Name: "b.example", URL: "https://b.example"})
	if name := c.contextName(login{URL: "http://b.example"}); name != "http://b.example" {
		t.Errorf("named %q", name)
	}
}

// Without a home folder commands work, but nothing can be stored.
func TestContexts_noHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	p := &Process{Environ: []string{"ARENA_URL=https://a.example"}}
	if got, err := (Remote{}).target(p); err != nil || got.URL != "https://a.example" || got.Token != "" {
		t.Errorf("%+v, %v", got, err)
	}
	c, err := p.contexts()
	must(t, err)
	if err := c.save(); err == nil || !strings.Contains(err.Error(), "ARENA_CONFIG_DIR") {
		t.Errorf("stored: %v", err)
	}
}
