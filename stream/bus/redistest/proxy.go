package redistest

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
)

// Proxy forwards TCP connections to an address. Tests can stall them, cut them,
// or refuse new ones.
type Proxy struct {
	Addr   string
	target string
	listen net.Listener
	wg     sync.WaitGroup

	mu     sync.Mutex
	open   chan struct{} // closed while bytes may pass
	refuse bool
	ended  bool
	conns  map[net.Conn]struct{}
}

// NewProxy starts a proxy to target for the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, listen: l, open: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	close(p.open)
	p.wg.Go(func() { p.accept(context.WithoutCancel(t.Context())) })
	t.Cleanup(func() {
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		_ = l.Close()
		p.Resume()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// URL returns the URL of a Redis behind the proxy.
func (p *Proxy) URL() string { return "redis://" + p.Addr }

// Stall holds all bytes back, in both directions, until Resume. Connections
// stay open and new ones are accepted.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default:
	}
}

// Resume is the end of Stall and of Refuse.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// Refuse closes new connections at once, until Resume.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept(ctx context.Context) {
	for {
		in, err := p.listen.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		var d net.Dialer
		out, err := d.DialContext(ctx, "tcp", p.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock() // in one step: Refuse and then Cut leave no connection
		refuse := p.refuse || p.ended
		if !refuse {
			p.conns[in], p.conns[out] = struct{}{}, struct{}{}
		}
		p.mu.Unlock()
		if refuse {
			_, _ = in.Close(), out.Close()
			continue
		}
		p.wg.Go(func() { p.pipe(in, out) })
		p.wg.Go(func() { p.pipe(out, in) })
	}
}

// pipe copies until one side ends, then closes both.
func (p *Proxy) pipe(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		<-open
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	p.mu.Lock()
	delete(p.conns, to)
	delete(p.conns, from)
	p.mu.Unlock()
}
