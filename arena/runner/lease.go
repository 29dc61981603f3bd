package runner

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

// trusted is how long a node believes in a lease after it last asked for it.
// It is less than the lease lasts, so that this node has stopped before
// another one can claim.
func (r *Runner) trusted() time.Duration { return r.o.LeaseTTL * 3 / 5 }

// age is the time since the lease was last asked for with success. The
// monotonic clock runs on while a process is stopped, so a node that wakes
// from a freeze sees it at once (threat C2).
func (mr *matchRun) age() time.Duration { return mr.r.o.Now().Sub(*mr.renewed.Load()) }

// fresh waits while the match may be another node's: the storage cannot be
// asked. It fails when the match is lost or its work has ended, and tells
// whether it waited. What cannot be fenced by the database is done behind it:
// requests to agents, and reading their outcome from the clock.
func (mr *matchRun) fresh(ctx context.Context) (waited bool, err error) {
	for {
		news := mr.r.nextRenewal() // before the look: none is missed
		switch age := mr.age(); {
		case ctx.Err() != nil:
			return waited, context.Cause(ctx)
		case age <= mr.r.trusted():
			return waited, nil
		case mr.r.slept():
			return waited, mr.lose()
		}
		mr.doubt()
		waited = true
		select {
		case <-news:
		case <-ctx.Done():
		}
	}
}

// doubt notes that the lease is older than a node trusts.
func (mr *matchRun) doubt() {
	if !mr.doubted.Swap(true) {
		mr.log.Debug("lease doubted", "epoch", mr.m.Lease.Epoch)
	}
}

// lose ends the work under a lease that is gone or may be.
func (mr *matchRun) lose() error {
	err := fmt.Errorf("lease of match %s, last renewed %s ago: %w", mr.m.ID, mr.age().Round(time.Millisecond), errLeaseLost)
	if !mr.lost.Swap(true) {
		mr.log.Debug("lease lost", "epoch", mr.m.Lease.Epoch)
		mr.cancel(err)
	}
	return err
}

// slept tells that this process stood still for so long that nothing it read
// from its clock before can be believed. While only the storage is away, its
// heart goes on beating.
func (r *Runner) slept() bool {
	beat := r.beat.Load()
	return beat != nil && r.o.Now().Sub(*beat) > r.trusted()
}

func (r *Runner) strike() {
	now := r.o.Now()
	r.beat.Store(&now)
}

// watch takes a look at all leases. It ends the work under those that grew old
// while the process slept, and gives the runs whose leases are to be renewed:
// one that is merely old is still this node's when nobody has claimed it.
func (r *Runner) watch() []*matchRun {
	slept := r.slept()
	defer r.strike()
	return slices.DeleteFunc(r.matchRuns(), func(mr *matchRun) bool {
		switch {
		case mr.age() <= r.trusted():
		case slept:
			_ = mr.lose() // tells its own work
		default:
			mr.doubt()
		}
		return mr.lost.Load()
	})
}

// nextRenewal gives a channel that is closed when leases were renewed.
func (r *Runner) nextRenewal() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renewal
}

func (r *Runner) tellRenewal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.renewal)
	r.renewal = make(chan struct{})
}

// storageAway notes that the storage could not be asked.
func (r *Runner) storageAway() {
	now := r.o.Now()
	r.away.Store(&now)
}

// justBack holds for two heartbeats after the storage was away. Others may
// have missed it too: who still runs a match shall renew its lease before
// anyone takes it for abandoned.
func (r *Runner) justBack() bool {
	away := r.away.Load()
	return away != nil && r.o.Now().Sub(*away) < 2*r.o.Heartbeat
}

// renewal is one attempt to renew the leases of some runs.
type renewal struct {
	runs  []*matchRun
	asked time.Time
	held  map[arena.Lease]bool
	err   error
}

// heartbeat renews the leases of what this node runs until ctx ends. A match
// that was not renewed in time waits, however long the database takes to
// answer.
func (r *Runner) heartbeat(ctx context.Context) {
	tick := time.NewTicker(r.o.Heartbeat)
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
			r.apply(ctx, n)
		case <-tick.C:
			runs := r.watch()
			if busy || len(runs) == 0 {
				continue
			}
			busy = true
			renewing.Go(func() { renewed <- r.renew(ctx, runs) })
		}
	}
}

func (r *Runner) matchRuns() []*matchRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := make([]*matchRun, 0, len(r.runs))
	for _, mr := range r.runs {
		runs = append(runs, mr)
	}
	return runs
}

func (r *Runner) renew(ctx context.Context, runs []*matchRun) renewal {
	n := renewal{runs: runs, asked: r.o.Now()}
	ids := make([]string, len(runs))
	for i, mr := range runs {
		ids[i] = mr.m.ID
	}
	ctx, cancel := context.WithTimeout(ctx, r.trusted())
	defer cancel()
	held, err := r.o.Store.RenewLeases(ctx, r.o.Node, ids, r.o.LeaseTTL)
	if n.err = err; err != nil {
		return n
	}
	n.held = make(map[arena.Lease]bool, len(held))
	for _, l := range held {
		n.held[l] = true
	}
	for _, mr := range runs {
		if !n.held[mr.m.Lease] && !mr.given.Load() && mr.judging.Load() {
			r.excuse(ctx, mr)
		}
	}
	return n
}

// excuse tells that a lease ran out because the storage could not be reached,
// not because the match broke its node. Once: the storage may have heard what
// it does not confirm.
func (r *Runner) excuse(ctx context.Context, mr *matchRun) {
	if err := r.o.Store.ExcuseLease(ctx, mr.m.Lease); err != nil {
		mr.log.Warn("lost lease could not be excused", "epoch", mr.m.Lease.Epoch, "error", err)
	}
}

// apply notes which leases are good from n.asked on, and ends the work under
// those that are gone.
func (r *Runner) apply(ctx context.Context, n renewal) {
	if n.err != nil {
		if ctx.Err() == nil {
			r.storageAway()
			r.o.Logger.Warn("renew leases", "error", n.err)
		}
		return
	}
	late := r.o.Now().Sub(n.asked) > r.trusted()
	for _, mr := range n.runs {
		switch {
		case n.held[mr.m.Lease]:
			if !late && mr.doubted.Swap(false) {
				mr.log.Debug("lease kept", "epoch", mr.m.Lease.Epoch)
			}
			mr.renewed.Store(&n.asked)
		case !mr.done.Load(): // what has ended needs no lease
			_ = mr.lose() // tells its own work
		}
	}
	r.tellRenewal()
}
