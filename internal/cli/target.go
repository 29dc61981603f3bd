package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Target is the arena that a command calls, and the token for it.
type Target struct {
	URL   string
	Token string // "" for none

	scope  string // of a stored login's token
	source string // of a token from a flag or a variable: "--token"
}

// Stored reports whether the token comes from a stored login.
func (t Target) Stored() bool { return t.Token != "" && t.source == "" }

// Owner reports whether the token comes from an owner's stored login.
func (t Target) Owner() bool { return t.Stored() && t.scope == scopeOwner }

// NotLoggedIn returns the error of a call without a token, or with one that the
// arena refuses.
func (t Target) NotLoggedIn() error {
	if t.source != "" {
		return fmt.Errorf("not logged in to %s: it refused the token of %s; correct it, or leave it out and run `arena login %[1]s`", t.URL, t.source)
	}
	return fmt.Errorf("not logged in to %s: run `arena login %[1]s`", t.URL)
}

// Token is where a command finds a token before it looks at the stored logins: a
// flag, then environment variables. Of each variable there is one with the suffix
// _FILE that names a file with the token.
type Token struct {
	Name, Value string   // of the flag
	Variables   []string // of the environment
}

// Target returns the arena and the token of a command. The arena comes from the
// flag, else from ARENA_URL, else from the current login, else it is the one on
// this machine. The token comes from the flag, else from the environment, else from
// a login at the same arena.
func (p *Process) Target(flag string, token Token) (Target, error) {
	t, err := p.given(token)
	if err != nil {
		return t, err
	}
	named := flag
	if named == "" {
		named = p.Getenv("ARENA_URL")
	}
	if named != "" {
		if t.URL, err = arenaURL(named); err != nil || t.Token != "" {
			return t, err
		}
	}
	stored, err := p.contexts()
	if err != nil {
		return t, err
	}
	l, found := stored.current()
	if named != "" {
		l, found = stored.of(t.URL)
	}
	switch {
	case found && named == "":
		t.URL = l.URL
	case named == "":
		t.URL = localArena
	}
	if found && t.Token == "" {
		t.Token, t.scope = l.Token, l.Scope
	}
	return t, nil
}

// given returns the token of the flag or of the environment.
func (p *Process) given(token Token) (Target, error) {
	if token.Value != "" {
		return Target{Token: token.Value, source: token.Name}, nil
	}
	for _, key := range token.Variables {
		if value := p.Getenv(key); value != "" {
			return Target{Token: value, source: key}, nil
		}
		file := p.Getenv(key + "_FILE")
		if file == "" {
			continue
		}
		data, err := os.ReadFile(file) //nolint:gosec // G304: the user's own file
		if err != nil {
			return Target{}, fmt.Errorf("%s_FILE: %w", key, err)
		}
		if value := strings.TrimSpace(string(data)); value != "" {
			return Target{Token: value, source: key + "_FILE"}, nil
		}
	}
	return Target{}, nil
}

// Remote holds the flags of commands that call an arena with an owner's token.
type Remote struct {
	URL   string `name:"url" placeholder:"URL" help:"The arena (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	Token string `placeholder:"TOKEN" help:"An owner's token (ARENA_TOKEN, else the token of arena login)."`
}

// target returns the arena and the token of the flags.
func (r Remote) target(p *Process) (Target, error) {
	return p.Target(r.URL, Token{Name: "--token", Value: r.Token, Variables: []string{"ARENA_TOKEN"}})
}

// ContextCmd groups the commands on stored logins.
type ContextCmd struct {
	List   contextListCmd   `cmd:"" help:"List the stored logins."`
	Use    contextUseCmd    `cmd:"" help:"Choose the login that commands use."`
	Remove contextRemoveCmd `cmd:"" help:"Remove a stored login."`
}

// Help describes how commands choose an arena.
func (c *ContextCmd) Help() string {
	return `A context is a login: an arena and a token for it. Commands use the arena of --url,
of ARENA_URL, of the current context, or http://127.0.0.1:8080, in this order. A stored
token is sent to the arena of its context only.`
}

type (
	contextListCmd struct {
		JSON bool `name:"json" help:"Print JSON, without the tokens."`
	}
	contextUseCmd struct {
		Name string `arg:"" help:"Name of list."`
	}
	contextRemoveCmd struct {
		Name string `arg:"" help:"Name of list."`
	}
)

func (c *contextListCmd) Run(p *Process) error {
	stored, err := p.contexts()
	if err != nil {
		return err
	}
	if c.JSON {
		type view struct {
			Name    string `json:"name"`
			URL     string `json:"url"`
			Scope   string `json:"scope"`
			As      string `json:"as"`
			Current bool   `json:"current"`
		}
		items := []view{}
		for _, l := range stored.Logins {
			items = append(items, view{l.Name, l.URL, l.Scope, l.As, l.Name == stored.Current})
		}
		return p.JSON(map[string]any{"items": items})
	}
	if len(stored.Logins) == 0 {
		return p.print("no logins: run `arena login URL`\n")
	}
	t := p.table("", "NAME", "ARENA", "AS", "SCOPE")
	for _, l := range stored.Logins {
		current := plain("")
		if l.Name == stored.Current {
			current = paint(Green, "*")
		}
		t.row(current, plain(l.Name), plain(l.URL), plain(l.As), plain(l.Scope))
	}
	return t.print()
}

func (c *contextUseCmd) Run(p *Process) error {
	stored, l, err := p.context(c.Name)
	if err != nil {
		return err
	}
	stored.Current = l.Name
	if err := stored.save(); err != nil {
		return err
	}
	return p.print("using %s\n", l.URL)
}

func (c *contextRemoveCmd) Run(p *Process) error {
	stored, l, err := p.context(c.Name)
	if err != nil {
		return err
	}
	return p.forget(stored, l)
}

// context returns the stored logins and the one of a name.
func (p *Process) context(name string) (*contexts, login, error) {
	stored, err := p.contexts()
	if err != nil {
		return nil, login{}, err
	}
	l, found := stored.named(name)
	if !found {
		return nil, l, fmt.Errorf("no context %q: see `arena context list`", name)
	}
	return stored, l, nil
}

// forget removes a login.
func (p *Process) forget(stored *contexts, l login) error {
	stored.remove(l.Name)
	if err := stored.save(); err != nil {
		return err
	}
	return p.print("logged out of %s; the token itself stays valid until it is revoked\n", l.URL)
}

// LogoutCmd is `arena logout`.
type LogoutCmd struct {
	Arena string `arg:"" optional:"" placeholder:"URL" help:"The arena, or the name of a context; left out: the current context."`
}

// Run removes a stored login.
func (c *LogoutCmd) Run(p *Process) error {
	stored, err := p.contexts()
	if err != nil {
		return err
	}
	if c.Arena == "" {
		l, found := stored.current()
		if !found {
			return errors.New("no current context: name an arena, see `arena context list`")
		}
		return p.forget(stored, l)
	}
	if l, found := stored.named(c.Arena); found {
		return p.forget(stored, l)
	}
	base, err := arenaURL(c.Arena)
	if err != nil {
		return err
	}
	l, found := stored.of(base)
	if !found {
		return fmt.Errorf("not logged in to %s", base)
	}
	return p.forget(stored, l)
}

// contextName returns a name for the login of an arena: its host, or its URL if
// the login of another arena has that name.
func (c *contexts) contextName(l login) string {
	host := l.URL
	if u, err := url.Parse(l.URL); err == nil {
		host = u.Host + u.Path
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(c.Logins, func(other login) bool { return other.Name == name && other.URL != l.URL })
	}
	if taken(host) {
		return l.URL
	}
	return host
}
