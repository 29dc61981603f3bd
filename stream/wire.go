package stream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// errSlow is returned when a peer did not take its bytes in time.
var errSlow = errors.New("the peer does not read")

// sendAttempts is how many write timeouts one range may use up while the peer
// takes at least something in each.
const sendAttempts = 10

// wire is the connection under a WebSocket. The library reads from it and
// writes control frames through Write, each in one call; ready frames are
// sent past the library. One lock keeps frames whole.
type wire struct {
	net.Conn
	raw     syscall.RawConn // nil: the connection knows only writes that wait
	notify  func()          // asks for somebody to flush; nil: whoever writes waits
	now     func() time.Time
	timeout time.Duration
	onWait  func()       // called when the reader is about to wait; nil: nobody asks
	reads   atomic.Int64 // odd while the reader waits for bytes

	mu   sync.Mutex
	done bool   // a close frame went out, or the connection broke
	slow bool   // the peer did not take its bytes in time: a goodbye may follow, nothing else
	rest []byte // goes out before anything else
	cut  int    // bytes at the head of rest that end a frame that has begun
}

// Read reads for the library.
func (w *wire) Read(p []byte) (int, error) {
	w.reads.Add(1)
	if w.onWait != nil {
		w.onWait()
	}
	n, err := w.Conn.Read(p)
	w.reads.Add(1)
	return n, err //nolint:wrapcheck // io.Reader: the library compares with io.EOF
}

// unread reports whether bytes lie in the socket. Where nobody can look it is false.
func (w *wire) unread() bool { return w.raw != nil && unread(w.raw) }

// maxRest bounds what waits for a peer that asks for pongs and takes nothing.
const maxRest = 4 << 10

// Write is for the library's control frames. After a close frame of ours, or
// when too much waits already, they are dropped. With somebody to call when a
// rest is left it does not wait for the peer.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.slow || w.notify != nil && len(w.rest) > maxRest {
		return len(p), nil
	}
	w.done = p[0] == frameClose
	if w.notify == nil {
		return len(p), w.write(p)
	}
	all, err := w.tryLocked(newNonblock(), p, false)
	if !all && err == nil {
		w.notify()
	}
	return len(p), err
}

// try writes the frames b as far as the socket takes them at once. It reports
// false when something is left: then somebody who can wait has to flush. A
// rest of shared bytes is kept as it is, and cloned otherwise.
func (w *wire) try(nb *nonblock, b []byte, shared bool) (all bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.slow {
		return false, net.ErrClosed
	}
	return w.tryLocked(nb, b, shared)
}

func (w *wire) tryLocked(nb *nonblock, b []byte, shared bool) (all bool, err error) {
	if len(w.rest) > 0 || w.raw == nil {
		w.rest = append(slices.Clip(w.rest), b...)
		return false, nil
	}
	n, err := nb.write(w.raw, b)
	if err != nil {
		w.done = true
		return false, fmt.Errorf("write frames: %w", err)
	}
	if n == len(b) {
		return true, nil
	}
	w.keep(b, 0, n)
	if !shared {
		w.rest = bytes.Clone(w.rest)
	}
	return false, nil
}

// keep notes that of b, which begins with cut bytes of an older frame, the
// first n bytes were written.
func (w *wire) keep(b []byte, cut, n int) {
	w.rest = b[n:]
	if w.cut = cut - n; w.cut < 0 {
		w.cut = len(unfinished(b[cut:], n-cut))
	}
}

// send writes what is left over and then the frames b. It gives errSlow when
// the peer takes no byte within the timeout, or not everything within ten.
func (w *wire) send(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.slow {
		return net.ErrClosed
	}
	if len(w.rest) > 0 {
		if err := w.write(w.rest); err != nil {
			return err
		}
	}
	return w.write(b)
}

// flush writes what is left over.
func (w *wire) flush() error { return w.send(nil) }

// write writes b, which begins with w.cut bytes of an older frame.
func (w *wire) write(b []byte) error {
	cut := w.cut
	w.rest, w.cut = nil, 0
	if len(b) == 0 {
		return nil
	}
	at := 0
	for range sendAttempts {
		if err := w.SetWriteDeadline(w.now().Add(w.timeout)); err != nil {
			w.done = true
			return fmt.Errorf("set deadline: %w", err)
		}
		n, err := w.Conn.Write(b[at:])
		at += n
		switch {
		case err == nil:
			_ = w.SetWriteDeadline(time.Time{}) // the next write returns the error
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			w.done = true
			return fmt.Errorf("write frames: %w", err)
		}
		if n == 0 {
			break
		}
	}
	w.slow = true
	w.keep(b, cut, at)
	return errSlow
}

// close sends a close frame, after the rest of a frame that has begun, when
// the peer takes them within grace. Nothing is sent after it.
func (w *wire) close(code int, reason string, grace time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	w.done = true
	if err := w.SetWriteDeadline(w.now().Add(grace)); err != nil {
		return
	}
	_, _ = w.Conn.Write(appendCloseFrame(w.rest[:w.cut:w.cut], code, reason)) // a peer that is gone needs no reason
	w.rest, w.cut = nil, 0
}

// ping sends a ping frame.
func (w *wire) ping() error { return w.send(pingFrame()) }

// text sends one text message.
func (w *wire) text(text []byte) error {
	return w.send(formMessage.append(make([]byte, 0, formMessage.maxSize(len(text))), noID, text))
}

// upgrader hands the library a wire in place of the plain connection, with
// small buffers.
type upgrader struct {
	http.ResponseWriter
	wire *wire
}

// WriteHeaderNow passes the call on: Gin holds headers back until then.
func (u *upgrader) WriteHeaderNow() {
	if w, ok := u.ResponseWriter.(interface{ WriteHeaderNow() }); ok {
		w.WriteHeaderNow()
	}
}

// Hijack detaches the connection from the HTTP server.
func (u *upgrader) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, brw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("hijack: %w", err)
	}
	if err := brw.Flush(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("write handshake: %w", err), raw.Close())
	}
	u.wire.Conn = raw
	if c, ok := raw.(syscall.Conn); ok && canNonblock {
		if u.wire.raw, err = c.SyscallConn(); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("hijack: %w", err), raw.Close())
		}
	}
	// The library reads first what a reader has buffered, then the connection.
	early, _ := brw.Reader.Peek(brw.Reader.Buffered())
	early = bytes.Clone(early)
	r := bufio.NewReaderSize(bytes.NewReader(early), max(512, len(early)))
	_, _ = r.Peek(len(early))
	return u.wire, bufio.NewReadWriter(r, bufio.NewWriterSize(u.wire, 256)), nil
}

// upgrade turns a request into a WebSocket. The library answers a bad
// handshake by itself. pong is called for each pong.
func (h *Hub) upgrade(w http.ResponseWriter, r *http.Request, limit int64, pong func()) (*websocket.Conn, *wire, error) {
	u := &upgrader{ResponseWriter: w, wire: &wire{now: h.now, timeout: h.timing.write}}
	ws, err := websocket.Accept(u, r, &websocket.AcceptOptions{
		// Any page may read the public stream and no cookie is looked at: an
		// agent is known by its token alone (threat V3).
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
		OnPongReceived:     pongReceived(pong),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("upgrade: %w", err)
	}
	ws.SetReadLimit(limit)
	return ws, u.wire, nil
}
