package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
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
