package pull

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// poll is one request for a task. Thousands wait at a time: one over HTTP that
// waits is a connection that was taken from the HTTP server, and one goroutine
// that reads from it. The deadline of that read is its timer and its alarm. A
// poll without a connection of its own waits in Server.hold for signal.
type poll struct {
	agentID string
	ownerID string
	caller  arena.Caller
	began   time.Time
	until   time.Time
	signal  chan struct{} // receives when the poll is woken or over

	mu    sync.Mutex
	conn  net.Conn // nil while it does not wait on one
	woken bool     // a task may be there
	over  bool     // it ends without one
}

// wake makes the poll look for a task; false: it does so already.
func (p *poll) wake() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.woken || p.over {
		return false
	}
	p.woken = true
	p.alarm()
	return true
}

// stop ends the poll without a task.
func (p *poll) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.alarm()
}

func (p *poll) alarm() {
	if p.conn != nil {
		_ = p.conn.SetReadDeadline(time.Unix(1, 0)) // reads fail at once; fails only on a closed connection, whose read fails too
		return
	}
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// attach sets the connection on which the poll waits.
func (p *poll) attach(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = c
}

// state is why a poll does not wait any longer.
type state int

const (
	lost  state = iota // the client has gone
	woken              // a task may be there
	over               // it ends without a task
)

// await waits on the connection until the poll is woken, over or lost. A
// client that sends something meanwhile breaks HTTP and counts as lost.
func (p *poll) await() state {
	p.mu.Lock()
	_ = p.conn.SetReadDeadline(p.until)
	if p.woken || p.over {
		p.alarm()
	}
	p.mu.Unlock()
	var one [1]byte
	_, err := p.conn.Read(one[:])
	p.mu.Lock()
	defer p.mu.Unlock()
	timeout, ok := err.(net.Error) //nolint:errorlint // of package net, which returns it unwrapped
	switch {
	case err == nil || !ok || !timeout.Timeout():
		return lost
	case p.over:
		return over
	case p.woken:
		p.woken = false
		return woken
	}
	return over
}

// awaitSignal waits without a connection until the poll is woken or over, ends
// receives, which ends it too, or ctx ends because the client has gone.
func (p *poll) awaitSignal(ctx context.Context, ends <-chan time.Time) state {
	for {
		p.mu.Lock()
		isOver, isWoken := p.over, p.woken
		p.woken = false
		p.mu.Unlock()
		switch {
		case isOver:
			return over
		case isWoken:
			return woken
		}
		select {
		case <-ctx.Done():
			return lost
		case <-ends:
			return over
		case <-p.signal:
		}
	}
}
