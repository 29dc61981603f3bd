package simulation

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// network carries connections between addresses inside this process. A write never
// blocks: bytes wait in the connection until they arrive.
type network struct {
	mu        sync.Mutex
	listeners map[netip.AddrPort]*listener
	conns     map[*conn]bool // one end of each
	delays    map[netip.Addr]time.Duration
	cut       map[netip.Addr]bool
	port      uint16
}

// latency is the time that bytes take on the way if nothing is slow.
const latency = time.Millisecond

func newNetwork() *network {
	return &network{
		listeners: map[netip.AddrPort]*listener{}, conns: map[*conn]bool{}, delays: map[netip.Addr]time.Duration{}, cut: map[netip.Addr]bool{},
	}
}

// slow delays all bytes from and to an address; 0 ends it.
func (n *network) slow(a netip.Addr, delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delays[a] = delay
}

// disconnect breaks all connections of an address and refuses new ones until connect
// is called.
func (n *network) disconnect(a netip.Addr) {
	n.mu.Lock()
	n.cut[a] = true
	var broken []*conn
	for c := range n.conns {
		if c.local.Addr() == a || c.remote.Addr() == a {
			broken = append(broken, c)
			delete(n.conns, c)
		}
	}
	n.mu.Unlock()
	for _, c := range broken {
		c.in.end(syscall.ECONNRESET)
		c.out.end(syscall.ECONNRESET)
	}
}

// connect ends disconnect.
func (n *network) connect(a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.cut, a)
}

// delay returns how long bytes take between two addresses.
func (n *network) delay(a, b netip.Addr) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return latency + n.delays[a] + n.delays[b]
}

// listen accepts connections to an address.
func (n *network) listen(_ context.Context, _, address string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	l := &listener{net: n, at: at, queue: make(chan *conn, 1024), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[at] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}
	}
	n.listeners[at] = l
	return l, nil
}

// dialer returns the function that connects from an address.
func (n *network) dialer(from netip.Addr) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return nil, err
		}
		select { // the handshake
		case <-time.After(2 * n.delay(from, to.Addr())):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		l := n.listeners[to]
		if l == nil || n.cut[from] || n.cut[to.Addr()] {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
		n.port++
		there, back := newHalf(), newHalf()
		local := netip.AddrPortFrom(from, n.port)
		near, far := &conn{net: n, local: local, remote: to, in: back, out: there}, &conn{net: n, local: to, remote: local, in: there, out: back}
		select {
		case l.queue <- far:
			n.conns[near] = true
			return near, nil
		default:
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
	}
}

type listener struct {
	net    *network
	at     netip.AddrPort
	queue  chan *conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		l.net.mu.Lock()
		delete(l.net.listeners, l.at)
		l.net.mu.Unlock()
		close(l.closed)
	})
	return nil
}

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }

// conn is one end of a connection.
type conn struct {
	net           *network
	local, remote netip.AddrPort
	in, out       *half
}

func (c *conn) Read(p []byte) (int, error) { return c.in.read(p) }

func (c *conn) Write(p []byte) (int, error) {
	return c.out.write(p, c.net.delay(c.local.Addr(), c.remote.Addr()))
}

func (c *conn) Close() error {
	c.in.end(net.ErrClosed) // for the reader here
	c.out.close(c.net.delay(c.local.Addr(), c.remote.Addr()))
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	delete(c.net.conns, c)
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.local) }
func (c *conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

func (c *conn) SetDeadline(at time.Time) error {
	c.in.readUntil(at)
	c.out.writeUntil(at)
	return nil
}

func (c *conn) SetReadDeadline(at time.Time) error  { c.in.readUntil(at); return nil }
func (c *conn) SetWriteDeadline(at time.Time) error { c.out.writeUntil(at); return nil }

// half carries bytes in one direction.
type half struct {
	mu       sync.Mutex
	changed  *sync.Cond
	sent     []byte    // not read yet
	arrived  int       // of them
	last     time.Time // when the last of them arrives
	closing  bool      // by the writer
	over     bool      // closed, and that has arrived
	err      error     // of all reads and writes
	deadline time.Time // of reads
	timer    *time.Timer
	writable time.Time // deadline of writes
}

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.err != nil:
			return 0, h.err
		case passed(h.deadline):
			return 0, os.ErrDeadlineExceeded
		case h.arrived > 0 || len(p) == 0:
			n := copy(p, h.sent[:h.arrived])
			h.sent, h.arrived = h.sent[n:], h.arrived-n
			return n, nil
		case h.over:
			return 0, io.EOF
		}
		h.changed.Wait()
	}
}

func (h *half) write(p []byte, delay time.Duration) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.err != nil:
		return 0, h.err
	case h.closing:
		return 0, net.ErrClosed
	case passed(h.writable):
		return 0, os.ErrDeadlineExceeded
	}
	h.sent = append(h.sent, p...)
	h.later(delay, func() { h.arrived += len(p) })
	return len(p), nil
}

// later changes the half after a delay, and after all earlier changes. The lock is held.
func (h *half) later(delay time.Duration, change func()) {
	if at := time.Now().Add(delay); at.After(h.last) {
		h.last = at
	}
	time.AfterFunc(time.Until(h.last), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.err == nil {
			change()
		}
		h.changed.Broadcast()
	})
}

// close is the end of what is written.
func (h *half) close(delay time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closing && h.err == nil {
		h.closing = true
		h.later(delay, func() { h.over = true })
	}
}

// end makes all reads and writes fail.
func (h *half) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
	}
	if h.timer != nil {
		h.timer.Stop()
	}
	h.changed.Broadcast()
}

func (h *half) readUntil(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deadline = at
	if h.timer != nil {
		h.timer.Stop()
	}
	if !at.IsZero() && h.err == nil {
		h.timer = time.AfterFunc(until(at), func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.changed.Broadcast()
		})
	}
}

func (h *half) writeUntil(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writable = at
}

// until returns how long it is until a time that a node has computed.
func until(at time.Time) time.Duration { return at.Sub(new(clock).now()) }

// passed reports whether a deadline has come.
func passed(deadline time.Time) bool { return !deadline.IsZero() && until(deadline) <= 0 }
