package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
	"github.com/agora-arena/arena/examples/packs"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/league/pack"
)

// PlayCmd is `arena play`.
type PlayCmd struct {
	Endpoints  []string      `arg:"" name:"url" placeholder:"URL" help:"Agents, two or more, as [NAME=][PROTOCOL=]URL. Without an endpoint: envelope=did:key:…, agentprotocol=KEY (KEY@URL with one), aap=poll, agora=poll."`
	Protocol   string        `default:"aap" enum:"aap,agora,envelope,agentprotocol,a2a" help:"Of agents without a PROTOCOL: ${enum}."`
	League     string        `required:"" placeholder:"SLUG" help:"League of the match; the agents' health must list it."`
	Pack       string        `xor:"tasks" placeholder:"FILE" help:"Tasks to play; without, the built-in trivia."`
	PackFormat string        `default:"auto" enum:"auto,jsonl,csv,opentriviaqa,opentdb,gsm8k,mmlu,arc,aqua,bigbench" help:"Format of the pack: ${enum}; auto is what the file looks like."`
	Generator  string        `xor:"tasks" placeholder:"NAME" help:"Make tasks instead: arithmetic, dates, units or word_problems."`
	Difficulty int           `help:"Of made tasks, 1 to 5."`
	Rounds     int           `default:"5" help:"Rounds, 1 to 200; 0 is an open end."`
	TimeLimit  time.Duration `default:"30s" help:"For each round, 1s to 10m."`
	Judge      string        `placeholder:"KIND" help:"choice, exact, number or another that needs no external judge; without it, the one that fits the tasks."`
	Format     string        `enum:"auto,ladder,elimination" default:"auto" help:"ladder is a duel, elimination 3 to 128 seats; auto goes by their number."`
	Addr       string        `default:"127.0.0.1:8088" placeholder:"HOST:PORT" help:"Where keys and stream are for the agents while the match runs; port 0 takes a free one."`
	LocalFlags
	Out string `placeholder:"FILE" type:"path" help:"Write the log of the match, one event per line, as the API gives it; arena replay shows it."`
}

// Help shows the command at work.
func (c *PlayCmd) Help() string {
	return `Plays one whole match on this machine: the same runner, judges and log as in an
arena, kept in a temporary folder. Nothing is registered anywhere and no rating
moves. Start the agents as if an arena were at --addr:

    ARENA=http://127.0.0.1:8088 ./my-agent
    arena play --league trivia http://127.0.0.1:8700/agora old=http://127.0.0.1:8701/agora
    arena play --league trivia http://127.0.0.1:8700/agora agora=http://127.0.0.1:8800/agora \
        ada=envelope=did:key:z6Mk…
    arena play --league arithmetic --generator arithmetic --rounds 10 --out match.jsonl URL URL URL

Ends with 0 when the match was finished, with 1 when it is void.`
}

// Run plays the match.
func (c *PlayCmd) Run(app *App) (err error) {
	if len(c.Endpoints) < 2 {
		return fmt.Errorf("a match needs two agents or more, not %d", len(c.Endpoints))
	}
	targets := make([]target, len(c.Endpoints))
	for i, arg := range c.Endpoints {
		if targets[i], err = parseTarget(arg, c.Protocol); err != nil {
			return err
		}
		if !targets[i].named {
			targets[i].name = plaintext.Shorten(strconv.Itoa(i+1)+" "+targets[i].name, 40)
		}
	}
	local, err := startLocal(app, app.Stdout, c.Addr, c.LocalFlags, targets)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()
	if _, err := fmt.Fprintf(app.Stdout, "tokens: issuer %s; keys at %[1]s/.well-known/jwks.json\n", local.URL()); err != nil {
		return err
	}
	match, err := c.schedule(app.Ctx, local, targets)
	if err != nil {
		return err
	}
	return c.watch(app, local.admin, match)
}

// schedule makes pack, league and agents, as a host and owners would, and the
// match at once.
func (c *PlayCmd) schedule(ctx context.Context, local *localArena, targets []target) (match string, err error) {
	if err := c.makeLeague(ctx, local.admin); err != nil {
		return "", err
	}
	ids := make([]string, len(targets))
	for i, t := range targets {
		made, err := local.register(ctx, t, c.League)
		if err != nil {
			return "", err
		}
		if !made.ready() {
			return "", fmt.Errorf("%s: its health check is not good (%s): %s; try arena check --protocol %s %s", t.name, made.Health.Reason, plaintext.Terminal(made.Health.Detail),
				t.protocol, cmp.Or(t.endpoint, t.key, "poll"))
		}
		ids[i] = made.ID
	}
	var made struct {
		ID string `json:"match_id"`
	}
	err = local.admin.Call(ctx, http.MethodPost, "/v1/matches", map[string]any{"league": c.League, "agents": ids}, &made)
	return made.ID, err
}

func (c *PlayCmd) makeLeague(ctx context.Context, admin *apiclient.Client) error {
	format := c.Format
	if format == "auto" {
		format = string(arena.FormatLadder)
		if len(c.Endpoints) > 2 {
			format = string(arena.FormatElimination)
		}
	}
	league := map[string]any{
		"slug": c.League, "title": c.League, "format": format, "rounds": c.Rounds, "time_limit_seconds": c.TimeLimit.Seconds(), "rated": false,
	}
	if c.Rounds == 0 {
		league["rounds"] = nil
	}
	if c.Judge != "" {
		league["judge"] = c.Judge
	}
	if c.Generator != "" { // it has a judge of its own
		g := map[string]any{"name": c.Generator}
		if c.Difficulty > 0 {
			g["difficulty"] = c.Difficulty
		}
		league["generator"] = g
		return admin.Call(ctx, http.MethodPost, "/v1/leagues", league, nil)
	}
	data, name := packs.World, "world"
	if c.Pack != "" {
		var err error
		if data, err = readPackFile(c.Pack); err != nil {
			return fmt.Errorf("--pack: %w", err)
		}
		name = "play"
	}
	if c.Judge == "" {
		league["judge"] = c.judgeOf(data)
	}
	var made struct {
		ID string `json:"pack_id"`
	}
	if err := admin.Call(ctx, http.MethodPost, "/v1/packs?format="+c.PackFormat+"&name="+name, data, &made); err != nil {
		return fmt.Errorf("--pack %s: %w", cmp.Or(c.Pack, name), err)
	}
	league["pack_id"] = made.ID
	return admin.Call(ctx, http.MethodPost, "/v1/leagues", league, nil)
}

// judgeOf is the judge that fits a pack. One that cannot be read is refused
// when it is imported.
func (c *PlayCmd) judgeOf(data []byte) string {
	found, _ := pack.Read(pack.Source{Format: c.PackFormat, Data: data}, pack.DefaultLimits())
	tasks := found.Tasks
	switch {
	case found.Format == pack.GSM8K:
		return arena.JudgeNumber
	case slices.ContainsFunc(tasks, func(t arena.Task) bool { return len(t.Options) > 0 }):
		return arena.JudgeChoice
	case slices.ContainsFunc(tasks, func(t arena.Task) bool { return len(t.Cases) > 0 }):
		return arena.JudgeCode
	}
	return arena.JudgeExact
}

// watch prints the match and writes its log while it is played.
func (c *PlayCmd) watch(app *App, admin *apiclient.Client, match string) (err error) {
	log := io.Discard
	if c.Out != "" {
		f, err := os.Create(c.Out)
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := writeHead(app.Ctx, f, admin, match); err != nil {
			return err
		}
		log = f
	}
	s := &screen{out: app.Stdout, style: app.Style(), names: map[string]string{}}
	void, voided := "", false
	err = follow(app.Ctx, admin.As(""), url.Values{"match": {match}}, 0, func(e liveEvent) error {
		if e.Seq > 0 && e.Type != "hello" {
			if _, err := log.Write(append(slices.Clone(e.raw), '\n')); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
		}
		s.show(e)
		s.standings(e)
		if e.Type == "match_void" {
			void, voided = e.words().Reason, true
		}
		if e.ends() {
			return errStop
		}
		return s.err
	})
	if err == nil && s.err == nil && c.Out != "" {
		s.line(cli.Dim, "\nthe match is in %s; see it with: arena replay --open %[1]s", plaintext.Terminal(c.Out))
	}
	if err == nil && voided {
		err = fmt.Errorf("the match is void: %s", plaintext.Terminal(void))
	}
	return errors.Join(err, s.err)
}

// writeHead begins a log with the match as it was made.
func writeHead(ctx context.Context, w io.Writer, admin *apiclient.Client, match string) error {
	var head struct {
		Match json.RawMessage `json:"match"`
	}
	if err := admin.As("").Call(ctx, http.MethodGet, "/v1/matches/"+match, nil, &head.Match); err != nil {
		return err
	}
	line, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// standings writes the running score after a round.
func (s *screen) standings(e liveEvent) {
	if e.Type != "round_closed" {
		return
	}
	var body struct{ Standings []seatWords }
	if json.Unmarshal(e.raw, &body) != nil {
		return
	}
	var line []string
	for _, seat := range body.Standings {
		line = append(line, fmt.Sprintf("%d. %s %s", seat.Place, s.name(seat.AgentID), points(seat.Points)))
	}
	s.line(cli.Dim, "          %s", strings.Join(line, "   "))
}
