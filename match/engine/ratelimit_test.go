package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
)

func TestEngine_SecondRateLimitIsATimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(limited), wrong)
	// The pause is over before the next round.
	b.node("n1", func(o *engine.Options) { o.RateLimitPause = time.Nanosecond })
	id := b.match()
	m, _ := b.over(id)
	if diff := cmp.Diff(outcomes("rate_limited timeout timeout"), b.answers(id)[agentID(0)]); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	if m.Seats[0].RateLimits != 3 {
		t.Errorf("%d rate limits are counted", m.Seats[0].RateLimits)
	}
}

// Threat G4: the second 429 within the last matches loses its round, and so does
// each one after it.
func TestEngine_RateLimitInAnotherMatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, in(1, always(limited)), wrong)
	b.node("n1", func(o *engine.Options) { o.RateLimitPause = time.Nanosecond })
	for i, want := range []string{"rate_limited answered answered", "timeout answered answered", "timeout answered answered"} {
		id := b.match()
		b.over(id)
		if diff := cmp.Diff(outcomes(want), b.answers(id)[agentID(0)]); diff != "" {
			t.Errorf("match %d: outcomes differ (-want +got):\n%s", i, diff)
		}
	}
}

// Threat G3: an agent that answers 429 drops from an elimination after one grace
// round, and loses rating.
func TestEngine_SittingOutAnElimination(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(2, always(limited)), right)
	b.node("n1")
	m, _ := b.over(b.match(func(s *arena.Settings) { s.Format, s.Rounds = arena.FormatElimination, 5 }))
	out := m.Seats[1]
	if out.State != arena.SeatOut || out.OutRound != 3 || out.Place != 3 {
		t.Errorf("the seat that skips rounds is %s since round %d, place %d", out.State, out.OutRound, out.Place)
	}
	if out.Delta == nil || *out.Delta >= 0 {
		t.Errorf("its rating changed by %v", out.Delta)
	}
}
