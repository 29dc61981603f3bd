package ws

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Kind is the kind of a client in statistics.
type Kind uint8

// The kinds of clients.
const (
	KindSpectator   Kind = iota // a WebSocket
	KindEventStream             // server-sent events
	KindAgent                   // a WebSocket
	kinds
)

// String returns the name in metrics.
func (k Kind) String() string {
	switch k {
	case KindSpectator:
		return "spectator"
	case KindEventStream:
		return "sse"
	default:
		return "agent"
	}
}

// Ending is why a client is closed.
type Ending struct {
	Code   int // close code
	Reason string
}

// Client is an open socket or event stream. It can be woken and ended.
type Client struct {
	kind    Kind
	release func() // frees its slot, may be called more than once; may be nil
	notify  func() // called by Wake; nil: a goroutine waits for Woken
	woken   chan struct{}

	ended   atomic.Pointer[Ending] // the first one counts
	ping    atomic.Bool            // a ping is due
	waiting atomic.Bool            // for a pong
	expires atomic.Int64           // Unix milliseconds; 0: never
	pinged  time.Time              // only Clients.Check uses it
}

// NewClient returns a client. release frees its slot; it must allow more than
// one call, and may be nil. Wake calls notify; if notify is nil, a goroutine of
// the client receives from Woken.
func NewClient(kind Kind, release, notify func()) *Client {
	c := &Client{kind: kind, release: release, notify: notify}
	if notify == nil {
		c.woken = make(chan struct{}, 1)
	}
	return c
}

// Wake makes the client's writer look at it, now or when it next waits.
func (c *Client) Wake() {
	if c.notify != nil {
		c.notify()
		return
	}
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// Woken returns the channel on which Wake sends.
func (c *Client) Woken() <-chan struct{} { return c.woken }

// End closes the client. Only the first call counts.
func (c *Client) End(e Ending) {
	if c.ended.CompareAndSwap(nil, &e) {
		c.Wake()
	}
}

// Ended returns why the client is closed, nil while it is open.
func (c *Client) Ended() *Ending { return c.ended.Load() }

// Release frees the slot of the client early. Clients.Dismiss frees it otherwise.
func (c *Client) Release() {
	if c.release != nil {
		c.release()
	}
}

// PingDue reports whether a ping must be sent. It returns true once for each.
func (c *Client) PingDue() bool { return c.ping.Swap(false) }

// SetExpiry sets the time after which the client is closed with CloseToken.
func (c *Client) SetExpiry(at time.Time) { c.expires.Store(at.UnixMilli()) }

// ExtendExpiry moves the expiry to a later time.
func (c *Client) ExtendExpiry(at time.Time) { c.expires.Store(max(c.expires.Load(), at.UnixMilli())) }

// Expired reports whether the client has expired at now.
func (c *Client) Expired(now time.Time) bool {
	at := c.expires.Load()
	return at != 0 && now.UnixMilli() >= at
}

// check ends a client that has expired or whose peer is silent, and requests a
// ping when one is due (threats E8, E10).
func (c *Client) check(now time.Time, t *Timing) {
	every := t.Ping
	if c.kind == KindEventStream {
		every = t.Comment
	}
	switch silent := now.Sub(c.pinged); {
	case c.Expired(now):
		c.End(NoToken())
	case c.waiting.Load() && silent >= t.Pong:
		c.End(Ending{CloseSlow, "no pong; reconnect with since"})
	case silent >= every:
		c.pinged = now
		c.waiting.Store(c.kind != KindEventStream)
		c.ping.Store(true)
		c.Wake()
	}
}

// NoToken returns the ending of a client without a valid token.
func NoToken() Ending { return Ending{CloseToken, "no valid token"} }

// Restarting returns the ending of all clients when the server stops.
func Restarting() Ending { return Ending{CloseRestart, "the server is restarting; reconnect"} }

// EndOfReading returns the ending that an error of Conn.Next stands for. A peer
// that sent a close frame is counted by its own code.
func EndOfReading(err error) Ending {
	if code := websocket.CloseStatus(err); code > 0 && code != websocket.StatusNoStatusRcvd {
		return Ending{Code: int(code)}
	}
	return Ending{Code: CloseLost}
}

// EndOfWriting returns the ending that an error of a write stands for.
func EndOfWriting(err error) Ending {
	if errors.Is(err, ErrSlow) {
		return Ending{CloseSlow, "too slow; reconnect with since"}
	}
	return Ending{Code: CloseLost}
}
