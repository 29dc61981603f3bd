package stream

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"
)

// socket is the WebSocket of a spectator. Its one goroutine reads. Workers
// write, without waiting; when there is something to wait for, a goroutine
// takes over until that is past.
type socket struct {
	*wire
	batch bool

	pending     atomic.Bool    // an answer of the library waits to be flushed
	writeMu     sync.Mutex     // held by the worker that looks after it
	open        bool           // the handshake is over
	blocked     bool           // a goroutine does the writing
	left        bool           // nobody does any more
	slowWriters sync.WaitGroup // that goroutine
	leave       sync.Once
}

// serveSocket answers a spectator's WebSocket request. The request ends with
// the handshake: its goroutine and buffers are not kept for the life of the
// socket.
func (h *Handler) serveSocket(w http.ResponseWriter, r *http.Request, q query) {
	release, err := h.parts.Addresses.Acquire(h.parts.ClientIP(r))
	if err != nil {
		h.Refuse(w, r, err)
		return
	}
	s := h.hub.newSocket(q.batch, release)
	if err := h.hub.admit(&s.client); err != nil {
		release()
		h.Refuse(w, r, err)
		return
	}
	if err := h.subscribe(r.Context(), s, q); err != nil {
		h.hub.dismiss(&s.client)
		h.Refuse(w, r, err)
		return
	}
	ws, conn, err := h.hub.upgrade(w, r, spectatorMessage, func() { s.waiting.Store(false) })
	if err != nil {
		h.hub.unsubscribe(s)
		h.hub.dismiss(&s.client)
		h.log.Debug("websocket handshake failed", slog.Any("error", err))
		return
	}
	s.open(conn)
	s.wakeUp()
	go func() {
		s.listen(ws, h.hub)
		h.hub.waitWriters(s, ws)
		h.hub.leave(s)
		h.hub.dismiss(&s.client)
	}()
}

func (h *Hub) newSocket(batch bool, release func()) *spectator {
	s := &spectator{form: formMessage, socket: &socket{batch: batch}}
	if batch {
		s.form = formBatch
	}
	s.client = client{kind: kindSpectator, pingEvery: h.timing.ping, release: release, notify: func() { h.notify(s) }}
	return s
}

// open writes hello and lets the workers in.
func (s *spectator) open(conn *wire) {
	k := s.socket
	k.writeMu.Lock()
	defer k.writeMu.Unlock()
	conn.notify = func() {
		k.pending.Store(true)
		s.wakeUp()
	}
	k.wire, k.open = conn, true
	all, _ := conn.try(newNonblock(), k.frames(nil, s.hello), true)
	k.pending.Store(!all) // whoever flushes finds the error too
	s.hello = nil
}

// frames returns b, which is in the form of the spectator, as frames. What it
// has to write goes to into.
func (k *socket) frames(into, b []byte) []byte {
	if !k.batch || len(b) == 0 {
		return b
	}
	b = b[:len(b)-1] // no line break after the last line
	return append(appendFrameHeader(into, frameText, len(b)), b...)
}

// writeSlow writes for a spectator that has to wait: for its peer, for the log or
// for the end.
func (h *Hub) writeSlow(s *spectator) {
	k := s.socket
	e := h.writeRest(s)
	if e == nil {
		s.endSlow()
		return
	}
	s.end(e.code, e.reason)
	h.leave(s)
	e = s.ended.Load()
	wait := h.timing.grace
	if e.code == closeLost {
		wait = 0
	} else {
		k.close(e.code, e.reason, wait)
	}
	// The peer's own close frame ends the reading. Closing before it came
	// could make the kernel throw ours away.
	_ = k.SetReadDeadline(h.now().Add(wait)) // reading from a lost connection ends by itself
}

// endSlow leaves a spectator to the workers. They are called, for something
// may have come since its goroutine looked.
func (s *spectator) endSlow() {
	s.socket.writeMu.Lock()
	s.socket.blocked = false
	s.socket.writeMu.Unlock()
	s.wakeUp()
}

// writeRest writes until the spectator has everything, or is done.
func (h *Hub) writeRest(s *spectator) *ending {
	if e := s.ended.Load(); e != nil {
		return e
	}
	if err := s.socket.flush(); err != nil {
		return lostOrSlow(err)
	}
	return h.watch(s, &slowWriter{socket: s.socket, nb: newNonblock()})
}

// slowWriter is the sink of a socket for a goroutine that may wait.
type slowWriter struct {
	*socket
	nb     *nonblock
	framed []byte
	place  <-chan struct{} // held; nil: none
}

func (d *slowWriter) holdPlace(place <-chan struct{}) { d.place = place }

func (d *slowWriter) releasePlace() {
	if d.place != nil {
		<-d.place
		d.place = nil
	}
}

// send writes at once what the socket takes, and the rest without a place.
func (d *slowWriter) send(b []byte) error {
	shared := !d.batch
	if d.batch {
		d.framed = d.frames(d.framed[:0], b)
		b = d.framed
	}
	all, err := d.try(d.nb, b, shared)
	if all || err != nil {
		return err
	}
	d.releasePlace()
	return d.flush()
}

// leave counts a spectator that has ended out of its topic.
func (h *Hub) leave(s *spectator) {
	s.socket.leave.Do(func() {
		h.unsubscribe(s)
		h.counters.closed(s.ended.Load().code)
	})
}

// waitWriters waits until nobody writes to the socket, and will again.
func (h *Hub) waitWriters(s *spectator, ws *websocket.Conn) {
	_ = ws.CloseNow() // breaks off a write that waits
	k := s.socket
	k.writeMu.Lock()
	k.left = true
	k.writeMu.Unlock()
	k.slowWriters.Wait()
}

// What a spectator may say, though nobody listens: small messages, seldom.
const (
	spectatorMessage = 512 // bytes
	spectatorRate    = 5   // messages per second
	spectatorBurst   = 20
)

// listen reads pongs and the goodbye until the connection ends. Messages are
// thrown away.
func (s *spectator) listen(ws *websocket.Conn, h *Hub) {
	var limit *rate.Limiter
	for {
		_, m, err := ws.Reader(context.Background()) // ends with the connection
		if err == nil {
			_, err = io.Copy(io.Discard, m)
		}
		if err != nil {
			e := lostBy(err)
			s.end(e.code, e.reason)
			return
		}
		if limit == nil {
			limit = rate.NewLimiter(spectatorRate, spectatorBurst)
		}
		if !limit.AllowN(h.now(), 1) {
			s.end(CloseBadRequest, "a spectator only listens")
		}
	}
}
