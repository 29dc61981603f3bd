package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/runner"
)

// hang never answers by itself.
func hang(ctx context.Context, _ arena.Attempt) arena.Reply {
	<-ctx.Done()
	return bad(arena.OutcomeTimeout, "late")
}

// impatient leaves open rounds at once when it stops, as a crash does.
func impatient(o *runner.Options) { o.Grace = time.Nanosecond }

func shortLease(o *runner.Options) {
	o.LeaseTTL, o.Heartbeat, o.Sweep = 500*time.Millisecond, 50*time.Millisecond, 20*time.Millisecond
}

// A node goes away in the middle of round 2, after seat 0 has answered it.
// The next one keeps what is stored and asks only seat 1 again.
func TestRunner_ResumesInTheOpenRound(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(2, hang))
	id := b.match()
	first := b.node("n1", shortLease, impatient)
	b.wait("seat 0 has answered round 2", func() bool {
		return count(b.told, func(e arena.Event) bool {
			return e.Type == arena.EventSeatOutcome && e.Round == 2 && e.AgentID == agentID(0)
		}) == 1
	})
	first.stop()
	b.mu.Lock()
	b.agent[agentID(1)] = wrong
	before := len(b.asked)
	b.mu.Unlock()

	b.node("n2", shortLease)
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

// Between rounds a node that drains gives its match back, and another goes on
// without waiting for the lease to end.
func TestRunner_DrainGivesTheMatchBack(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBench(t, in(2, func(ctx context.Context, a arena.Attempt) arena.Reply {
		<-gate
		return right(ctx, a)
	}), wrong)
	id := b.match()
	long := func(o *runner.Options) { o.LeaseTTL = time.Hour }
	first := b.node("n1", long)
	b.wait("round 2 is asked", func() bool {
		return count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }) == 2
	})
	stopped := make(chan struct{})
	go func() { first.stop(); close(stopped) }()
	close(gate)
	<-stopped
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
func TestRunner_ALostLeaseEndsTheWork(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(2, hang))
	id := b.match()
	n1 := b.node("n1", func(o *runner.Options) { o.Heartbeat = 20 * time.Millisecond })
	b.wait("round 2 is asked", func() bool {
		return count(b.asked, func(a arena.Attempt) bool { return a.Round == 2 }) == 2
	})
	m, err := b.store.Match(t.Context(), id)
	b.ok(err)
	b.ok(b.store.ReleaseLease(t.Context(), m.Lease)) // as if it had run out
	b.mu.Lock()
	b.agent[agentID(1)] = wrong
	b.mu.Unlock()
	b.node("n2")
	after, _ := b.over(id)
	if after.Status != arena.MatchFinished || after.Lease.Epoch <= m.Lease.Epoch {
		t.Errorf("match is %s at epoch %d", after.Status, after.Lease.Epoch)
	}
	n1.stop()
}

func TestRunner_GivesUpAfterTooManyClaims(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	id := b.match()
	for range runner.MaxEpochs {
		claimed, err := b.store.ClaimMatches(t.Context(), "crashing", time.Hour, 1)
		b.ok(err)
		b.ok(b.store.ReleaseLease(t.Context(), claimed[0].Lease))
	}
	b.node("n1")
	if m, _ := b.over(id); m.Status != arena.MatchVoid {
		t.Errorf("match is %s", m.Status)
	}
}
