package stream

import (
	"errors"
	"log/slog"
)

// sink is where the bytes of a spectator go: a WebSocket or an event stream.
// send waits for the peer; it gives errSlow when it does not take them in time.
type sink interface {
	send(b []byte) error
	ping() error
	// holdPlace takes a place over that send must not keep while it waits; letGo
	// gives it back.
	holdPlace(place <-chan struct{})
	releasePlace()
}

// watch writes to out until the spectator is done, and says why it is. It
// gives nil when a socket has all there is: the workers go on from there.
func (h *Hub) watch(s *spectator, out sink) *ending {
	for {
		if e := s.ended.Load(); e != nil {
			return e
		}
		if s.ping.Swap(false) {
			if err := out.ping(); err != nil {
				return lostOrSlow(err)
			}
		}
		b, n, do := s.topic.next(s)
		switch do {
		case actionSend:
			if err := out.send(b); err != nil {
				return lostOrSlow(err)
			}
			h.counters.delivered.Add(uint64(n)) //nolint:gosec // G115: a count
		case actionRead:
			if e := h.catchUp(s, out); e != nil {
				return e
			}
		case actionSlow:
			return tooSlow()
		case actionOver:
			return &ending{closeOver, "match over"}
		case actionWait:
			if s.socket != nil {
				return nil
			}
			<-s.wake
		}
	}
}

// catchUpBytes is how much of a page is written at once.
const catchUpBytes = 32 << 10

// catchUp writes a page of the log behind s.seq. Few do so at a time: those
// who watch live come first.
func (h *Hub) catchUp(s *spectator, out sink) *ending {
	select {
	case h.catching <- struct{}{}:
	case <-h.quit:
		return &ending{closeRestart, "the server restarts; come back"}
	}
	out.holdPlace(h.catching)
	defer out.releasePlace()
	p, err := h.pageAfter(s)
	switch {
	case err == nil:
		h.storageAvailable()
	case h.storageUnavailable(err):
		return &ending{closeRestart, "the arena's storage is away; come back with since"}
	default:
		h.log.Error("cannot read the log for a spectator",
			slog.String("match_id", s.topic.key.id), slog.Int64("seq", s.seq), slog.Any("error", err))
		return &ending{closeInternal, "the log cannot be read; come back with since"}
	}
	for b, n := p.after(s.seq, catchUpBytes); n > 0; b, n = p.after(s.seq, catchUpBytes) {
		h.cycleMu.Lock()
		h.cycleMu.Unlock() //nolint:staticcheck // SA2001: it waits for a pass to end
		if err := out.send(b); err != nil {
			return lostOrSlow(err)
		}
		s.seq += int64(n)
		h.counters.delivered.Add(uint64(n))
		if e := s.ended.Load(); e != nil {
			return e
		}
	}
	return nil
}

// pageAfter returns a page that holds what follows s.seq.
func (h *Hub) pageAfter(s *spectator) (*page, error) {
	key := pageKey{s.topic.key.id, s.form, s.seq / logPage}
	for {
		p, fresh := h.pages.get(key, func(p *page) { s.topic.readPage(key, p) })
		if p.err != nil {
			return nil, p.err
		}
		if _, n := p.after(s.seq, 0); n > 0 {
			return p, nil
		}
		if fresh { // another one's reading may have begun before the row was there
			return nil, errors.New("the log has a gap")
		}
	}
}

func tooSlow() *ending { return &ending{CloseSlow, "too slow; come back with since"} }

func lostOrSlow(err error) *ending {
	if errors.Is(err, errSlow) {
		return tooSlow()
	}
	return &ending{code: closeLost}
}
