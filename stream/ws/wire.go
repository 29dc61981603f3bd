package ws

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrSlow is returned when a peer did not read its bytes in time.
var ErrSlow = errors.New("the peer does not read")

// SendAttempts is how many write timeouts one write may use while the peer
// reads at least one byte in each.
const SendAttempts = 10

// wire is the network connection of a WebSocket. The library reads from it and
// writes control frames through Write, each in one call. Complete frames
// bypass the library. One lock keeps frames whole.
type wire struct {
	net.Conn
	raw     syscall.RawConn // nil: the connection has only blocking writes, or is TLS
	below   *carrier        // below TLS; nil: the connection is not TLS, or has only blocking writes
	now     func() time.Time
	timeout time.Duration          // of one blocking write
	onRest  func()                 // called when Write leaves something to be written; nil: Write blocks
	onWait  func()                 // called when the reader is about to wait; may be nil
	reads   atomic.Int64           // odd while the reader waits for bytes
	pong    atomic.Pointer[[]byte] // the answer to the latest ping; nil: it was written

	mu   sync.Mutex // held while a write waits for the peer
	done bool       // a close frame was sent, or the connection broke
	slow bool       // the peer did not read in time: only a close frame may follow
	rest []byte     // must be written before anything else
	cut  int        // bytes at the head of rest that complete a frame already begun
}

// Read is called by the library.
func (w *wire) Read(p []byte) (int, error) {
	w.reads.Add(1)
	if w.onWait != nil {
		w.onWait()
	}
	n, err := w.Conn.Read(p)
	w.reads.Add(1)
	return n, err //nolint:wrapcheck // io.Reader: the library compares with io.EOF
}

// Write writes the library's control frames. It drops them after a close frame.
// With onRest it leaves pongs to the next writer: the library would end the
// connection if one that waits for the peer kept it waiting for 5 s. Only the
// latest ping needs an answer (RFC 6455, section 5.5.3).
func (w *wire) Write(p []byte) (int, error) {
	if w.onRest != nil && p[0] == framePong {
		pong := bytes.Clone(p)
		w.pong.Store(&pong)
		w.onRest()
		return len(p), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.slow {
		return len(p), nil
	}
	w.done = p[0] == frameClose
	if w.onRest == nil && w.below != nil {
		return len(p), w.writeSealed(p)
	}
	if w.onRest == nil {
		return len(p), w.write(p)
	}
	all, err := w.tryLocked(NewNonblock(), p, false)
	if !all && err == nil {
		w.onRest()
	}
	return len(p), err
}

// afterPong returns the frames b behind the pong that is due. It reports whether
// they are a copy.
func (w *wire) afterPong(b []byte) (frames []byte, copied bool) {
	if pong := w.pong.Swap(nil); pong != nil {
		return append(*pong, b...), true
	}
	return b, false
}

// try writes a pong that is due and as much of the frames b as the socket
// accepts without blocking. It reports false when bytes are left over, which flush writes. The bytes left
// over are kept as they are if shared, and cloned otherwise.
func (w *wire) try(nb *Nonblock, b []byte, shared bool) (all bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.slow {
		return false, net.ErrClosed
	}
	b, copied := w.afterPong(b)
	if len(b) == 0 {
		return w.waiting() == 0, nil
	}
	return w.tryLocked(nb, b, shared || copied)
}

func (w *wire) tryLocked(nb *Nonblock, b []byte, shared bool) (all bool, err error) {
	if w.below != nil {
		return w.seal(b)
	}
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

// seal encrypts the frames b and writes them without blocking. It reports false
// when bytes are left over. They are encrypted, so none of them can be dropped.
func (w *wire) seal(b []byte) (all bool, err error) {
	if _, err := w.Conn.Write(b); err != nil {
		w.done = true
		return false, fmt.Errorf("write frames: %w", err)
	}
	return w.below.holds() == 0, nil
}

// waiting returns how many bytes are left over.
func (w *wire) waiting() int {
	if w.below != nil {
		return w.below.holds()
	}
	return len(w.rest)
}

// keep records that the first n bytes of b were written. b begins with cut bytes
// of an older frame.
func (w *wire) keep(b []byte, cut, n int) {
	w.rest = b[n:]
	if w.cut = cut - n; w.cut < 0 {
		w.cut = len(unfinished(b[cut:], n-cut))
	}
}

// send writes what is left over, a pong that is due and the frames b. It returns ErrSlow if
// the peer reads no byte within the timeout, or not all of them within
// SendAttempts timeouts.
func (w *wire) send(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.slow {
		return net.ErrClosed
	}
	b, _ = w.afterPong(b)
	if w.below != nil {
		return w.writeSealed(b)
	}
	if len(w.rest) > 0 {
		if err := w.write(w.rest); err != nil {
			return err
		}
	}
	return w.write(b)
}

// sealedPart is how many bytes are encrypted before they are written: what waits
// for a peer must stay small.
const sealedPart = 64 << 10

// writeSealed writes what is left over and then the frames b, over TLS.
func (w *wire) writeSealed(b []byte) error {
	extend := func() error { return w.below.SetWriteDeadline(w.now().Add(w.timeout)) }
	for {
		if err := w.below.flush(extend); err != nil {
			w.slow = errors.Is(err, ErrSlow)
			w.done = !w.slow
			return err
		}
		if len(b) == 0 {
			_ = w.below.SetWriteDeadline(time.Time{}) // the next write returns the error
			return nil
		}
		part := b[:min(len(b), sealedPart)]
		if _, err := w.seal(part); err != nil {
			return err
		}
		b = b[len(part):]
	}
}

// write writes b, which begins with w.cut bytes of an older frame.
func (w *wire) write(b []byte) error {
	cut := w.cut
	w.rest, w.cut = nil, 0
	if len(b) == 0 {
		return nil
	}
	at := 0
	for range SendAttempts {
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
	return ErrSlow
}

// close sends a close frame, after the rest of a frame already begun, if the
// peer reads them within grace. Nothing is sent after it.
func (w *wire) close(code int, reason string, grace time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	w.done = true
	until := w.now().Add(grace)
	if w.below != nil {
		w.closeSealed(appendCloseFrame(nil, code, reason), until)
		return
	}
	if err := w.SetWriteDeadline(until); err != nil {
		return
	}
	_, _ = w.Conn.Write(appendCloseFrame(w.rest[:w.cut:w.cut], code, reason)) // the peer may be gone
	w.rest, w.cut = nil, 0
}

// closeSealed writes all that is left over and then a last frame, over TLS, if the peer
// reads them in time.
func (w *wire) closeSealed(frame []byte, until time.Time) {
	if _, err := w.seal(frame); err != nil {
		return
	}
	_ = w.below.flush(func() error { return w.below.SetWriteDeadline(until) }) // the peer may be gone
}
