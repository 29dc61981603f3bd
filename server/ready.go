package server

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/vitals"
)

const (
	readyTimeout = 2 * time.Second // of one request
	probeEvery   = time.Second     // the least time between two test writes
)

// ready returns nil when this node should get requests: it does not drain, and
// the database answers and accepts writes (threat O1).
func (s *Server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return arena.Errorf(arena.CodeUnavailable, "this node is draining")
	}
	return s.storageReady(ctx)
}

// storageReady returns nil when the database answers and accepts writes.
func (s *Server) storageReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.store.Ping(ctx); err != nil {
		return err
	}
	return s.writes.check(ctx)
}

// newVitals makes what says how well the arena runs.
func (s *Server) newVitals() *vitals.Service {
	o := vitals.Options{
		Database: s.storageReady, LastFailure: func() time.Time { return s.store.ErrorStats().LastAt },
		Folders: s.cfg.folders(), LastBackup: s.store.LastBackup, Overdue: s.cfg.backupOverdue(),
		CutOff: func() bool { return s.network.Stats().CutOff }, TickAge: s.tickAge, Proxy: s.undeclaredProxy, Now: s.now,
	}
	if s.certs != nil {
		o.Expires = s.certs.Expires
	}
	if s.bus != nil {
		o.Redis = func() bool { return s.bus.Stats().Up }
	}
	return vitals.New(o)
}

// writeProbe tests whether the database accepts writes. /readyz is open to
// the public, so requests share one test write a second.
type writeProbe struct {
	write func(context.Context) error
	now   func() time.Time
	turn  chan struct{} // holds a value while a request uses the fields below

	at  time.Time // of the last test write
	err error     // its outcome
}

func newWriteProbe(write func(context.Context) error, now func() time.Time) *writeProbe {
	return &writeProbe{write: write, now: now, turn: make(chan struct{}, 1)}
}

// check returns the outcome of a write that is at most a second old.
func (p *writeProbe) check(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return fmt.Errorf("another request waits for its test write: %w", ctx.Err())
	}
	if now := p.now(); p.at.IsZero() || now.Sub(p.at) >= probeEvery {
		// A client that hangs up must not decide for the others.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer cancel()
		p.err = p.write(ctx)
		p.at = now
	}
	return p.err
}
