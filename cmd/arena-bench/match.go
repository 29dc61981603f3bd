package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	rtmetrics "runtime/metrics"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
)

// BenchMatchCmd is `arena bench match`.
type BenchMatchCmd struct {
	Seats      int    `default:"100" help:"Seats of the match, 3 to 128."`
	Rounds     int    `default:"20" help:"Rounds of the match, 1 to 200."`
	Duels      int    `default:"500" help:"Duels at once, 0 to 5000."`
	DuelRounds int    `default:"10" help:"Rounds of each duel, 1 to 200."`
	Game       string `placeholder:"NAME" help:"Also play as many duels at once of this game, e.g. connect_four."`
	Waiting    int    `default:"0" help:"Instead: duels at once whose agents do not answer, 100 to 5000; takes about five minutes."`
	DB         string `name:"db" placeholder:"URL" help:"Database to use, as ARENA_DATABASE_URL; empty: SQLite in a temporary folder. An existing one keeps the matches."`
	ownPostgres
	Tokens  string `name:"task-tokens" default:"request" enum:"request,match" help:"Task tokens, as ARENA_TASK_TOKENS: ${enum}."`
	JSON    bool   `help:"Print one JSON object."`
	Profile string `placeholder:"FILE" help:"Write a profile of the arena's processor time."`
}

// Help describes what is measured.
func (c *BenchMatchCmd) Help() string {
	return `Plays one large match, and then many duels at once, with agents in another
process on this machine, on SQLite with full sync, on the database that --db
names or with --postgres on a server of its own, and measures this process: CPU per seat and round with everything on
(signing, judging, log, settlement), rounds per second, and how far apart the
seats of a round get their task. Beside it, in the same run, a bare loop that only
posts the very bytes of a task with its token to the same agents, as many at
once, and reads the replies. With --game the CPU per move of a game stands beside
the CPU per seat and round of the duels.`
}

// matchFigures are the figures of one run.
type matchFigures struct {
	Database string       `json:"database"`
	Match    matchLoad    `json:"match"`
	Duels    *matchLoad   `json:"duels,omitempty"`
	Game     *matchLoad   `json:"game,omitempty"`          // figures per move
	PerMove  float64      `json:"move_to_duels,omitempty"` // CPU of a move over that of a seat and round of the duels
	Waiting  *waitFigures `json:"waiting,omitempty"`
}

// matchLoad are the figures of some matches at once.
type matchLoad struct {
	Matches       int           `json:"matches"`
	Seats         int           `json:"seats"`
	Rounds        int           `json:"rounds"`
	CPUMicros     float64       `json:"cpu_us_per_seat_round"`
	DBCPUMicros   float64       `json:"database_cpu_us_per_seat_round"` // of the PostgreSQL server, 0: not known
	BareCPUMicros float64       `json:"bare_cpu_us_per_seat_round"`
	Ratio         float64       `json:"ratio"`
	Allocations   float64       `json:"allocations_per_seat_round"`
	RoundsPerSec  float64       `json:"rounds_per_second"`
	BarePerSec    float64       `json:"bare_rounds_per_second"`
	Commits       int64         `json:"commits"`
	Spread        spread        `json:"start_gun_spread_ms"`  // of a single match, as its agents see it
	Written       spread        `json:"start_gun_written_ms"` // as the arena writes the requests
	BareSpread    spread        `json:"bare_spread_ms"`
	game          string        // "": questions
	moves         int           // of all matches of games, once they are played
	span          time.Duration // over which the matches start
	ids           []string      // of the matches
}

// seatRounds returns the number of rounds of all seats, or of moves.
func (l *matchLoad) seatRounds() float64 {
	if l.game != "" {
		return float64(l.moves)
	}
	return float64(l.Matches * l.Seats * l.Rounds)
}

const (
	benchOneMatch  = "bench"       // the league of large matches
	benchManyDuels = "bench-duels" // for duels
	benchGames     = "bench-games" // for games
	benchCrowd     = 100           // agents that the duels share
)

// Run measures and prints.
func (c *BenchMatchCmd) Run(app *App) (err error) {
	switch {
	case c.Seats < 3 || c.Seats > 128 || c.Rounds < 1 || c.Rounds > 200:
		return fmt.Errorf("%d seats and %d rounds: want 3 to 128 seats and 1 to 200 rounds", c.Seats, c.Rounds)
	case c.Duels < 0 || c.Duels > 5000 || c.DuelRounds < 1 || c.DuelRounds > 200:
		return fmt.Errorf("%d duels of %d rounds: want 0 to 5000 duels and 1 to 200 rounds", c.Duels, c.DuelRounds)
	case c.Game != "" && c.Duels == 0:
		return errors.New("--game needs duels to compare with: --duels is 0")
	case c.Waiting != 0 && (c.Waiting < 100 || c.Waiting > 5000):
		return fmt.Errorf("%d duels that wait: want 100 to 5000", c.Waiting)
	}
	stopped, err := c.start(app.Ctx, &c.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopped()) }()
	if c.Waiting > 0 {
		return c.wait(app)
	}
	f := matchFigures{Database: databaseName(c.DB), Match: matchLoad{Matches: 1, Seats: c.Seats, Rounds: c.Rounds}}
	progress := func(what string) {
		if !c.JSON {
			_, _ = fmt.Fprintln(app.Stderr, what)
		}
	}
	progress(fmt.Sprintf("a match of %d seats and %d rounds …", c.Seats, c.Rounds))
	if err := c.measure(app, benchOneMatch, &f.Match); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	if c.Duels > 0 {
		progress(fmt.Sprintf("%d duels of %d rounds at once …", c.Duels, c.DuelRounds))
		f.Duels = &matchLoad{Matches: c.Duels, Seats: 2, Rounds: c.DuelRounds}
		if err := c.measure(app, benchManyDuels, f.Duels); err != nil {
			return fmt.Errorf("duels: %w", err)
		}
	}
	if c.Game != "" {
		progress(fmt.Sprintf("%d games of %s at once …", c.Duels, c.Game))
		f.Game = &matchLoad{Matches: c.Duels, Seats: 2, game: c.Game}
		if err := c.measure(app, benchGames, f.Game); err != nil {
			return fmt.Errorf("games: %w", err)
		}
		f.PerMove = f.Game.CPUMicros / f.Duels.CPUMicros
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	return f.print(app.Stdout)
}

func (f *matchFigures) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "\non %s\tCPU µs\tPostgreSQL's\tbare\tratio\tallocations\trounds/s\tbare\tgun p50\tp99\twritten p50\tp99\tbare p50\tp99\tcommits\n", f.Database)
	row := func(name string, l *matchLoad) {
		_, _ = fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.2f\t%.0f\t%.0f\t%.0f", name, l.CPUMicros, l.DBCPUMicros, l.BareCPUMicros, l.Ratio, l.Allocations, l.RoundsPerSec, l.BarePerSec)
		if l.Matches == 1 {
			_, _ = fmt.Fprintf(w, "\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\n", l.Spread.P50, l.Spread.P99, l.Written.P50, l.Written.P99, l.BareSpread.P50, l.BareSpread.P99, l.Commits)
		} else {
			_, _ = fmt.Fprintf(w, "\t\t\t\t\t\t\t%d\n", l.Commits)
		}
	}
	row(fmt.Sprintf("%d seats, %d rounds", f.Match.Seats, f.Match.Rounds), &f.Match)
	if f.Duels != nil {
		row(fmt.Sprintf("%d duels, %d rounds", f.Duels.Matches, f.Duels.Rounds), f.Duels)
	}
	if f.Game != nil {
		row(fmt.Sprintf("%d games, %d moves", f.Game.Matches, f.Game.Rounds), f.Game)
		_, _ = fmt.Fprintf(w, "a move beside a seat and round of a duel\t%.2f\n", f.PerMove)
	}
	return w.Flush()
}

// measure plays matches through the whole server and then posts as many tasks
// without it.
func (c *BenchMatchCmd) measure(app *App, slug string, l *matchLoad) (err error) {
	n := l.Seats
	if l.Matches > 1 {
		n = benchCrowd
	}
	league := fmt.Sprintf("%s-%x", slug, time.Now().UnixNano()) // a database may be used again
	var flags []string
	if l.game != "" {
		flags = []string{"--play"}
	}
	agents, err := startBenchAgents(app, n, league, flags...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agents.stop()) }()
	if err := c.arena(app.Ctx, agents, league, l); err != nil {
		return err
	}
	if err := bareMatches(app.Ctx, agents, l); err != nil {
		return fmt.Errorf("bare loop: %w", err)
	}
	l.Ratio = l.CPUMicros / l.BareCPUMicros
	return nil
}

// arena plays the matches through the whole server.
func (c *BenchMatchCmd) arena(ctx context.Context, agents *benchAgents, slug string, l *matchLoad) (err error) {
	var sent sendings
	s, stop, err := benchServer(ctx, c.DB, sent.watch, "ARENA_TASK_TOKENS="+c.Tokens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	admin := apiclient.New(s.URL(), s.admin)
	league := benchLeague{slug: slug, rounds: l.Rounds, format: "elimination", minSeats: 3, maxSeats: 128, game: l.game}
	if l.Seats == 2 {
		league.format, league.minSeats, league.maxSeats = "ladder", 2, 2
	}
	ids, err := league.prepare(ctx, admin, agents)
	if err != nil {
		return err
	}
	events, err := watchLeague(ctx, s.URL(), slug)
	if err != nil {
		return err
	}
	defer events.Close() //nolint:errcheck // the run is over
	start, err := l.schedule(ctx, admin, slug, ids)
	if err != nil {
		return err
	}
	if _, err := agents.report(ctx, l.Seats); err != nil { // forget what came before
		return err
	}
	return profiled(c.Profile, func() error {
		time.Sleep(time.Until(start) - 50*time.Millisecond)
		began, cpu, database, allocated, commits := start, cpuTime(), familyCPU(c.PID), allocations(), s.Store.CommitStats().Commits
		ends := newEnds(events)
		for range l.Matches {
			if err := ends.await(); err != nil {
				return err
			}
		}
		took, used := time.Since(began), cpuTime()-cpu
		written := sent.take()
		if l.game != "" { // all matches of these agents go the same way
			l.moves = len(written)
			l.Rounds = l.moves / l.Matches
		}
		l.CPUMicros = float64(used.Microseconds()) / l.seatRounds()
		l.DBCPUMicros = float64((familyCPU(c.PID) - database).Microseconds()) / l.seatRounds()
		l.Allocations = float64(allocations()-allocated) / l.seatRounds()
		l.RoundsPerSec = float64(l.Matches*l.Rounds) / took.Seconds()
		l.Commits = s.Store.CommitStats().Commits - commits
		l.Written = writtenSpread(written)
		l.Spread, err = agents.report(ctx, l.Seats)
		return err
	})
}

// schedule stores the matches, which start at one moment or over a span.
func (l *matchLoad) schedule(ctx context.Context, admin *apiclient.Client, slug string, ids []string) (begin time.Time, err error) {
	begin = time.Now().Add(time.Second + time.Duration(l.Matches)*15*time.Millisecond).UTC()
	l.ids = make([]string, l.Matches)
	failed := make(chan error, l.Matches)
	next := make(chan int)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range next {
				seats := make([]string, l.Seats)
				for j := range seats { // duels pair an agent with its neighbours in turn
					seats[j] = ids[(i*l.Seats+j*(1+i/len(ids)))%len(ids)]
				}
				var made struct {
					ID string `json:"match_id"`
				}
				failed <- admin.Call(ctx, http.MethodPost, "/v1/matches", map[string]any{
					"league": slug, "agents": seats, "starts_at": begin.Add(l.span * time.Duration(i) / time.Duration(l.Matches)),
				}, &made)
				l.ids[i] = made.ID
			}
		})
	}
	for i := range l.Matches {
		next <- i
	}
	close(next)
	wg.Wait()
	for range l.Matches {
		err = errors.Join(err, <-failed)
	}
	if err == nil && time.Until(begin) < 100*time.Millisecond {
		err = errors.New("this machine is too busy: the matches were not all stored before their start")
	}
	return begin, err
}

// bareMatches posts the same bodies as a match, as many at once, and reads the
// replies. A round of a match waits for all its seats; matches do not wait for
// each other.
func bareMatches(ctx context.Context, agents *benchAgents, l *matchLoad) error {
	body, token, err := agents.last(ctx)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxIdleConns: 10_000, DisableCompression: true}}
	defer client.CloseIdleConnections()
	post := func(url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", token)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, err = io.ReadAll(resp.Body)
		return errors.Join(err, resp.Body.Close())
	}
	asked := l.Seats // in a round
	if l.game != "" {
		asked = 1
	}
	began, cpu := time.Now(), cpuTime()
	failed := make(chan error, int(l.seatRounds()))
	var matches sync.WaitGroup
	for i := range l.Matches {
		matches.Go(func() {
			for range l.Rounds {
				start := make(chan struct{})
				var seats sync.WaitGroup
				for j := range asked {
					seats.Go(func() {
						<-start
						if err := post(agents.endpoints[(i*l.Seats+j)%len(agents.endpoints)]); err != nil {
							failed <- err
						}
					})
				}
				close(start)
				seats.Wait()
			}
		})
	}
	matches.Wait()
	close(failed)
	for err := range failed {
		return err
	}
	took, used := time.Since(began), cpuTime()-cpu
	l.BareCPUMicros = float64(used.Microseconds()) / l.seatRounds()
	l.BarePerSec = float64(l.Matches*l.Rounds) / took.Seconds()
	l.BareSpread, err = agents.report(ctx, l.Seats)
	return err
}

// allocations returns the number of objects that this process has allocated.
func allocations() uint64 {
	s := []rtmetrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	rtmetrics.Read(s)
	return s[0].Value.Uint64()
}

// cpuTime returns the processor time that this process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
