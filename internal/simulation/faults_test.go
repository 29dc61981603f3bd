package simulation

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
)

// fault is something that breaks and is mended after a while.
type fault struct {
	name    string
	longest time.Duration
	gentle  bool // no node may lose a match by it
	begin   func(w *world, n *node)
	mend    func(w *world, n *node)
}

func faults() []fault {
	agentOf := func(w *world) *agent { return w.agents[w.intn(len(w.agents))] }
	var hit *agent // the last agent that a fault chose; faults come one at a time
	return []fault{
		{"crash", time.Minute, false, func(_ *world, n *node) { n.end(true) }, func(_ *world, n *node) { n.start() }},
		{"restart", 10 * time.Second, false, func(_ *world, n *node) { n.end(false) }, func(_ *world, n *node) { n.start() }},
		{
			"slow node", time.Minute, true,
			func(w *world, n *node) { w.net.slow(n.addr, time.Duration(w.intn(2000))*time.Millisecond) },
			func(w *world, n *node) { w.net.slow(n.addr, 0) },
		},
		{
			"agent without network", 3 * time.Minute, true,
			func(w *world, _ *node) { hit = agentOf(w); w.net.disconnect(hit.addr) },
			func(w *world, _ *node) { w.net.connect(hit.addr) },
		},
		{
			"slow agent", 3 * time.Minute, true,
			func(w *world, _ *node) {
				hit = agentOf(w)
				w.net.slow(hit.addr, time.Duration(w.intn(5000))*time.Millisecond)
			},
			func(w *world, _ *node) { w.net.slow(hit.addr, 0) },
		},
		{"full disk", 30 * time.Second, false, func(_ *world, n *node) { n.full.Store(true) }, func(_ *world, n *node) { n.full.Store(false) }},
		{
			"slow disk", 2 * time.Minute, true,
			func(w *world, n *node) { n.slow.Store(int64(w.intn(1000)) * int64(time.Millisecond)) },
			func(_ *world, n *node) { n.slow.Store(0) },
		},
		{"unknown commits", 5 * time.Second, false, func(_ *world, n *node) { n.deaf.Store(true) }, func(_ *world, n *node) { n.deaf.Store(false) }},
		{"bus", time.Minute, true, func(_ *world, n *node) { n.bus.interrupt(true) }, func(_ *world, n *node) { n.bus.interrupt(false) }},
		{
			"clock", 5 * time.Minute, true,
			func(w *world, n *node) { n.clock.step(w.error()) },
			func(_ *world, n *node) { n.clock.step(0) },
		},
		{
			"clock of the database", 5 * time.Minute, false,
			func(w *world, _ *node) { w.database.clock.step(w.error()) },
			func(w *world, _ *node) { w.database.clock.step(0) },
		},
	}
}

// wrongClock is when a clock of a node was off by more than it may be.
type wrongClock struct {
	from, to time.Time
	ahead    bool
}

// error returns by how much a clock is wrong: mostly as much as clocks may be, sometimes up
// to an hour.
func (w *world) error() time.Duration {
	most := arena.ClockSlack / 2
	if w.intn(4) == 0 {
		most = time.Hour
	}
	return time.Duration(w.intn(int(2*most))) - most
}

// nemesis breaks one thing after the other until ctx ends.
func (w *world) nemesis(ctx context.Context) {
	all := faults()
	for pause(ctx, time.Duration(30+w.intn(270))*time.Second) {
		f, n := all[w.intn(len(all))], w.nodes[w.intn(len(w.nodes))]
		began := time.Now()
		w.harsh.Store(!f.gentle)
		w.log.Info("fault", "name", f.name, "host", n.addr.String())
		f.begin(w, n)
		pause(ctx, 100*time.Millisecond+time.Duration(w.intn(int(f.longest))))
		off := n.clock.offset()
		f.mend(w, n)
		w.log.Info("mended", "name", f.name, "host", n.addr.String())
		w.mu.Lock()
		if off.Abs() > arena.ClockSlack {
			w.wrong = append(w.wrong, wrongClock{began, time.Now(), off > 0})
		}
		w.mu.Unlock()
		pause(ctx, 2*arena.MatchLease)
		w.harsh.Store(false)
	}
}
