package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/store/fill"
)

// BenchReadsCmd is `arena bench reads`.
type BenchReadsCmd struct {
	Matches int    `default:"100000" help:"Finished matches, 1000 to 10000000. A million takes minutes, and PostgreSQL about 6 GB."`
	Events  int    `default:"10" help:"Events in the log of each, 1 to 1000."`
	Agents  int    `default:"1000" help:"Agents that play them, 100 to 10000."`
	Leagues int    `default:"1" help:"Leagues, each with as many agents, 1 to 100."`
	Times   int    `default:"200" help:"How often each page is read, 20 to 10000."`
	DB      string `name:"db" placeholder:"URL" help:"PostgreSQL server on which a temporary database is made; empty: SQLite in a temporary folder."`
	ownPostgres
	Keep    bool   `help:"Keep the temporary database and print its URL."`
	Kept    string `placeholder:"URL" help:"Read the database that an earlier run has kept instead of filling one."`
	JSON    bool   `help:"Print one JSON object."`
	Profile string `placeholder:"FILE" help:"Write a profile of the processor time of reading."`
}

// Help describes what is measured.
func (c *BenchReadsCmd) Help() string {
	return `Fills a database of its own with a long life of an arena, and measures how long the
reads take that the pages make, one after another over HTTP through a whole server:
lists of matches, a league's table, an agent's page, a match with its log; and the
admin's status and the metrics, which are read again and again.`
}

// readFigures are the figures of one run.
type readFigures struct {
	Database string     `json:"database"`
	Matches  int        `json:"matches"`
	Events   int        `json:"events"`
	Agents   int        `json:"agents"`
	Leagues  int        `json:"leagues"`
	Reads    []readCost `json:"reads"`
}

// readCost is one kind of page.
type readCost struct {
	What  string  `json:"what"`
	Bytes int     `json:"bytes"`
	CPU   float64 `json:"cpu_ms"`          // of this process, which reads too
	DBCPU float64 `json:"database_cpu_ms"` // of the PostgreSQL server, 0: not known
	MS    spread  `json:"ms"`
	First float64 `json:"first_ms"` // the first read after the start
	Slow  bool    `json:"slow"`     // p99 above goalMS
}

// goalMS is the goal for the p99 of every page in milliseconds.
const goalMS = 20

// Run fills, measures and prints.
func (c *BenchReadsCmd) Run(app *App) (err error) {
	switch {
	case c.Matches < 1000 || c.Matches > 10_000_000 || c.Events < 1 || c.Events > 1000:
		return fmt.Errorf("%d matches with %d events: want 1000 to 10000000 and 1 to 1000", c.Matches, c.Events)
	case c.Agents < 100 || c.Agents > 10_000 || c.Leagues < 1 || c.Leagues > 100 || c.Agents%c.Leagues != 0:
		return fmt.Errorf("%d agents in %d leagues: want 100 to 10000 in 1 to 100, as many in each", c.Agents, c.Leagues)
	case c.Times < 20 || c.Times > 10_000:
		return fmt.Errorf("%d times: want 20 to 10000", c.Times)
	}
	stopped, err := c.start(app.Ctx, &c.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopped()) }()
	database, drop, err := c.database(app)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop(context.WithoutCancel(app.Ctx))) }()
	s, stop, err := benchServer(app.Ctx, database, nil, "ARENA_ARCHIVE_AFTER=0") // of an arena that has kept up
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	players, err := c.fill(app, s)
	if err != nil {
		return err
	}
	f := readFigures{Database: databaseName(database), Matches: c.Matches, Events: c.Matches * c.Events, Agents: len(players), Leagues: c.Leagues}
	if err := profiled(c.Profile, func() error { return c.read(app.Ctx, s, players, &f) }); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	w := tabwriter.NewWriter(app.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "\n%d matches on %s\tKB\tCPU ms\tPostgreSQL's\tfirst ms\tp50\tp99\tworst\t\n", f.Matches, f.Database)
	for _, r := range f.Reads {
		mark := ""
		if r.Slow {
			mark = fmt.Sprintf("above %d", goalMS)
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t%s\n", r.What, r.Bytes>>10, r.CPU, r.DBCPU, r.First, r.MS.P50, r.MS.P99, r.MS.Worst, mark)
	}
	return w.Flush()
}

// database returns the URL of the database to read, "" for SQLite in a temporary
// folder; drop removes it unless it is to stay.
func (c *BenchReadsCmd) database(app *App) (database string, drop func(context.Context) error, err error) {
	keep := func(context.Context) error { return nil }
	if c.Kept != "" || c.DB == "" {
		return c.Kept, keep, nil
	}
	database, drop, err = temporaryDatabase(app.Ctx, c.DB)
	if err == nil && c.Keep {
		_, _ = fmt.Fprintln(app.Stderr, "kept for --kept:", database)
		drop = keep
	}
	return database, drop, err
}

// player is an agent and its league.
type player struct{ id, league string }

// fill makes leagues, their agents and their past matches, unless an earlier run
// kept them. It returns the agents.
func (c *BenchReadsCmd) fill(app *App, s *benchNode) (players []player, err error) {
	if c.Kept != "" {
		for p := (arena.Page{Limit: 100}); ; {
			agents, next, err := s.Store.Agents.Agents(app.Ctx, arena.AgentFilter{}, p)
			for _, a := range agents {
				players = append(players, player{a.ID, a.Leagues[0]})
			}
			if p.Cursor = next; next == "" || err != nil {
				return players, err
			}
		}
	}
	now := time.Now().UTC()
	settings := benchSettings()
	settings.Format, settings.MinSeats, settings.MaxSeats, settings.Rated = arena.FormatLadder, 2, 2, true
	slugs, ids := make([]string, c.Leagues), make([]string, c.Agents)
	for i := range slugs {
		slugs[i] = benchSlug
		if i > 0 {
			slugs[i] += fmt.Sprintf("-%d", i)
		}
		l := arena.League{Slug: slugs[i], Title: "Bench", Status: arena.LeagueOpen, Settings: settings, CreatedAt: now}
		if err := s.Store.Leagues.CreateLeague(app.Ctx, l); err != nil {
			return nil, err
		}
	}
	for i := range ids {
		ids[i] = arena.NewID(arena.AgentPrefix, now)
		players = append(players, player{ids[i], slugs[i%len(slugs)]})
	}
	if err = benchPeople(app.Ctx, s, players); err != nil {
		return nil, err
	}
	db, err := openDatabase(s.Config.DatabaseURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	duels := fill.Duels{
		Leagues: slugs, Agents: ids, Matches: c.Matches, Events: c.Events, From: now.Add(-time.Duration(c.Matches) * time.Second),
	}
	return players, duels.Fill(app.Ctx, db, func(done, all int) {
		if !c.JSON && (done%50_000 == 0 || done == all) {
			_, _ = fmt.Fprintf(app.Stderr, "filled %d of %d matches\n", done, all)
		}
	})
}

// benchPeople stores active agents, which get no requests.
func benchPeople(ctx context.Context, s *benchNode, players []player) error {
	now := time.Now().UTC()
	owner := arena.Owner{ID: arena.NewID(arena.OwnerPrefix, now), Name: "bench", CreatedAt: now}
	_, hash := token.NewSecret(token.OwnerSecretPrefix)
	key := arena.Token{ID: arena.NewID(arena.TokenPrefix, now), OwnerID: owner.ID, Scope: arena.ScopeOwner, Hash: hash, CreatedAt: now}
	if err := s.Store.Accounts.CreateOwner(ctx, owner, key); err != nil {
		return err
	}
	failed := make(chan error, len(players))
	next := make(chan int)
	var wg sync.WaitGroup
	for range 64 { // that share commits
		wg.Go(func() {
			for i := range next {
				leagues := []string{players[i].league}
				if err := s.Store.Agents.CreateAgent(ctx, arena.Agent{
					ID: players[i].id, OwnerID: owner.ID, Name: fmt.Sprintf("agent %d", i), Protocol: "aap",
					Endpoint: "http://127.0.0.1:9/agora", Leagues: leagues, CreatedAt: now, PassedAt: now,
					Health: arena.Health{OK: true, Capabilities: leagues, MaxConcurrent: 1000},
				}); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range players {
		next <- i
	}
	close(next)
	wg.Wait()
	close(failed)
	return <-failed
}

// read reads every kind of page again and again, each time of another agent or
// match.
func (c *BenchReadsCmd) read(ctx context.Context, s *benchNode, players []player, f *readFigures) error {
	of := func(i int) player { return players[i*7%len(players)] }
	agent, league := func(i int) string { return of(i).id }, func(i int) string { return of(i).league }
	match := func(i int) string { return fmt.Sprintf("m_%010d", i*7919%c.Matches) }
	fixed := func(path string) func(int) string { return func(int) string { return path } }
	client := &http.Client{}
	defer client.CloseIdleConnections()
	get := func(path string) (body []byte, took time.Duration, err error) {
		address := s.URL() + path
		if path == "" {
			address = s.MetricsURL()
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, 0, err
		}
		if strings.HasPrefix(path, "/v1/admin/") {
			req.Header.Set("Authorization", "Bearer "+s.admin)
		}
		began := time.Now()
		resp, err := client.Do(req)
		if err != nil {
			return nil, 0, err
		}
		body, err = io.ReadAll(resp.Body)
		took = time.Since(began)
		if resp.StatusCode != http.StatusOK {
			err = errors.Join(err, fmt.Errorf("GET %s: %s: %.200s", path, resp.Status, body))
		}
		return body, took, errors.Join(err, resp.Body.Close())
	}
	middle, err := middleOf(get, c.Matches)
	if err != nil {
		return err
	}
	for _, page := range []struct {
		what string
		path func(i int) string
	}{
		{"matches", fixed("/v1/matches")},
		{"matches, page 100", fixed("/v1/matches?cursor=" + url.QueryEscape(middle))},
		{"matches that run", fixed("/v1/matches?status=running")},
		{"matches of a league", fixed("/v1/leagues/" + benchSlug + "/matches")},
		{"matches of an agent", func(i int) string { return "/v1/agents/" + agent(i) + "/matches" }},
		{"of these, in a league", func(i int) string { return "/v1/matches?status=finished&agent=" + agent(i) + "&league=" + league(i) }},
		{"matches by a name", func(i int) string {
			return "/v1/matches?status=finished&q=" + url.QueryEscape(fmt.Sprintf("agent %d", i%len(players)))
		}},
		{"leagues", fixed("/v1/leagues")},
		{"a league", fixed("/v1/leagues/" + benchSlug)},
		{"its table", fixed("/v1/leagues/" + benchSlug + "/standings")},
		{"agents", fixed("/v1/agents")},
		{"an agent", func(i int) string { return "/v1/agents/" + agent(i) }},
		{"its ratings", func(i int) string { return "/v1/agents/" + agent(i) + "/ratings" }},
		{"its opponents", func(i int) string { return "/v1/agents/" + agent(i) + "/opponents" }},
		{"its calibration", func(i int) string { return "/v1/agents/" + agent(i) + "/calibration" }},
		{"in one league", func(i int) string { return "/v1/agents/" + agent(i) + "/calibration?league=" + league(i) }},
		{"its outcomes", func(i int) string { return "/v1/agents/" + agent(i) + "/outcomes" }},
		{"the lobby", fixed("/v1/lobby")},
		{"a match", func(i int) string { return "/v1/matches/" + match(i) }},
		{"its events", func(i int) string { return "/v1/matches/" + match(i) + "/events" }},
		{"its rounds", func(i int) string { return "/v1/matches/" + match(i) + "/rounds" }},
		{"the admin's status", fixed("/v1/admin/status")},
		{"metrics", fixed("")},
	} {
		cost := readCost{What: page.what}
		var times []float64
		var cpu, database time.Duration
		for i := range c.Times + 5 {
			if i == 5 { // connections and statements are made
				cpu, database = cpuTime(), familyCPU(c.PID)
			}
			body, took, err := get(page.path(i))
			if err != nil {
				return err
			}
			switch {
			case i >= 5:
				times = append(times, float64(took)/1e6)
			case i == 0:
				cost.First = float64(took) / 1e6
			}
			cost.Bytes = len(body)
		}
		cost.CPU = (cpuTime() - cpu).Seconds() * 1000 / float64(c.Times)
		cost.DBCPU = (familyCPU(c.PID) - database).Seconds() * 1000 / float64(c.Times)
		cost.MS = shares(times)
		cost.Slow = cost.MS.P99 > goalMS
		f.Reads = append(f.Reads, cost)
	}
	return nil
}

// middleOf turns the pages of all matches and returns the cursor of one far from
// the first.
func middleOf(get func(path string) ([]byte, time.Duration, error), matches int) (string, error) {
	cursor := ""
	for range min(99, matches/100-1) {
		body, _, err := get("/v1/matches?limit=100&cursor=" + url.QueryEscape(cursor))
		if err != nil {
			return "", err
		}
		var page struct {
			Next string `json:"next_cursor"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return "", err
		}
		cursor = page.Next
	}
	return strings.TrimSpace(cursor), nil
}
