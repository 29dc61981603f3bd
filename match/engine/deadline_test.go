package engine_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/store/storetest"
)

// sluggish is a storage that takes longer to open a round than the round
// lasts: the clock moves on while it does.
type sluggish struct {
	engine.Store
	late atomic.Int64 // nanoseconds
}

const sluggishness = 2 * time.Second

func (s *sluggish) now() time.Time { return time.Now().Add(time.Duration(s.late.Load())) }

func (s *sluggish) StartMatch(ctx context.Context, l arena.Lease, seats []arena.Seat, at time.Time, first *arena.Round, events []arena.Event) ([]arena.Event, error) {
	s.late.Add(int64(sluggishness))
	return s.Store.StartMatch(ctx, l, seats, at, first, events)
}

// Every seat receives a deadline that leaves it the whole time limit, however
// long the round took to open: one in the past could not even be signed.
func TestEngine_DeadlineCountsFromTheRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, right)
	id := b.match(func(s *arena.Settings) { s.Rounds, s.TimeLimit = 1, time.Second })
	slow := &sluggish{Store: engine.NewRows(b.store)}
	began := time.Now()
	b.node("n1", func(o *engine.Options) { o.Store, o.Now = slow, slow.now })
	b.over(id)
	if len(b.asked) != 2 {
		t.Fatalf("%d requests, want 2", len(b.asked))
	}
	for _, a := range b.asked {
		if least := began.Add(sluggishness + a.TimeLimit); a.Deadline.Before(least) {
			t.Errorf("agent %s receives the deadline %v, want %v or later", a.Seat.AgentID, a.Deadline, least)
		}
	}
}

// A round of an elimination that gets faster ends by its own limit: that of the
// request, of its deadline and of round_started.
func TestEngine_FasterRounds(t *testing.T) {
	t.Parallel()
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		silent := func(_ context.Context, a arena.Attempt) arena.Reply {
			time.Sleep(a.TimeLimit)
			return arena.Reply{Outcome: arena.OutcomeTimeout, Reason: "deadline", SentAt: time.Now().Add(-a.TimeLimit), Elapsed: a.TimeLimit}
		}
		b := newBenchOn(t, url, silent, silent, silent)
		id := b.match(func(s *arena.Settings) {
			s.Format, s.Options.Faster = arena.FormatElimination, 2500*time.Millisecond // of 10 s
		})
		b.node("n1")
		_, events := b.over(id)
		opened := map[int]time.Time{}
		took := map[int]time.Duration{}
		limits := map[int]float64{}
		for _, e := range events {
			switch e.Type {
			case arena.EventRoundStarted:
				var body arena.RoundStartedBody
				b.ok(json.Unmarshal(e.Body, &body))
				opened[e.Round], limits[e.Round] = e.At, body.TimeLimitSeconds
			case arena.EventRoundClosed:
				took[e.Round] = e.At.Sub(opened[e.Round])
			}
		}
		want := map[int]time.Duration{1: 10 * time.Second, 2: 7500 * time.Millisecond, 3: 5 * time.Second}
		if d := cmp.Diff(want, took); d != "" {
			t.Errorf("rounds take other times (-want +got):\n%s", d)
		}
		if d := cmp.Diff(map[int]float64{1: 10, 2: 7.5, 3: 5}, limits); d != "" {
			t.Errorf("round_started has other limits (-want +got):\n%s", d)
		}
		for _, a := range b.asked {
			if a.TimeLimit != want[a.Round] || a.RoundLimit != want[a.Round] || a.Deadline.After(opened[a.Round].Add(want[a.Round])) {
				t.Errorf("round %d has the limits %s and %s, and the deadline %s after it opens", a.Round, a.TimeLimit, a.RoundLimit, a.Deadline.Sub(opened[a.Round]))
			}
		}
	})
}
