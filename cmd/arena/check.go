package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/agora-arena/arena/arena/server"
	"github.com/agora-arena/arena/arena/token"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/conformance"
)

// CheckCmd is `arena check`.
type CheckCmd struct {
	URL       string        `arg:"" placeholder:"URL" help:"The agent's endpoint, as it would be registered."`
	KeysAddr  string        `default:"127.0.0.1:8088" placeholder:"HOST:PORT" help:"Where the keys of this check's tokens are served; port 0 takes a free one."`
	Arena     string        `placeholder:"URL" help:"The URL under which the agent reaches --keys-addr, when it is another: a tunnel, a container. It is the issuer of the tokens."`
	AgentID   string        `default:"ag_check" placeholder:"ID" help:"The agent id that the tokens are for."`
	League    string        `placeholder:"SLUG" help:"League of the tasks; the first that the agent's health names."`
	TimeLimit time.Duration `default:"10s" help:"Of the tasks that are not about time, 1s to 10m."`
	JSON      bool          `name:"json" help:"Print the report as one JSON object."`
	Verbose   bool          `short:"v" help:"Show what was sent and what came back for good checks too."`
}

// Help describes how the agent finds the arena of the check.
func (c *CheckCmd) Help() string {
	return `Sends the endpoint good tasks, hard tasks and forged ones, and says what an arena
would think of each reply. Exits with 1 when a MUST fails.

The tokens are signed with keys of this check, made for it and served at --keys-addr
while it runs. Start the agent as if an arena were there; it may run already:

    ARENA=http://127.0.0.1:8088 ./my-agent
    arena check http://127.0.0.1:8700/agora

An agent that runs for another arena knows other keys and refuses these tokens: then
only what needs no token can be checked. Addresses on this machine are called only when
URL is one.`
}

// Run checks and prints.
func (c *CheckCmd) Run(app *App) (err error) {
	keys, err := newLocalKeys(app.Ctx, c.KeysAddr, c.Arena)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.close()) }()
	client, err := clientFor(app.Ctx, c.URL)
	if err != nil {
		return err
	}
	defer client.Close()
	say := &checkPrinter{w: app.Stdout, verbose: c.Verbose}
	if c.JSON {
		say.w = io.Discard
	}
	kit, err := conformance.New(conformance.Options{
		Client: client, Sign: keys.signer.Sign, Unknown: keys.stranger.Sign, Issuer: keys.issuer, AgentID: c.AgentID,
		League: c.League, Limit: c.TimeLimit, Progress: say.finding, Now: time.Now,
	})
	if err != nil {
		return err
	}
	say.line("checking %s\n  tokens: issuer %s, agent %s; keys at %s/.well-known/jwks.json\n", c.URL, keys.issuer, c.AgentID, keys.issuer)
	report := kit.Run(app.Ctx, c.URL)
	if err := context.Cause(app.Ctx); err != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	say.tallies(report)
	if c.JSON {
		e := json.NewEncoder(app.Stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		say.err = e.Encode(report)
	}
	if !report.Passed {
		return errors.Join(say.err, fmt.Errorf("%d of %d MUST checks failed", report.Must.Fail, report.Must.Fail+report.Must.Pass+report.Must.Skip))
	}
	return say.err
}

// checkPrinter writes the report for a person, as it comes.
type checkPrinter struct {
	w       io.Writer
	verbose bool
	err     error // the first one
}

func (p *checkPrinter) line(format string, args ...any) {
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	if p.err == nil {
		p.err = err
	}
}

func (p *checkPrinter) finding(f conformance.Finding) {
	word := map[conformance.Result]string{conformance.Pass: "ok", conformance.Fail: "FAIL", conformance.Skip: "skip"}[f.Result]
	p.line("  %-4s  %-6s  %-18s  %s (%s), %d ms", word, f.Level, f.ID, f.Title, f.Clause, f.ElapsedMS)
	if f.Result != conformance.Fail && !p.verbose {
		return
	}
	for _, part := range []struct{ name, text string }{{"sent", f.Sent}, {"got", f.Got}, {"do", f.Cure}} {
		if part.text != "" {
			p.line("          %-5s %s", part.name, part.text)
		}
	}
}

func (p *checkPrinter) tallies(r conformance.Report) {
	verdict := "ready"
	if !r.Passed {
		verdict = "not ready"
	}
	p.line("\n%s: MUST %d ok, %d failed, %d skipped; SHOULD %d ok, %d failed, %d skipped", verdict,
		r.Must.Pass, r.Must.Fail, r.Must.Skip, r.Should.Pass, r.Should.Fail, r.Should.Skip)
}

// loopback reports whether a URL names this machine.
func loopback(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback() || u.Hostname() == "localhost"
}

// clientFor makes a guarded client for one endpoint. This machine is opened
// only for an endpoint that is on it.
func clientFor(ctx context.Context, endpoint string) (*protocol.Client, error) {
	o := protocol.GuardOptions{AllowHTTP: true} // the author decides what to check
	if loopback(endpoint) {
		o.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	guard, err := protocol.NewGuard(o)
	if err != nil {
		return nil, err
	}
	if _, err := guard.CheckEndpoint(ctx, "URL", endpoint); err != nil {
		return nil, err
	}
	return protocol.NewClient(guard, protocol.ClientOptions{MaxConnsPerHost: server.ConnsPerHost, Now: time.Now})
}

// localKeys are an issuer of tokens that lives as long as one command.
type localKeys struct {
	issuer   string
	signer   *token.Keys
	stranger *token.Keys // signs with a key that is not served
	server   *http.Server
	served   chan error
}

func newLocalKeys(ctx context.Context, addr, issuer string) (*localKeys, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--keys-addr: %w", err)
	}
	k := &localKeys{issuer: cmp.Or(issuer, "http://"+l.Addr().String()), served: make(chan error, 1)}
	for _, keys := range []**token.Keys{&k.signer, &k.stranger} {
		if *keys, err = token.New(ctx, token.Options{
			Store: &token.MemoryStore{}, Issuer: k.issuer, Alg: token.ES256, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		}); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/.well-known/jwks.json", k.signer.JWKS())
	k.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { k.served <- k.server.Serve(l) }()
	return k, nil
}

func (k *localKeys) close() error {
	err := k.server.Close()
	if served := <-k.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
