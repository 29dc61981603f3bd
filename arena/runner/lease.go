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
func (p *play) age() time.Duration { return p.r.o.Now().Sub(*p.renewed.Load()) }

// fresh waits while the match may be another node's: the storage cannot be
// asked. It fails when the match is lost or its work has ended, and tells
// whether it waited. What cannot be fenced by the database is done behind it:
// requests to agents, and reading their outcome from the clock.
func (p *play) fresh(ctx context.Context) (waited bool, err error) {
	for {
		news := p.r.nextRenewal() // before the look: none is missed
		switch age := p.age(); {
		case ctx.Err() != nil:
			return waited, context.Cause(ctx)
		case age <= p.r.trusted():
			return waited, nil
		case p.r.slept():
			return waited, p.lose()
		}
		p.doubt()
		waited = true
		select {
		case <-news:
		case <-ctx.Done():
		}
	}
}

// doubt notes that the lease is older than a node trusts.
func (p *play) doubt() {
	if !p.doubted.Swap(true) {
		p.log.Debug("lease doubted", "epoch", p.m.Lease.Epoch)
	}
}

// lose ends the work under a lease that is gone or may be.
func (p *play) lose() error {
	err := fmt.Errorf("lease of match %s, last renewed %s ago: %w", p.m.ID, p.age().Round(time.Millisecond), errLeaseLost)
	if !p.lost.Swap(true) {
		p.log.Debug("lease lost", "epoch", p.m.Lease.Epoch)
		p.cancel(err)
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
// while the process slept, and gives the plays whose leases are to be renewed:
// one that is merely old is still this node's when nobody has claimed it.
func (r *Runner) watch() []*play {
	slept := r.slept()
	defer r.strike()
	return slices.DeleteFunc(r.plays(), func(p *play) bool {
		switch {
		case p.age() <= r.trusted():
		case slept:
			_ = p.lose() // tells its own work
		default:
			p.doubt()
		}
		return p.lost.Load()
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
// have missed it too: who still plays a match shall renew its lease before
// anyone takes it for abandoned.
func (r *Runner) justBack() bool {
	away := r.away.Load()
	return away != nil && r.o.Now().Sub(*away) < 2*r.o.Heartbeat
}

// renewal is one attempt to renew the leases of some plays.
type renewal struct {
	plays []*play
	asked time.Time
	held  map[arena.Lease]bool
	err   error
}

// heartbeat renews the leases of what this node plays until ctx ends. A match
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
			plays := r.watch()
			if busy || len(plays) == 0 {
				continue
			}
			busy = true
			renewing.Go(func() { renewed <- r.renew(ctx, plays) })
		}
	}
}

func (r *Runner) plays() []*play {
	r.mu.Lock()
	defer r.mu.Unlock()
	plays := make([]*play, 0, len(r.playing))
	for _, p := range r.playing {
		plays = append(plays, p)
	}
	return plays
}

func (r *Runner) renew(ctx context.Context, plays []*play) renewal {
	n := renewal{plays: plays, asked: r.o.Now()}
	ids := make([]string, len(plays))
	for i, p := range plays {
		ids[i] = p.m.ID
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
	for _, p := range plays {
		if !n.held[p.m.Lease] && !p.given.Load() && p.judging.Load() {
			r.excuse(ctx, p)
		}
	}
	return n
}

// excuse tells that a lease ran out because the storage could not be reached,
// not because the match broke its node. Once: the storage may have heard what
// it does not confirm.
func (r *Runner) excuse(ctx context.Context, p *play) {
	if err := r.o.Store.ExcuseLease(ctx, p.m.Lease); err != nil {
		p.log.Warn("lost lease could not be excused", "epoch", p.m.Lease.Epoch, "error", err)
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
	for _, p := range n.plays {
		switch {
		case n.held[p.m.Lease]:
			if !late && p.doubted.Swap(false) {
				p.log.Debug("lease kept", "epoch", p.m.Lease.Epoch)
			}
			p.renewed.Store(&n.asked)
		case !p.done.Load(): // what has ended needs no lease
			_ = p.lose() // tells its own work
		}
	}
	r.tellRenewal()
}
