package ingest

import "context"

// Flush waits until the events that an agent has sent to this node over its
// socket are in the log, at most 200 ms. An agent sends its answer over another
// connection than its events. The answer may close the round, and the events
// sent before it must not arrive after that (threat E5).
func (rc *Receiver) Flush(ctx context.Context, matchID, agentID string) {
	s, ok := rc.o.Seats.find(seatKey{matchID, agentID})
	if !ok {
		return
	}
	defer func() { rc.o.Seats.release(s, rc.o.Now()) }()
	s.mu.Lock()
	a := s.socket
	s.mu.Unlock()
	if a != nil && !a.flushed() {
		a.waitFlushed(ctx)
	}
}

func (a *agentSocket) waitFlushed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.receiver.timing.flush)
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

// flushed reports whether all messages were read and all accepted events are
// appended.
func (a *agentSocket) flushed() bool {
	return a.conn.Idle(func() bool { return a.pending.Load() == 0 })
}

// progress wakes waitFlushed.
func (a *agentSocket) progress() {
	select {
	case a.progressed <- struct{}{}:
	default:
	}
}
