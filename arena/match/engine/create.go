package engine

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Create stores a match with the first event of its log and its audit entries.
// If the match starts now and this node has capacity, the same commit claims
// the match, and the node plays it at once. Otherwise the match waits to be
// claimed. Create returns the errors of the store.
//
// If the response of the storage is lost, a match that it may have stored is
// claimed when its lease has expired (threat C5).
func (r *Runner) Create(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error) {
	start, done := r.reserve()
	if start == nil {
		return r.o.Store.CreateMatch(ctx, m, e, audit...)
	}
	defer done()
	asked := r.o.Now()
	scheduled, lease, err := r.o.Store.CreateAndClaim(ctx, m, e, r.o.Node, r.o.LeaseTTL, audit...)
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
func (r *Runner) reserve() (start func(m arena.Match, asked time.Time), done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.startCreated == nil || len(r.runs)+r.expected >= r.o.MaxMatches {
		return nil, nil
	}
	r.expected++
	r.wg.Add(1)
	return r.startCreated, func() {
		r.mu.Lock()
		r.expected--
		r.mu.Unlock()
		r.wg.Done()
	}
}

// setStartCreated sets the function that starts a match that this node creates.
// With nil the node takes no more of them.
func (r *Runner) setStartCreated(start func(m arena.Match, asked time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startCreated = start
}

// capacity returns the number of matches that this node may still claim.
func (r *Runner) capacity() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.o.MaxMatches - len(r.runs) - r.expected
}
