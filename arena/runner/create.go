package runner

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Create stores a match with the first event of its log and the audit entries
// about it, and plays it here when it starts at its creation and nothing holds
// it up: the claim is part of the row, so that one commit lies between the two
// of the match and its first task. Any other match waits to be claimed. Errors
// are the store's.
//
// When the answer of the storage is lost, nobody plays what it may have
// stored before the lease has run out (threat C5).
func (r *Runner) Create(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error) {
	play, done := r.expect()
	if play == nil {
		return r.o.Store.CreateMatch(ctx, m, e, audit...)
	}
	defer done()
	asked := r.o.Now()
	scheduled, lease, err := r.o.Store.CreateAndClaim(ctx, m, e, r.o.Node, r.o.LeaseTTL, audit...)
	if err != nil || lease == (arena.Lease{}) {
		return scheduled, err
	}
	m.Status, m.Lease, m.Seq, m.StartedAt = arena.MatchRunning, lease, scheduled.Seq, asked
	m.Seats = slices.Clone(m.Seats) // the caller's
	play(m, asked)
	return scheduled, nil
}

// expect keeps a place for one more match: play starts it, done gives the
// place back, and until then Run does not return. Nil: this node takes no
// match now.
func (r *Runner) expect() (play func(m arena.Match, asked time.Time), done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.take == nil || len(r.runs)+r.expected >= r.o.MaxMatches {
		return nil, nil
	}
	r.expected++
	r.wg.Add(1)
	return r.take, func() {
		r.mu.Lock()
		r.expected--
		r.mu.Unlock()
		r.wg.Done()
	}
}

// takeBy says how matches are started that this node creates; nil: it takes
// no more.
func (r *Runner) takeBy(play func(m arena.Match, asked time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take = play
}

// room is the number of matches that this node may still claim.
func (r *Runner) room() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.o.MaxMatches - len(r.runs) - r.expected
}
