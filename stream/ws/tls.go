package ws

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// NewListener returns a listener for crypto/tls to stand on. A WebSocket over TLS
// is written without blocking only if its connection comes from one.
func NewListener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept returns the next connection.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // to the HTTP server, which compares
	}
	return &carrier{Conn: conn}, nil
}

// maxHeld bounds what a peer that reads nothing can make TLS itself send, such
// as updates of keys.
const maxHeld = 1 << 20

// carrier is the network connection below TLS. Until hold it is the plain
// connection. Then a write never blocks: what the socket does not accept is held
// until flush. TLS cannot continue after a write that failed halfway.
type carrier struct {
	net.Conn
	reads atomic.Int64 // odd while TLS waits for bytes

	mu       sync.Mutex
	raw      syscall.RawConn // nil until hold
	nb       *Nonblock
	held     []byte
	flushing bool // flush writes the first of held
}

// carrierOf returns the connection below TLS, nil if conn is no such connection.
func carrierOf(conn net.Conn) *carrier {
	t, ok := conn.(*tls.Conn)
	if !ok || !canNonblock {
		return nil
	}
	c, _ := t.NetConn().(*carrier)
	return c
}

// hold makes writes nonblocking from now on.
func (c *carrier) hold() error {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return errors.New("the connection below TLS has no descriptor")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err //nolint:wrapcheck // wrapped by the callers
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw, c.nb = raw, NewNonblock()
	return nil
}

// Read is called by TLS when it has no complete record.
func (c *carrier) Read(p []byte) (int, error) {
	c.reads.Add(1)
	n, err := c.Conn.Read(p)
	c.reads.Add(1)
	return n, err //nolint:wrapcheck // to crypto/tls
}

// Write is called by TLS with whole records.
func (c *carrier) Write(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw == nil {
		return c.Conn.Write(p) //nolint:wrapcheck // to crypto/tls
	}
	if len(c.held) == 0 && !c.flushing {
		if n, err = c.nb.write(c.raw, p); err != nil {
			return n, err
		}
	}
	if len(c.held)+len(p)-n > maxHeld {
		return n, ErrSlow
	}
	c.held = append(c.held, p[n:]...)
	return len(p), nil
}

// holds returns how many bytes wait for flush.
func (c *carrier) holds() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.held)
}

// flush writes what is held. extend sets a new deadline for the peer to read at
// least one byte. It returns ErrSlow if the peer does not, or not all bytes within
// SendAttempts deadlines.
func (c *carrier) flush(extend func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range SendAttempts {
		if len(c.held) == 0 {
			return nil
		}
		if err := extend(); err != nil {
			return fmt.Errorf("set deadline: %w", err)
		}
		b := c.held
		c.flushing = true
		c.mu.Unlock() // others may append meanwhile
		n, err := c.Conn.Write(b)
		c.mu.Lock()
		c.flushing = false
		if c.held = c.held[n:]; len(c.held) == 0 {
			c.held = nil
		}
		switch {
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("write frames: %w", err)
		case err != nil && n == 0:
			return ErrSlow
		}
	}
	if len(c.held) > 0 {
		return ErrSlow
	}
	return nil
}
