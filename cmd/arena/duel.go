package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/scoring/sprt"
)

// DuelCmd is `arena duel`.
type DuelCmd struct {
	Old      string `arg:"" placeholder:"OLD" help:"The agent to compare with: [NAME=][PROTOCOL=]URL, exec:CMD, model:NAME, or another form of arena play."`
	New      string `arg:"" placeholder:"NEW" help:"The agent that may be better, in the same forms."`
	Protocol string `default:"aap" enum:"aap,agora,envelope,agentprotocol,a2a" help:"Of agents without a PROTOCOL: ${enum}."`
	League   string `placeholder:"SLUG" help:"Play by the settings of this league of an arena: its game or generator, judge, limits and rules. A league of questions needs its pack too."`
	URL      string `name:"url" placeholder:"URL" help:"The arena of --league (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	TaskFlags
	Elo0        float64 `name:"elo0" default:"0" placeholder:"ELO" help:"Not better: NEW is this much stronger than OLD, or less."`
	Elo1        float64 `name:"elo1" default:"20" placeholder:"ELO" help:"Better: NEW is this much stronger than OLD, or more."`
	MaxMatches  int     `default:"1000" placeholder:"N" help:"Stop undecided after N matches, of two tasks or two games each."`
	Concurrency int     `default:"4" placeholder:"N" help:"Matches at once, 1 to 64; fewer if an agent takes fewer."`
	Seed        *uint64 `placeholder:"N" help:"Seed of the order of tasks and of the deals; without, a secret one."`
	Addr        string  `default:"127.0.0.1:8088" placeholder:"HOST:PORT" help:"Where keys and stream are for the agents while the duel runs; port 0 takes a free one."`
	LocalFlags
	SourceFlags
	JSON bool `name:"json" help:"Print the result as one JSON object, and progress to standard error."`
}

// Help shows the command at work.
func (c *DuelCmd) Help() string {
	return `Tests whether NEW is better than OLD. Both play the same tasks, or games in swapped
seats, until a sequential test decides: Elo 0 against 20 with 5 % errors, as chess
engines are tested. The matches are played on this machine by the runner and judges of
an arena; nothing is registered anywhere.

    arena duel --game connect_four http://127.0.0.1:8700/agora http://127.0.0.1:8701/agora
    arena duel --pack questions.jsonl 'exec:./agent-v1' 'exec:./agent-v2'
    arena duel --pack questions.jsonl model:gpt-4.1-mini model:gpt-4.1 --max-matches 200
    arena duel --league four --url https://arena.example --json exec:./old exec:./new

Expect hundreds of matches for a small difference: the forecast is printed first. Ctrl-C
ends the duel with what it has. Ends with 0 when NEW is better, 1 when it is not better, 3
when the matches or tasks ran out first, and 2 when the duel was called wrongly or could
not be played.`
}

// The limits of flags of duels.
const (
	mostElo         = 1000
	mostMatches     = 100_000
	mostConcurrency = 64
)

// Validate refuses a call that names no single thing to play.
func (c *DuelCmd) Validate() error {
	switch {
	case c.Pack == "" && c.Game == "" && c.League == "":
		return errors.New("missing flags: --pack=FILE, --game=NAME or --league=SLUG")
	case c.Game != "" && c.League != "":
		return errors.New("--game and --league can't be used together")
	case c.League != "" && (c.Judge != "" || c.TimeLimit != 0):
		return errors.New("--judge and --time-limit can't be used with --league, which has its own")
	case len(c.Option) > 0 && c.Game == "":
		return errors.New("--option needs --game")
	case c.URL != "" && c.League == "":
		return errors.New("--url needs --league")
	case !(c.Elo0 < c.Elo1) || c.Elo0 < -mostElo || c.Elo1 > mostElo:
		return fmt.Errorf("--elo0 must be below --elo1, and both within ±%d", mostElo)
	case c.MaxMatches < 1 || c.MaxMatches > mostMatches:
		return fmt.Errorf("--max-matches must be 1 to %d", mostMatches)
	case c.Concurrency < 1 || c.Concurrency > mostConcurrency:
		return fmt.Errorf("--concurrency must be 1 to %d", mostConcurrency)
	}
	return nil
}

// The exit codes of a duel beside exitOK, which is better.
const (
	exitNotBetter = 1
	exitUndecided = 3
)

// Run plays the duel. An error without a verdict does not end like one.
func (c *DuelCmd) Run(app *App) error {
	verdict, err := c.play(app)
	switch {
	case err != nil:
		return &exitError{exitUsage, err}
	case verdict == sprt.NotBetter:
		return &exitError{code: exitNotBetter}
	case verdict == sprt.Undecided:
		return &exitError{code: exitUndecided}
	}
	return nil
}

func (c *DuelCmd) play(app *App) (verdict sprt.Verdict, err error) {
	p, err := c.TaskFlags.plan(app, c.League, c.URL, c.Seed, unitsOfMatch)
	if err != nil {
		return verdict, err
	}
	agents := contestants{everyMatch: true}
	defer func() { err = errors.Join(err, agents.close()) }()
	seed := seedOf(c.Seed)
	for _, arg := range []string{c.Old, c.New} {
		if err := agents.add(app, arg, c.Protocol, c.SourceFlags, p.game, seed); err != nil {
			return verdict, err
		}
	}
	say := &duelPrinter{w: app.Stdout, live: cli.IsTerminal(app.Stdout), names: [2]string{agents.targets[0].name, agents.targets[1].name}}
	if c.JSON {
		say.w, say.live = app.Stderr, cli.IsTerminal(app.Stderr)
	}
	local, err := startLocal(app, say.w, c.Addr, c.LocalFlags, agents.targets, seedsOf(c.Seed))
	if err != nil {
		return verdict, err
	}
	defer func() { err = errors.Join(err, local.close()) }()
	if err := agents.serve(app.Ctx, local, c.Concurrency); err != nil {
		return verdict, err
	}
	made, err := agents.register(app.Ctx, local)
	if err != nil {
		return verdict, err
	}
	if err := p.choose(made); err != nil {
		return verdict, err
	}
	if err := p.open(app.Ctx, local, c.TaskFlags, app.Now()); err != nil {
		return verdict, err
	}
	d := duel{
		localMatches: newLocalMatches(local, p, made, c.MaxMatches, c.Concurrency, app.Now),
		ids:          [2]string{made[0].ID, made[1].ID}, tally: newTally(sprt.Test{Elo0: c.Elo0, Elo1: c.Elo1}), say: say, agents: &agents,
	}
	d.seats = func(int) [2]string { return d.ids }
	d.waits = say.waits
	say.forecast(&d, c)
	began := app.Now()
	err = d.play(app.Ctx)
	say.end()
	if err != nil && app.Ctx.Err() == nil {
		return verdict, err
	}
	if app.Ctx.Err() == nil {
		if err := d.failure(app.Ctx); err != nil {
			return verdict, err
		}
	}
	report := d.report(c, app.Now().Sub(began), app.Ctx.Err() != nil)
	if c.JSON {
		return d.tally.verdict, errors.Join(say.err, app.JSON(report))
	}
	say.report(report)
	return d.tally.verdict, say.err
}

// duel is a duel that is played.
type duel struct {
	localMatches

	ids    [2]string // of the agents
	tally  *tally
	say    *duelPrinter
	agents *contestants
}

// play plays matches until the tally is over or the limit is reached.
func (d *duel) play(ctx context.Context) error {
	return d.run(ctx, func(n int, p played) (over bool, err error) {
		d.tally.add(n, p)
		d.say.progress(d)
		return d.tally.over(), d.say.err
	})
}

// failure returns why a duel has no verdict that means anything, or nil.
func (d *duel) failure(ctx context.Context) error {
	t, least := d.tally, fewestAsked
	if t.verdict == sprt.Undecided {
		least = 1
	}
	if i := t.broken(least); i >= 0 {
		return fmt.Errorf("%s did not answer %d of %d %s (%s); the last because: %s", d.agents.targets[i].name, t.misses(i), t.asked[i], d.plan.asked(),
			counts(t.missed[i]), plaintext.Terminal(d.agents.lastFailure(ctx, d.local, i, d.ids[i])))
	}
	if t.void(least) {
		return fmt.Errorf("%d of %d matches gave no result: %s", t.failed, t.matches, plaintext.Terminal(cmp.Or(counts(t.voids), "an agent was unavailable or over its rate limit")))
	}
	return nil
}

// asked returns the word for what the agents are asked.
func (p *localPlan) asked() string {
	if p.game != "" {
		return "moves"
	}
	return "tasks"
}
