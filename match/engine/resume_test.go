package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
)

// hang never answers by itself.
func hang(ctx context.Context, _ arena.Attempt) arena.Reply {
	<-ctx.Done()
	return bad(arena.OutcomeTimeout, "late")
}

// impatient leaves open rounds at once when it stops, as a crash does.
func impatient(o *engine.Options) { o.Grace = time.Nanosecond }

// lively makes a node look often, and renew often what it has.
func lively(o *engine.Options) { o.Heartbeat, o.Sweep = 50*time.Millisecond, 20*time.Millisecond }

// A node goes away in the middle of round 2, after seat 0 has answered it.
// The next one keeps what is stored and asks only seat 1 again.
func TestEngine_ResumesInTheOpenRound(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(2, hang))
	id := b.match()
	first := b.node("n1", lively, impatient)
	b.wait("seat 0 has answered round 2", func() bool {
		return count(b.published, func(e arena.Event) bool {
			return e.Type == arena.EventSeatOutcome && e.Round == 2 && e.AgentID == agentID(0)
		}) == 1
	})
	first.stop()
	b.mu.Lock()
	b.agent[agentID(1)] = wrong
	before := len(b.asked)
	b.mu.Unlock()

	b.node("n2", lively)
	m, events := b.over(id)
	if m.Status != arena.MatchFinished || m.Lease.Epoch != 2 {
		t.Fatalf("match is %s at epoch %d: %s", m.Status, m.Lease.Epoch, m.VoidReason)
	}
	again := b.asked[before]
	if again.Round != 2 || again.Seat.AgentID != agentID(1) || again.Task.ID != "tk_2" || again.Number < 2 {
		t.Errorf("the first request after the take-over is attempt %d of %s in round %d to %s", again.Number, again.Task.ID, again.Round, again.Seat.AgentID)
	}
	if n := count(b.asked, func(a arena.Attempt) bool { return a.Seat.AgentID == agentID(0) }); n != 3 {
		t.Errorf("seat 0 was asked %d times in 3 rounds", n)
	}
	if diff := cmp.Diff(map[string][]arena.Outcome{
		agentID(0): outcomes("answered answered answered"), agentID(1): outcomes("answered answered answered"),
	}, b.answers(id)); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	if n := count(events, func(e arena.Event) bool { return e.Type == arena.EventMatchStarted }); n != 1 {
		t.Errorf("the match started %d times", n)
	}
	if n := count(events, func(e arena.Event) bool { return e.Type == arena.EventRoundStarted && e.Round == 2 }); n != 2 {
		t.Errorf("round 2 was opened %d times, want 2", n)
	}
}

// Between rounds a draining node releases its match, and another continues
// without waiting for the lease to end.
func TestEngine_DrainGivesTheMatchBack(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBench(t, in(2, func(ctx context.Context, a arena.Attempt) arena.Reply {
		<-gate
		return right(ctx, a)
	}), wrong)
	id := b.match()
	long := func(o *engine.Options) { o.LeaseTTL = time.Hour }
	first := b.node("n1", long)
	b.wait("round 2 is asked", func() bool {
		return count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }) == 2
	})
	first.drain()
	close(gate)
	first.stop()
	if n := count(b.asked, func(a arena.Attempt) bool { return a.Round == 3 }); n != 0 {
		t.Fatal("the draining node opened another round")
	}
	b.node("n2", long)
	m, _ := b.over(id)
	if m.Status != arena.MatchFinished || len(b.asked) != 6 {
		t.Errorf("match is %s after %d requests", m.Status, len(b.asked))
	}
}

// Threat C2: a node that lost its lease changes nothing any more.
func TestEngine_ALostLeaseEndsTheWork(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(2, hang))
	id := b.match()
	n1 := b.node("n1", func(o *engine.Options) { o.Heartbeat = 20 * time.Millisecond })
	b.wait("round 2 is asked", func() bool {
		return count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }) == 2
	})
	m, err := b.store.Matches.Match(t.Context(), id)
	b.ok(err)
	// Before the lease is free, because n1 itself may take the match again.
	b.mu.Lock()
	b.agent[agentID(1)] = wrong
	b.mu.Unlock()
	b.ok(b.store.Matches.ReleaseLease(t.Context(), m.Lease)) // as if it had run out
	b.node("n2")
	after, _ := b.over(id)
	if after.Status != arena.MatchFinished || after.Lease.Epoch <= m.Lease.Epoch {
		t.Errorf("match is %s at epoch %d", after.Status, after.Lease.Epoch)
	}
	n1.stop()
}

// In the break between two rounds a node that drains waits for nothing, and
// the next one waits for what is left of the break. Threat C8.
func TestEngine_DrainDoesNotWaitForTheBreak(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	id := b.match(func(s *arena.Settings) { s.Break = time.Hour })
	woken := make(chan struct{}, 1)
	first := b.node("n1", func(o *engine.Options) {
		o.WakeOthers = func() { woken <- struct{}{} }
		o.Grace = time.Hour // or its end would cut the break short
	})
	b.wait("round 1 is closed", func() bool {
		return count(b.published, func(e arena.Event) bool { return e.Type == arena.EventRoundClosed }) == 1
	})
	go first.stop()
	select {
	case <-woken:
	case <-time.After(30 * time.Second):
		panic("the draining node waits for the break") // and would keep the test from ending
	}
	first.stop()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	second := b.node("n2", func(o *engine.Options) { o.Now = later })
	b.wait("round 2 is closed", func() bool {
		return count(b.published, func(e arena.Event) bool { return e.Type == arena.EventRoundClosed }) == 2
	})
	second.stop()
	m, err := b.store.Matches.Match(t.Context(), id)
	b.ok(err)
	if m.Lease.Node != "" || m.Lease.Epoch != 2 || m.Interruptions != 0 {
		t.Errorf("after two drains the lease is %+v, interruptions %d", m.Lease, m.Interruptions)
	}
}

// A round that is still open when the grace is over is given back as it is:
// nobody waits for the lease to end.
func TestEngine_GraceGivesTheOpenRoundBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(2, hang))
	id := b.match()
	long := func(o *engine.Options) { o.LeaseTTL = time.Hour }
	first := b.node("n1", long, impatient)
	b.wait("round 2 is asked", func() bool {
		return count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }) == 2
	})
	first.stop()
	b.mu.Lock()
	b.agent[agentID(1)] = wrong
	b.mu.Unlock()
	b.node("n2", long)
	m, events := b.over(id)
	if m.Status != arena.MatchFinished || m.Interruptions != 0 {
		t.Errorf("match is %s with %d interruptions", m.Status, m.Interruptions)
	}
	if n := count(events, func(e arena.Event) bool { return e.Type == arena.EventSeatOutcome && e.Round == 2 }); n != 2 {
		t.Errorf("round 2 has %d outcomes", n)
	}
}

// However often a match is handed over, it is not given up: only leases that
// ended by themselves count.
func TestEngine_SurvivesManyHandOvers(t *testing.T) {
	t.Parallel()
	const handOvers = 2 * engine.MaxInterruptions
	b := newBench(t, right, wrong)
	id := b.match(func(s *arena.Settings) { s.Rounds, s.Break = handOvers+1, time.Hour })
	for i := range handOvers {
		after := time.Duration(i) * time.Hour // each break is over for the next node
		n := b.node(fmt.Sprintf("n%d", i), func(o *engine.Options) { o.Now = func() time.Time { return time.Now().Add(after) } })
		b.wait(fmt.Sprintf("round %d is closed", i+1), func() bool {
			return count(b.published, func(e arena.Event) bool { return e.Type == arena.EventRoundClosed }) == i+1
		})
		n.stop()
	}
	b.node("last", func(o *engine.Options) {
		o.Now = func() time.Time { return time.Now().Add(handOvers * time.Hour) }
		o.Grace = time.Nanosecond
	})
	b.wait("the last round is closed", func() bool {
		return count(b.published, func(e arena.Event) bool { return e.Type == arena.EventRoundClosed }) == handOvers+1
	})
	m, err := b.store.Matches.Match(t.Context(), id)
	b.ok(err)
	if m.Lease.Epoch != handOvers+1 || m.Interruptions != 0 || len(b.asked) != 2*(handOvers+1) {
		t.Errorf("epoch %d, interruptions %d, %d requests", m.Lease.Epoch, m.Interruptions, len(b.asked))
	}
}

// frozen is a clock that jumps ahead, as the monotonic clock does for a
// process that was stopped.
type frozen struct{ by atomic.Int64 }

func (f *frozen) now() time.Time       { return time.Now().Add(time.Duration(f.by.Load())) }
func (f *frozen) jump(d time.Duration) { f.by.Add(int64(d)) }

// Threat C2: a node that was stopped between opening a round and the
// dispatch sends nothing: another node may have dispatched already.
func TestEngine_AFrozenNodeDoesNotFire(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	clock := &frozen{}
	x := newFrail(b, fault{})
	pick := &picks{Tasks: b, at: func(round int) {
		if round == 2 {
			clock.jump(time.Hour)
			x.sever(claims) // the other node shall have the match
		}
	}}
	// Its heartbeat is disabled: the dispatch itself must check the lease.
	first := b.node("n1", lively, x.use, func(o *engine.Options) { o.Now, o.Tasks, o.Heartbeat = clock.now, pick, time.Hour })
	id := b.match()
	first.Wake()
	b.wait("round 2 is open", func() bool {
		return count(b.published, func(e arena.Event) bool { return e.Type == arena.EventRoundStarted && e.Round == 2 }) == 1
	})
	second := b.node("n2", lively)
	m, _ := b.over(id)
	first.stop()
	second.stop()
	if m.Status != arena.MatchFinished || m.Lease.Epoch != 2 {
		t.Errorf("match is %s at epoch %d", m.Status, m.Lease.Epoch)
	}
	if n := count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 && a.Number == 1 }); n != 0 {
		t.Errorf("the frozen node sent %d requests", n)
	}
	if n := count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }); n != 2 {
		t.Errorf("round 2 was asked %d times", n)
	}
}

// picks looks over the shoulder of Tasks.
type picks struct {
	engine.Tasks
	at func(round int)
}

func (p *picks) Pick(ctx context.Context, m arena.Match, round int) (arena.Task, error) {
	p.at(round)
	return p.Tasks.Pick(ctx, m, round)
}

// Threat C2: what a node reads from its clock after a freeze is not held
// against an agent.
func TestEngine_AFreezeIsNotTheAgentsFault(t *testing.T) {
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
	first := b.node("n1", lively, func(o *engine.Options) { o.Now, o.Heartbeat = clock.now, time.Hour })
	id := b.match()
	first.Wake()
	b.wait("the freeze", func() bool { return clock.by.Load() > 0 })
	b.node("n2", lively)
	b.over(id)
	if diff := cmp.Diff(outcomes("answered answered answered"), b.answers(id)[agentID(1)]); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
}

// A match whose claim was committed but never returned runs out, although the
// node goes on renewing what it plays.
func TestEngine_DoesNotRenewWhatItDoesNotPlay(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, hang)
	_, _, err := b.store.Agents.UpdateAgent(t.Context(), agentID(0), func(a *arena.Agent) error { a.Health.MaxConcurrent = 2; return nil })
	b.ok(err)
	_, _, err = b.store.Agents.UpdateAgent(t.Context(), agentID(1), func(a *arena.Agent) error { a.Health.MaxConcurrent = 2; return nil })
	b.ok(err)
	b.match()
	b.node("n1", impatient, func(o *engine.Options) { o.Heartbeat, o.Sweep = 20*time.Millisecond, time.Hour }) // it looks once
	b.wait("the first match plays", func() bool { return len(b.asked) == 2 })
	lost := b.match()
	claimed, err := b.store.Matches.ClaimMatches(t.Context(), "n1", 100*time.Millisecond, 10, nil)
	b.ok(err)
	if len(claimed) != 1 || claimed[0].ID != lost {
		t.Fatalf("claimed %+v", claimed)
	}
	b.node("n2", lively, impatient)
	b.wait("the lost match is claimed again", func() bool {
		return count(b.published, func(e arena.Event) bool { return e.MatchID == lost && e.Type == arena.EventMatchStarted }) == 1
	})
}

// Threat J5: nodes that die while they judge a match are charged to this match,
// which is given up. Another match of the same nodes is played to its end.
func TestEngine_GivesUpTheMatchThatBreaksNodes(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	for i := range 2 {
		_, _, err := b.store.Agents.UpdateAgent(t.Context(), agentID(i), func(a *arena.Agent) error { a.Health.MaxConcurrent = 2; return nil })
		b.ok(err)
	}
	guilty, innocent := b.match(), b.match()
	for i := range engine.MaxInterruptions + 1 {
		claimed, err := b.store.Matches.ClaimMatches(t.Context(), fmt.Sprintf("crashing %d", i), -time.Hour, 2, nil) // its leases end at once
		b.ok(err)
		if len(claimed) != 2 {
			t.Fatalf("%d matches were claimed", len(claimed))
		}
		for _, m := range claimed {
			if m.Interruptions != i && m.ID == guilty || m.Interruptions != 0 && m.ID == innocent {
				t.Errorf("claim %d: match %s has %d interruptions", i, m.ID, m.Interruptions)
			}
			if m.ID != guilty || i == engine.MaxInterruptions {
				continue
			}
			_, err := b.store.Matches.OpenRound(t.Context(), m.Lease, arena.Round{No: 1, Interruptions: i}, nil)
			b.ok(err)
			b.ok(b.store.Matches.MarkJudging(t.Context(), m.Lease, 1))
		}
	}
	b.node("n1")
	if m, _ := b.over(guilty); m.Status != arena.MatchVoid {
		t.Errorf("the match that breaks nodes is %s", m.Status)
	}
	if m, _ := b.over(innocent); m.Status != arena.MatchFinished {
		t.Errorf("the other match is %s: %s", m.Status, m.VoidReason)
	}
}
