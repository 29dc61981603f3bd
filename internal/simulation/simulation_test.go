package simulation

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/store"
)

// What TestSimulation plays. The defaults are those of make test.
var (
	seed = flag.Uint64("seed", 1, "of agents, owners and faults")
	days = flag.Float64("days", 0.25, "of simulated time")
)

const (
	agents     = 40
	spectators = 4
)

// begins is three hours before the clocks of Europe change.
func begins() time.Time { return time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC) }

// TestSimulation plays an arena with all faults and checks the invariants of the threat
// model. Threats C1, C3, C4, C5, C7 and C8. make simulate repeats a seed.
func TestSimulation(t *testing.T) {
	t.Parallel()
	debug.SetGCPercent(400) // most of what is allocated is garbage soon
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		simulate(t, dir, logs())
		if t.Failed() {
			t.Logf("make simulate SEED=%d DAYS=%g repeats it", *seed, *days)
		}
	})
}

// logs is where the nodes log to.
func logs() slog.Handler {
	if testing.Verbose() {
		return slog.NewTextHandler(os.Stderr, nil)
	}
	return slog.DiscardHandler
}

func simulate(t *testing.T, dir string, logs slog.Handler) {
	t.Helper()
	pause(t.Context(), time.Until(begins()))
	w := newWorld(t, *seed, dir, 3-int(*seed%2), logs)
	t.Cleanup(w.close)
	must(t, w.populate(t.Context(), agents))
	acting, stop := context.WithCancel(t.Context())
	journals := make([][]*watched, spectators)
	for i := range journals {
		w.wg.Go(func() { journals[i] = w.spectate(acting, i) })
	}
	w.wg.Go(func() { w.own(acting) })
	w.wg.Go(func() { w.nemesis(acting) })
	w.began = time.Now()
	pause(acting, time.Duration(*days*24*float64(time.Hour)))
	w.ended = time.Now()
	stop()
	pause(t.Context(), time.Minute)
	must(t, w.settle(t.Context()))
	w.verifyRatings(t.Context())
	w.close()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "arena.db"), store.Options{
		Logger: slog.New(logs), Now: time.Now, SQLite: (&port{database: w.database}).open,
	})
	must(t, err)
	must(t, w.check(t.Context(), s, journals))
	must(t, s.Close())
	for _, v := range w.violations {
		t.Error(v)
	}
}
