package stream

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/arena"
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

// Timing holds the durations of all clients.
type Timing struct {
	Ping    time.Duration // between pings of a socket
	Comment time.Duration // between comments on an event stream
	Pong    time.Duration // in which a peer must answer a ping
	Grace   time.Duration // for the close frames of both sides
}

// DefaultTiming returns the durations of a server.
func DefaultTiming() Timing {
	return Timing{Ping: 20 * time.Second, Comment: 15 * time.Second, Pong: 10 * time.Second, Grace: 2 * time.Second}
}

const defaultMaxClients = 20_000

// ClientsOptions describe the clients of a node.
type ClientsOptions struct {
	Max    int              // open at once; 0: 20,000
	Now    func() time.Time // must run with the wall clock: socket deadlines use it
	Timing Timing           // zero: DefaultTiming
}

// Clients are the open sockets and event streams of a node.
type Clients struct {
	o ClientsOptions

	// ctx outlives the requests that opened the clients. It ends after Close,
	// when no client is left or the grace period is over.
	ctx     context.Context
	cancel  context.CancelFunc
	closing chan struct{}
	gone    chan struct{}

	mu     sync.Mutex
	open   map[*Client]struct{}
	closed bool
	wg     sync.WaitGroup // clients, and goroutines started by Go

	counts [kinds]atomic.Int64 // open clients

	closesMu sync.Mutex
	closes   map[int]uint64
}

// NewClients returns an empty set of clients.
func NewClients(o ClientsOptions) (*Clients, error) {
	if o.Now == nil || o.Max < 0 {
		return nil, errors.New("stream: clients need a clock and a limit of 0 or more")
	}
	if o.Max == 0 {
		o.Max = defaultMaxClients
	}
	if o.Timing == (Timing{}) {
		o.Timing = DefaultTiming()
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Clients{
		o: o, ctx: ctx, cancel: cancel, closing: make(chan struct{}), gone: make(chan struct{}),
		open: map[*Client]struct{}{}, closes: map[int]uint64{},
	}, nil
}

// Context returns the context of what clients do on this node. It ends with
// the last client after Close, or at the end of the grace period.
func (cs *Clients) Context() context.Context { return cs.ctx }

// Closing returns a channel that Close closes.
func (cs *Clients) Closing() <-chan struct{} { return cs.closing }

// Admit adds a client. Dismiss must follow. It returns CodeUnavailable when the
// limit is reached or the server stops.
func (cs *Clients) Admit(c *Client) error {
	c.pinged = cs.o.Now()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		return arena.Errorf(arena.CodeUnavailable, "the server is restarting")
	}
	if len(cs.open) >= cs.o.Max {
		return arena.Errorf(arena.CodeUnavailable, "all %d streams of the server are in use", cs.o.Max)
	}
	cs.open[c] = struct{}{}
	cs.wg.Add(1)
	cs.counts[c.kind].Add(1)
	return nil
}

// Dismiss removes a client and frees its slot.
func (cs *Clients) Dismiss(c *Client) {
	cs.mu.Lock()
	delete(cs.open, c)
	cs.mu.Unlock()
	c.Release()
	cs.counts[c.kind].Add(-1)
	cs.wg.Done()
}

// Go runs f in a goroutine for which Close waits, and reports whether it did:
// not after Close.
func (cs *Clients) Go(f func()) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		return false
	}
	cs.wg.Go(f)
	return true
}

// Check ends the clients that have expired or are silent, and requests pings.
func (cs *Clients) Check(now time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		c.check(now, &cs.o.Timing)
	}
}

// Close ends all clients and admits no more. It returns a channel that is
// closed when no client is left. It may be called more than once.
func (cs *Clients) Close() (gone <-chan struct{}) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		c.End(Restarting())
	}
	if cs.closed {
		return cs.gone
	}
	cs.closed = true
	close(cs.closing)
	// Events that were read from a socket are still appended, but a storage
	// that hangs must not stop the server from closing.
	hang := time.AfterFunc(cs.o.Timing.Grace, cs.cancel)
	go func() {
		cs.wg.Wait()
		hang.Stop()
		cs.cancel()
		close(cs.gone)
	}()
	return cs.gone
}

// CountClose counts a closed client.
func (cs *Clients) CountClose(code int) {
	cs.closesMu.Lock()
	defer cs.closesMu.Unlock()
	// A peer may send any code: the map must not grow with them.
	if code >= 3000 && code < CloseBadRequest || code > CloseTooMany {
		code = CloseLost
	}
	cs.closes[code]++
}

// Open returns the number of open clients by the name of their kind.
func (cs *Clients) Open() map[string]int {
	open := make(map[string]int, kinds)
	for k := range kinds {
		open[k.String()] = int(cs.counts[k].Load())
	}
	return open
}

// Closes returns the number of closed clients by close code.
func (cs *Clients) Closes() map[int]uint64 {
	cs.closesMu.Lock()
	defer cs.closesMu.Unlock()
	return maps.Clone(cs.closes)
}
