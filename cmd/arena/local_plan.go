package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/league/pack"
)

// localPlan is what the matches on an arena of one's own play.
type localPlan struct {
	slug  string // of the league, unless an agent plays in another only
	units int    // tasks or games of a match
	what  string // for people
	body  map[string]any
	game  string          // "": it asks questions
	pack  []byte          // nil: no pack
	again int             // tasks of the pack that repeat an earlier one and are left out
	tasks []arena.Task    // of the pack, or generated, in the order in which they are put; nil: the league makes them
	judge arena.JudgeSpec // zero: a game
	// remote is the arena of an uploaded game.
	remote *cli.Target
}

// plan reads the pack, or the settings of the league of an arena. Each match has a
// number of tasks or games; 0 means as many as in the league.
func (f TaskFlags) plan(app *App, league, address string, seed *uint64, units int) (p localPlan, err error) {
	p = localPlan{slug: "duel", units: units, body: map[string]any{"time_limit_seconds": f.limitSeconds()}}
	if league != "" {
		if p, err = f.leaguePlan(app, league, address, units); err != nil {
			return p, err
		}
	}
	switch {
	case f.Game != "":
		p.slug, p.game, p.what = strings.ReplaceAll(f.Game, "_", "-"), f.Game, f.Game
		p.body["game"] = f.game(units)
	case f.Pack != "":
		if err := f.readPack(&p, seed); err != nil {
			return p, fmt.Errorf("--pack: %w", err)
		}
	case p.game == "" && p.body["generator"] == nil:
		return p, fmt.Errorf("league %s asks questions of a pack, which only its organizers may read: give one with --pack", league)
	}
	if p.units == 0 {
		return p, fmt.Errorf("league %s has no number of rounds", league)
	}
	switch judge := p.body["judge"].(type) {
	case string:
		p.judge.Kind = judge
	case map[string]any:
		if err := recode(judge, &p.judge); err != nil {
			return p, fmt.Errorf("judge: %w", err)
		}
	}
	p.body["rounds"] = p.units
	if p.game != "" {
		p.body["rounds"] = nil
	}
	// The agents must not see each other's answers, and nobody else watches.
	p.body["format"], p.body["rated"], p.body["visibility"] = arena.FormatLadder, false, arena.VisibilitySealed
	return p, nil
}

// readPack reads the tasks of --pack and puts them in a random order.
func (f TaskFlags) readPack(p *localPlan, seed *uint64) (err error) {
	if p.pack, err = readPackFile(f.Pack); err != nil {
		return err
	}
	found, err := pack.Read(pack.Source{Format: f.PackFormat, Data: p.pack}, pack.DefaultLimits())
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range found.Tasks {
		question := questionOf(t.Description, t.Options)
		if seen[question] {
			p.again++
			continue
		}
		seen[question] = true
		p.tasks = append(p.tasks, t)
	}
	if len(p.tasks) < p.units {
		return fmt.Errorf("a match needs %d tasks or more, not %d", p.units, len(p.tasks))
	}
	switch {
	case f.Judge != "":
		p.body["judge"] = f.Judge
	case p.body["judge"] == nil:
		p.body["judge"] = judgeOf(found)
	}
	random := rand.New(rand.NewPCG(seedOf(seed), 1)) //nolint:gosec // G404: it shuffles the author's own tasks
	random.Shuffle(len(p.tasks), func(i, j int) { p.tasks[i], p.tasks[j] = p.tasks[j], p.tasks[i] })
	if p.what != "" {
		p.what += " with "
	}
	p.what += filepath.Base(f.Pack)
	return nil
}

// leaguePlan reads the public settings of a league of an arena.
func (f TaskFlags) leaguePlan(app *App, league, address string, units int) (p localPlan, err error) {
	target, err := app.Target(address, cli.Token{})
	if err != nil {
		return p, err
	}
	var l struct {
		Generator       map[string]any `json:"generator"`
		Game            map[string]any `json:"game"`
		Judge           map[string]any `json:"judge"`
		TimeLimit       float64        `json:"time_limit_seconds"`
		MaxTokens       int            `json:"max_tokens"`
		MaxTokensPolicy string         `json:"max_tokens_policy"`
		MaxCostUSD      float64        `json:"max_cost_usd"`
		Rules           []string       `json:"rules"`
		Debate          map[string]any `json:"debate"`
		Rounds          int            `json:"rounds"` // 0: open end
		MaxRounds       int            `json:"max_rounds"`
	}
	if err := target.Client().As("").Call(app.Ctx, http.MethodGet, "/v1/leagues/"+url.PathEscape(league), nil, &l); err != nil {
		return p, fmt.Errorf("--league %s: %w", league, target.Explain(err))
	}
	kind, _ := l.Judge["kind"].(string)
	switch {
	case l.Debate != nil:
		return p, fmt.Errorf("league %s plays debates, which need a judge that compares: a duel has none", league)
	case arena.JudgeSpec{Kind: kind}.Compares():
		return p, fmt.Errorf("league %s has the judge %s, which compares answers with others' help: a duel has none", league, plaintext.Terminal(kind))
	}
	if units == 0 {
		units = cmp.Or(l.Rounds, l.MaxRounds)
		if games, ok := l.Game["games_per_match"].(float64); ok {
			units = int(games)
		}
	}
	p = localPlan{slug: league, units: units, what: "league " + league + " of " + target.URL, body: map[string]any{
		"time_limit_seconds": l.TimeLimit, "max_tokens": l.MaxTokens, "max_tokens_policy": l.MaxTokensPolicy, "max_cost_usd": l.MaxCostUSD, "rules": append([]string{}, l.Rules...),
	}}
	switch {
	case l.Game != nil:
		p.game, _ = l.Game["name"].(string)
		l.Game["games_per_match"] = units
		p.body["game"], p.remote = l.Game, &target
	case f.Pack == "" && l.Generator != nil:
		p.body["generator"] = l.Generator
		fallthrough
	default:
		p.body["judge"] = l.Judge
	}
	if f.Pack != "" && p.game != "" {
		return p, fmt.Errorf("league %s plays a game: leave out --pack", league)
	}
	return p, nil
}

// recode reads JSON that was decoded into v into another type.
func recode(v, into any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// generate makes the tasks of a number of matches, as the league's generator makes
// them, so that built-in opponents can know their answers.
func (p *localPlan) generate(matches int, seed uint64) error {
	if p.body["generator"] == nil {
		return nil
	}
	var spec arena.GeneratorSpec
	if err := recode(p.body["generator"], &spec); err != nil {
		return fmt.Errorf("generator: %w", err)
	}
	for n := range matches {
		for round := range p.units {
			t, err := pack.Generate(spec, seed+uint64(n), round+1)
			if err != nil {
				return err
			}
			p.tasks = append(p.tasks, t)
		}
	}
	delete(p.body, "generator")
	return nil
}

// open creates the league of the matches on an arena of one's own.
func (p *localPlan) open(ctx context.Context, local *localArena, flags TaskFlags, now time.Time) error {
	if p.game != "" {
		if err := p.addGame(ctx, local); err != nil {
			return err
		}
	}
	if p.pack != nil {
		id, err := flags.importPack(ctx, local.admin, p.pack, "duel")
		if err != nil {
			return err
		}
		p.body["pack_id"] = id
	} else if p.tasks != nil {
		made := arena.Pack{ID: arena.NewID(arena.PackPrefix, now), Name: "generated", Format: "jsonl", CreatedAt: now.UTC()}
		if err := local.Parts().Store.Packs.CreatePack(ctx, made, p.tasks); err != nil {
			return err
		}
		p.body["pack_id"] = made.ID
	}
	p.body["slug"], p.body["title"] = p.slug, p.slug
	return local.admin.Call(ctx, http.MethodPost, "/v1/leagues", p.body, nil)
}

// addGame has an uploaded game of the league's arena played here too, and deals the
// same cards in both games of a match where the game allows that.
func (p *localPlan) addGame(ctx context.Context, local *localArena) error {
	var games struct {
		Items []struct {
			Name   string `json:"name"`
			Deals  bool   `json:"deals"`
			Hidden bool   `json:"hidden"`
		} `json:"items"`
	}
	if err := local.admin.Call(ctx, http.MethodGet, "/v1/games", nil, &games); err != nil {
		return err
	}
	body, _ := p.body["game"].(map[string]any)
	for _, g := range games.Items {
		if g.Name == p.game {
			if p.remote == nil && g.Deals && !g.Hidden {
				body["duplicate"] = true
			}
			return nil
		}
	}
	if p.remote == nil {
		return nil // creating the league fails with the names that there are
	}
	var script struct {
		Source string `json:"source"`
	}
	sha, _ := body["sha256"].(string)
	err := p.remote.Client().As("").Call(ctx, http.MethodGet, "/v1/games/"+url.PathEscape(p.game)+"?sha256="+url.QueryEscape(sha), nil, &script)
	if err != nil {
		return fmt.Errorf("read the game %s: %w", plaintext.Terminal(p.game), p.remote.Explain(err))
	}
	if script.Source == "" {
		return fmt.Errorf("the game %s is part of another version of the arena", plaintext.Terminal(p.game))
	}
	return local.admin.Call(ctx, http.MethodPost, "/v1/games", []byte(script.Source), nil)
}

// choose sets the league that both agents play: the one of the plan, or another that
// both of them name in their health.
func (p *localPlan) choose(agents []registered) error {
	plays := func(slug string) bool {
		return !slices.ContainsFunc(agents, func(a registered) bool {
			return len(a.Health.Capabilities) > 0 && !slices.Contains(a.Health.Capabilities, slug)
		})
	}
	if plays(p.slug) {
		return nil
	}
	for _, a := range agents {
		for _, slug := range a.Health.Capabilities {
			if plays(slug) {
				p.slug = slug
				return nil
			}
		}
	}
	return errors.New("the agents name no common league among the capabilities of their health")
}
