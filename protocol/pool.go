package protocol

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	// idleTime is how long a connection is kept for the next request.
	idleTime = 30 * time.Second
	// maxIdle is how many are kept at a time, to whomever they lead.
	maxIdle = 500
)

// pool keeps the connections of a Client. None has a goroutine: the caller
// writes and reads itself, and one that lies idle is looked at when it is
// taken again. Thousands of requests wait for slow agents.
type pool struct {
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	tls      *tls.Config
	tlsLimit time.Duration // of a handshake
	perHost  int           // connections to one host and port
	once     bool          // a connection carries one request

	warming sync.WaitGroup
	life    context.Context //nolint:containedctx // of the dials of warm, which outlive their callers
	stop    context.CancelFunc

	mu    sync.Mutex
	idle  int
	hosts map[target]*slots
}

// target is what a connection leads to.
type target struct {
	secure     bool
	host, port string // the host is ASCII, an IPv6 address without brackets
}

// slots are the connections to one target, at most perHost.
type slots struct {
	open    int // made or being made
	warming int // of them being made for the next caller
	idle    []*conn
	waiting []chan *conn // callers that need one, in order of arrival; nil lets them make one
}

func newPool(p *pool) *pool {
	p.hosts = map[target]*slots{}
	p.life, p.stop = context.WithCancel(context.Background())
	return p
}

func targetOf(u *url.URL) (target, error) {
	t := target{secure: u.Scheme == "https", host: u.Hostname(), port: u.Port()}
	if u.Scheme != "http" && !t.secure || t.host == "" {
		return target{}, fmt.Errorf("%w: not an http URL", ErrBlocked)
	}
	if strings.ContainsFunc(t.host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		ascii, err := idna.Lookup.ToASCII(t.host)
		if err != nil {
			return target{}, fmt.Errorf("%w: not a host name", ErrBlocked)
		}
		t.host = ascii
	}
	if t.port == "" {
		t.port = "80"
		if t.secure {
			t.port = "443"
		}
	}
	return t, nil
}

var (
	errSetup     = errors.New("no connection in time")
	errHandshake = errors.New("tls handshake")
)

// get returns a connection for the caller alone. It returns when ctx ends, or
// with errSetup after the time limit. The connection goes back with put or
// drop.
func (p *pool) get(ctx context.Context, t target, limit time.Duration) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c, ready := p.acquire(t)
	if c != nil && c.quiet() {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	if ready != nil {
		if c, err = p.await(ctx, t, ready); err != nil {
			return nil, err
		}
		if c != nil && c.quiet() {
			return c, nil
		}
	}
	if c != nil { // a new connection takes its slot
		_ = c.Close()
	}
	if c, err = p.open(ctx, t); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", errSetup, err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free(t, nil)
	}
	return c, err
}

// take returns an idle connection, or nil. It does not wait.
func (p *pool) take(t target) *conn {
	p.mu.Lock()
	l := p.hosts[t]
	if l == nil || len(l.idle) == 0 {
		p.mu.Unlock()
		return nil
	}
	c := l.idle[len(l.idle)-1]
	p.unshelve(l, len(l.idle)-1)
	p.mu.Unlock()
	if !c.quiet() {
		p.drop(c)
		return nil
	}
	return c
}

// acquire returns an idle connection, or a channel to wait on; with neither, the
// caller has a slot to make one.
func (p *pool) acquire(t target) (c *conn, ready chan *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.to(t)
	switch n := len(l.idle); {
	case n > 0:
		c = l.idle[n-1]
		p.unshelve(l, n-1)
	case l.open < p.perHost && l.warming <= len(l.waiting): // none is on its way
		l.open++
	default:
		ready = make(chan *conn, 1)
		l.waiting = append(l.waiting, ready)
	}
	return c, ready
}

// to returns the slots of a target. The lock is held.
func (p *pool) to(t target) *slots {
	l := p.hosts[t]
	if l == nil {
		l = &slots{}
		p.hosts[t] = l
	}
	return l
}

// warm reserves a slot for a connection that the next caller will use. The caller
// makes it with dial, which is nil if one is idle or every slot is in use.
func (p *pool) warm(t target) (dial func(ctx context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.to(t)
	for n := len(l.idle); n > 0; n = len(l.idle) {
		c := l.idle[n-1]
		if c.quiet() {
			return nil
		}
		p.unshelve(l, n-1)
		_ = c.Close()
		l.open--
	}
	if l.open >= p.perHost {
		return nil
	}
	l.open++
	l.warming++
	return func(ctx context.Context) {
		c, err := p.open(ctx, t)
		if err != nil {
			c = nil // the next caller dials again and gets the error
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		l.warming--
		p.free(t, c)
	}
}

// await returns what the channel receives: a connection, or nil if the caller may
// make one.
func (p *pool) await(ctx context.Context, t target, ready chan *conn) (*conn, error) {
	select {
	case c := <-ready:
		return c, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.hosts[t]; l != nil {
		if i := slices.Index(l.waiting, ready); i >= 0 {
			l.waiting = slices.Delete(l.waiting, i, i+1)
			return nil, errSetup
		}
	}
	p.free(t, <-ready) // it came in the same moment
	return nil, errSetup
}

// free releases a slot with its connection c, or without (nil). The lock is held.
func (p *pool) free(t target, c *conn) {
	l := p.hosts[t]
	switch {
	case len(l.waiting) > 0:
		l.waiting[0] <- c
		l.waiting = slices.Delete(l.waiting, 0, 1)
	case c != nil && p.idle < maxIdle:
		l.idle = append(l.idle, c)
		p.idle++
		c.expiry = time.AfterFunc(idleTime, func() { p.expire(c) })
	default:
		if c != nil {
			_ = c.Close()
		}
		if l.open--; l.open == 0 {
			delete(p.hosts, t)
		}
	}
}

// unshelve removes idle[i]. The lock is held.
func (p *pool) unshelve(l *slots, i int) {
	l.idle[i].expiry.Stop()
	l.idle = slices.Delete(l.idle, i, i+1)
	p.idle--
}

func (p *pool) expire(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.hosts[c.to]; l != nil {
		if i := slices.Index(l.idle, c); i >= 0 { // not taken in the same moment
			p.unshelve(l, i)
			_ = c.Close()
			p.free(c.to, nil)
		}
	}
}

// put returns a connection back whose reply was read to its end.
func (p *pool) put(c *conn) {
	if p.once {
		p.drop(c)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(c.to, c)
}

// drop returns a connection back that is of no more use.
func (p *pool) drop(c *conn) {
	_ = c.Close() // nothing was written that a failing Close could lose
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(c.to, nil)
}

// close closes what is idle.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for t, l := range p.hosts {
		for len(l.idle) > 0 {
			c := l.idle[0]
			p.unshelve(l, 0)
			_ = c.Close()
			p.free(t, nil)
		}
	}
}

func (p *pool) open(ctx context.Context, t target) (*conn, error) {
	raw, err := p.dial(ctx, "tcp", net.JoinHostPort(t.host, t.port))
	if err != nil {
		return nil, err
	}
	counted := standingIn(ctx) != proven
	if !t.secure {
		c := newConn(t, raw, raw)
		c.counted = counted
		return c, nil
	}
	config := p.tls.Clone()
	config.ServerName = t.host
	secure := tls.Client(raw, config)
	shaking, cancel := context.WithTimeout(ctx, p.tlsLimit)
	defer cancel()
	if err := secure.HandshakeContext(shaking); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("%w: %w", errHandshake, err)
	}
	c := newConn(t, secure, raw)
	c.counted = counted
	return c, nil
}
