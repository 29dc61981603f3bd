package server

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/storetest"
)

// Leagues with new results are refitted, others are left alone, expensive
// ones are skipped.
func TestFitter(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.Fill(t, "sqlite:"+filepath.Join(t.TempDir(), "arena.db"))
	now, cost := time.UnixMilli(1_000_000).UTC(), time.Duration(0)
	f := &fitter{store: s.Leagues, log: slog.New(slog.DiscardHandler), cooldown: map[string]time.Time{}, now: func() time.Time {
		now = now.Add(cost)
		return now
	}}
	run := func() arena.Fit {
		t.Helper()
		if err := f.run(ctx); err != nil {
			t.Fatal(err)
		}
		fit, err := s.Leagues.Fit(ctx, "trivia")
		if err != nil {
			t.Fatal(err)
		}
		return fit
	}
	// As after ratings were rebuilt: the results in the fit are not those that stand.
	outdate := func() {
		t.Helper()
		if err := s.Leagues.SaveFit(ctx, arena.Fit{League: "trivia"}); err != nil {
			t.Fatal(err)
		}
	}
	first := run()
	if len(first.Lines) != 3 || first.At != now || first.Lines[0].AgentID != "ag_a" || first.Lines[0].Rating <= first.Lines[2].Rating {
		t.Fatalf("first fit: %+v", first)
	}
	if sums, err := s.Leagues.Fit(ctx, "sums"); err != nil || len(sums.Lines) != 4 {
		t.Fatalf("fit of the other league: %+v (%v)", sums, err)
	}
	results, err := s.Leagues.RatedResults(ctx, "trivia", 0, 100)
	if err != nil || first.Settlement != results[len(results)-1].Seq {
		t.Errorf("the fit ends at %d, the results are %v (%v)", first.Settlement, results, err)
	}
	now = now.Add(time.Minute)
	if again := run(); again.At != first.At {
		t.Error("refitted without new results")
	}

	cost = 2 * time.Second // each look at the clock is later by that
	outdate()
	if slow := run(); len(slow.Lines) != 3 {
		t.Error("not refitted")
	}
	outdate()
	now = now.Add(time.Minute)
	if soon := run(); len(soon.Lines) != 0 {
		t.Error("an expensive fit was repeated after a minute")
	}
	now = now.Add(5 * time.Minute)
	if later := run(); len(later.Lines) != 3 {
		t.Error("an expensive fit was not repeated after five minutes")
	}
}

// brokenFits cannot store the fit of one league.
type brokenFits struct {
	fitStore
	broken string
	tried  int
}

var errBroken = errors.New("broken")

func (b *brokenFits) SaveFit(ctx context.Context, f arena.Fit) error {
	if f.League == b.broken {
		b.tried++
		return errBroken
	}
	return b.fitStore.SaveFit(ctx, f)
}

// A league that fails does not stop those after it, and has a cooldown too.
func TestFitter_failure(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.Fill(t, "sqlite:"+filepath.Join(t.TempDir(), "arena.db"))
	leagues, err := s.Leagues.Leagues(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b := &brokenFits{fitStore: s.Leagues, broken: leagues[0].Slug}
	f := &fitter{store: b, log: slog.New(slog.DiscardHandler), cooldown: map[string]time.Time{}, now: func() time.Time { return time.UnixMilli(0) }}
	if err := f.run(ctx); !errors.Is(err, errBroken) {
		t.Errorf("the failure is %v", err)
	}
	if err := f.run(ctx); err != nil || b.tried != 1 {
		t.Errorf("tried %d times: %v", b.tried, err)
	}
	if fit, err := s.Leagues.Fit(ctx, leagues[1].Slug); err != nil || len(fit.Lines) < 3 {
		t.Errorf("the next league has %+v (%v)", fit, err)
	}
}
