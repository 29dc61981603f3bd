package stream

import (
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/stream/ws"
)

// socket is the WebSocket of a spectator. Its one goroutine reads. Writers of
// the pool write without blocking. When a write would block, a slow-path writer,
// a goroutine of the socket, takes over until it is done.
type socket struct {
	conn  *ws.Conn
	batch bool

	pending     atomic.Bool // a control frame waits to be flushed
	writeMu     sync.Mutex  // held by the writer that serves it
	open        bool        // the handshake is over
	blocked     bool        // a slow-path writer serves it
	left        bool        // it is never written to again
	slowWriters sync.WaitGroup
	leave       sync.Once
}

// serveSocket serves a spectator's WebSocket. The request ends with the
// handshake: the socket does not keep its goroutine and buffers.
func (h *Handler) serveSocket(w http.ResponseWriter, r *http.Request, q query) {
	release, err := h.parts.Addresses.Acquire(h.parts.ClientIP(r))
	if err != nil {
		h.Refuse(w, r, err)
		return
	}
	clients := h.hub.clients
	s := h.hub.newSocket(q.batch, release)
	if err := clients.Admit(s.Client); err != nil {
		release()
		h.Refuse(w, r, err)
		return
	}
	if err := h.subscribe(r.Context(), s, q); err != nil {
		clients.Dismiss(s.Client)
		h.Refuse(w, r, err)
		return
	}
	conn, err := clients.Accept(w, r, s.Client, ws.ConnOptions{
		ReadLimit: spectatorMessage, WriteTimeout: h.hub.timing.write, OnRest: s.flushLater,
	})
	if err != nil {
		h.hub.unsubscribe(s)
		clients.Dismiss(s.Client)
		h.log.Debug("websocket handshake failed", slog.Any("error", err))
		return
	}
	s.open(conn)
	s.Wake()
	go func() {
		s.listen(h.hub.now)
		s.socket.stopWriters()
		h.hub.leave(s)
		clients.Dismiss(s.Client)
	}()
}

func (h *Hub) newSocket(batch bool, release func()) *spectator {
	s := &spectator{form: formMessage, socket: &socket{batch: batch}}
	if batch {
		s.form = formBatch
	}
	s.Client = ws.NewClient(ws.KindSpectator, release, func() { h.notify(s) })
	return s
}

// flushLater makes a writer flush a control frame.
func (s *spectator) flushLater() {
	s.socket.pending.Store(true)
	s.Wake()
}

// open writes hello and admits writers.
func (s *spectator) open(conn *ws.Conn) {
	k := s.socket
	k.writeMu.Lock()
	defer k.writeMu.Unlock()
	k.conn, k.open = conn, true
	if all, _ := conn.TrySend(ws.NewNonblock(), k.frames(nil, s.hello), true); !all {
		k.pending.Store(true) // Flush returns the error
	}
	s.hello = nil
}

// frames returns b, which is in the form of the spectator, as frames. A new
// frame is appended to into.
func (k *socket) frames(into, b []byte) []byte {
	if !k.batch || len(b) == 0 {
		return b
	}
	b = b[:len(b)-1] // no line break after the last line
	return ws.AppendText(into, b)
}

// writeSlow is the slow-path writer of a socket. It waits for the peer, the log
// or the end.
func (h *Hub) writeSlow(s *spectator) {
	e := h.writeRest(s)
	if e == nil {
		s.endSlow()
		return
	}
	s.End(*e)
	h.leave(s)
	s.socket.conn.Close(*s.Ended())
}

// endSlow returns a socket to the writer pool. It wakes the pool, since events
// may have been published after the slow-path writer last looked.
func (s *spectator) endSlow() {
	s.socket.writeMu.Lock()
	s.socket.blocked = false
	s.socket.writeMu.Unlock()
	s.Wake()
}

// writeRest writes until the spectator has read everything, and returns nil, or
// returns why it ends.
func (h *Hub) writeRest(s *spectator) *ws.Ending {
	if e := s.Ended(); e != nil {
		return e
	}
	if err := s.socket.conn.Flush(); err != nil {
		return endOfWriting(err)
	}
	return h.watch(s, &slowWriter{socket: s.socket, nb: ws.NewNonblock()})
}

// slowWriter is the sink of a socket whose writes may block.
type slowWriter struct {
	*socket
	nb     *ws.Nonblock
	framed []byte
	place  <-chan struct{} // held; nil: none
}

func (d *slowWriter) ping() error { return d.conn.Ping() }

func (d *slowWriter) holdPlace(place <-chan struct{}) { d.place = place }

func (d *slowWriter) releasePlace() {
	if d.place != nil {
		<-d.place
		d.place = nil
	}
}

// send releases its place before it blocks.
func (d *slowWriter) send(b []byte) error {
	shared := !d.batch
	if d.batch {
		d.framed = d.frames(d.framed[:0], b)
		b = d.framed
	}
	all, err := d.conn.TrySend(d.nb, b, shared)
	if all || err != nil {
		return err
	}
	d.releasePlace()
	return d.conn.Flush()
}

// leave removes a spectator that has ended from its topic.
func (h *Hub) leave(s *spectator) {
	s.socket.leave.Do(func() {
		h.unsubscribe(s)
		h.clients.CountClose(s.Ended().Code)
	})
}

// stopWriters closes the connection and waits until no writer uses it.
func (k *socket) stopWriters() {
	k.conn.CloseNow() // ends a write that blocks
	k.writeMu.Lock()
	k.left = true
	k.writeMu.Unlock()
	k.slowWriters.Wait()
}

// The limits of a spectator's messages, which are ignored.
const (
	spectatorMessage = 4 << 10 // bytes: an agent may send its token by mistake
	spectatorRate    = 5       // messages per second
	spectatorBurst   = 20
)

// listen reads pongs and the close frame until the connection ends. It discards
// messages, unless the first one comes from an agent.
func (s *spectator) listen(now func() time.Time) {
	var limit *rate.Limiter
	for {
		auth := false
		_, m, err := s.socket.conn.Next()
		if err == nil && limit == nil {
			auth, err = isAuth(m)
		} else if err == nil {
			_, err = io.Copy(io.Discard, m)
		}
		if err != nil {
			s.End(ws.EndOfReading(err))
			return
		}
		if limit == nil {
			limit = rate.NewLimiter(spectatorRate, spectatorBurst)
		}
		if auth {
			s.End(ws.Ending{Code: ws.CloseBadRequest, Reason: "this is a stream for spectators; an agent connects without match=, league= and lobby="})
		} else if !limit.AllowN(now(), 1) {
			s.End(ws.Ending{Code: ws.CloseBadRequest, Reason: "a spectator sends no messages"})
		}
	}
}

// isAuth reads a message and reports whether an agent begins with it.
func isAuth(m io.Reader) (bool, error) {
	data, err := io.ReadAll(m)
	if err != nil {
		return false, err //nolint:wrapcheck // for EndOfReading
	}
	var first struct {
		Type string `json:"type"`
	}
	return strictjson.UnmarshalOpen(data, &first, "type") == nil && first.Type == "auth", nil
}
