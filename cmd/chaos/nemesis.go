package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// fault is one thing that the nemesis may do. run does it and undoes it; it
// returns false when there is nothing to do it to at the moment.
type fault struct {
	name   string
	weight int
	run    func(ctx context.Context) bool
}

// done is a fault as it happened.
type done struct {
	name string
	span
}

// nemesis breaks things, one after each pause, in an order that its seed
// decides.
type nemesis struct {
	cluster  *cluster
	db       *postgres // nil: SQLite
	disk     *disk     // the database's; nil: it cannot be filled
	redis    *redisServer
	dbLinks  []*link
	busLinks []*link
	chance   *chance
	problems *problems
	log      *os.File
	report   func(format string, args ...any)
	began    time.Time
	pause    time.Duration // the least; the most is two and a half times as long
	wg       sync.WaitGroup

	database, bus sync.Mutex // held by who disturbs them

	mu     sync.Mutex
	faults []done
}

// run works until ctx ends, then waits until all faults are undone. undo
// outlives ctx.
func (n *nemesis) run(ctx, undo context.Context) {
	table := n.table()
	total := 0
	for _, f := range table {
		total += f.weight
	}
	// Two that no run may miss: the first when matches play, and with nothing in
	// the way of what follows from it.
	if wait(ctx, 2*n.pause) {
		n.wg.Go(func() { n.killNode(undo) })
	}
	if wait(ctx, leaseTTL+n.pause) {
		n.wg.Go(func() { n.diskFull(undo) })
	}
	for wait(ctx, n.chance.between(n.pause, n.pause*5/2)) {
		pick := n.chance.intn(total)
		for _, f := range table {
			if pick -= f.weight; pick < 0 {
				n.wg.Go(func() { f.run(undo) })
				break
			}
		}
	}
	n.wg.Wait()
}

// note writes down a fault that has begun; the returned function that it ended.
func (n *nemesis) note(format string, args ...any) (end func()) {
	name, from := fmt.Sprintf(format, args...), time.Now()
	n.say("%s", name)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.faults = append(n.faults, done{name, span{from, time.Now()}})
	}
}

func (n *nemesis) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	_, _ = fmt.Fprintf(n.log, "%s %7.2fs %s\n", time.Now().UTC().Format(time.RFC3339Nano), time.Since(n.began).Seconds(), text)
	n.report("%7.2fs %s", time.Since(n.began).Seconds(), text)
}

func (n *nemesis) history() []done {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]done(nil), n.faults...)
}

// victim picks a node that is not disturbed, and leaves one undisturbed when
// there are several. The caller unlocks its op.
func (n *nemesis) victim() (*node, bool) {
	free := make([]*node, 0, len(n.cluster.nodes))
	n.chance.mu.Lock()
	order := n.chance.r.Perm(len(n.cluster.nodes))
	n.chance.mu.Unlock()
	for _, i := range order {
		if c := n.cluster.nodes[i]; c.op.TryLock() {
			free = append(free, c)
		}
	}
	for i, c := range free {
		if i > 0 {
			c.op.Unlock()
		}
	}
	switch {
	case len(free) == 0:
		return nil, false
	case len(free) == 1 && len(n.cluster.nodes) > 1:
		free[0].op.Unlock()
		return nil, false
	}
	return free[0], true
}

// table is everything that may happen.
func (n *nemesis) table() []fault {
	all := []fault{
		{"kill -9", 4, n.killNode},
		{"rolling SIGTERM", 1, n.rolling},
		{"SIGTERM", 2, n.termNode},
	}
	if n.disk != nil {
		all = append(all, fault{"disk full", 2, n.diskFull})
	}
	if n.db != nil {
		all = append(all,
			fault{"freeze", 3, n.freezeNode},
			fault{"database restart", 2, n.databaseRestart},
			fault{"database latency", 2, n.databaseLatency},
			fault{"database cut", 3, n.databaseCut},
			fault{"database connections broken", 1, n.databaseBreak},
		)
	}
	if n.redis != nil {
		all = append(all,
			fault{"redis flush", 1, n.redisFlush},
			fault{"redis kill", 1, n.redisKill},
			fault{"redis cut", 1, n.redisCut},
			fault{"redis latency", 1, n.redisLatency},
		)
	}
	return all
}

func (n *nemesis) up(ctx context.Context, c *node) {
	if err := n.cluster.up(ctx, c); err != nil {
		n.problems.add("start", "%v", err)
	}
}

func (n *nemesis) killNode(ctx context.Context) bool {
	c, ok := n.victim()
	if !ok {
		return false
	}
	defer c.op.Unlock()
	defer n.note("kill -9 node %d", c.no)()
	n.cluster.kill(c)
	pause := n.chance.between(0, 4*time.Second)
	if n.db == nil {
		pause = n.chance.between(0, time.Second) // no other node could continue
	}
	wait(ctx, pause)
	n.up(ctx, c)
	return true
}

func (n *nemesis) freezeNode(ctx context.Context) bool {
	c, ok := n.victim()
	if !ok {
		return false
	}
	defer c.op.Unlock()
	defer n.note("freeze node %d", c.no)()
	n.cluster.freeze(ctx, c, leaseTTL*3/2)
	return true
}

func (n *nemesis) termNode(ctx context.Context) bool {
	c, ok := n.victim()
	if !ok {
		return false
	}
	defer c.op.Unlock()
	defer n.note("SIGTERM node %d", c.no)()
	n.cluster.term(c, n.drainLimit())
	n.up(ctx, c)
	return true
}

// rolling restarts one node after the other, as an upgrade does.
func (n *nemesis) rolling(ctx context.Context) bool {
	if len(n.cluster.nodes) == 1 {
		return n.termNode(ctx)
	}
	defer n.note("rolling restart")()
	for _, c := range n.cluster.nodes {
		c.op.Lock()
		n.cluster.term(c, n.drainLimit())
		n.up(ctx, c)
		c.op.Unlock()
	}
	return true
}

// drainLimit bounds an orderly end. With its database away a node may have to
// wait for its own writes to fail.
func (n *nemesis) drainLimit() time.Duration {
	if n.db == nil {
		return drainLimit
	}
	return drainLimit + 35*time.Second
}

func (n *nemesis) databaseRestart(ctx context.Context) bool {
	if !n.database.TryLock() {
		return false
	}
	defer n.database.Unlock()
	defer n.note("database restart")()
	if err := n.db.restart(ctx); err != nil {
		n.problems.add("harness", "%v", err)
	}
	return true
}

// diskFull leaves the database no space for a while. PostgreSQL may die of it,
// and find the space gone when it tries to recover.
func (n *nemesis) diskFull(ctx context.Context) bool {
	if n.disk == nil || !n.database.TryLock() {
		return false
	}
	defer n.database.Unlock()
	defer n.note("disk full")()
	if err := n.disk.keepFull(ctx, n.chance.between(2*time.Second, 8*time.Second)); err != nil {
		n.problems.add("harness", "%v", err)
	}
	if err := n.disk.free(); err != nil {
		n.problems.add("harness", "%v", err)
	}
	if n.db == nil {
		return true
	}
	died, err := n.db.revive(ctx)
	if err != nil {
		n.problems.add("harness", "the database does not come back: %v", err)
	}
	n.say("disk free again; the database died of it: %t", died)
	return true
}

// some returns the links of one node, or of all.
func (n *nemesis) some(links []*link) ([]*link, string) {
	if i := n.chance.intn(len(links) + 1); i < len(links) {
		return links[i : i+1], fmt.Sprintf("node %d", i+1)
	}
	return links, "all nodes"
}

// disturb breaks links for a while and heals them.
func (n *nemesis) disturb(ctx context.Context, lock *sync.Mutex, all []*link, what string, least, most time.Duration, how func(*link) error) bool {
	if !lock.TryLock() {
		return false
	}
	defer lock.Unlock()
	links, whose := n.some(all)
	defer n.note("%s of %s", what, whose)()
	for _, l := range links {
		if err := how(l); err != nil {
			n.problems.add("harness", "%v", err)
		}
	}
	wait(ctx, n.chance.between(least, most))
	for _, l := range links {
		if err := l.heal(ctx); err != nil {
			n.problems.add("harness", "%v", err)
		}
	}
	return true
}

func (n *nemesis) databaseLatency(ctx context.Context) bool {
	by := n.chance.between(20*time.Millisecond, 150*time.Millisecond)
	return n.disturb(ctx, &n.database, n.dbLinks, "database latency "+by.Round(time.Millisecond).String(), 2*time.Second, 5*time.Second,
		func(l *link) error { return l.slow(by) })
}

func (n *nemesis) databaseCut(ctx context.Context) bool {
	return n.disturb(ctx, &n.database, n.dbLinks, "database cut", 2*time.Second, 9*time.Second, (*link).hang)
}

func (n *nemesis) databaseBreak(ctx context.Context) bool {
	return n.disturb(ctx, &n.database, n.dbLinks, "database connections broken", 0, 2*time.Second,
		func(l *link) error { l.refuse(); return nil })
}

func (n *nemesis) redisFlush(ctx context.Context) bool {
	if !n.bus.TryLock() {
		return false
	}
	defer n.bus.Unlock()
	defer n.note("redis FLUSHALL")()
	if err := n.redis.flush(ctx); err != nil {
		n.problems.add("harness", "%v", err)
	}
	return true
}

func (n *nemesis) redisKill(ctx context.Context) bool {
	if !n.bus.TryLock() {
		return false
	}
	defer n.bus.Unlock()
	defer n.note("redis kill -9")()
	n.redis.kill()
	wait(ctx, n.chance.between(0, 4*time.Second))
	if err := n.redis.start(ctx); err != nil {
		n.problems.add("harness", "%v", err)
	}
	return true
}

func (n *nemesis) redisCut(ctx context.Context) bool {
	return n.disturb(ctx, &n.bus, n.busLinks, "redis cut", 2*time.Second, 8*time.Second, (*link).hang)
}

func (n *nemesis) redisLatency(ctx context.Context) bool {
	by := n.chance.between(50*time.Millisecond, 400*time.Millisecond)
	return n.disturb(ctx, &n.bus, n.busLinks, "redis latency "+by.Round(time.Millisecond).String(), 2*time.Second, 5*time.Second,
		func(l *link) error { return l.slow(by) })
}
