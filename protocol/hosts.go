package protocol

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// The limits of requests to an address that may not have an agent, over all
// names and owners (threat N3). An address is an IP address
// with a port, as it was resolved for the connection.
const (
	addressBurst = 120
	addressEvery = time.Second
	// networkFresh is how long a reply shows that the arena's network works.
	networkFresh = 10 * time.Second
	// maxAddresses and maxSuspects bound what is remembered.
	maxAddresses = 10_000
	maxSuspects  = 20_000
)

var errBusy = errors.New("too many requests to this address, which do not reach an agent")

// standing is what is known of the endpoint of a request.
type standing int

const (
	proven   standing = iota // an agent sent its last reply or passed its last health check
	suspect                  // its last reply did not come from an agent
	unproven                 // it did not pass its last health check
)

// hosts counts the requests to endpoints that are not proven. One reply of an
// agent makes an endpoint proven.
type hosts struct {
	now    func() time.Time
	opened func(netip.Addr) bool // addresses that the operator opened: no third party

	mu        sync.Mutex
	addresses map[netip.AddrPort]bucket
	suspect   map[target]bool
}

// bucket holds the requests that an address may still get.
type bucket struct {
	left float64
	at   time.Time
}

// filled returns the bucket at a later time.
func (b bucket) filled(now time.Time) bucket {
	return bucket{left: min(addressBurst, b.left+now.Sub(b.at).Seconds()/addressEvery.Seconds()), at: now}
}

func newHosts(now func() time.Time, opened func(netip.Addr) bool) *hosts {
	return &hosts{now: now, opened: opened, addresses: map[netip.AddrPort]bucket{}, suspect: map[target]bool{}}
}

// standingOf returns the standing of a request.
func (h *hosts) standingOf(to target, isUnproven bool) standing {
	if isUnproven {
		return unproven
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.suspect[to] {
		return suspect
	}
	return proven
}

// take counts a request to an address and reports whether it may be sent.
func (h *hosts) take(s standing, to netip.AddrPort) bool {
	if s == proven || s == suspect && h.opened(to.Addr()) {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.filled(to)
	if b.left < 1 {
		return false
	}
	b.left--
	h.addresses[to] = b
	return true
}

// filled returns the bucket of an address now. The lock is held.
func (h *hosts) filled(to netip.AddrPort) bucket {
	now := h.now()
	b, ok := h.addresses[to]
	if !ok {
		if len(h.addresses) >= maxAddresses {
			h.forget(now)
		}
		return bucket{left: addressBurst, at: now}
	}
	return b.filled(now)
}

// forget drops the addresses whose buckets are full again, and others until one
// more fits. The lock is held.
func (h *hosts) forget(now time.Time) {
	for to, b := range h.addresses {
		if b.filled(now).left >= addressBurst {
			delete(h.addresses, to)
		}
	}
	for to := range h.addresses {
		if len(h.addresses) < maxAddresses {
			return
		}
		delete(h.addresses, to)
	}
}

// note records the end of a call.
func (h *hosts) note(c *Call) {
	switch c.x.Failure { //nolint:exhaustive // the others are the endpoint's
	case FailCancelled, FailBlocked, FailBusy:
		return
	}
	// A certificate for the name shows that the name belongs there.
	known := c.to.secure && c.x.Connected
	if known && c.standing == proven {
		return
	}
	reason, _ := Unreadable(c.x)
	// Some protocols accept a message and reply later.
	agent := reason == "" || c.x.Failure == "" && c.x.Status == http.StatusAccepted
	if agent && c.standing == proven {
		return
	}
	to := addressOf(net.JoinHostPort(c.to.host, c.to.port))
	if c.conn != nil {
		to = c.conn.addr
	}
	// While nothing replies, the fault may be the arena's own.
	ours := !c.x.Connected && c.c.now().Sub(c.c.LastReply()) > networkFresh
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case agent || known:
		delete(h.suspect, c.to)
	case ours:
	case len(h.suspect) < maxSuspects && !h.opened(to.Addr()):
		h.suspect[c.to] = true
	}
	if agent && c.standing != proven { // the request was welcome
		b := h.filled(to)
		b.left = min(addressBurst, b.left+1)
		h.addresses[to] = b
	}
}

// addressOf parses an IP address with a port. It returns the zero value for a
// name.
func addressOf(s string) netip.AddrPort {
	to, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
}

// standingKey is the key of the standing in the context of a dial.
type standingKey struct{}

// withStanding returns a context whose dials count as requests.
func withStanding(ctx context.Context, s standing) context.Context {
	if s == proven {
		return ctx
	}
	return context.WithValue(ctx, standingKey{}, s)
}

// standingIn returns the standing of the request that a dial is for.
func standingIn(ctx context.Context) standing {
	s, _ := ctx.Value(standingKey{}).(standing)
	return s
}
