package stream

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// kind is what a client is, for counting.
type kind uint8

const (
	kindSpectator kind = iota // WebSocket
	kindSSE
	kindAgent
	kinds
)

// String returns the name in Stats.
func (k kind) String() string {
	switch k {
	case kindSpectator:
		return "spectator"
	case kindSSE:
		return "sse"
	default:
		return "agent"
	}
}

// ending is why a client is let go.
type ending struct {
	code   int // close code
	reason string
}

// client is what every open socket and event stream has: a way to be woken
// and a way to be ended.
type client struct {
	kind      kind
	pingEvery time.Duration
	release   func() // gives its address slot back, may be nil

	notify  func()                 // asks for a worker; nil: a goroutine of its own waits for wake
	wake    chan struct{}          // nil: call
	ended   atomic.Pointer[ending] // the first reason wins
	ping    atomic.Bool            // a ping is due
	waiting atomic.Bool            // for a pong
	expires atomic.Int64           // unix milliseconds after which it ends with 4401; 0 never
	pinged  time.Time              // last ping; the sweep alone uses it
}

func newClient(k kind, pingEvery time.Duration, release func()) client {
	return client{kind: k, pingEvery: pingEvery, release: release, wake: make(chan struct{}, 1)}
}

// wakeUp has somebody look after the client, now or when it next waits.
func (c *client) wakeUp() {
	if c.notify != nil {
		c.notify()
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end closes the client. Only the first call counts.
func (c *client) end(code int, reason string) {
	if c.ended.CompareAndSwap(nil, &ending{code, reason}) {
		c.wakeUp()
	}
}

// expired reports whether the client's time is over at now.
func (c *client) expired(now time.Time) bool {
	at := c.expires.Load()
	return at != 0 && now.UnixMilli() >= at
}

// check ends a client whose time is over or whose peer is silent, and asks
// for a ping when one is due (threats E8, E10).
func (c *client) check(now time.Time, pongWithin time.Duration) {
	switch silent := now.Sub(c.pinged); {
	case c.expired(now):
		c.end(CloseToken, "no valid token any more")
	case c.waiting.Load() && silent >= pongWithin:
		c.end(CloseSlow, "no pong; come back with since")
	case silent >= c.pingEvery:
		c.pinged = now
		c.waiting.Store(c.kind != kindSSE)
		c.ping.Store(true)
		c.wakeUp()
	}
}

// pongReceived makes the library's callback.
func pongReceived(pong func()) func(context.Context, []byte) {
	return func(context.Context, []byte) { pong() }
}

// finish sends a close frame on a WebSocket and closes it. reading must end when the
// connection does; finish returns after that.
func (c *client) finish(ws *websocket.Conn, w *wire, reading <-chan struct{}, e ending, grace time.Duration) {
	if e.code != closeLost {
		w.close(e.code, e.reason, grace)
		// The peer's own close frame ends the reading. Closing before it came
		// could make the kernel throw ours away.
		t := time.NewTimer(grace)
		select {
		case <-reading:
		case <-t.C:
		}
		t.Stop()
	}
	_ = ws.CloseNow()
	<-reading
}

// lostBy turns the error that ended the reading into an ending. A peer that
// said goodbye is counted by its own code.
func lostBy(err error) ending {
	if code := websocket.CloseStatus(err); code > 0 && code != websocket.StatusNoStatusRcvd {
		return ending{code: int(code)}
	}
	return ending{code: closeLost}
}
