package engine_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/match/engine"
)

// everything is a cut that lets no call through.
func everything(string) bool { return true }

// claims is a cut that lets a node claim nothing: what it plays afterwards, it
// played before.
func claims(method string) bool { return method == "ClaimMatches" }

func claimsAndRenewals(method string) bool { return claims(method) || method == "RenewLeases" }

// sever makes calls fail from now on; nil heals.
func (x *frail) sever(cut func(method string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cut = cut
}

func (x *frail) called(method string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.calls[method]
}

// lapsed reports whether no lease holds by the database's clock.
func (b *bench) lapsed() bool {
	wait, err := b.store.Matches.UntilLeaseEnd(b.t.Context())
	b.ok(err)
	return wait == 0
}

// An outage of the storage that outlasts the lease costs a match nothing, when
// nobody else claims it: what was answered is kept in memory. Threats C5, C6.
func TestEngine_KeepsItsMatchThroughAnOutage(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBench(t, right, in(2, func(ctx context.Context, a arena.Attempt) arena.Reply {
		<-gate
		return right(ctx, a)
	}))
	x := newFrail(b, fault{})
	id := b.match()
	b.node("n1", lively, x.use)
	b.wait("round 2 is asked", func() bool {
		return count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }) == 2
	})
	x.sever(everything)
	close(gate)
	testwait.Until(b.t, "the lease has run out", b.lapsed)
	x.sever(claims)
	m, events := b.over(id)
	if m.Status != arena.MatchFinished || m.Lease.Epoch != 1 || m.Interruptions != 0 {
		t.Errorf("match is %s at epoch %d with %d interruptions", m.Status, m.Lease.Epoch, m.Interruptions)
	}
	if diff := cmp.Diff(map[string][]arena.Outcome{
		agentID(0): outcomes("answered answered answered"), agentID(1): outcomes("answered answered answered"),
	}, b.answers(id)); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	if n := count(events, func(e arena.Event) bool { return e.Type == arena.EventRoundStarted }); n != 3 || len(b.asked) != 6 {
		t.Errorf("%d rounds were opened and %d requests sent", n, len(b.asked))
	}
}

// counted counts renewals.
type counted struct {
	engine.Store
	renewals atomic.Int32
}

func (c *counted) RenewLeases(ctx context.Context, node string, ids []string, ttl time.Duration) ([]arena.Lease, error) {
	c.renewals.Add(1)
	return c.Store.RenewLeases(ctx, node, ids, ttl)
}

// A node whose writes wait so long that its leases run out keeps its matches: no other
// node wants them, and it claims nothing itself before a renewal has come through. Threat C5.
func TestEngine_KeepsItsMatchWhileWritesWait(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBench(t, right, in(2, func(ctx context.Context, a arena.Attempt) arena.Reply {
		<-gate
		return right(ctx, a)
	}))
	x := &counted{Store: engine.NewRows(b.store)}
	id := b.match()
	b.node("n1", lively, func(o *engine.Options) { o.Store = x })
	b.wait("round 2 is asked", func() bool {
		return count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }) == 2
	})
	blocked, entered := make(chan error, 1), make(chan struct{})
	once := sync.OnceFunc(func() { close(entered) })
	go func() {
		_, _, err := b.store.Agents.UpdateAgent(t.Context(), agentID(0), func(*arena.Agent) error { once(); <-gate; return nil })
		blocked <- err
	}()
	<-entered
	testwait.Until(b.t, "the lease has run out", b.lapsed)
	renewals := x.renewals.Load()
	testwait.Until(b.t, "another renewal waits", func() bool { return x.renewals.Load() > renewals+1 })
	close(gate)
	b.ok(<-blocked)
	m, events := b.over(id)
	if m.Status != arena.MatchFinished || m.Lease.Epoch != 1 || len(b.asked) != 6 {
		t.Errorf("match is %s at epoch %d after %d requests", m.Status, m.Lease.Epoch, len(b.asked))
	}
	if n := count(events, func(e arena.Event) bool { return e.Type == arena.EventRoundStarted }); n != 3 {
		t.Errorf("%d rounds were opened", n)
	}
}

// A freeze is no outage: what was read after it does not count, even when the
// match is still this node's. Threat C2.
func TestEngine_AFreezeIsNoOutage(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, nil)
	clock := &frozen{}
	b.agent[agentID(1)] = in(2, func(_ context.Context, a arena.Attempt) arena.Reply {
		if a.Number > 1 {
			return says("wrong")
		}
		clock.jump(time.Hour)
		return bad(arena.OutcomeTimeout, "late")
	})
	id := b.match()
	b.node("n1", lively, func(o *engine.Options) { o.Now = clock.now })
	b.over(id)
	if diff := cmp.Diff(outcomes("answered answered answered"), b.answers(id)[agentID(1)]); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
}

// A task that waited for the storage leaves with a deadline, and a token, of
// its own time.
func TestEngine_RequestsThatWaitedArePreparedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	x := newFrail(b, fault{})
	pick := &picks{Tasks: b, at: func(round int) {
		if round == 2 {
			x.sever(claimsAndRenewals)
			testwait.Until(b.t, "the lease has run out", b.lapsed)
		}
	}}
	id := b.match()
	b.node("n1", lively, x.use, func(o *engine.Options) { o.Tasks = pick })
	b.wait("round 2 is open", func() bool {
		return count(b.published, func(e arena.Event) bool { return e.Type == arena.EventRoundStarted && e.Round == 2 }) == 1
	})
	renewals := x.called("RenewLeases")
	testwait.Until(b.t, "two more renewals fail", func() bool { return x.called("RenewLeases") > renewals+1 })
	if n := count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }); n != 0 {
		t.Fatalf("%d requests left without a lease", n)
	}
	back := time.Now()
	x.sever(claims)
	m, _ := b.over(id)
	if m.Status != arena.MatchFinished || m.Lease.Epoch != 1 || len(b.asked) != 6 {
		t.Errorf("match is %s at epoch %d after %d requests", m.Status, m.Lease.Epoch, len(b.asked))
	}
	for _, a := range b.asked {
		if a.Round == 2 && (a.Number != 1 || a.Deadline.Before(back.Add(a.TimeLimit))) {
			t.Errorf("attempt %d of agent %s has the deadline %v, storage was back at %v", a.Number, a.Seat.AgentID, a.Deadline, back)
		}
	}
}

// coded is a league whose answers are programs: the arena evaluates them, and it
// takes as long as the test wants.
func coded(s *arena.Settings) { s.Judge, s.Rounds = arena.JudgeSpec{Kind: arena.JudgeCode}, 1 }

// A match of a node that cannot reach the storage is taken over by one that
// can. When the first one comes back, it takes the interruption back.
func TestEngine_ACutNodeIsNoInterruption(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, right)
	x, j := newFrail(b, fault{}), &jury{hold: make(chan struct{})}
	id := b.match(coded)
	b.node("n1", lively, impatient, x.use, j.join)
	testwait.Until(b.t, "the match is being judged", func() bool { return j.count() == 1 })
	x.sever(everything)
	b.node("n2", impatient, j.join)
	match := func() arena.Match {
		m, err := b.store.Matches.Match(t.Context(), id)
		b.ok(err)
		return m
	}
	testwait.Until(b.t, "the other node has claimed the match", func() bool { return match().Interruptions == 1 })
	epoch := match().Lease.Epoch
	x.sever(claims)
	testwait.Until(b.t, "the interruption is taken back", func() bool { return match().Interruptions == 0 })
	close(j.hold)
	if m, _ := b.over(id); m.Status != arena.MatchFinished || m.Interruptions != 0 || m.Lease.Epoch != epoch {
		t.Errorf("match is %s with %d interruptions at epoch %d, after %d", m.Status, m.Interruptions, m.Lease.Epoch, epoch)
	}
}

// A node that finds the storage back does not take for abandoned what another
// one plays, which may have missed the storage as long.
func TestEngine_AfterAnOutageHoldersComeFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(2, hang))
	holder, other := newFrail(b, fault{}), newFrail(b, fault{})
	id := b.match()
	b.node("n1", lively, impatient, holder.use)
	b.wait("round 2 is asked", func() bool {
		return count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }) == 2
	})
	other.sever(everything)
	n2 := b.node("n2", lively, impatient, other.use, func(o *engine.Options) { o.Heartbeat = time.Hour })
	testwait.Until(b.t, "the other node misses the storage", func() bool { return other.called("ClaimMatches") == 1 })
	holder.sever(everything)
	testwait.Until(b.t, "the lease has run out", b.lapsed)
	other.sever(nil)
	n2.Wake()
	holder.sever(claims)
	testwait.Until(b.t, "the lease is renewed", func() bool { return !b.lapsed() })
	m, err := b.store.Matches.Match(t.Context(), id)
	b.ok(err)
	if m.Lease.Node != "n1" || m.Lease.Epoch != 1 || m.Interruptions != 0 {
		t.Errorf("the lease is %+v, interruptions %d", m.Lease, m.Interruptions)
	}
	if n := other.called("ClaimMatches"); n != 1 {
		t.Errorf("the other node claimed %d times", n)
	}
}

// A match that lost its node is claimed when its lease runs out, and not at
// the next sweep.
func TestEngine_LooksWhenALeaseRunsOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	id := b.match()
	claimed, err := b.store.Matches.ClaimMatches(t.Context(), "crashed", time.Second, 1, nil)
	b.ok(err)
	if len(claimed) != 1 {
		t.Fatalf("%d matches were claimed", len(claimed))
	}
	b.node("n1", func(o *engine.Options) { o.Sweep = time.Hour })
	if m, _ := b.over(id); m.Status != arena.MatchFinished || m.Lease.Epoch != 2 {
		t.Errorf("match is %s at epoch %d", m.Status, m.Lease.Epoch)
	}
}
