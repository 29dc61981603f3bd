package health

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	// fresh is how long a reply shows that the network works.
	fresh = 2 * time.Second
	// checkGap is the least time between the starts of two checks.
	checkGap = 500 * time.Millisecond
	// targetLimit bounds the connection to one target.
	targetLimit = 5 * time.Second
	// leastSampled is how many owners a sample needs: fewer may fail by themselves.
	leastSampled = 3
	// mostSampled is how many endpoints one check calls.
	mostSampled = 8
	// sampleGap is the time between the calls of a check, so that a network that
	// works costs one or two.
	sampleGap = 250 * time.Millisecond
	// sampleTrust is how long a sample alone is believed. Agents that are all gone
	// for longer are paused as usual.
	sampleTrust = 10 * time.Minute
)

// NetworkOptions are the parts of a Network. Targets may be empty; everything
// else is needed.
type NetworkOptions struct {
	Targets []string // host:port; empty: a sample of healthy endpoints
	Dial    func(ctx context.Context, target string) error
	// Sample returns healthy agents with an endpoint, one of each owner, in random
	// order.
	Sample  func(ctx context.Context) ([]arena.Agent, error)
	Probers map[string]Prober // by protocol
	// LastReply returns when an endpoint on another machine last replied.
	LastReply func() time.Time
	Logger    *slog.Logger
	Now       func() time.Time // must carry a monotonic reading, as time.Now does
}

// Network finds out whether this node is cut off from the endpoints of agents.
// One reply from outside shows that it is not. It is safe for concurrent use.
type Network struct {
	o    NetworkOptions
	turn chan struct{} // holds one value while a check runs

	mu       sync.Mutex
	began    time.Time // the last check
	up, down time.Time // the ends of the last checks that did, and did not, get a reply
	since    time.Time // when the outage was found; zero: there is none
	expired  bool      // the sample has failed for longer than it is believed
	stats    NetworkStats
}

// NetworkStats are the figures of a Network.
type NetworkStats struct {
	CutOff         bool
	Passed, Failed int64 // checks
}

// NewNetwork makes a Network.
func NewNetwork(o NetworkOptions) *Network {
	return &Network{o: o, turn: make(chan struct{}, 1)}
}

// CutOff reports whether the node was cut off at some time since an attempt that
// failed began. Unless a fresh reply or a finished check shows it, CutOff calls
// the targets. A node that cannot know, because too few owners have healthy
// endpoints or ctx has ended, is not cut off.
func (n *Network) CutOff(ctx context.Context, since time.Time) bool {
	if cut, known := n.known(since); known {
		return cut
	}
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-n.turn }()
	if cut, known := n.known(since); known { // by the check that this call waited for
		return cut
	}
	n.mu.Lock()
	gap := checkGap - n.o.Now().Sub(n.began)
	n.mu.Unlock()
	return wait(ctx, gap) && n.check(ctx)
}

// Watch checks again after a check without a reply, so that the end of an outage is
// noticed when nothing fails any more.
func (n *Network) Watch(ctx context.Context) error {
	n.mu.Lock()
	waits := !n.since.IsZero() || n.expired
	n.mu.Unlock()
	if waits {
		n.CutOff(ctx, n.o.Now())
	}
	return nil
}

// Stats returns the current figures.
func (n *Network) Stats() NetworkStats {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.stats
	s.CutOff = !n.since.IsZero()
	return s
}

// known returns what is known about the time since an attempt began. Targets
// that the operator names are believed more than any agent.
func (n *Network) known(since time.Time) (cut, known bool) {
	after := since
	if t := n.o.Now().Add(-fresh); t.After(after) {
		after = t
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !n.down.Before(since) && !n.down.IsZero():
		return true, true
	case !n.up.IsZero() && !n.up.Before(after):
		return false, true
	case len(n.o.Targets) == 0 && n.o.LastReply().After(after):
		return false, true
	}
	return false, false
}

// check calls the targets and records the result.
func (n *Network) check(ctx context.Context) (cut bool) {
	n.mu.Lock()
	n.began = n.o.Now()
	n.mu.Unlock()
	calls := n.calls(ctx)
	reached := len(calls) == 0 || reach(ctx, calls)
	if ctx.Err() != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.o.Now()
	if reached {
		if len(calls) > 0 {
			n.stats.Passed++
		}
		if !n.since.IsZero() {
			n.o.Logger.Info("network is back", "after_ms", now.Sub(n.since).Milliseconds())
		}
		n.up, n.since, n.expired = now, time.Time{}, false
		return false
	}
	n.stats.Failed++
	switch {
	case n.expired:
	case n.since.IsZero():
		n.since = now
		n.o.Logger.Warn("network is cut off: health sweeps do not count, and rounds that it hits are void", "called", len(calls))
	case len(n.o.Targets) == 0 && now.Sub(n.since) > sampleTrust:
		n.since, n.expired = time.Time{}, true
		n.o.Logger.Warn("no healthy endpoint has replied for long: failures count again; ARENA_CANARY_TARGETS would detect a network outage", "called", len(calls))
	}
	if n.expired {
		n.up = now
		return false
	}
	n.down = now
	return true
}

// call calls one target and reports whether something replied.
type call func(ctx context.Context) bool

// calls returns the calls of a check, or none if it cannot be made.
func (n *Network) calls(ctx context.Context) []call {
	var calls []call
	for _, target := range n.o.Targets {
		calls = append(calls, func(ctx context.Context) bool {
			ctx, cancel := context.WithTimeout(ctx, targetLimit)
			defer cancel()
			return n.o.Dial(ctx, target) == nil
		})
	}
	if len(calls) > 0 {
		return calls
	}
	agents, err := n.o.Sample(ctx)
	if err != nil {
		n.o.Logger.Debug("no sample of endpoints", "error", err)
		return nil
	}
	for _, a := range n.choose(agents) {
		calls = append(calls, func(ctx context.Context) bool { return n.o.Probers[a.Protocol].Probe(ctx, a).OK })
	}
	if len(calls) < leastSampled {
		return nil
	}
	return calls
}

// choose returns agents of different servers, and those on other machines only
// if they are enough: a loopback address is never cut off.
func (n *Network) choose(agents []arena.Agent) []arena.Agent {
	servers := map[string]bool{}
	usable := slices.DeleteFunc(slices.Clone(agents), func(a arena.Agent) bool {
		server := cmp.Or(a.EndpointKey, a.Endpoint)
		_, probes := n.o.Probers[a.Protocol]
		skip := !probes || servers[server]
		servers[server] = true
		return skip
	})
	remote := slices.DeleteFunc(slices.Clone(usable), func(a arena.Agent) bool { return local(a.Endpoint) })
	if len(remote) >= leastSampled {
		usable = remote
	}
	return usable[:min(len(usable), mostSampled)]
}

// local reports whether an endpoint is on this machine.
func local(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && arena.IsLoopbackHost(u.Hostname())
}

// reach makes the calls one after the other, without waiting for the result of
// the one before, until something replies. It returns when all have ended.
func reach(ctx context.Context, calls []call) bool {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var calling sync.WaitGroup
	replied := make(chan struct{}, len(calls))
	for i, c := range calls {
		calling.Go(func() {
			if wait(ctx, time.Duration(i)*sampleGap) && c(ctx) {
				replied <- struct{}{}
				stop() // the others are not needed
			}
		})
	}
	calling.Wait()
	return len(replied) > 0
}
