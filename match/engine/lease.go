package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

var (
	errLeaseLost = arena.Errorf(arena.CodeLeaseLost, "another node owns the match now")
	errGraceOver = errors.New("the grace of a draining node is over")
)

// trusted returns how long a node relies on a lease after it requested its last
// renewal. It is shorter than the lease, so that this node stops before another
// one can claim the match.
func (e *Engine) trusted() time.Duration { return e.o.LeaseTTL * 3 / 5 }

// leaseAge returns the time since the last successful renewal was requested.
// The monotonic clock advances while a process is stopped, so a node detects
// a freeze at once (threat C2).
func (mr *matchRun) leaseAge() time.Duration { return mr.engine.o.Now().Sub(*mr.renewed.Load()) }

// ensureLease waits until the lease has been renewed recently enough, and
// reports whether it waited. It fails when the lease is lost or the run has
// ended. It guards the operations that the database cannot fence: requests to
// agents, and outcomes that depend on the clock.
func (mr *matchRun) ensureLease(ctx context.Context) (waited bool, err error) {
	for {
		renewed := mr.engine.nextRenewal() // before the check, so that no renewal is missed
		switch age := mr.leaseAge(); {
		case ctx.Err() != nil:
			return waited, context.Cause(ctx)
		case age <= mr.engine.trusted():
			return waited, nil
		case mr.engine.stalled():
			return waited, mr.loseLease()
		}
		mr.markSuspect()
		waited = true
		select {
		case <-renewed:
		case <-ctx.Done():
		}
	}
}

// markSuspect records that the lease is too old to rely on.
func (mr *matchRun) markSuspect() {
	if !mr.suspect.Swap(true) {
		mr.log.Debug("lease suspect", "epoch", mr.m.Lease.Epoch)
	}
}

// loseLease stops the run because its lease is lost or may be. It returns the
// error that the run stops with.
func (mr *matchRun) loseLease() error {
	err := fmt.Errorf("lease of match %s, last renewed %s ago: %w", mr.m.ID, mr.leaseAge().Round(time.Millisecond), errLeaseLost)
	if !mr.lost.Swap(true) {
		mr.log.Debug("lease lost", "epoch", mr.m.Lease.Epoch)
		mr.cancel(err)
	}
	return err
}

// stalled reports whether this process was stopped for so long that its earlier
// readings of the clock are worthless. The ticks continue while only the storage
// is unavailable.
func (e *Engine) stalled() bool {
	last := e.lastTick.Load()
	return last != nil && e.o.Now().Sub(*last) > e.trusted()
}

// tick records that this process is running.
func (e *Engine) tick() {
	now := e.o.Now()
	e.lastTick.Store(&now)
}

// checkLeases checks the age of all leases. It stops the runs whose leases grew
// too old while the process was stalled, and returns the others, whose leases
// must be renewed. A lease that is merely old can be renewed unless another node
// has claimed the match.
func (e *Engine) checkLeases() []*matchRun {
	stalled := e.stalled()
	defer e.tick()
	return slices.DeleteFunc(e.matchRuns(), func(mr *matchRun) bool {
		switch {
		case mr.leaseAge() <= e.trusted():
		case stalled:
			_ = mr.loseLease() // the run returns the error
		default:
			mr.markSuspect()
		}
		return mr.lost.Load()
	})
}

// nextRenewal returns a channel that is closed at the next renewal.
func (e *Engine) nextRenewal() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.renewal
}

// signalRenewal closes the channel of nextRenewal and makes a new one.
func (e *Engine) signalRenewal() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.renewal)
	e.renewal = make(chan struct{})
}

// noteUnavailable records that the storage was unavailable just now.
func (e *Engine) noteUnavailable() {
	now := e.o.Now()
	e.unavailableAt.Store(&now)
	e.outages.Add(1)
}

// recovering reports whether the storage was unavailable within the last two
// heartbeats. Other nodes may have lost it too: they must be able to renew the
// leases of their matches before this node claims them.
func (e *Engine) recovering() bool {
	at := e.unavailableAt.Load()
	return at != nil && e.o.Now().Sub(*at) < 2*e.o.Heartbeat
}

// renewal is the result of one attempt to renew the leases of some runs.
type renewal struct {
	runs  []*matchRun
	asked time.Time
	held  map[arena.Lease]bool
	err   error
}

// heartbeat renews the leases of this node's runs until ctx ends. A run whose
// lease was not renewed in time waits, however slow the database is.
func (e *Engine) heartbeat(ctx context.Context) {
	tick := time.NewTicker(e.o.Heartbeat)
	defer tick.Stop()
	renewed := make(chan renewal, 1)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	busy := false
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-renewed:
			busy = false
			e.applyRenewal(ctx, n)
		case <-tick.C:
			runs := e.checkLeases()
			if busy || len(runs) == 0 && !e.mayHaveLost() {
				continue
			}
			busy = true
			renewing.Go(func() { renewed <- e.renew(ctx, runs) })
		}
	}
}

// matchRuns returns the runs of this node.
func (e *Engine) matchRuns() []*matchRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	runs := make([]*matchRun, 0, len(e.runs))
	for _, mr := range e.runs {
		runs = append(runs, mr)
	}
	return runs
}

// plays reports whether this node plays a match under a lease that it has not given
// up, or has just created it.
func (e *Engine) plays(l arena.Lease) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if mr := e.runs[l]; mr != nil {
		return !mr.lost.Load() && !mr.released.Load()
	}
	_, creating := e.creating[l.MatchID]
	return creating && l.Node == e.o.Node
}

// renew renews the leases of some runs.
func (e *Engine) renew(ctx context.Context, runs []*matchRun) renewal {
	n := renewal{runs: runs, asked: e.o.Now()}
	ids := make([]string, len(runs))
	for i, mr := range runs {
		ids[i] = mr.m.ID
	}
	ctx, cancel := context.WithTimeout(ctx, e.trusted())
	defer cancel()
	held, err := e.o.Store.RenewLeases(ctx, e.o.Node, ids, e.o.LeaseTTL)
	if n.err = err; err != nil {
		return n
	}
	if n.err = e.findLosses(ctx); n.err != nil {
		return n
	}
	n.held = make(map[arena.Lease]bool, len(held))
	for _, l := range held {
		n.held[l] = true
	}
	for _, mr := range runs {
		if !n.held[mr.m.Lease] && !mr.released.Load() && mr.judging.Load() {
			e.revertInterruption(ctx, mr)
		}
	}
	return n
}

// revertInterruption reverts the interruption that a later claim counted: the
// lease expired because the storage was unavailable, not because the match broke
// its node. There is no retry, since the storage may have done it without
// confirming it.
func (e *Engine) revertInterruption(ctx context.Context, mr *matchRun) {
	if err := e.o.Store.RevertInterruption(ctx, mr.m.Lease); err != nil {
		mr.log.Warn("interruption could not be reverted", "epoch", mr.m.Lease.Epoch, "error", err)
	}
}

// applyRenewal records the leases that were renewed and stops the runs whose
// leases were not.
func (e *Engine) applyRenewal(ctx context.Context, n renewal) {
	if n.err != nil {
		if ctx.Err() == nil {
			e.noteUnavailable()
			e.o.Logger.Warn("renew leases", "error", n.err)
		}
		return
	}
	late := e.o.Now().Sub(n.asked) > e.trusted()
	for _, mr := range n.runs {
		switch {
		case n.held[mr.m.Lease]:
			if !late && mr.suspect.Swap(false) {
				mr.log.Debug("lease kept", "epoch", mr.m.Lease.Epoch)
			}
			mr.renewed.Store(&n.asked)
		case !mr.done.Load(): // a run that is ending needs no lease
			_ = mr.loseLease() // the run returns the error
		}
	}
	e.signalRenewal()
}
