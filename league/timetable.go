package league

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/schedule"
)

// gathers reports whether an elimination orders its next match now or else, where
// it is known, why not and when it looks again. A match that is due keeps a seat of
// each idle agent until enough of those that play elsewhere are done, and then for
// EliminationPause at most, so that the field is complete.
func (t *tick) gathers(ctx context.Context, s *season) (now bool, note arena.Note, next time.Time, err error) {
	if slices.ContainsFunc(s.pairings, arena.Pairing.Open) {
		return false, s.league.Note, time.Time{}, nil
	}
	scheduled := s.league.Schedule != "" && s.Options.Starts == arena.StartsMatch
	due, since, err := t.gatheringDue(ctx, s, scheduled)
	if err != nil || !due {
		return false, s.league.Note, since, err
	}
	idle, playing, of := len(s.idle), len(s.busy), s.league.Settings
	full := since.Add(t.EliminationPause)
	if playing > 0 && idle+playing >= of.MinSeats && (idle < of.MinSeats || idle < of.MaxSeats && t.now.Before(full)) {
		for id := range s.idle {
			t.taken[id]++
		}
		until, err := t.playsUntil(ctx, s.busy...)
		if next = until; idle >= of.MinSeats {
			next = full
		}
		return false, arena.GathersNote(idle, playing, until), next, err
	}
	if scheduled {
		enough := idle+playing >= of.MinSeats
		if note = s.league.Note; !enough {
			note = s.needs(s.League, of.MinSeats, idle+playing)
		}
		now, err = t.occurrence(ctx, s.league, enough)
		return now, note, time.Time{}, err
	}
	return true, arena.Note{}, time.Time{}, nil
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
	return t.occurrence(ctx, s.league, true)
}

// gatheringDue reports whether the next match of an elimination is due, by its
// schedule or a pause after the match before, and since or from when, where it is known.
func (t *tick) gatheringDue(ctx context.Context, s *season, scheduled bool) (now bool, at time.Time, err error) {
	if scheduled {
		return due(s.league, t.now), s.league.NextRunAt, nil
	}
	live, err := t.Store.LiveMatches(ctx, s.League)
	if err != nil {
		return false, at, fmt.Errorf("read live matches: %w", err)
	}
	for _, m := range live {
		if m.Status == arena.MatchRunning || m.StartsAt.Sub(t.now) <= reserve {
			return false, at, nil
		}
	}
	ended, _, err := t.Store.Matches(ctx, arena.MatchFilter{
		League: s.League, Statuses: []arena.MatchStatus{arena.MatchFinished, arena.MatchVoid, arena.MatchCancelled}, To: t.now.Add(arena.ClockSlack),
	}, arena.Page{Limit: 1})
	if err != nil {
		return false, at, fmt.Errorf("read the last match: %w", err)
	}
	if len(ended) == 0 {
		return true, s.StartedAt, nil
	}
	at = ended[0].FinishedAt.Add(t.EliminationPause)
	if arena.Ahead(ended[0].FinishedAt, t.now) {
		at = t.now
	}
	return !at.After(t.now), at, nil
}

// lateAgents is how long an occurrence waits for agents before it is over without them.
// Agents come back within that time when they, or a node, restart.
const lateAgents = 10 * time.Minute

// occurrence reports whether an occurrence of the league's schedule has come and is
// not taken yet. A missed one is taken late, and so is one without enough agents.
func (t *tick) occurrence(ctx context.Context, l arena.League, enough bool) (taken bool, err error) {
	if !due(l, t.now) || !enough && t.now.Before(l.NextRunAt.Add(lateAgents)) {
		return false, nil
	}
	next := schedule.Next(l.Schedule, t.now)
	t.came[l.Slug] = next
	if _, err := t.Store.UpdateLeague(ctx, l.Slug, func(stored *arena.League) error {
		// Another node may be in this very tick (threat C3).
		if taken = stored.NextRunAt.Equal(l.NextRunAt); taken {
			stored.NextRunAt = next
		}
		return nil
	}); err != nil {
		return false, fmt.Errorf("claim the occurrence: %w", err)
	}
	return taken, nil
}

// due reports whether an occurrence of a league's schedule has come. A league that
// was just given a schedule waits for the first.
func due(l arena.League, now time.Time) bool {
	return !l.NextRunAt.IsZero() && !now.Before(l.NextRunAt)
}

// nextOccurrence is the occurrence that a league with a schedule waits for. One that
// comes after the second one from now was found by a clock that was ahead, and is left
// (threat C7). After the first one from now it may come: a clock that was set back by
// a little does not bring the same occurrence twice.
func (t *tick) nextOccurrence(l arena.League) time.Time {
	if next, came := t.came[l.Slug]; came {
		return next
	}
	next := schedule.Next(l.Schedule, t.now)
	if l.NextRunAt.IsZero() || l.NextRunAt.After(schedule.Next(l.Schedule, next)) {
		return next
	}
	return l.NextRunAt
}
