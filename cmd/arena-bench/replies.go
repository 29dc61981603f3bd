package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
)

// sending is a task that a benchmark's server sent and has done with.
type sending struct {
	match string
	round int
	sent  time.Time // when its request was written
	took  time.Duration
}

// sendings are the tasks of a benchmark's server, as it times them itself.
type sendings struct {
	mu  sync.Mutex
	all []sending
}

// watch puts itself before the drivers.
func (s *sendings) watch(drivers map[string]engine.Driver) {
	for name, d := range drivers {
		drivers[name] = watchedDriver{d, s}
	}
}

// take returns what was sent since the last call.
func (s *sendings) take() []sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// writtenSpread returns the time between the first and the last request of each
// round, as they were written.
func writtenSpread(all []sending) spread {
	type round struct {
		match string
		no    int
	}
	first, last := map[round]time.Time{}, map[round]time.Time{}
	for _, s := range all {
		r := round{s.match, s.round}
		if at, ok := first[r]; !ok || s.sent.Before(at) {
			first[r] = s.sent
		}
		if s.sent.After(last[r]) {
			last[r] = s.sent
		}
	}
	ms := make([]float64, 0, len(first))
	for r, at := range first {
		ms = append(ms, float64(last[r].Sub(at))/1e6)
	}
	if len(ms) == 0 {
		return spread{}
	}
	return shares(ms)
}

type watchedDriver struct {
	engine.Driver
	to *sendings
}

// Prepare makes a request whose end is noted.
func (w watchedDriver) Prepare(ctx context.Context, a arena.Attempt) (func(context.Context) arena.Reply, error) {
	send, err := w.Driver.Prepare(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("watched: %w", err)
	}
	match, round := a.MatchID, a.Round
	return func(ctx context.Context) arena.Reply {
		r := send(ctx)
		if !r.SentAt.IsZero() {
			w.to.mu.Lock()
			w.to.all = append(w.to.all, sending{match, round, r.SentAt, r.Elapsed})
			w.to.mu.Unlock()
		}
		return r
	}, nil
}
