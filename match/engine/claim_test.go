package engine_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
)

// idleStore is a storage in which nothing is due: a match starts in a while, and another
// node holds a lease.
type idleStore struct {
	engine.Store
	claims int
}

func (w *idleStore) ClaimMatches(context.Context, string, time.Duration, int, func(arena.Lease) bool) ([]arena.Match, error) {
	w.claims++
	return nil, nil
}

func (w *idleStore) UntilStart(context.Context) (time.Duration, error) { return time.Minute, nil }

func (w *idleStore) UntilLeaseEnd(context.Context) (time.Duration, error) {
	return 4 * time.Second, nil
}

// A node whose clock is ahead of the database's, or behind, looks for due matches as often
// as any other. Threat C7.
func TestEngine_Claims_wrongClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := &idleStore{}
			e := engine.New(engine.Options{
				Store: store, Logger: slog.New(slog.DiscardHandler), Node: "n1", Now: func() time.Time { return time.Now().Add(ahead) },
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
			defer cancel()
			if err := e.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if store.claims != 11 {
				t.Errorf("%v ahead: %d claims in 10 s, want one a second", ahead, store.claims)
			}
		})
	}
}
