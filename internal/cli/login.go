package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/agora-arena/arena/internal/plaintext"
)

const (
	scopeOwner = "owner"
	scopeAgent = "agent"
)

// maxToken bounds the input of a token, in bytes.
const maxToken = 4 << 10

// LoginCmd is `arena login`.
type LoginCmd struct {
	Arena     string `arg:"" optional:"" placeholder:"URL" help:"The arena (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	WithToken bool   `name:"with-token" aliases:"token-stdin" help:"Read the token from standard input."`
	Name      string `placeholder:"NAME" help:"Name of the context; left out: the arena's host."`
}

// Help describes where tokens come from.
func (c *LoginCmd) Help() string {
	return `Asks for a token, checks it and stores it as a context. Later commands use that arena
and token. An owner's token comes from the arena's console (/console); the server prints
the first admin token. Tokens are kept with mode 0600 in the user's configuration folder
(or ARENA_CONFIG_DIR).

    arena login https://arena.example
    arena login https://arena.example --with-token < token.txt`
}

// Run stores a login.
func (c *LoginCmd) Run(p *Process) error {
	t, err := p.Target(c.Arena, Token{})
	if err != nil {
		return err
	}
	if t.Token, err = c.token(p, t.URL); err != nil {
		return err
	}
	var me struct {
		Scope string `json:"scope"`
		Name  string `json:"name"`
	}
	s := newSession(p, t)
	if err := s.get("/v1/me", &me); err != nil {
		if statusOf(err) == http.StatusUnauthorized {
			return fmt.Errorf("%s does not accept this token: it is wrong, has expired or was revoked", t.URL)
		}
		return err
	}
	if me.Scope == scopeAgent {
		return errors.New("this is the key of an agent: log in with the token of its owner, and give the key to `arena join --key`")
	}
	stored, err := p.contexts()
	if err != nil {
		return err
	}
	l := login{URL: t.URL, Token: t.Token, Scope: plaintext.Terminal(me.Scope), As: plaintext.Terminal(me.Name)}
	l.Name = cmp.Or(c.Name, stored.contextName(l))
	stored.put(l)
	if err := stored.save(); err != nil {
		return err
	}
	return p.print("logged in to %s as %s (context %s)\n", l.URL, describe(l), plaintext.Terminal(l.Name))
}

// describe names whose login it is.
func describe(l login) string {
	if l.As == "" {
		return l.Scope
	}
	return l.As + ", " + l.Scope
}

// token reads the token without echoing it.
func (c *LoginCmd) token(p *Process, arena string) (string, error) {
	u, err := url.Parse(arena)
	if err != nil || u.User != nil {
		return "", errors.New("the URL of a login has no user or password")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		_, _ = fmt.Fprintf(p.Stderr, "arena: warning: without https, everyone on the way to %s can read the token\n", u.Host)
	}
	read := func() ([]byte, error) { return io.ReadAll(io.LimitReader(p.Stdin, maxToken+1)) }
	if !c.WithToken {
		f, ok := p.Stdin.(*os.File)
		if !ok || !IsTerminal(f) {
			return "", errors.New("standard input is not a terminal: send the token to `arena login --with-token`")
		}
		_, _ = fmt.Fprintf(p.Stderr, "Create a token at %s/console.\nToken (not shown): ", arena)
		read = func() ([]byte, error) { return p.readSecret(int(f.Fd())) }
	}
	data, err := read()
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	if len(data) > maxToken {
		return "", fmt.Errorf("a token has at most %d bytes", maxToken)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", errors.New("the token is empty")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("a token is one word of ASCII characters")
	}
	return token, nil
}

// readSecret reads a line from a terminal that does not echo it. A signal ends
// the wait and restores the terminal.
func (p *Process) readSecret(fd int) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	type result struct {
		line []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		read <- result{line, err}
	}()
	defer func() { _, _ = fmt.Fprintln(p.Stderr) }()
	select {
	case r := <-read:
		return r.line, r.err
	case <-p.Ctx.Done():
		return nil, errors.Join(errors.New("interrupted"), term.Restore(fd, before))
	}
}
