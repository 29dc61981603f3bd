package relay

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
)

// tail reads new envelopes once for all waiting polls, whatever their filters.
// There is one tail while polls wait.
type tail struct {
	stop  context.CancelFunc
	after int64 // Seq up to which it has read
	polls map[*waiting]struct{}
}

// waiting is a poll that waits.
type waiting struct {
	tail   *tail
	query  arena.EnvelopeQuery
	missed bool      // the tail had read on since the poll's own look
	came   chan came // receives once
}

type came struct {
	page []arena.Envelope
	err  error
}

// join lets the tail wake a poll whose own look has read up to q.After.
func (s *Server) join(q arena.EnvelopeQuery) *waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail == nil {
		ctx, stop := context.WithCancel(s.open)
		t := &tail{stop: stop, after: q.After, polls: map[*waiting]struct{}{}}
		s.tail = t
		if s.open.Err() == nil {
			s.tails.Go(func() { s.follow(ctx, t) })
		}
	}
	w := &waiting{tail: s.tail, query: q, missed: s.tail.after > q.After, came: make(chan came, 1)}
	w.tail.polls[w] = struct{}{}
	return w
}

// leave is the end of join.
func (s *Server) leave(w *waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(w.tail.polls, w)
	if len(w.tail.polls) == 0 {
		s.end(w.tail)
	}
}

// end ends a tail; the next poll begins another. s.mu is held.
func (s *Server) end(t *tail) {
	t.stop()
	if s.tail == t {
		s.tail = nil
	}
}

// follow reads for the polls of t until it ends. An error ends them all.
func (s *Server) follow(ctx context.Context, t *tail) {
	err := s.o.Notifier.Await(ctx, envelope.NotifyAll, func(ctx context.Context) (bool, error) {
		for {
			page, err := s.o.Store.Envelopes(ctx, arena.EnvelopeQuery{After: t.after, Limit: pageSize + 1})
			if err != nil || len(page) == 0 {
				return false, err
			}
			s.deliver(t, page)
			if len(page) <= pageSize {
				return false, nil
			}
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(t)
	for w := range t.polls {
		if err != nil {
			w.came <- came{err: err}
		}
		delete(t.polls, w)
	}
}

// deliver passes the polls the envelopes that they wait for.
func (s *Server) deliver(t *tail, page []arena.Envelope) {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.after = page[len(page)-1].Seq
	for w := range t.polls {
		var chosen []arena.Envelope
		for _, e := range page {
			if e.Seq > w.query.After && e.ExpiresAt.After(now) && w.query.Chooses(e) {
				chosen = append(chosen, e)
			}
		}
		if len(chosen) > 0 {
			w.came <- came{page: chosen}
			delete(t.polls, w)
		}
	}
}
