package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/agora-arena/arena/stream/ws"
)

// eventStream is the sink of a spectator over server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	flush   *http.ResponseController
	now     func() time.Time
	timeout time.Duration
}

func (s *eventStream) send(b []byte) error {
	if err := s.flush.SetWriteDeadline(s.now().Add(s.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set deadline: %w", err)
	}
	_, err := s.w.Write(b)
	if err == nil {
		err = s.flush.Flush()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ws.ErrSlow
	}
	if err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// holdPlace releases the place at once: all writes of an event stream may block.
func (s *eventStream) holdPlace(place <-chan struct{}) { <-place }

func (s *eventStream) releasePlace() {}

// ping sends a comment, which keeps proxies from closing the connection and
// detects a lost peer.
func (s *eventStream) ping() error { return s.send([]byte(":\n\n")) }

// serveEvents serves a spectator's event stream. It has no close codes: it ends,
// and an EventSource reconnects with the last id. 204 means that nothing will
// follow.
func (h *Handler) serveEvents(w http.ResponseWriter, r *http.Request, q query) {
	release, err := h.parts.Addresses.Acquire(h.parts.ClientIP(r))
	if err != nil {
		h.Refuse(w, r, err)
		return
	}
	clients := h.hub.clients
	s := &spectator{Client: ws.NewClient(ws.KindEventStream, release, nil), form: formSSE}
	if err := clients.Admit(s.Client); err != nil {
		release()
		h.Refuse(w, r, err)
		return
	}
	defer clients.Dismiss(s.Client)
	if err := h.subscribe(r.Context(), s, q); err != nil {
		h.Refuse(w, r, err)
		return
	}
	defer h.hub.unsubscribe(s)
	if s.gone && q.since == s.seq {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	left := context.AfterFunc(r.Context(), func() { s.End(ws.Ending{Code: ws.CloseLost}) })
	defer left()
	out := &eventStream{
		w: w, flush: http.NewResponseController(w), now: h.hub.now,
		timeout: ws.SendAttempts * h.hub.timing.write, // one deadline: the length of a partial write is unknown
	}
	var e *ws.Ending
	if err := out.send(s.hello); err != nil {
		e = endOfWriting(err)
	} else {
		e = h.hub.watch(s, out)
	}
	clients.CountClose(e.Code)
	if e.Code == ws.CloseSlow {
		h.log.Debug("event stream was too slow", slog.String("topic", s.topic.key.String()))
	}
}
