package engine

import (
	"context"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// Create stores a match with the first event of its log and its audit entries,
// and publishes the event before any other of the match. If the match starts now
// and this node has capacity, the same commit claims the match, and the node plays
// it at once. Otherwise the match waits to be claimed. Create returns the errors
// of the store.
//
// If the response of the storage is lost, a match that it may have stored is
// claimed when its lease has expired (threat C5).
func (e *Engine) Create(ctx context.Context, m arena.Match, first arena.Event, audit ...arena.AuditEntry) (scheduled arena.Event, err error) {
	if m.Settings, err = game.Pin(ctx, e.o.Games, m.Settings); err != nil {
		return arena.Event{}, err
	}
	claims, done := e.beginCreation(m.ID)
	var lease arena.Lease
	defer func() {
		done()
		if lease == (arena.Lease{}) {
			e.claimSoon() // this match, or another in the place that was kept for it
		}
	}()
	asked := e.o.Now()
	if claims {
		scheduled, lease, err = e.o.Store.CreateAndClaim(ctx, m, first, e.o.Node, e.o.LeaseTTL, audit...)
	} else {
		scheduled, err = e.o.Store.CreateMatch(ctx, m, first, audit...)
	}
	if err != nil {
		return arena.Event{}, err
	}
	e.o.Publisher.Publish(m.League, scheduled)
	if lease == (arena.Lease{}) {
		return scheduled, nil
	}
	m.Status, m.Lease, m.Seq, m.StartedAt = arena.MatchRunning, lease, scheduled.Seq, asked
	m.Seats = slices.Clone(m.Seats) // the caller keeps its own
	e.start(m, asked)
	return scheduled, nil
}

// beginCreation makes runs of a match wait until done is called. It reports whether
// this node may claim the match with its creation; then the match counts as one of
// its matches, and Run does not return before done.
func (e *Engine) beginCreation(id string) (claims bool, done func()) {
	created := make(chan struct{})
	e.mu.Lock()
	defer e.mu.Unlock()
	if claims = e.drain.Err() == nil && e.free() > 0; claims {
		e.wg.Add(1)
	}
	e.creating[id] = created
	return claims, func() {
		e.mu.Lock()
		delete(e.creating, id)
		e.mu.Unlock()
		close(created)
		if claims {
			e.wg.Done()
		}
	}
}

// capacity returns the number of matches that this node may still claim.
func (e *Engine) capacity() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.free()
}

// free is capacity under mu.
func (e *Engine) free() int { return e.o.MaxMatches - len(e.runs) - len(e.creating) }
