package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/examples/agents"
	"github.com/agora-arena/arena/examples/packs"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/league/pack"
)

// PlayCmd is `arena play`.
type PlayCmd struct {
	Endpoints  []string `arg:"" name:"url" placeholder:"URL" help:"Agents, two or more, as [NAME=][PROTOCOL=]URL. Without an endpoint: envelope=did:key:…, agentprotocol=KEY (KEY@URL with one), aap=poll, agora=poll. With --game also built-in opponents: random, minimax, bluffer."`
	Protocol   string   `default:"aap" enum:"aap,agora,envelope,agentprotocol,a2a" help:"Of agents without a PROTOCOL: ${enum}."`
	League     string   `placeholder:"SLUG" help:"League of the match, which the agents' health must list; needed unless --game is given, whose name it then has."`
	Pack       string   `xor:"tasks" placeholder:"FILE" help:"Tasks to play; without, the built-in trivia."`
	PackFormat string   `default:"auto" enum:"auto,jsonl,csv,opentriviaqa,opentdb,gsm8k,mmlu,arc,aqua,bigbench" help:"Format of the pack: ${enum}; auto is what the file looks like."`
	Generator  string   `xor:"tasks" placeholder:"NAME" help:"Make tasks instead: arithmetic, dates, units or word_problems."`
	Difficulty int      `help:"Of made tasks, 1 to 5."`

	Game   string         `xor:"tasks" placeholder:"NAME" help:"Play a turn-based game instead, e.g. connect_four; for an unknown name the error lists the known ones."`
	Games  int            `default:"2" help:"Games of the match, 1 to 20; the agents change places after each."`
	Option map[string]int `placeholder:"NAME=N" help:"An option of the game; may be given more than once."`
	Seed   *uint64        `placeholder:"N" help:"Seed of the match, which decides deals and tasks; without, a secret one."`

	Rounds    int           `default:"5" help:"Rounds, 1 to 200; 0 is an open end."`
	TimeLimit time.Duration `default:"30s" help:"For each round, 1s to 10m."`
	Judge     string        `placeholder:"KIND" help:"choice, exact, number or another that needs no external judge; without it, the one that fits the tasks."`
	Format    string        `enum:"auto,ladder,elimination" default:"auto" help:"ladder is a duel, elimination 3 to 128 seats; auto goes by their number."`
	Addr      string        `default:"127.0.0.1:8088" placeholder:"HOST:PORT" help:"Where keys and stream are for the agents while the match runs; port 0 takes a free one."`
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
	var bots bots
	defer func() { err = errors.Join(err, bots.close()) }()
	targets := make([]target, len(c.Endpoints))
	for i, arg := range c.Endpoints {
		name, bot, named := strings.Cut(arg, "=")
		if !named {
			bot = arg
		}
		if c.Game != "" && slices.Contains(agents.Bots(), bot) {
			targets[i] = target{name: name, protocol: arena.ProtocolAAP, named: named}
			if targets[i].endpoint, err = bots.listen(app.Ctx, bot); err != nil {
				return err
			}
		} else if targets[i], err = parseTarget(arg, c.Protocol); err != nil {
			return err
		}
		if !targets[i].named {
			targets[i].name = plaintext.Shorten(strconv.Itoa(i+1)+" "+targets[i].name, 40)
		}
	}
	var seeds rand.Source
	if c.Seed != nil {
		seeds = rand.NewPCG(*c.Seed, 0)
	}
	local, err := startLocal(app, app.Stdout, c.Addr, c.LocalFlags, targets, seeds)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()
	if err := bots.serve(app.Ctx, local, c); err != nil {
		return err
	}
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
	if c.Game != "" {
		game := map[string]any{}
		for name, value := range c.Option {
			game[name] = value
		}
		game["name"], game["games_per_match"] = c.Game, c.Games
		league["game"], league["rounds"], league["format"] = game, nil, arena.FormatLadder
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

// bots are built-in opponents, each at an endpoint on this machine.
type bots struct {
	names     []string
	listeners []net.Listener
	stop      context.CancelFunc
	ended     []chan error
}

// listen opens the endpoint of a bot and returns its URL.
func (b *bots) listen(ctx context.Context, name string) (endpoint string, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("endpoint of %s: %w", name, err)
	}
	b.names, b.listeners = append(b.names, name), append(b.listeners, l)
	return "http://" + l.Addr().String() + "/agora", nil
}

// serve starts the bots as agents of an arena.
func (b *bots) serve(ctx context.Context, local *localArena, c *PlayCmd) error {
	ctx, b.stop = context.WithCancel(ctx)
	seed := rand.Uint64() //nolint:gosec // a bot may be predictable
	if c.Seed != nil {
		seed = *c.Seed
	}
	for i, name := range b.names {
		play, err := agents.Bot(name, seed+uint64(i))
		if err != nil {
			return err
		}
		agent, err := arenaagent.New(arenaagent.Config{
			Arena: local.LocalURL(), Issuer: local.URL(), AnyAgent: true, Capabilities: []string{c.League}, Events: arenaagent.EventsOff,
		}, play)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ended := make(chan error, 1)
		b.ended = append(b.ended, ended)
		go func() { ended <- errors.Join(agent.Serve(ctx, b.listeners[i]), agent.Close()) }()
	}
	return nil
}

// close ends the bots and waits for them.
func (b *bots) close() (err error) {
	if b.stop != nil {
		b.stop()
	}
	for _, ended := range b.ended {
		err = errors.Join(err, <-ended)
	}
	for _, l := range b.listeners {
		_ = l.Close() // of a bot that was not started
	}
	return err
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
