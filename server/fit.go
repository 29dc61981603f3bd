package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// fitter refits the ratings of leagues that have new results (docs/rules.md,
// section 7). A large league takes seconds of processor time, so
// the fitter skips it for a while afterwards.
type fitter struct {
	store    fitStore
	now      func() time.Time
	log      *slog.Logger
	cooldown map[string]time.Time // leagues that were expensive here, or failed, and until when
}

// fitStore is what a refit needs of the rows.
type fitStore interface {
	Leagues(ctx context.Context) ([]arena.League, error)
	Fit(ctx context.Context, league string) (arena.Fit, error)
	RatedResults(ctx context.Context, league string, afterSeq int64, limit int) ([]arena.RatedResult, error)
	SaveFit(ctx context.Context, f arena.Fit) error
}

const (
	fitPage  = 1000        // results that are read at once
	fitCheap = time.Second // what takes no longer is done at every tick
	fitRest  = 5 * time.Minute
)

// run refits each league that has results which are not in its fit.
func (f *fitter) run(ctx context.Context) error {
	leagues, err := f.store.Leagues(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, l := range leagues {
		began := f.now()
		if ctx.Err() != nil || began.Before(f.cooldown[l.Slug]) {
			continue
		}
		if err = f.league(ctx, l.Slug); err != nil {
			failed = errors.Join(failed, fmt.Errorf("league %s: %w", l.Slug, err))
		}
		delete(f.cooldown, l.Slug)
		if end := f.now(); err != nil || end.Sub(began) > fitCheap {
			f.cooldown[l.Slug] = end.Add(fitRest)
		}
	}
	return failed
}

func (f *fitter) league(ctx context.Context, slug string) error {
	was, err := f.store.Fit(ctx, slug)
	if err != nil {
		return err
	}
	if fresh, err := f.store.RatedResults(ctx, slug, was.Settlement, 1); err != nil || len(fresh) == 0 {
		return err
	}
	refit, last, results := scoring.NewRefit(), int64(0), 0
	for {
		page, err := f.store.RatedResults(ctx, slug, last, fitPage)
		if err != nil {
			return err
		}
		for _, r := range page {
			refit.Add(r)
			last = r.Seq
		}
		if results += len(page); len(page) < fitPage {
			break
		}
	}
	fit, err := refit.Fit()
	if err != nil {
		return err
	}
	fit.League, fit.Settlement, fit.At = slug, last, f.now()
	if err := f.store.SaveFit(ctx, fit); err != nil {
		return err
	}
	f.log.DebugContext(ctx, "ratings refitted", "league", slug, "results", results, "agents", len(fit.Lines))
	return nil
}
