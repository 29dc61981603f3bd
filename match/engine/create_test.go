package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/store/storetest"
)

// maker is a store at which creations can be watched, held up and lost.
type maker struct {
	engine.Store
	claims  bool // ClaimMatches works
	creates chan string
	hold    chan struct{} // nil: creations are not held up
	lost    bool          // what CreateAndClaim answers
}

func (k *maker) use(o *engine.Options) { o.Store = k }

func (k *maker) ClaimMatches(ctx context.Context, node string, ttl time.Duration, limit int, plays func(arena.Lease) bool) ([]arena.Match, error) {
	if !k.claims {
		return nil, nil
	}
	return k.Store.ClaimMatches(ctx, node, ttl, limit, plays)
}

func (k *maker) CreateMatch(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error) {
	k.creates <- "plain"
	return k.Store.CreateMatch(ctx, m, e, audit...)
}

func (k *maker) CreateAndClaim(ctx context.Context, m arena.Match, e arena.Event, node string, ttl time.Duration, audit ...arena.AuditEntry) (arena.Event, arena.Lease, error) {
	e, l, err := k.Store.CreateAndClaim(ctx, m, e, node, ttl, audit...)
	k.creates <- "claimed"
	if k.hold != nil && err == nil {
		<-k.hold
	}
	if k.lost {
		return arena.Event{}, arena.Lease{}, errAway
	}
	return e, l, err
}

func (b *bench) maker() *maker {
	return &maker{Store: engine.NewRows(b.store), creates: make(chan string, 10)}
}

// due returns a match of two agents that starts at its creation.
func (b *bench) due(id string) (arena.Match, arena.Event) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	m := arena.Match{
		ID: id, League: slug, Status: arena.MatchScheduled, Settings: settings(), Seed: 7, SeedSalt: seedSalt, CreatedAt: now, StartsAt: now,
		Seats: []arena.Seat{{No: 0, AgentID: agentID(0), Salt: "salt a"}, {No: 1, AgentID: agentID(1), Salt: "salt b"}},
	}
	return m, arena.Event{MatchID: id, At: now, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)}
}

// A match that is created by a node that can play it is played without any
// claim, from the row that its creation wrote.
func TestEngine_Create(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	k := b.maker()
	n := b.node("n1", k.use)
	m, e := b.due("m_1")
	e, err := n.Create(t.Context(), m, e)
	b.ok(err)
	played, events := b.over("m_1")
	if e.Seq != 1 || m.Seats[0].Name != "" {
		t.Errorf("event has seq %d, the caller's seat is %+v", e.Seq, m.Seats[0])
	}
	if played.Status != arena.MatchFinished || played.Lease.Epoch != 1 || events[0].Type != arena.EventMatchScheduled || events[1].Type != arena.EventMatchStarted {
		t.Errorf("match is %s at epoch %d, its log begins with %s", played.Status, played.Lease.Epoch, events[0].Type)
	}
	if played.Seats[0].Name != agentID(0) || played.Seats[0].Points != 3*arena.OnePoint {
		t.Errorf("seat 0 is %+v", played.Seats[0])
	}
}

// A node that takes no match only stores it.
func TestEngine_Create_waits(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct {
		change func(*engine.Options)
		before func(b *bench, n *node, k *maker)
		how    string
	}{
		"the node drains": {func(*engine.Options) {}, func(_ *bench, n *node, _ *maker) { n.stop() }, "plain"},
		"it plays as many as it may": {func(o *engine.Options) { o.MaxMatches = 1 }, func(b *bench, n *node, k *maker) {
			b.agent[agentID(0)], b.agent[agentID(1)] = hang, hang
			_, err := n.Create(b.t.Context(), func() arena.Match { m, _ := b.due("m_0"); return m }(), arena.Event{Body: json.RawMessage(`{}`)})
			b.ok(err)
			<-k.creates
		}, "plain"},
		"an agent has no free seat": {impatient, func(b *bench, _ *node, _ *maker) {
			b.match()
			claimed, err := b.store.Matches.ClaimMatches(b.t.Context(), "n0", time.Hour, 1, nil)
			b.ok(err)
			if len(claimed) != 1 {
				b.t.Fatal("nothing to claim")
			}
		}, "claimed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, right, wrong)
			k := b.maker()
			n := b.node("n1", k.use, how.change, impatient)
			how.before(b, n, k)
			m, e := b.due("m_1")
			_, err := n.Create(t.Context(), m, e)
			b.ok(err)
			if got := <-k.creates; got != how.how {
				t.Errorf("it is created %s, want %s", got, how.how)
			}
			stored, err := b.store.Matches.Match(t.Context(), "m_1")
			b.ok(err)
			if stored.Status != arena.MatchScheduled || stored.Lease.Epoch != 0 {
				t.Errorf("match is %s under %+v", stored.Status, stored.Lease)
			}
		})
	}
}

// A node that begins to drain while it creates a match gives it back before
// Run returns, and it counts as no interruption.
func TestEngine_Create_drain(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	k := b.maker()
	n := b.node("n1", k.use, func(o *engine.Options) { o.LeaseTTL = time.Hour })
	k.hold = make(chan struct{})
	created := make(chan error, 1)
	go func() {
		m, e := b.due("m_1")
		_, err := n.Create(t.Context(), m, e)
		created <- err
	}()
	<-k.creates
	stopped := make(chan struct{})
	go func() { n.stop(); close(stopped) }()
	<-n.Draining()
	select {
	case <-stopped:
		t.Error("Run returned before the match was given back")
	default:
	}
	close(k.hold)
	b.ok(<-created)
	<-stopped
	if len(b.asked) > 0 {
		t.Error("a draining node began to play")
	}
	b.node("n2", func(o *engine.Options) { o.LeaseTTL = time.Hour })
	m, _ := b.over("m_1")
	if m.Status != arena.MatchFinished || m.Lease.Epoch != 2 || m.Interruptions != 0 {
		t.Errorf("match is %s at epoch %d with %d interruptions", m.Status, m.Lease.Epoch, m.Interruptions)
	}
}

// What a lost answer leaves behind is claimed when its lease has run out.
// Threat C5.
func TestEngine_Create_lostAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	k := b.maker()
	k.claims, k.lost = true, true
	n := b.node("n1", k.use, lively)
	m, e := b.due("m_1")
	if _, err := n.Create(t.Context(), m, e); arena.CodeOf(err) != arena.CodeUnavailable {
		t.Fatalf("creation gives %v", err)
	}
	played, _ := b.over("m_1")
	if played.Status != arena.MatchFinished || played.Lease.Epoch != 2 || len(b.asked) != 6 {
		t.Errorf("match is %s at epoch %d after %d requests", played.Status, played.Lease.Epoch, len(b.asked))
	}
}

// A match's first event is published before any other, also if the run could
// overtake it: the publisher waits until nothing else can happen.
func TestEngine_Create_publishesFirst(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]bool{"claimed as it is created": true, "claimed before its creation returns": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.SQLite(t)
			synctest.Test(t, func(t *testing.T) {
				b := newBenchOn(t, url, right, wrong)
				p := &patient{bench: b}
				n := b.node("n1", func(o *engine.Options) {
					o.Publisher = p
					if !claims {
						o.Store = waiting{o.Store}
					}
				})
				p.wake = n.Wake
				m, e := b.due("m_1")
				_, err := n.Create(t.Context(), m, e)
				b.ok(err)
				b.over("m_1")
				if first := b.published[0]; first.Type != arena.EventMatchScheduled {
					t.Errorf("%s of seq %d is published first", first.Type, first.Seq)
				}
			})
		})
	}
}

// A node that creates a match for later claims it when it starts, not at its next
// sweep.
func TestEngine_Create_later(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	idle := make(chan struct{}, 100)
	n := b.node("n1", func(o *engine.Options) {
		o.Store, o.Sweep = sleeper{o.Store, idle}, time.Hour
	})
	<-idle
	m, e := b.due("m_1")
	m.StartsAt = m.StartsAt.Add(50 * time.Millisecond)
	_, err := n.Create(t.Context(), m, e)
	b.ok(err)
	if played, _ := b.over("m_1"); played.StartedAt.Before(m.StartsAt) {
		t.Errorf("it started %s early", m.StartsAt.Sub(played.StartedAt))
	}
}

// sleeper is a store that reports when a node has found nothing to claim.
type sleeper struct {
	engine.Store
	idle chan<- struct{}
}

func (s sleeper) UntilLeaseEnd(ctx context.Context) (time.Duration, error) {
	s.idle <- struct{}{}
	return s.Store.UntilLeaseEnd(ctx)
}

// patient publishes the first event of a match once every other goroutine of the
// bubble waits.
type patient struct {
	*bench
	wake func()
}

func (p *patient) Publish(league string, events ...arena.Event) {
	if events[0].Type == arena.EventMatchScheduled {
		p.wake()
		synctest.Wait()
	}
	p.bench.Publish(league, events...)
}

// waiting is a store that claims no match as it creates it.
type waiting struct{ engine.Store }

func (w waiting) CreateAndClaim(ctx context.Context, m arena.Match, e arena.Event, _ string, _ time.Duration, audit ...arena.AuditEntry) (arena.Event, arena.Lease, error) {
	e, err := w.CreateMatch(ctx, m, e, audit...)
	return e, arena.Lease{}, err
}
