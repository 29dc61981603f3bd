package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agora-arena/agora-go/arenaagent/agora"
	"github.com/agora-arena/arena/examples/agents"
	"github.com/agora-arena/arena/examples/packs"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/server"
)

// DemoCmd is `arena demo`.
type DemoCmd struct {
	Addr      string  `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on, on this machine only; port 0 takes a free one."`
	Data      string  `placeholder:"DIR" type:"path" help:"Keep the arena in this folder and resume from there; without it everything is gone at the end."`
	Agents    int     `default:"24" help:"Number of demo agents, 8 to 96."`
	Speed     float64 `default:"1" help:"How fast agents think: 2 is twice as fast, up to 100."`
	Seed      uint64  `default:"1" help:"Of the agents' skills and moods."`
	ReadyFile string  `placeholder:"FILE" type:"path" help:"Write a JSON file with url and admin_token once leagues are running."`
	Verbose   bool    `short:"v" help:"Print the server's log lines; with ARENA_LOG_LEVEL=debug also one for each request."`
}

// Help describes the demo.
func (c *DemoCmd) Help() string {
	return `Starts an arena with seven leagues that keep playing (two ladders, a Swiss cup, an
elimination night, a debating club with a panel of judges, connect four and Kuhn
poker), and agents of every temperament: steady, hasty, slow, chatty, flaky, rate limited and sleepy ones. Open the
printed URL in a browser. Nothing leaves this machine.

    arena demo
    arena demo --data ./my-arena --agents 40`
}

// The leagues of the demo.
const (
	demoTrivia      = "trivia"
	demoArithmetic  = "arithmetic"
	demoElimination = "last-one-standing"
	demoSwiss       = "swiss-cup"
	demoDebate      = "debating-club"
	demoFour        = "connect-four"
	demoPoker       = "kuhn-poker"
)

func demoSlugs() []string {
	return []string{demoElimination, demoSwiss, demoDebate, demoFour, demoPoker, demoArithmetic, demoTrivia}
}

// Run plays until a signal comes.
func (c *DemoCmd) Run(app *App) (err error) {
	if c.Agents < 8 || c.Agents > agents.MaxCount {
		return fmt.Errorf("--agents is %d, want 8 to %d", c.Agents, agents.MaxCount)
	}
	if c.Speed <= 0 || c.Speed > 100 {
		return fmt.Errorf("--speed is %g, want more than 0 and at most 100", c.Speed)
	}
	dir := c.Data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "arena-demo-"); err != nil {
			return fmt.Errorf("folder for the demo: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	cfg, err := c.config(app, dir)
	if err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	if c.Verbose {
		log = app.Logger(cfg)
	}
	server.TuneStart()
	s, err := server.New(app.Ctx, cfg, log, server.Options{
		Version:    readBuildInfo().Version,
		NoLimits:   true, // everything comes from one address here
		Spectators: 10_000, LadderPause: 4 * time.Second, EliminationPause: 45 * time.Second,
		RateLimitPause: time.Minute, RelayDev: true, QuietRequests: true,
	})
	if err != nil {
		return err
	}
	server.TuneCollector()
	ctx, cancel := context.WithCancelCause(app.Ctx)
	defer cancel(nil)
	served := make(chan error, 1)
	go func() {
		err := s.Run(ctx)
		cancel(err)
		served <- err
	}()
	fleet, err := c.populate(ctx, s, log)
	if err == nil {
		c.welcome(app, s, dir)
		if c.ReadyFile != "" {
			err = writeReadyFile(s, c.ReadyFile)
		}
	}
	if err == nil {
		<-ctx.Done()
	}
	cancel(err)
	err = errors.Join(err, <-served)
	if fleet != nil {
		fleet.Close()
	}
	if app.Ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // a signal in the middle of the preparations
	}
	return err
}

// pace is the factor on the thinking times of the agents: half of them at
// twice the speed.
func (c *DemoCmd) pace() float64 { return 1 / c.Speed }

// config is a server for this machine only, which may call agents on it.
func (c *DemoCmd) config(app *App, dir string) (server.Config, error) {
	secret, err := demoSecret(dir)
	if err != nil {
		return server.Config{}, err
	}
	cfg, err := server.Load(server.Sources{Environ: app.Environ, Flags: map[string]string{
		"ARENA_ADDR":           c.Addr,
		"ARENA_PUBLIC_URL":     "",
		"ARENA_TLS":            server.TLSOff,
		"ARENA_HTTP_ADDR":      "",
		"ARENA_METRICS_ADDR":   "127.0.0.1:0",
		"ARENA_DATABASE_URL":   "sqlite:" + filepath.Join(dir, "arena.db"),
		"ARENA_ADMIN_TOKEN":    secret,
		"ARENA_ALLOW_CIDRS":    "127.0.0.0/8,::1/128",
		"ARENA_AUDIT_LEAGUES":  "0",  // its matches need the processors
		"ARENA_SHUTDOWN_GRACE": "3s", // who ends a demo does not want to wait for it
	}})
	if err != nil {
		return server.Config{}, err
	}
	host, _, _ := strings.Cut(c.Addr, ":")
	if ip, err := netip.ParseAddr(host); err == nil && !ip.IsLoopback() || err != nil && host != "localhost" {
		return server.Config{}, fmt.Errorf("--addr is %s: the demo lets agents use this machine's own addresses, so it listens on 127.0.0.1 only", c.Addr)
	}
	return cfg, nil
}

// demoSecret returns the admin token of the demo in dir, the same at each start.
func demoSecret(dir string) (string, error) {
	file := filepath.Join(dir, "admin-token")
	data, err := os.ReadFile(file) //nolint:gosec // G304: the folder is the user's own
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	secret, _ := token.NewSecret(token.AdminSecretPrefix)
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("admin token of the demo: %w", err)
	}
	return secret, nil
}

func (c *DemoCmd) welcome(app *App, s *server.Server, dir string) {
	kept := "nothing is kept; --data DIR keeps it"
	if c.Data != "" {
		kept = "kept in " + dir
	}
	admin, _ := s.AdminToken()
	_, _ = fmt.Fprintf(app.Stdout, `
  Agora Arena is playing: %d agents in %d leagues

    watch        %s
    admin token  %s
    admin page   %s
    metrics      %s

  %s. Ctrl-C ends it.

`, c.Agents, len(demoSlugs()), s.URL(), admin, s.URL()+adminPath, s.MetricsURL(), kept)
}

// populate makes the leagues and registers the agents through the API, as
// hosts and owners would. It keeps what an earlier start made.
func (c *DemoCmd) populate(ctx context.Context, s *server.Server, log *slog.Logger) (*agents.Fleet, error) {
	secret, _ := s.AdminToken()
	admin := apiclient.New(s.LocalURL(), secret)
	if err := demoLeagues(ctx, admin); err != nil {
		return nil, err
	}
	knowledge, err := demoKnowledge()
	if err != nil {
		return nil, err
	}
	// The agents outlive the signal: open rounds want their answers.
	fleet, err := agents.Start(context.WithoutCancel(ctx), agents.Options{
		Arena: s.LocalURL(), Leagues: demoSlugs(),
		Knowledge: knowledge, Count: c.Agents, Seed: c.Seed, Speed: c.pace(), Logger: log.With("component", "demo agents"),
		Key: func(name string) ed25519.PrivateKey { // secret, and the same at each start
			seed := sha256.Sum256([]byte(secret + "\n" + name))
			return ed25519.NewKeyFromSeed(seed[:])
		},
	})
	if err != nil {
		return nil, fmt.Errorf("demo agents: %w", err)
	}
	ids := map[string]string{}
	for _, a := range fleet.Agents() {
		id, err := demoRegister(ctx, admin, a)
		if err != nil {
			return fleet, fmt.Errorf("register demo agent %s: %w", a.Name, err)
		}
		ids[a.Name] = id
		var r agora.Registered
		if a.Protocol == agents.Agora {
			if r, err = agora.FreshBase(ctx, s.LocalURL(), id, secret); err != nil {
				return fleet, fmt.Errorf("secret base of demo agent %s: %w", a.Name, err)
			}
		}
		if err := fleet.Joined(a.Name, id, demoBase(s.LocalURL(), r.Base)); err != nil {
			return fleet, fmt.Errorf("demo agent %s: %w", a.Name, err)
		}
	}
	if err := demoDebates(ctx, admin, fleet.Agents(), ids); err != nil {
		return fleet, fmt.Errorf("debating club: %w", err)
	}
	if err := demoGames(ctx, admin, fleet.Agents(), ids); err != nil {
		return fleet, fmt.Errorf("leagues of games: %w", err)
	}
	for _, slug := range demoSlugs() {
		var p *apiclient.Problem
		err := admin.Call(ctx, http.MethodPost, "/v1/leagues/"+slug+"/start", nil, nil)
		if err != nil && (!errors.As(err, &p) || p.Status != http.StatusConflict) {
			return fleet, fmt.Errorf("start league: %w", err)
		}
	}
	return fleet, nil
}

// demoBase is a secret base URL as agents on this machine reach it.
func demoBase(local, base string) string {
	u, err := url.Parse(base)
	if base == "" || err != nil {
		return base
	}
	return local + u.Path
}

func demoLeagues(ctx context.Context, admin *apiclient.Client) error {
	var have struct {
		Items []struct{} `json:"items"`
	}
	if err := admin.Call(ctx, http.MethodGet, "/v1/leagues", nil, &have); err != nil || len(have.Items) > 0 {
		return err
	}
	var pack struct {
		PackID string `json:"pack_id"`
	}
	if err := admin.Call(ctx, http.MethodPost, "/v1/packs?format=jsonl&name=world", packs.World, &pack); err != nil {
		return err
	}
	for _, l := range []map[string]any{
		{
			"slug": demoTrivia, "title": "Trivia duels",
			"description": "Five questions on countries, capitals and the world. Two agents answer at the same moment; the better score wins.", "pack_id": pack.PackID, "judge": "choice", "format": "ladder", "pace": demoPace(),
			"rounds": 5, "time_limit_seconds": 15, "break_seconds": 4, "rated": true, "rules": []string{"only_one_answer"},
		},
		{
			"slug": demoArithmetic, "title": "Mental arithmetic",
			"description": "Six new sums, twelve seconds each. Every step is shown live.",
			"generator":   map[string]any{"name": "arithmetic", "difficulty": 3},
			"judge":       map[string]any{"kind": "number"}, "format": "ladder", "pace": demoPace(), "rounds": 6, "time_limit_seconds": 12, "break_seconds": 3,
			"rated": true, "visibility": "live",
		},
		{
			"slug": demoElimination, "title": "Last one standing",
			"description": "Everyone plays at once. A wrong answer puts an agent out, until one is left.",
			"pack_id":     pack.PackID, "judge": "choice", "format": "elimination",
			"rounds": nil, "max_rounds": 20, "time_limit_seconds": 15, "break_seconds": 4, "rated": true, "min_seats": 8, "max_seats": 128,
		},
		{
			"slug": demoSwiss, "title": "Swiss cup",
			"description": "A cup of five rounds that starts every five minutes. Winners meet winners; the table decides.",
			"pack_id":     pack.PackID, "judge": "choice", "format": "swiss",
			"format_options": map[string]any{"rounds": 5, "forfeit_seconds": 30}, "schedule": "*/5 * * * *",
			"rounds": 5, "time_limit_seconds": 12, "break_seconds": 3, "rated": true,
		},
	} {
		if err := admin.Call(ctx, http.MethodPost, "/v1/leagues", l, nil); err != nil {
			return err
		}
	}
	return nil
}

// demoDebates makes the debating club: its judges are known only once agents
// are registered.
func demoDebates(ctx context.Context, admin *apiclient.Client, fleet []agents.Info, ids map[string]string) error {
	if missing, err := demoMissing(ctx, admin, demoDebate); !missing {
		return err
	}
	var pack struct {
		PackID string `json:"pack_id"`
	}
	if err := admin.Call(ctx, http.MethodPost, "/v1/packs?format=jsonl&name=motions", packs.Motions, &pack); err != nil {
		return err
	}
	var judges, debaters []string
	for _, a := range fleet {
		if len(judges) < 3 && (a.Persona == "steady" || a.Persona == "slow-and-sharp") {
			judges = append(judges, ids[a.Name])
		} else {
			debaters = append(debaters, ids[a.Name])
		}
	}
	if err := admin.Call(ctx, http.MethodPost, "/v1/leagues", map[string]any{
		"slug": demoDebate, "title": "Debating club",
		"description": "Two agents argue for and against a motion, then change sides. Three judge agents decide.",
		"pack_id":     pack.PackID, "format": "ladder", "pace": demoPace(), "debate": map[string]any{"turns": 2},
		"judge":              map[string]any{"kind": "panel", "agents": judges, "criteria": "Who gives more and better reasons, and answers those of the other side?"},
		"time_limit_seconds": 20, "break_seconds": 5, "rated": true,
	}, nil); err != nil {
		return err
	}
	for _, id := range debaters {
		if err := admin.Call(ctx, http.MethodPut, "/v1/leagues/"+demoDebate+"/entries/"+id, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// demoPace has the ladders of the demo pair all idle agents, so that a visitor sees
// matches at once.
func demoPace() map[string]any {
	return map[string]any{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true}
}

// demoMissing reports whether a league has to be made: an earlier start may have
// ended before it was.
func demoMissing(ctx context.Context, admin *apiclient.Client, slug string) (bool, error) {
	var p *apiclient.Problem
	err := admin.Call(ctx, http.MethodGet, "/v1/leagues/"+slug, nil, nil)
	if errors.As(err, &p) && p.Status == http.StatusNotFound {
		return true, nil
	}
	return false, err
}

// demoGames makes the leagues of games and enters the agents that seldom break
// off: a game is lost with one answer that does not come.
func demoGames(ctx context.Context, admin *apiclient.Client, fleet []agents.Info, ids map[string]string) error {
	for _, l := range []map[string]any{
		{
			"slug": demoFour, "title": "Connect four",
			"description": "Two games, each agent begins once. Some look seven moves ahead, some at the next move only.",
			"game":        map[string]any{"name": "connect_four", "games_per_match": 2},
			"format":      "ladder", "pace": demoPace(), "rounds": nil, "time_limit_seconds": 15, "rated": true, "visibility": "live",
		},
		{
			"slug": demoPoker, "title": "Kuhn poker",
			"description": "Three cards, one bet. Each agent begins half of the games; some bluff too often.",
			"game":        map[string]any{"name": "kuhn_poker", "games_per_match": 2, "hands": 5},
			"format":      "ladder", "pace": demoPace(), "rounds": nil, "time_limit_seconds": 15, "rated": true,
		},
	} {
		slug := l["slug"].(string) //nolint:forcetypeassert // the lines above
		if missing, err := demoMissing(ctx, admin, slug); err != nil {
			return err
		} else if !missing {
			continue
		}
		if err := admin.Call(ctx, http.MethodPost, "/v1/leagues", l, nil); err != nil {
			return err
		}
		for _, a := range fleet {
			if a.Persona == "flaky" || a.Persona == "rate-limited" || a.Persona == "sleeper" {
				continue
			}
			if slug == demoPoker && a.Protocol == agents.Envelope { // its tasks are public, with its cards
				continue
			}
			if err := admin.Call(ctx, http.MethodPut, "/v1/leagues/"+slug+"/entries/"+ids[a.Name], nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// demoRegister registers one agent under an owner of its own, or moves the
// agent of an earlier start to its new endpoint.
func demoRegister(ctx context.Context, admin *apiclient.Client, a agents.Info) (id string, err error) {
	var found struct {
		Items []struct {
			ID   string `json:"agent_id"`
			Name string `json:"name"`
		} `json:"items"`
	}
	if err := admin.Call(ctx, http.MethodGet, "/v1/agents?q="+url.QueryEscape(a.Name), nil, &found); err != nil {
		return "", err
	}
	for _, have := range found.Items {
		if have.Name == a.Name && a.Endpoint == "" {
			return have.ID, nil
		}
		if have.Name == a.Name {
			return have.ID, admin.Call(ctx, http.MethodPatch, "/v1/agents/"+have.ID, map[string]any{"endpoint": a.Endpoint}, nil)
		}
	}
	var owner struct{ Token string }
	if err := admin.As("").Call(ctx, http.MethodPost, "/v1/owners", map[string]any{"name": a.Name + "'s team"}, &owner); err != nil {
		return "", err
	}
	var made struct {
		ID        string `json:"agent_id"`
		Challenge string `json:"key_challenge"`
	}
	agent := map[string]any{
		"name": a.Name, "protocol": a.Protocol, "version": a.Version, "description": a.Description,
		"leagues": []string{demoTrivia, demoArithmetic, demoElimination, demoSwiss},
	}
	if a.Endpoint != "" {
		agent["endpoint"] = a.Endpoint
	}
	if a.PublicKey != "" {
		agent["public_key"] = a.PublicKey
	}
	if err = admin.As(owner.Token).Call(ctx, http.MethodPost, "/v1/agents", agent, &made); err == nil && a.Prove != nil {
		err = admin.As(owner.Token).Call(ctx, http.MethodPost, "/v1/agents/"+made.ID+"/key", map[string]any{"signature": a.Prove(made.Challenge)}, nil)
	}
	return made.ID, err
}

// demoKnowledge has the right answers of the pack. Each demo agent is wrong on its
// own share of them.
func demoKnowledge() (map[string]string, error) {
	known := map[string]string{}
	dec := json.NewDecoder(strings.NewReader(string(packs.World)))
	for dec.More() {
		var q struct{ Description, Answer string }
		if err := dec.Decode(&q); err != nil {
			return nil, fmt.Errorf("built-in pack: %w", err)
		}
		known[q.Description] = q.Answer
	}
	return known, nil
}
