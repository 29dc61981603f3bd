package league

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/store"
)

// maxFault is how much of an error the note of a league shows, in bytes.
const maxFault = 300

// Faults pauses leagues whose game fails (docs/rules/games.md) or whose judge is unfit
// (docs/rules/judging.md).
type Faults struct {
	store *store.Leagues
	now   func() time.Time
}

// NewFaults makes Faults.
func NewFaults(store *store.Leagues, now func() time.Time) *Faults {
	return &Faults{store, now}
}

// GameFailed pauses a league that runs, after the rules of its game failed in a
// match. The league notes why. One that does not pair by itself keeps its state.
func (f *Faults) GameFailed(ctx context.Context, slug, matchID string, cause error) error {
	_, err := f.store.UpdateLeague(ctx, slug, func(l *arena.League) error {
		if pairs(*l) {
			if err := apply(l, arena.PauseLeague, f.now()); err != nil {
				return err
			}
		}
		l.Note = arena.GameFailedNote(matchID, plaintext.Line(cause.Error(), maxFault))
		return nil
	})
	if err != nil {
		return fmt.Errorf("pause league %s after a fault of its game: %w", slug, err)
	}
	return nil
}

// JudgeUnfit pauses a rated league that runs, after a line of its judge's card was found
// over its limit. The league notes why. It reports whether the league was paused: not if
// it has stopped, or got another judge, since before was read.
func (f *Faults) JudgeUnfit(ctx context.Context, before arena.League, m arena.JudgeMeasure) (paused bool, err error) {
	_, err = f.store.UpdateLeague(ctx, before.Slug, func(l *arena.League) error {
		paused = PausesForJudge(*l) && l.JudgeSince.Equal(before.JudgeSince) && reflect.DeepEqual(l.Settings.Judge, before.Settings.Judge)
		if !paused {
			return nil
		}
		l.Note = arena.JudgeNote(m)
		return apply(l, arena.PauseLeague, f.now())
	})
	if err != nil {
		return false, fmt.Errorf("pause league %s for its judge: %w", before.Slug, err)
	}
	return paused, nil
}

// PausesForJudge reports whether a league pauses when its judge is unfit: it is rated, pairs
// by itself and has a judge that compares answers.
func PausesForJudge(l arena.League) bool {
	return pairs(l) && l.ArchivedAt.IsZero() && l.Settings.Rated && l.Settings.Judge.Compares()
}

func pairs(l arena.League) bool {
	return l.Status == arena.LeagueRunning || l.Status == arena.LeagueFrozen
}
