package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/protocol/conformance"
	"github.com/agora-arena/arena/server"
)

// CheckCmd is `arena check`.
type CheckCmd struct {
	Agent    string `arg:"" name:"url" placeholder:"URL" help:"The agent's endpoint, as it would be registered. Without an endpoint: its did:key (envelope), its public key (agentprotocol, KEY@URL with one), or poll (aap, agora)."`
	Protocol string `default:"aap" enum:"aap,agora,envelope,agentprotocol,a2a,auto" help:"The agent's protocol: ${enum}; auto tries what the agent answers to."`
	KeysAddr string `default:"127.0.0.1:8088" placeholder:"HOST:PORT" help:"Where the arena of this check is for the agent, with its keys; port 0 takes a free one."`
	LocalFlags
	AgentID   string        `default:"ag_check" placeholder:"ID" help:"The agent id that the tokens of aap are for."`
	League    string        `placeholder:"SLUG" help:"League of the tasks; the first that the agent's health names."`
	TimeLimit time.Duration `default:"10s" help:"Of the tasks that are not about time, 1s to 10m."`
	JSON      bool          `name:"json" help:"Print the report as one JSON object."`
	Verbose   bool          `short:"v" help:"Show what was sent and what came back for good checks too."`
}

// Help describes how the agent finds the arena of the check.
func (c *CheckCmd) Help() string {
	return `Sends the agent good tasks, hard tasks and forged ones, and reports what an arena
would conclude from each reply. Exits with 1 when a MUST fails. A check that the agent's
protocol does not have is reported as not applicable.

An arena of this check, with keys made for it, runs at --keys-addr while it lasts.
Start the agent as if that were its arena; it may run already:

    ARENA=http://127.0.0.1:8088 ./my-agent
    arena check http://127.0.0.1:8700/agora
    arena check --protocol agora http://127.0.0.1:8700/agora
    arena check --protocol envelope did:key:z6Mk…
    arena check poll

An agent without an endpoint fetches its tasks with an agent key of the check's arena,
which is printed before the check waits for it.

An agent of another arena trusts other keys and refuses these tasks: then only
checks without a signature can run. An agent of envelope or agentprotocol
keeps the key of the first arena that it meets: restart it, or use --identity.
Addresses on this machine are called only when URL is one.`
}

// Run checks and prints.
func (c *CheckCmd) Run(app *App) (err error) {
	t, err := parseTarget(c.Agent, c.Protocol)
	if err != nil {
		return err
	}
	say := &checkPrinter{w: app.Stdout, verbose: c.Verbose, style: app.Style()}
	notes := app.Stdout
	if c.JSON {
		say.w, notes = io.Discard, app.Stderr
	}
	local, err := startLocal(app, notes, c.KeysAddr, c.LocalFlags, []target{t}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()
	agent, err := c.find(app.Ctx, local, t)
	if err != nil {
		return err
	}
	say.line("checking %s over %s\n  arena: %s, agent %s; keys at %[3]s/.well-known/jwks.json\n", cmp.Or(t.endpoint, t.key, t.name), agent.Protocol, local.URL(), agent.ID)
	report, err := local.Check(app.Ctx, agent, server.CheckOptions{League: c.League, Limit: c.TimeLimit, Progress: say.finding})
	if err != nil {
		return err
	}
	if err := context.Cause(app.Ctx); err != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	say.tallies(report)
	if c.JSON {
		say.err = app.JSON(report)
	}
	if !report.Passed {
		return errors.Join(say.err, fmt.Errorf("%d of %d MUST checks failed", report.Must.Fail, report.Must.Fail+report.Must.Pass+report.Must.Skip))
	}
	return say.err
}

// find registers the agent, under the protocol that it answers to if that is to
// be found out.
func (c *CheckCmd) find(ctx context.Context, local *localArena, t target) (arena.Agent, error) {
	protocols := []string{t.protocol}
	if t.protocol == autoProtocol {
		protocols = []string{arena.ProtocolAAP, arena.ProtocolAgora}
	}
	var first registered
	for i, protocol := range protocols {
		t.protocol = protocol
		if i > 0 {
			t.name = plaintext.Shorten(protocol+" "+t.name, 40) // names are unique
		}
		made, err := local.register(ctx, t)
		if err != nil {
			return arena.Agent{}, err
		}
		if i == 0 || made.ready() {
			first = made
		}
		if made.ready() {
			break
		}
	}
	agent, err := local.Parts().Store.Agents.Agent(ctx, first.ID)
	if err != nil {
		return agent, err
	}
	agent.Leagues = []string{cmp.Or(c.League, "trivia")} // in which an agent plays that declares none
	if agent.Protocol == arena.ProtocolAAP && !agent.Pulls() {
		agent.ID = c.AgentID
	}
	return agent, nil
}

// checkPrinter prints the findings as they come.
type checkPrinter struct {
	w       io.Writer
	verbose bool
	style   cli.Style
	err     error // the first one
}

func (p *checkPrinter) line(format string, args ...any) {
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	if p.err == nil {
		p.err = err
	}
}

func (p *checkPrinter) finding(f conformance.Finding) {
	shown := map[conformance.Result]struct{ color, word string }{
		conformance.Pass: {cli.Green, "ok"}, conformance.Fail: {cli.Red, "FAIL"}, conformance.Skip: {cli.Yellow, "skip"}, conformance.NotApplicable: {cli.Dim, "n/a"},
	}[f.Result]
	word := p.style.Paint(shown.color, fmt.Sprintf("%-4s", shown.word))
	if f.Result == conformance.NotApplicable {
		p.line("  %s  %-6s  %-18s  not applicable: %s", word, f.Level, f.ID, plaintext.Terminal(f.Got))
		return
	}
	p.line("  %s  %-6s  %-18s  %s (%s), %d ms", word, f.Level, f.ID, f.Title, f.Clause, f.ElapsedMS)
	if f.Result != conformance.Fail && !p.verbose {
		return
	}
	for _, part := range []struct{ name, text string }{{"sent", f.Sent}, {"got", f.Got}, {"do", f.Cure}} {
		if part.text != "" {
			p.line("          %-5s %s", part.name, plaintext.Terminal(part.text))
		}
	}
}

func (p *checkPrinter) tallies(r conformance.Report) {
	verdict := p.style.Paint(cli.Green, "ready")
	if !r.Passed {
		verdict = p.style.Paint(cli.Red, "not ready")
	}
	line := fmt.Sprintf("\n%s: MUST %d ok, %d failed, %d skipped; SHOULD %d ok, %d failed, %d skipped", verdict,
		r.Must.Pass, r.Must.Fail, r.Must.Skip, r.Should.Pass, r.Should.Fail, r.Should.Skip)
	if n := r.Must.NotApplicable + r.Should.NotApplicable; n > 0 {
		line += fmt.Sprintf("; %d not applicable", n)
	}
	p.line("%s", line)
}
