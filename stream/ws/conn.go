package ws

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// Conn is a WebSocket on the server's side. One goroutine reads messages; any
// goroutine may write.
type Conn struct {
	wire    wire
	library *websocket.Conn // handshake, messages from the peer, and pongs
	grace   time.Duration
}

// ConnOptions describe one connection.
type ConnOptions struct {
	ReadLimit    int64         // bytes of one message; a longer one closes the connection
	WriteTimeout time.Duration // in which the peer must read at least one byte
	OnRest       func()        // called when a control frame waits for Flush; nil: control frames wait for the peer
	OnWait       func()        // called when the reader is about to wait for bytes; may be nil
}

// WriteTimeout is the usual ConnOptions.WriteTimeout.
const WriteTimeout = time.Second

func (cs *Clients) newConn(o ConnOptions) *Conn {
	return &Conn{
		wire:  wire{now: cs.o.Now, timeout: o.WriteTimeout, onRest: o.OnRest, onWait: o.OnWait},
		grace: cs.o.Timing.Grace,
	}
}

// NewConn returns a Conn that only writes, to an established connection.
func (cs *Clients) NewConn(conn net.Conn, o ConnOptions) (*Conn, error) {
	c := cs.newConn(o)
	return c, c.attach(conn)
}

// Accept turns the request of a client into a WebSocket. After an error the
// request has been answered.
func (cs *Clients) Accept(w http.ResponseWriter, r *http.Request, client *Client, o ConnOptions) (*Conn, error) {
	c := cs.newConn(o)
	library, err := websocket.Accept(&upgrader{ResponseWriter: w, conn: c}, r, &websocket.AcceptOptions{
		// Any page may read the public stream. Cookies are ignored: an agent is
		// identified by its token alone (threat V3).
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
		OnPongReceived:     func(context.Context, []byte) { client.waiting.Store(false) },
	})
	if err != nil {
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	library.SetReadLimit(o.ReadLimit)
	c.library = library
	return c, nil
}

// attach sets the network connection.
func (c *Conn) attach(conn net.Conn) (err error) {
	c.wire.Conn = conn
	if below := carrierOf(conn); below != nil {
		c.wire.below = below
		return below.hold()
	}
	if s, ok := conn.(syscall.Conn); ok && canNonblock {
		c.wire.raw, err = s.SyscallConn()
	}
	return err //nolint:wrapcheck // wrapped by the callers
}

// Next waits for the next message of the peer and returns its reader. The
// message must be read to its end before the next call.
func (c *Conn) Next() (text bool, message io.Reader, err error) {
	kind, r, err := c.library.Reader(context.Background()) // ends with the connection
	return kind == websocket.MessageText, r, err           //nolint:wrapcheck // for EndOfReading
}

// TrySend writes as much of the frames b as the socket accepts without
// blocking. It reports false when bytes are left over, or on an error: then
// Flush writes the rest, or returns the error. Shared bytes are never changed
// by the caller; others are copied if they are left over.
func (c *Conn) TrySend(nb *Nonblock, b []byte, shared bool) (all bool, err error) {
	return c.wire.try(nb, b, shared)
}

// TryPing sends a ping as TrySend does.
func (c *Conn) TryPing(nb *Nonblock) (all bool) {
	all, _ = c.wire.try(nb, pingFrame(), true) // Flush returns the error
	return all
}

// Flush writes what TrySend and control frames have left over. It returns
// ErrSlow if the peer does not read.
func (c *Conn) Flush() error { return c.wire.send(nil) }

// Ping sends a ping.
func (c *Conn) Ping() error { return c.wire.send(pingFrame()) }

// SendText sends one text message.
func (c *Conn) SendText(text []byte) error {
	return c.wire.send(AppendText(make([]byte, 0, MaxHeader+len(text)), text))
}

// Unread reports whether the socket holds bytes that were not read. It returns
// false on systems that cannot check this.
func (c *Conn) Unread() bool {
	raw := c.wire.raw
	if c.wire.below != nil {
		raw = c.wire.below.raw
	}
	return raw != nil && unread(raw)
}

// Idle reports whether the reader waits for bytes and the socket holds none,
// while other returns true.
func (c *Conn) Idle(other func() bool) bool {
	reads := &c.wire.reads
	if c.wire.below != nil {
		reads = &c.wire.below.reads // TLS may hold bytes that the reader has not got
	}
	turn := reads.Load()
	return turn%2 == 1 && !c.Unread() && other() && reads.Load() == turn
}

// Close sends a close frame, unless the connection is lost, and lets the reader
// wait for the peer's close frame for at most the grace period. Closing the
// connection earlier could make the kernel discard our frame. CloseNow must
// follow.
func (c *Conn) Close(e Ending) {
	wait := c.grace
	if e.Code == CloseLost {
		wait = 0
	} else {
		c.wire.close(e.Code, e.Reason, wait)
	}
	_ = c.wire.SetReadDeadline(c.wire.now().Add(wait)) // reading from a lost connection ends anyway
}

// CloseNow closes the network connection, which ends all reads and writes.
func (c *Conn) CloseNow() { _ = c.library.CloseNow() } // it may be closed

// upgrader hands the library a wire instead of the plain connection, with
// small buffers.
type upgrader struct {
	http.ResponseWriter
	conn *Conn
}

// WriteHeaderNow forwards the call: Gin holds headers back until then.
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
	if err := u.conn.attach(raw); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("hijack: %w", err), raw.Close())
	}
	// The library first reads what the HTTP server has buffered, then the connection.
	early, _ := brw.Reader.Peek(brw.Reader.Buffered())
	early = bytes.Clone(early)
	r := bufio.NewReaderSize(bytes.NewReader(early), max(512, len(early)))
	_, _ = r.Peek(len(early))
	w := &u.conn.wire
	return w, bufio.NewReadWriter(r, bufio.NewWriterSize(w, 256)), nil
}
