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
	"strings"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/examples/packs"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/league/pack"
)

// PlayCmd is `arena play`.
type PlayCmd struct {
	Endpoints []string `arg:"" name:"url" placeholder:"URL" help:"Agents, two or more, as [NAME=][PROTOCOL=]URL. Without an endpoint: envelope=did:key:…, agentprotocol=KEY (KEY@URL with one), aap=poll, agora=poll. On this machine: exec:CMD, a program, or model:NAME, a language model, as of arena join. With --game also built-in opponents: random, minimax, bluffer."`
	Protocol  string   `default:"aap" enum:"aap,agora,envelope,agentprotocol,a2a" help:"Of agents without a PROTOCOL: ${enum}."`
	League    string   `placeholder:"SLUG" help:"League of the match, which the agents' health must list; needed unless --game is given, whose name it then has."`
	TaskFlags
	Generator  string  `xor:"tasks" placeholder:"NAME" help:"Make tasks instead: arithmetic, dates, units or word_problems."`
	Difficulty int     `help:"Of made tasks, 1 to 5."`
	Games      int     `default:"2" help:"Games of the match, 1 to 20; the agents change places after each."`
	Seed       *uint64 `placeholder:"N" help:"Seed of the match, which decides deals and tasks; without, a secret one."`

	Rounds int    `default:"5" help:"Rounds, 1 to 200; 0 is an open end."`
	Format string `enum:"auto,ladder,elimination" default:"auto" help:"ladder is a duel, elimination 3 to 128 seats; auto goes by their number."`
	Addr   string `default:"127.0.0.1:8088" placeholder:"HOST:PORT" help:"Where keys and stream are for the agents while the match runs; port 0 takes a free one."`
	LocalFlags
	SourceFlags
	Out string `placeholder:"FILE" type:"path" help:"Write the log of the match, one event per line, as the API gives it; arena replay shows it."`
}

// Help shows the command at work.
func (c *PlayCmd) Help() string {
	return `Plays one whole match on this machine: the same runner, judges and log as in an
arena, kept in a temporary folder. Nothing is registered anywhere and no rating
moves. Without --pack, --generator or --game the tasks are the built-in trivia. Start the
agents as if an arena were at --addr:

    ARENA=http://127.0.0.1:8088 ./my-agent
    arena play --league trivia http://127.0.0.1:8700/agora old=http://127.0.0.1:8701/agora
    arena play --league trivia http://127.0.0.1:8700/agora agora=http://127.0.0.1:8800/agora \
        ada=envelope=did:key:z6Mk…
    arena play --league arithmetic --generator arithmetic --rounds 10 --out match.jsonl URL URL URL
    arena play --game connect_four --games 4 http://127.0.0.1:8700/agora minimax

Ends with 0 when the match was finished, with 1 when it is void.`
}

// Validate refuses a call without a league and without a game.
func (c *PlayCmd) Validate() error {
	if c.League == "" && c.Game == "" {
		return errors.New("missing flags: --league=SLUG or --game=NAME")
	}
	return nil
}

// Run plays the match.
func (c *PlayCmd) Run(app *App) (err error) {
	if len(c.Endpoints) < 2 {
		return fmt.Errorf("a match needs two agents or more, not %d", len(c.Endpoints))
	}
	c.League = cmp.Or(c.League, strings.ReplaceAll(c.Game, "_", "-"))
	var all contestants
	defer func() { err = errors.Join(err, all.close()) }()
	seed := seedOf(c.Seed)
	for _, arg := range c.Endpoints {
		if err := all.add(app, arg, c.Protocol, c.SourceFlags, c.Game, seed); err != nil {
			return err
		}
	}
	local, err := startLocal(app, app.Stdout, c.Addr, c.LocalFlags, all.targets, seedsOf(c.Seed))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()
	if err := all.serve(app.Ctx, local, arenaagent.DefaultMaxConcurrent); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(app.Stdout, "tokens: issuer %s; keys at %[1]s/.well-known/jwks.json\n", local.URL()); err != nil {
		return err
	}
	match, err := c.schedule(app.Ctx, local, &all)
	if err != nil {
		return err
	}
	return c.watch(app, local.admin, match)
}

// schedule makes pack, league and agents, as a host and owners would, and the
// match at once.
func (c *PlayCmd) schedule(ctx context.Context, local *localArena, all *contestants) (match string, err error) {
	if err := c.makeLeague(ctx, local.admin); err != nil {
		return "", err
	}
	made, err := all.register(ctx, local, c.League)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, r := range made {
		ids = append(ids, r.ID)
	}
	return local.match(ctx, c.League, ids)
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
		"slug": c.League, "title": c.League, "format": format, "rounds": c.Rounds, "time_limit_seconds": c.limitSeconds(), "rated": false,
	}
	if c.Game != "" {
		league["game"], league["rounds"], league["format"] = c.game(c.Games), nil, arena.FormatLadder
		league["max_seats"] = len(c.Endpoints)
		return admin.Call(ctx, http.MethodPost, "/v1/leagues", league, nil)
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
		found, _ := pack.Read(pack.Source{Format: c.PackFormat, Data: data}, pack.DefaultLimits()) // one that cannot be read is refused when it is imported
		league["judge"] = judgeOf(found)
	}
	id, err := c.importPack(ctx, admin, data, name)
	if err != nil {
		return err
	}
	league["pack_id"] = id
	return admin.Call(ctx, http.MethodPost, "/v1/leagues", league, nil)
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
	err = follow(app.Ctx, admin.As(""), url.Values{"match": {match}}, func(e liveEvent) error {
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
	var body struct {
		Standings []seatWords
		State     *struct{ Over bool }
	}
	if json.Unmarshal(e.raw, &body) != nil || body.State != nil && !body.State.Over {
		return // a turn in the middle of a game
	}
	var line []string
	for _, seat := range body.Standings {
		line = append(line, fmt.Sprintf("%d. %s %s", seat.Place, s.name(seat.AgentID), points(seat.Points)))
	}
	s.line(cli.Dim, "          %s", strings.Join(line, "   "))
}
