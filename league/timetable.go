package league

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// gatherDue reports whether an elimination may gather its next match.
func (t *tick) gatherDue(ctx context.Context, s *season) (due bool, next time.Time, err error) {
	if slices.ContainsFunc(s.pairings, arena.Pairing.Open) {
		return false, time.Time{}, nil
	}
	return t.occasion(ctx, s.league)
}

// roundDue reports whether pairings may be ordered now: always, unless they begin
// a round and the league's schedule starts rounds. Replays and the games of a
// series belong to a round that has begun.
func (t *tick) roundDue(ctx context.Context, s *season, ordered []arena.Pairing) (bool, error) {
	last := 0
	for _, p := range s.pairings {
		last = max(last, p.Round)
	}
	begins := slices.ContainsFunc(ordered, func(p arena.Pairing) bool { return p.Round > last })
	if !begins || s.league.Schedule == "" || s.Options.Starts != arena.StartsRound {
		return true, nil
	}
	return t.occurrence(ctx, s.league)
}

// occasion reports whether an elimination league gathers now, and when next.
func (t *tick) occasion(ctx context.Context, l arena.League) (due bool, next time.Time, err error) {
	if l.Schedule != "" && l.Settings.Options.Starts == arena.StartsMatch {
		due, err = t.occurrence(ctx, l)
		return due, time.Time{}, err
	}
	live, err := t.Store.LiveMatches(ctx, l.Slug)
	if err != nil {
		return false, next, fmt.Errorf("read live matches: %w", err)
	}
	for _, m := range live {
		if m.StartsAt.Sub(t.now) <= reserve {
			return false, time.Time{}, nil
		}
	}
	ended, _, err := t.Store.Matches(ctx, arena.MatchFilter{
		League: l.Slug, Statuses: []arena.MatchStatus{arena.MatchFinished, arena.MatchVoid, arena.MatchCancelled},
	}, arena.Page{Limit: 1})
	if err != nil {
		return false, next, fmt.Errorf("read the last match: %w", err)
	}
	if len(ended) == 0 {
		return true, time.Time{}, nil
	}
	next = ended[0].FinishedAt.Add(t.EliminationPause)
	if next.After(t.now) {
		return false, next, nil
	}
	return true, time.Time{}, nil
}

// occurrence reports whether an occurrence of the league's schedule has come
// that nobody has taken yet. One that nobody asked for in time is taken late.
func (t *tick) occurrence(ctx context.Context, l arena.League) (due bool, err error) {
	due, next := t.Due(l, t.now)
	if !due {
		return false, nil
	}
	t.came[l.Slug] = next
	// Another node may be in this very tick (threat C3).
	if due, err = t.Store.ClaimTick(ctx, "occurrence:"+l.Slug, l.NextRunAt); err != nil {
		return false, fmt.Errorf("claim the occurrence: %w", err)
	}
	return due, nil
}

// nextOccurrence is the occurrence that a league with a schedule waits for.
func (t *tick) nextOccurrence(l arena.League) time.Time {
	if next, came := t.came[l.Slug]; came {
		return next
	}
	if l.NextRunAt.IsZero() {
		_, next := t.Due(l, t.now)
		return next
	}
	return l.NextRunAt
}
