package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/visibility/mode"
)

// late is a publisher that takes no event of a delayed match before its time,
// but for the end.
type late struct{ *bench }

func (l late) Publish(league string, events ...arena.Event) {
	for _, e := range events {
		if wait := time.Since(e.At); wait < time.Second && !e.Type.Ends() {
			l.t.Errorf("%s is published %s after it happened", e.Type, wait)
		}
	}
	l.bench.Publish(league, events...)
}

// Spectators of a delayed match see everything of it, later, and nothing is
// settled before they have seen its last round. docs/rules.md, section 5.
func TestEngine_Delayed(t *testing.T) {
	t.Parallel()
	for _, format := range []arena.Format{arena.FormatLadder, arena.FormatElimination} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			playDelayed(t, format)
		})
	}
}

func playDelayed(t *testing.T, format arena.Format) {
	t.Helper()
	b := newBench(t, right, in(3, wrong), in(2, always(unavailable)))
	b.node("n1", func(o *engine.Options) { o.Publisher = late{b} })
	id := b.match(func(s *arena.Settings) { s.Visibility, s.Format = "delayed:1", format })
	m, events := b.over(id)
	if diff := cmp.Diff(events[1:], b.published); diff != "" { // the scheduler publishes that
		t.Errorf("log and what is published differ (-log +published):\n%s", diff)
	}
	rounds, err := b.store.Matches.Rounds(t.Context(), id)
	b.ok(err)
	if wait := m.FinishedAt.Sub(rounds[len(rounds)-1].ClosedAt); wait < time.Second {
		t.Errorf("settled %s after the last round closed", wait)
	}
	if hidden := slices.ContainsFunc(events, func(e arena.Event) bool { return e.Type == arena.EventReveal }); hidden {
		t.Error("a delayed match is sealed")
	}

	// What the log says is what the rows say.
	seen, err := mode.AsOf(m, m.Seq, events)
	b.ok(err)
	ignore := cmpopts.IgnoreFields(arena.Seat{}, "Place", "RateLimits", "Before", "Delta")
	if diff := cmp.Diff(m, seen, ignore); diff != "" {
		t.Errorf("rows and log differ (-rows +log):\n%s", diff)
	}
	out := m.Seats[1].State == arena.SeatOut && m.Seats[1].OutRound == 3
	if m.Seats[2].State != arena.SeatLeft || m.Seats[2].OutRound != 2 || m.Seats[0].Points != 3*arena.OnePoint || out != (format == arena.FormatElimination) {
		t.Errorf("seats %+v", m.Seats)
	}
}

// A node that drains gives a match back that waits to be settled; the next one
// waits for what is left; so does the one after it.
func TestEngine_Delayed_drain(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	first := b.node("n1")
	id := b.match(func(s *arena.Settings) { s.Visibility, s.Rounds = "delayed:3600", 1 })
	b.wait("both have been asked", func() bool { return len(b.asked) == 2 })
	first.stop()
	second := b.node("n2")
	match := func() arena.Match {
		m, err := b.store.Matches.Match(t.Context(), id)
		b.ok(err)
		return m
	}
	testwait.Until(b.t, "the second node takes the match up", func() bool { return match().Lease.Node == "n2" })
	second.stop()
	if m := match(); m.Status != arena.MatchRunning {
		t.Fatalf("match %s", m.Status)
	}
	b.node("n3", func(o *engine.Options) { o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) } })
	m, _ := b.over(id)
	rounds, err := b.store.Matches.Rounds(t.Context(), id)
	b.ok(err)
	if wait := m.FinishedAt.Sub(rounds[0].ClosedAt); wait < time.Hour || m.Interruptions != 0 {
		t.Errorf("settled %s after the last round closed, %d interruptions", wait, m.Interruptions)
	}
}

// Threat C7: a node that takes over a match whose last round closed by a clock that
// was ahead waits for the delay, not until that time.
func TestEngine_Delayed_clockSetBack(t *testing.T) {
	t.Parallel()
	draining := make(chan struct{})
	late := func(ctx context.Context, a arena.Attempt) arena.Reply {
		<-draining
		return right(ctx, a)
	}
	b := newBench(t, late, wrong)
	first := b.node("n1")
	id := b.match(func(s *arena.Settings) { s.Visibility, s.Rounds = "delayed:5", 1 })
	b.wait("both have been asked", func() bool { return len(b.asked) == 2 })
	first.drain()
	close(draining)
	first.stop()
	b.node("n2", func(o *engine.Options) { o.Now = func() time.Time { return time.Now().Add(-72 * time.Hour) } })
	m, _ := b.over(id)
	rounds, err := b.store.Matches.Rounds(t.Context(), id)
	b.ok(err)
	if !rounds[0].ClosedAt.After(m.FinishedAt) || m.Status != arena.MatchFinished {
		t.Errorf("%s at %s, its last round closed at %s", m.Status, m.FinishedAt, rounds[0].ClosedAt)
	}
}
