package engine

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// Create stores a match with the first event of its log and its audit entries.
// If the match starts now and this node has capacity, the same commit claims
// the match, and the node plays it at once. Otherwise the match waits to be
// claimed. Create returns the errors of the store.
//
// If the response of the storage is lost, a match that it may have stored is
// claimed when its lease has expired (threat C5).
func (e *Engine) Create(ctx context.Context, m arena.Match, first arena.Event, audit ...arena.AuditEntry) (scheduled arena.Event, err error) {
	if m.Settings, err = game.Pin(ctx, e.o.Games, m.Settings); err != nil {
		return arena.Event{}, err
	}
	start, done := e.reserve()
	if start == nil {
		return e.o.Store.CreateMatch(ctx, m, first, audit...)
	}
	defer done()
	asked := e.o.Now()
	var lease arena.Lease
	scheduled, lease, err = e.o.Store.CreateAndClaim(ctx, m, first, e.o.Node, e.o.LeaseTTL, audit...)
	if err != nil || lease == (arena.Lease{}) {
		return scheduled, err
	}
	m.Status, m.Lease, m.Seq, m.StartedAt = arena.MatchRunning, lease, scheduled.Seq, asked
	m.Seats = slices.Clone(m.Seats) // the caller keeps its own
	start(m, asked)
	return scheduled, nil
}

// reserve reserves capacity for one more match until done is called, and
// returns the function that starts the match. Run does not return before done.
// Both functions are nil if this node takes no match now.
func (e *Engine) reserve() (start func(m arena.Match, asked time.Time), done func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.startCreated == nil || len(e.runs)+e.expected >= e.o.MaxMatches {
		return nil, nil
	}
	e.expected++
	e.wg.Add(1)
	return e.startCreated, func() {
		e.mu.Lock()
		e.expected--
		e.mu.Unlock()
		e.wg.Done()
	}
}

// setStartCreated sets the function that starts a match that this node creates.
// With nil the node takes no more of them.
func (e *Engine) setStartCreated(start func(m arena.Match, asked time.Time)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.startCreated = start
}

// capacity returns the number of matches that this node may still claim.
func (e *Engine) capacity() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.o.MaxMatches - len(e.runs) - e.expected
}
