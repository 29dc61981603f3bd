package stream

import (
	"errors"
	"log/slog"

	"github.com/agora-arena/arena/stream/ws"
)

// sink is the connection of a spectator: a WebSocket or an event stream. send
// waits for the peer. It returns ErrSlow if the peer does not read in time.
type sink interface {
	send(b []byte) error
	ping() error
	// holdPlace accepts a place among the readers of the log, which send must
	// release before it waits. releasePlace releases it.
	holdPlace(place <-chan struct{})
	releasePlace()
}

// watch writes to out until the spectator ends, and returns why. For a socket it
// returns nil as soon as everything is written: the writer pool continues.
func (h *Hub) watch(s *spectator, out sink) *ws.Ending {
	for {
		if e := s.Ended(); e != nil {
			return e
		}
		if s.PingDue() {
			if err := out.ping(); err != nil {
				return endOfWriting(err)
			}
		}
		b, n, do := s.topic.next(s)
		switch do {
		case actionSend:
			if err := out.send(b); err != nil {
				return endOfWriting(err)
			}
			h.counters.delivered.Add(uint64(n)) //nolint:gosec // G115: a count
		case actionRead:
			if e := h.catchUp(s, out); e != nil {
				return e
			}
		case actionSlow:
			return &ws.Ending{Code: ws.CloseSlow, Reason: "too slow; reconnect with since"}
		case actionOver:
			return &ws.Ending{Code: ws.CloseOver, Reason: "match over"}
		case actionWait:
			if s.socket != nil {
				return nil
			}
			<-s.Woken()
		}
	}
}

// catchUpBytes is how much of a page is written at once.
const catchUpBytes = 32 << 10

// catchUp writes the page of the log that follows s.seq. Few spectators do so at
// a time, and they wait for flush cycles: live spectators have priority.
func (h *Hub) catchUp(s *spectator, out sink) *ws.Ending {
	select {
	case h.catching <- struct{}{}:
	case <-h.clients.Closing():
		return &ws.Ending{Code: ws.CloseRestart, Reason: "the server is restarting; reconnect"}
	}
	out.holdPlace(h.catching)
	defer out.releasePlace()
	p, err := h.pageAfter(s)
	switch {
	case err == nil:
		h.StorageAvailable()
	case h.StorageUnavailable(err):
		return &ws.Ending{Code: ws.CloseRestart, Reason: "the arena's storage is unavailable; reconnect with since"}
	default:
		h.log.Error("cannot read the log for a spectator",
			slog.String("match_id", s.topic.key.id), slog.Int64("seq", s.seq), slog.Any("error", err))
		return &ws.Ending{Code: ws.CloseInternal, Reason: "the log cannot be read; reconnect with since"}
	}
	for b, n := p.after(s.seq, catchUpBytes); n > 0; b, n = p.after(s.seq, catchUpBytes) {
		h.cycleMu.Lock()
		h.cycleMu.Unlock() //nolint:staticcheck // SA2001: it waits for the end of a flush cycle
		if err := out.send(b); err != nil {
			return endOfWriting(err)
		}
		s.seq += int64(n)
		h.counters.delivered.Add(uint64(n))
		if e := s.Ended(); e != nil {
			return e
		}
	}
	return nil
}

// pageAfter returns a page that holds the events after s.seq.
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
		if fresh { // a shared read may have begun before the row was stored
			return nil, errors.New("the log has a gap")
		}
	}
}

func endOfWriting(err error) *ws.Ending {
	e := ws.EndOfWriting(err)
	return &e
}
