package league

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/store"
)

// maxFault is how much of an error the note of a league shows, in bytes.
const maxFault = 300

// Faults pauses leagues whose game fails (docs/rules/games.md).
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
		if l.Status == arena.LeagueRunning || l.Status == arena.LeagueFrozen {
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
