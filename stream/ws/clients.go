package ws

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
)

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

// Options describe the clients of a node.
type Options struct {
	Max    int              // open at once; 0: 20,000
	Now    func() time.Time // must run with the wall clock: socket deadlines use it
	Timing Timing           // zero: DefaultTiming
}

// Clients are the open sockets and event streams of a node.
type Clients struct {
	o Options

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
func NewClients(o Options) *Clients {
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
	}
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
