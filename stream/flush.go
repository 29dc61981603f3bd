package stream

import "context"

// Flush returns when the events are in the log that an agent has sent
// over its socket to this node, or after 200 ms at the latest. An agent sends events over one
// connection and its answer over another; the answer closes the round, and what
// was sent before it shall not be of a round that is over (threat E5).
func (h *Hub) Flush(ctx context.Context, matchID, agentID string) {
	s, ok := h.seats.find(seatKey{matchID, agentID})
	if !ok {
		return
	}
	defer func() { h.seats.release(s, h.now()) }()
	s.mu.Lock()
	a := s.socket
	s.mu.Unlock()
	if a != nil && !a.flushed() {
		a.waitFlushed(ctx)
	}
}

func (a *agentSocket) waitFlushed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.h.hub.timing.flush)
	defer cancel()
	for !a.flushed() {
		select {
		case <-a.progressed:
		case <-a.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// flushed reports whether the reading goroutine waits for a message, that none lies
// in the socket, and that what was taken is appended.
func (a *agentSocket) flushed() bool {
	turn := a.wire.reads.Load()
	return turn%2 == 1 && !a.wire.unread() && a.pending.Load() == 0 && a.wire.reads.Load() == turn
}

// progress wakes waitFlushed.
func (a *agentSocket) progress() {
	select {
	case a.progressed <- struct{}{}:
	default:
	}
}
