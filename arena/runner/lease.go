package runner

import (
	"context"
	"errors"
	"fmt"
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

// fresh refuses when the match may be another node's, or its work has ended.
// What cannot be fenced by the database is done behind it: requests to agents,
// and reading their outcome from the clock.
func (p *play) fresh(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if age := p.age(); age > p.r.trusted() {
		err := fmt.Errorf("lease of match %s was last renewed %s ago: %w", p.m.ID, age.Round(time.Millisecond), errLeaseLost)
		p.log.Debug("lease lost", "epoch", p.m.Lease.Epoch)
		p.cancel(err)
		return err
	}
	return nil
}

// renewal is one attempt to renew the leases of some plays.
type renewal struct {
	plays []*play
	asked time.Time
	held  []arena.Lease
	err   error
}

// heartbeat renews the leases of what this node plays until ctx ends. A match
// that was not renewed in time ends its own work, however long the database
// takes to answer.
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
			plays := r.plays()
			for _, p := range plays {
				_ = p.fresh(ctx) // it ends the work of a stale one
			}
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
	n.held, n.err = r.o.Store.RenewLeases(ctx, r.o.Node, ids, r.o.LeaseTTL)
	return n
}

// apply notes which leases are good from n.asked on, and ends the work under
// those that are gone.
func (r *Runner) apply(ctx context.Context, n renewal) {
	if n.err != nil {
		if ctx.Err() == nil {
			r.o.Logger.Warn("renew leases", "error", n.err)
		}
		return
	}
	holds := make(map[arena.Lease]bool, len(n.held))
	for _, l := range n.held {
		holds[l] = true
	}
	for _, p := range n.plays {
		if holds[p.m.Lease] {
			p.renewed.Store(&n.asked)
		} else if !p.done.Load() { // what has ended needs no lease
			p.log.Debug("lease lost", "epoch", p.m.Lease.Epoch)
			p.cancel(fmt.Errorf("match %s: %w", p.m.ID, errLeaseLost))
		}
	}
}
