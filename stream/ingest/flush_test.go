package ingest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
)

// waited is a context that calls begin when its Done is called.
type waited struct {
	context.Context //nolint:containedctx // it is one
	begin           func()
}

func (w waited) Done() <-chan struct{} {
	w.begin()
	return w.Context.Done()
}

// Flush waits for events that are in the socket …
func TestReceiver_Flush(t *testing.T) {
	t.Parallel()
	asked, known := make(chan struct{}), make(chan struct{})
	answer := sync.OnceFunc(func() { close(known) })
	var slow string
	b := start(t, func(s *settings) {
		s.timing.flush = 30 * time.Second
		authenticate := s.authenticate
		s.authenticate = func(ctx context.Context, token string) (arena.TaskClaims, error) {
			if token == slow {
				close(asked)
				<-known
			}
			return authenticate(ctx, token)
		}
	})
	t.Cleanup(answer)
	token, _ := b.match(arena.VisibilityLive)
	slow = b.Token("m_1", "ag_1", 2, time.Hour)
	p := b.Agent(t, token)
	b.agents.Flush(t.Context(), "m_1", "ag_1") // no events
	b.agents.Flush(t.Context(), "m_1", "ag_7") // no such seat

	p.Send(`{"type":"auth","token":"` + slow + `"}`)
	<-asked // the reader is busy
	p.Send(`{"type":"thinking","message":"in the socket"}`)
	s, _ := b.seats.find(seatKey{"m_1", "ag_1"})
	testwait.Until(t, "the message in the socket", func() bool { return s.socket.conn.Unread() })
	b.seats.release(s, time.Now())
	b.agents.Flush(waited{t.Context(), answer}, "m_1", "ag_1")
	if n := len(b.log.Rows("m_1")); n != 1 {
		t.Errorf("%d rows, want the message that was in the socket", n)
	}
}

// … and for those that are being appended.
func TestReceiver_Flush_append(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.flush = 30 * time.Second })
	gate := make(chan struct{})
	b.log.AppendGate = gate
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	token, _ := b.match(arena.VisibilityLive)
	p := b.Agent(t, token)
	p.Send(`{"type":"thinking"}`)
	testwait.Until(t, "the append", func() bool { return b.log.Appends() == 1 })
	b.agents.Flush(waited{t.Context(), open}, "m_1", "ag_1")
	if n := len(b.log.Rows("m_1")); n != 1 {
		t.Errorf("%d rows, want the message that was being appended", n)
	}
}

// Flush waits briefly for an agent that keeps sending, and not at all for one that
// has disconnected.
func TestReceiver_Flush_bounded(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.flush = time.Millisecond })
	token, _ := b.match(arena.VisibilityLive)
	gate := make(chan struct{})
	b.log.AppendGate = gate
	p := b.Agent(t, token)
	p.Send(`{"type":"thinking"}`)
	testwait.Until(t, "the append", func() bool { return b.log.Appends() == 1 })
	b.agents.Flush(t.Context(), "m_1", "ag_1") // ends by its time, or the test never ends
	close(gate)
	_ = p.Close(1000, "")
	testwait.Until(t, "the end", func() bool { return b.hub.Stats().Open["agent"] == 0 })
	b.agents.Flush(t.Context(), "m_1", "ag_1")
}
