package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/stream/bus"
	"github.com/agora-arena/arena/stream/bus/redistest"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
)

// node is a bundle that shares its log with other nodes.
type node struct {
	*bundle
	bus *bus.Bus
}

// join starts a node on the log, with the Redis at url between it and others.
func join(t testing.TB, log *streamtest.Log, name, url string, change ...func(*settings)) *node {
	t.Helper()
	b, err := bus.Open(url, bus.Options{Node: name, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Join: JoinMessages})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	n := &node{bus: b}
	n.bundle = start(t, append([]func(*settings){func(s *settings) {
		reader := streamtest.Reader(t, log)
		s.options.Bus, s.options.Source = b, reader
		s.parts.Matches, s.parts.Leagues, s.agents.Matches, s.agents.Log = reader, log, reader, log
		s.timing.quiet = time.Hour  // the messages of the bus must be enough
		s.timing.join = time.Minute // and a hello waits for it, however slow Redis is
	}}, change...)...)
	n.log = log
	return n
}

func (n *node) up(t testing.TB) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !n.bus.Up() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the bus does not come up")
		}
	}
}

// Spectators of one node see exactly what two others commit, in order, while
// Redis breaks in every way. Publishing never blocks. Threat C4, invariants
// 11 and 12.
func TestHub_Nodes(t *testing.T) {
	t.Parallel()
	faults := map[string]func(r redisOf) (end func()){
		"calm":        func(redisOf) func() { return nil },
		"restart":     func(r redisOf) func() { r.server.Kill(r.t); r.server.Restart(r.t); return nil },
		"kill":        func(r redisOf) func() { r.server.Kill(r.t); return nil },
		"client kill": func(r redisOf) func() { r.server.Do(r.t, "CLIENT", "KILL", "TYPE", "pubsub"); return nil },
		"flush":       func(r redisOf) func() { r.server.Do(r.t, "FLUSHALL"); return nil },
		"cut":         func(r redisOf) func() { r.proxy.Cut(); return nil },
		"stall":       func(r redisOf) func() { r.proxy.Stall(); return nil },
		"late":        func(r redisOf) func() { r.proxy.Stall(); return r.proxy.Resume },
		"freeze":      func(r redisOf) func() { r.server.Freeze(r.t); return nil },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			proxy := redistest.NewProxy(t, s.Addr)
			race(t, s.URL(), proxy.URL(), func() func() { return fault(redisOf{t, s, proxy}) })
		})
	}
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartCluster(t)
		race(t, s.URL(), s.URL(), func() func() { s.Do(t, "CLIENT", "KILL", "TYPE", "pubsub"); return nil })
	})
}

// redisOf is what a fault can break.
type redisOf struct {
	t      *testing.T
	server *redistest.Server
	proxy  *redistest.Proxy
}

// race lets writers on two nodes commit and publish while spectators watch on
// a third. One of the writers brings the fault about when it has half done;
// what the fault gives is called when all is written. Two of the nodes reach
// Redis by the second URL.
func race(t *testing.T, direct, proxied string, fault func() (end func())) {
	t.Helper()
	log := streamtest.NewLog()
	log.AddMatch("m_1", arena.VisibilityLive)
	writers := []*node{join(t, log, "n_a", direct), join(t, log, "n_b", proxied)}
	c := join(t, log, "n_c", proxied)
	for _, n := range append(writers, c) {
		n.up(t)
	}
	const each = 250
	const last = 8*each + 1
	var wg sync.WaitGroup
	watch := func(query string, since int64) {
		p := c.Dial(t, query, nil)
		if h := p.Next(); since < 0 || h.Resync {
			since = h.Seq
		}
		wg.Go(func() {
			code, all := p.Rest()
			if code != ws.CloseOver {
				t.Errorf("%s: closed with %d", query, code)
			}
			var got []streamtest.Received
			for _, r := range all {
				if r.Type != "viewers" {
					got = append(got, r)
				}
			}
			streamtest.WantSeqs(t, got, since+1, last)
		})
	}
	watch("?match=m_1", -1)
	watch("?match=m_1&batch=1", -1)
	watch("?match=m_1&since=0", 0)
	var end func()
	var writing sync.WaitGroup
	for i := range 8 {
		n := writers[i%2]
		writing.Go(func() {
			for k := range each {
				if k == each/2 && i == 0 {
					end = fault()
				}
				n.hub.Publish(streamtest.League, log.Commit(arena.Event{Body: json.RawMessage(fmt.Sprintf(`{"message":"%d %d"}`, i, k))}))
			}
		})
	}
	watch("?match=m_1&since=500", 500)
	writing.Wait()
	if end != nil {
		end()
	}
	writers[0].hub.Publish(streamtest.League, log.Commit(arena.Event{Type: arena.EventMatchFinished}))
	wg.Wait()
}

// A node that is killed between commit and publishing publishes nothing: the
// others read the log after a silence. Threat C1.
func TestHub_Nodes_silence(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	log := streamtest.NewLog()
	log.AddMatch("m_1", arena.VisibilityLive)
	n := join(t, log, "n_a", s.URL(), func(s *settings) { s.timing.poll, s.timing.quiet = 10*time.Millisecond, 50*time.Millisecond })
	n.up(t)
	p := n.Dial(t, "?match=m_1", nil)
	p.Next()
	for range 1200 { // more than a page
		log.Commit(arena.Event{})
	}
	streamtest.WantSeqs(t, p.Until(1200), 1, 1200)
	log.Commit(arena.Event{Type: arena.EventMatchFinished})
	if code, got := p.Rest(); code != ws.CloseOver || got[len(got)-1].Seq != 1201 {
		t.Errorf("closed with %d after %v", code, got)
	}
	if st := n.hub.Stats(); st.Polls == 0 || st.Fills != 0 {
		t.Errorf("stats %+v", st)
	}
}

// Reads of the log do not pile up when the bus is down.
func TestHub_Nodes_polls_are_bounded(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Kill(t)
	log := streamtest.NewLog()
	slow := &slowLog{Log: log, hold: make(chan struct{})}
	n := join(t, log, "n_a", s.URL(), func(s *settings) { s.options.Source, s.timing.poll = streamtest.Reader(t, slow), time.Millisecond })
	const matches = 20
	var peers []*streamtest.Peer
	for i := range matches {
		id := fmt.Sprint("m_", i)
		log.AddMatch(id, arena.VisibilityLive)
		p := n.Dial(t, "?match="+id, nil)
		p.Next()
		peers = append(peers, p)
	}
	testwait.Until(t, "the reads", func() bool { return slow.now.Load() == readsAtOnce })
	for i := range matches {
		log.Add(fmt.Sprint("m_", i), arena.Event{Type: arena.EventMatchVoid})
	}
	close(slow.hold)
	for _, p := range peers {
		if code, _ := p.Rest(); code != ws.CloseOver {
			t.Errorf("closed with %d", code)
		}
	}
	if slow.most.Load() > readsAtOnce {
		t.Errorf("%d reads at once, want at most %d", slow.most.Load(), readsAtOnce)
	}
}

// League and lobby have no log: their spectators must reconnect when events may
// be missing.
func TestHub_Nodes_lobby(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	log := streamtest.NewLog()
	log.AddMatch("m_1", arena.VisibilityLive)
	a, b := join(t, log, "n_a", s.URL()), join(t, log, "n_b", s.URL())
	a.up(t)
	b.up(t)
	lobby, wide, match := b.Dial(t, "?lobby=1", nil), b.Dial(t, "?league=trivia", nil), b.Dial(t, "?match=m_1", nil)
	for _, p := range []*streamtest.Peer{lobby, wide, match} {
		p.Next()
	}
	// After hello nothing is missing: the subscription held before it.
	started := log.Commit(arena.Event{Type: arena.EventMatchStarted})
	a.hub.Publish(streamtest.League, started, log.Commit(arena.Event{}), log.Commit(arena.Event{Type: arena.EventRoundStarted}))
	a.hub.PublishAgent([]string{streamtest.League}, arena.Event{AgentID: "ag_1", Type: arena.EventAgentPaused})
	for _, p := range []*streamtest.Peer{lobby, wide} {
		for _, want := range []string{"match_started", "round_started", "agent_paused"} {
			if got := p.Next(); got.Type != want {
				t.Errorf("got %s, want %s", got.Raw, want)
			}
		}
	}
	streamtest.WantSeqs(t, match.Until(3), 1, 3)
	s.Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
	for _, p := range []*streamtest.Peer{lobby, wide} {
		if code, _ := p.Rest(); code != ws.CloseRestart {
			t.Errorf("closed with %d, want 1012", code)
		}
	}
	again := b.Dial(t, "?lobby=1", nil)
	again.Next()
	testwait.Until(t, "both nodes", func() bool { return a.bus.Up() && b.bus.Up() })
	a.hub.Publish(streamtest.League, log.Commit(arena.Event{Type: arena.EventMatchFinished}))
	if got := again.Next(); got.Type != "match_finished" {
		t.Errorf("got %s", got.Raw)
	}
	if code, _ := match.Rest(); code != ws.CloseOver {
		t.Errorf("the match's spectator was closed with %d", code)
	}
}

// Numbers of viewers count all nodes, or only this one while it is cut off.
func TestHub_Nodes_viewers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	log := streamtest.NewLog()
	log.AddMatch("m_1", arena.VisibilityLive)
	fast := func(s *settings) { s.timing.sweep = 5 * time.Millisecond }
	a, b := join(t, log, "n_a", s.URL(), fast), join(t, log, "n_b", s.URL(), fast)
	a.up(t)
	b.up(t)
	first := a.Dial(t, "?match=m_1", nil)
	first.Next()
	for range 2 {
		b.Dial(t, "?match=m_1", nil).Next()
	}
	until := func(want int) {
		t.Helper()
		for {
			if got := first.Next(); got.Type == "viewers" && got.Count == want {
				return
			}
		}
	}
	until(3)
	testwait.Until(t, "both nodes to say three", func() bool { return a.hub.Viewers("m_1") == 3 && b.hub.Viewers("m_1") == 3 })
	s.Kill(t)
	until(1)
	s.Restart(t)
	until(3)
}

// slowLog holds reads back and counts how many run at once.
type slowLog struct {
	*streamtest.Log
	hold      chan struct{}
	now, most atomic.Int64
}

// EventsAfter implements visibility.Store.
func (l *slowLog) EventsAfter(ctx context.Context, id string, since int64, limit int) ([]arena.Event, error) {
	n := l.now.Add(1)
	defer l.now.Add(-1)
	for most := l.most.Load(); n > most && !l.most.CompareAndSwap(most, n); most = l.most.Load() {
	}
	select {
	case <-l.hold:
	case <-ctx.Done():
	}
	return l.Log.EventsAfter(ctx, id, since, limit)
}
