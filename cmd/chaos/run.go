package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	owners = 20 // several, because agents of one owner are not rated against each other
	// A game waits 5 minutes for an agent that another match has paused, 5 more for
	// its own first 429, and may wait so for both seats.
	healLimit  = 21 * time.Minute
	watchLimit = 30 * time.Second // for spectators to receive the ends
	checkLimit = 5 * time.Minute

	diskBytes  = 160 << 20 // an empty PostgreSQL needs 60 of them
	diskGrowth = 512 << 10 // per second
)

// chaosRun is one seed.
type chaosRun struct {
	o      options
	seed   uint64
	dir    string
	out    io.Writer
	began  time.Time
	outMu  sync.Mutex
	closes []func() // in the order in which things were opened

	problems *problems
	url      string // of the database, past the links
	hunger   starvation
	disk     *disk // nil: it cannot be mounted here
	db       *postgres
	redis    *redisServer
	dbLinks  []*link
	busLinks []*link
	cluster  *cluster
	fleet    *fleet
	load     *load
	audience *audience
	nemesis  *nemesis
}

func newRun(o options, seed uint64, dir string, out io.Writer) *chaosRun {
	return &chaosRun{o: o, seed: seed, dir: dir, out: out, began: time.Now(), problems: &problems{}}
}

func (r *chaosRun) say(format string, args ...any) {
	r.outMu.Lock()
	defer r.outMu.Unlock()
	_, _ = fmt.Fprintf(r.out, "seed %d %6.1fs  %s\n", r.seed, time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// run sets everything up, lets the nemesis work, heals, stops the nodes and
// checks. An error means that the run itself went wrong.
func (r *chaosRun) run(ctx context.Context) (p *report, err error) {
	defer func() {
		for _, f := range slices.Backward(r.closes) {
			f()
		}
	}()
	// The files on the disk vanish with it, so copy those that may be needed later.
	defer func() {
		if r.disk != nil && (r.o.keep || err != nil || p == nil || len(p.violations) > 0) {
			if err := r.disk.copyTo(filepath.Join(r.dir, "disk")); err != nil {
				r.say("%v", err)
			}
		}
	}()
	if err := r.setUp(ctx); err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	r.say("%d nodes on %s, %d agents, %d spectators; logs in %s", len(r.cluster.nodes), r.o.db, len(r.fleet.agents), r.o.spectators, r.dir)
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.hunger.watch(watching, r.cluster) })
	if err = r.fire(ctx); err == nil {
		err = r.calm(ctx)
	}
	stop()
	watch.Wait()
	if err != nil {
		return nil, err
	}
	return r.judge(ctx)
}

func (r *chaosRun) setUp(ctx context.Context) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil { //nolint:gosec // G301: the database's user must pass through it
		return fmt.Errorf("make folder: %w", err)
	}
	env, err := r.services(ctx)
	if err != nil {
		return err
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	public := "http://" + net.JoinHostPort("localhost", strconv.Itoa(port)) // it is never called
	r.cluster = newCluster(r.o.arena, r.dir, r.o.nodes, r.problems, public, env)
	r.closes = append(r.closes, r.cluster.close)
	if r.fleet, err = newFleet(ctx, r.cluster, r.o.agents, r.seed, slugs()); err != nil {
		return err
	}
	r.closes = append(r.closes, r.fleet.close)
	for _, n := range r.cluster.nodes {
		if err := r.cluster.up(ctx, n); err != nil {
			return err
		}
	}
	api := newClient(r.cluster, r.seed).as(adminToken)
	r.load = &load{
		api: api, fleet: r.fleet, chance: newChance(r.seed, 2), problems: r.problems, sightings: map[place]time.Time{},
	}
	if err := r.load.setUp(ctx, owners); err != nil {
		return err
	}
	r.audience = newAudience(r.cluster, r.load, r.problems, r.seed)
	journal, err := os.Create(filepath.Join(r.dir, "nemesis.log"))
	if err != nil {
		return fmt.Errorf("log of the nemesis: %w", err)
	}
	r.closes = append(r.closes, func() { _ = journal.Close() })
	report := func(string, ...any) {}
	if r.o.verbose {
		report = func(format string, args ...any) { r.say("nemesis: "+format, args...) }
	}
	pause := 2 * time.Second
	if r.o.duration < 30*time.Second {
		pause /= 2 // so that a short run has faults too
	}
	r.nemesis = &nemesis{
		cluster: r.cluster, db: r.db, disk: r.disk, redis: r.redis, dbLinks: r.dbLinks, busLinks: r.busLinks, chance: newChance(r.seed, 1),
		problems: r.problems, log: journal, report: report, began: time.Now(), pause: pause,
	}
	return nil
}

// services starts the database and Redis with the links to them, and returns
// the settings that lead a node there.
func (r *chaosRun) services(ctx context.Context) (env func(no int) []string, err error) {
	data := r.mount(ctx)
	if r.o.db == "sqlite" {
		r.url = "sqlite:" + filepath.Join(data, "arena.db")
		return func(int) []string { return []string{"ARENA_DATABASE_URL=" + r.url} }, nil
	}
	r.db, err = startPostgres(ctx, filepath.Join(r.dir, "postgres"), filepath.Join(data, "postgres"))
	if r.db != nil {
		r.closes = append(r.closes, func() { _ = r.db.stop(context.WithoutCancel(ctx)) }) // it may not run
	}
	if err != nil {
		return nil, err
	}
	r.url = postgresURL(r.db.addr())
	if r.dbLinks, err = newLinks("postgres", r.db.addr(), r.o.nodes); err != nil {
		return nil, err
	}
	r.closes = append(r.closes, func() { closeLinks(r.dbLinks) })
	if r.o.redis {
		if r.redis, err = startRedis(ctx, filepath.Join(r.dir, "redis")); r.redis != nil {
			r.closes = append(r.closes, r.redis.kill)
		}
		if err != nil {
			return nil, err
		}
		if r.busLinks, err = newLinks("redis", r.redis.addr(), r.o.nodes); err != nil {
			return nil, err
		}
		r.closes = append(r.closes, func() { closeLinks(r.busLinks) })
	}
	return func(no int) []string {
		env := []string{"ARENA_DATABASE_URL=" + postgresURL(r.dbLinks[no-1].addr())}
		if r.o.redis {
			env = append(env, "ARENA_REDIS_URL=redis://"+r.busLinks[no-1].addr())
		}
		return env
	}, nil
}

// mount returns the folder for the database: a disk of its own where that is
// permitted.
func (r *chaosRun) mount(ctx context.Context) string {
	path := filepath.Join(r.dir, "mounted")
	var err error
	if r.disk, err = newDisk(ctx, path, diskBytes+int64(r.o.duration.Seconds())*diskGrowth); err != nil {
		r.say("no small disk for the database, so it will not be full in this run: %v", err)
		return r.dir
	}
	r.closes = append(r.closes, r.disk.close)
	return path
}

// fire lets load, spectators and nemesis work for the duration.
func (r *chaosRun) fire(ctx context.Context) error {
	firing, stop := context.WithTimeout(ctx, r.o.duration)
	defer stop()
	var wg sync.WaitGroup
	for range schedulers {
		wg.Go(func() { r.load.schedule(firing) })
	}
	wg.Go(func() { r.load.survey(firing) })
	wg.Go(func() { r.nemesis.run(firing, context.WithoutCancel(ctx)) })
	watching, stopWatching := context.WithCancel(ctx)
	r.closes = append(r.closes, stopWatching)
	r.audience.start(watching, firing, r.o.spectators)
	wg.Go(func() {
		for wait(firing, 5*time.Second) {
			r.progress()
		}
	})
	wg.Wait()
	return ctx.Err() //nolint:wrapcheck // interrupted: nothing to add
}

func (r *chaosRun) progress() {
	acked, _ := r.load.promised()
	r.say("matches %d (open %d, refused %d)  watching %d  events seen %d  reconnects %d  faults %d  problems %d",
		len(acked), r.load.open.Load(), r.load.refused.Load(), r.audience.watching.Load(), r.audience.events.Load(),
		r.audience.reconnects.Load(), len(r.nemesis.history()), len(r.problems.all()))
}

// calm waits until every match is over and every spectator has received it, then
// stops the nodes.
func (r *chaosRun) calm(ctx context.Context) error {
	r.say("healed; waiting for the open matches")
	for _, n := range r.cluster.nodes {
		n.op.Lock()
		if l, _ := n.now(); l == nil {
			if err := r.cluster.up(ctx, n); err != nil {
				r.problems.add("start", "%v", err)
			}
		}
		n.op.Unlock()
	}
	if err := r.load.drained(ctx, healLimit); err != nil {
		r.problems.add("1", "not all matches end: %v", err)
	}
	r.audience.finish(ctx, watchLimit)
	r.progress()
	var wg sync.WaitGroup
	for _, n := range r.cluster.nodes {
		wg.Go(func() {
			n.op.Lock()
			defer n.op.Unlock()
			r.cluster.term(n, drainLimit)
		})
	}
	wg.Wait()
	return ctx.Err() //nolint:wrapcheck // interrupted: nothing to add
}

// judge reads what is stored and compares it with the journals.
func (r *chaosRun) judge(ctx context.Context) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	f, err := readFacts(ctx, r.url)
	if err != nil {
		return nil, err
	}
	lives := r.cluster.allLives()
	j := &journals{posts: r.fleet.journal(), sightings: r.load.seen(), tenures: tenures(lives), busless: r.o.nodes > 1 && !r.o.redis}
	j.acked, j.voided = r.load.promised()
	var closes map[string]int
	j.watched, closes = r.audience.all()
	for _, l := range lives {
		j.frozen = append(j.frozen, l.frozen...)
	}
	j.starved = r.hunger.spans
	j.faults, j.nodes = r.nemesis.history(), len(r.cluster.nodes)
	r.say("checking %d matches", len(f.matches))
	if r.disk != nil {
		if used, err := r.disk.used(); err == nil {
			r.say("the database takes %d MB of its disk", used>>20)
		}
	}
	violations := slices.Concat(r.problems.all(), panics(lives), check(f, j))
	slices.SortStableFunc(violations, byRule)
	return newReport(r, f, j, closes, violations), nil
}

// logFailed is the message of a node that abandons a match that it owns.
const logFailed = "match failed"

// panics finds in the nodes' logs what no fault excuses.
func panics(lives []*life) []violation {
	var found []violation
	for _, l := range lives {
		for line := range logLines(l.log) {
			broke := slices.ContainsFunc([]string{"panic: ", "fatal error: ", "WARNING: DATA RACE"}, func(sign string) bool {
				return strings.HasPrefix(line.raw, sign)
			})
			if broke || strings.Contains(line.Error, "panic") || line.Message == logFailed {
				found = append(found, violation{"crash", l.log + ": " + line.raw[:min(len(line.raw), 500)]})
			}
		}
	}
	return found
}

// complaints counts what the nodes logged as errors.
func complaints(lives []*life) map[string]int {
	found := map[string]int{}
	for _, l := range lives {
		for line := range logLines(l.log) {
			if line.Level == "ERROR" {
				found[line.Message]++
			}
		}
	}
	return found
}
