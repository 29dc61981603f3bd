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
	"time"

	"github.com/coder/websocket"
)

// errSlow says that a peer did not take its bytes in time.
var errSlow = errors.New("the peer does not read")

// sendAttempts is how many write timeouts one range may use up while the peer
// takes at least something in each.
const sendAttempts = 10

// wire is the connection under a WebSocket. The library reads from it and
// writes control frames through Write, each in one call; ready data frames
// are sent past the library. One lock keeps frames whole.
type wire struct {
	net.Conn
	now     func() time.Time
	timeout time.Duration

	mu   sync.Mutex
	done bool   // a close frame went out, or the connection broke
	rest []byte // what is missing of a frame that broke off
	vec  [2][]byte
	bufs net.Buffers
}

// Write is for the library's control frames. After a close frame of ours, or
// behind a frame that broke off, they are dropped.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || len(w.rest) > 0 {
		return len(p), nil
	}
	if err := w.SetWriteDeadline(w.now().Add(w.timeout)); err != nil {
		return 0, fmt.Errorf("set deadline: %w", err)
	}
	n, err := w.Conn.Write(p)
	w.done = err != nil || p[0] == frameClose
	if err != nil {
		return n, fmt.Errorf("write control frame: %w", err)
	}
	return n, nil
}

// send writes head and body, whole frames when put together: either body is
// frames and head is empty, or head is the frame header of body. It gives
// errSlow when the peer takes no byte within the timeout, or not everything
// within ten.
func (w *wire) send(head, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || len(w.rest) > 0 {
		return net.ErrClosed
	}
	total, left := len(head)+len(body), len(head)+len(body)
	for range sendAttempts {
		if err := w.SetWriteDeadline(w.now().Add(w.timeout)); err != nil {
			w.done = true
			return fmt.Errorf("set deadline: %w", err)
		}
		n, err := w.writeFrom(head, body, total-left)
		left -= n
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			w.done = true
			return fmt.Errorf("write frames: %w", err)
		case n == 0:
			return w.broken(head, body, total-left)
		}
	}
	return w.broken(head, body, total-left)
}

// writeFrom writes head and body but for the first skip bytes.
func (w *wire) writeFrom(head, body []byte, skip int) (int, error) {
	if skip >= len(head) {
		return w.Conn.Write(body[skip-len(head):]) //nolint:wrapcheck // wrapped by send
	}
	w.vec = [2][]byte{head[skip:], body}
	w.bufs = w.vec[:]
	n, err := w.bufs.WriteTo(w.Conn)
	w.vec = [2][]byte{}
	return int(n), err
}

// broken remembers the rest of the frame that was being written, so that a
// close frame can still follow it.
func (w *wire) broken(head, body []byte, n int) error {
	if len(head) > 0 && n > 0 {
		w.rest = append(bytes.Clone(head[min(n, len(head)):]), body[max(0, n-len(head)):]...)
	} else if len(head) == 0 {
		w.rest = unfinished(body, n)
	}
	return errSlow
}

// close sends a close frame, after the rest of a broken frame, when the peer
// takes them within grace. Nothing is sent after it.
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
	_, _ = w.Conn.Write(appendCloseFrame(slices.Clip(w.rest), code, reason)) // a peer that is gone needs no reason
}

// ping sends a ping frame.
func (w *wire) ping() error { return w.send(nil, []byte{framePing, 0}) }

// text sends one text message.
func (w *wire) text(text []byte) error {
	return w.send(nil, formMessage.append(make([]byte, 0, formMessage.room(len(text))), noID, text))
}

// upgrader gives the library a wire in place of the plain connection, with
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

// Hijack takes the connection over from the HTTP server.
func (u *upgrader) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, brw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("hijack: %w", err)
	}
	if err := brw.Flush(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("write handshake: %w", err), raw.Close())
	}
	u.wire.Conn = raw
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
