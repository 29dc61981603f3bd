package health_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
)

// outside is what a Network calls: targets and endpoints, which reply while
// they are up.
type outside struct {
	mu        sync.Mutex
	up        map[string]bool
	called    []string
	agents    []arena.Agent
	sampleErr error
	lastReply time.Time
	takes     time.Duration // of a call
	log       strings.Builder
}

func (o *outside) reach(ctx context.Context, address string) bool {
	o.mu.Lock()
	o.called = append(o.called, address)
	up, takes := o.up[address], o.takes
	o.mu.Unlock()
	if !up {
		takes = 5 * time.Second
	}
	select {
	case <-time.After(takes):
		return up
	case <-ctx.Done():
		return false
	}
}

func (o *outside) Probe(ctx context.Context, a arena.Agent) arena.Health {
	return arena.Health{OK: o.reach(ctx, a.Endpoint)}
}

// set makes all addresses reply or not.
func (o *outside) set(up bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for a := range o.up {
		o.up[a] = up
	}
}

func (o *outside) calls() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.called)
}

func newNetwork(t *testing.T, o *outside, targets ...string) *health.Network {
	t.Helper()
	o.up = map[string]bool{}
	for _, target := range targets {
		o.up[target] = true
	}
	for _, a := range o.agents {
		o.up[a.Endpoint] = true
	}
	n := health.NewNetwork(health.NetworkOptions{
		Targets: targets,
		Dial: func(ctx context.Context, target string) error {
			if !o.reach(ctx, target) {
				return errors.New("no route to host")
			}
			return nil
		},
		Sample:    func(context.Context) ([]arena.Agent, error) { return o.agents, o.sampleErr },
		Probers:   map[string]health.Prober{"aap": o},
		LastReply: func() time.Time { return o.lastReply },
		Logger:    slog.New(slog.NewTextHandler(&o.log, nil)), Now: time.Now,
	})
	return n
}

// endpoints are healthy agents of different owners.
func endpoints(hosts ...string) []arena.Agent {
	var agents []arena.Agent
	for i, host := range hosts {
		agents = append(agents, arena.Agent{
			ID: fmt.Sprintf("ag_%d", i), OwnerID: fmt.Sprintf("ow_%d", i), Protocol: "aap", Endpoint: "http://" + host + "/", EndpointKey: host + ":80",
		})
	}
	return agents
}

func cutOff(t *testing.T, n *health.Network, since time.Time, want bool) {
	t.Helper()
	if got := n.CutOff(t.Context(), since); got != want {
		t.Errorf("cut off: %t, want %t", got, want)
	}
}

// Threat N1: one target that replies shows that the network works; when none
// does, all attempts that were running then are the arena's fault. The change
// is logged once.
func TestNetwork_targets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outside{lastReply: time.Now().Add(time.Hour)} // agents are not believed
		n := newNetwork(t, o, "one:443", "two:443")
		o.up["one:443"] = false
		cutOff(t, n, time.Now(), false)
		o.set(false)
		began := time.Now()
		for range 3 {
			time.Sleep(time.Second)
			cutOff(t, n, time.Now(), true)
		}
		if s := n.Stats(); !s.CutOff || s.Failed != 3 || s.Passed != 1 {
			t.Errorf("stats %+v", s)
		}
		time.Sleep(time.Minute)
		o.set(true)
		if err := n.Watch(t.Context()); err != nil || n.Stats().CutOff {
			t.Errorf("still cut off after the network is back: %v", err)
		}
		cutOff(t, n, began, true) // it was
		cutOff(t, n, time.Now(), false)
		calls := o.calls()
		if err := n.Watch(t.Context()); err != nil || o.calls() != calls {
			t.Errorf("a network that works was called %d times", o.calls()-calls)
		}
		for _, line := range []string{"network is cut off", "network is back"} {
			if got := strings.Count(o.log.String(), line); got != 1 {
				t.Errorf("%q is logged %d times:\n%s", line, got, o.log.String())
			}
		}
	})
}

// Targets are believed for as long as they do not reply.
func TestNetwork_targets_long(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outside{}
		n := newNetwork(t, o, "one:443")
		o.set(false)
		for range 30 {
			cutOff(t, n, time.Now(), true)
			time.Sleep(time.Minute)
		}
	})
}

// Threat N1: without targets, a sample of healthy endpoints of other owners
// decides. It calls few of them while the network works.
func TestNetwork_sample(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outside{agents: endpoints("a.example", "b.example", "c.example", "d.example"), takes: 100 * time.Millisecond}
		n := newNetwork(t, o)
		cutOff(t, n, time.Now(), false)
		if o.calls() != 1 {
			t.Errorf("%d endpoints were called: %v", o.calls(), o.called)
		}
		time.Sleep(time.Minute)
		o.set(false)
		cutOff(t, n, time.Now(), true)
		if o.calls() != 5 {
			t.Errorf("%d endpoints were called: %v", o.calls(), o.called)
		}
		time.Sleep(time.Minute)
		o.up["http://d.example/"] = true
		cutOff(t, n, time.Now(), false)
	})
}

// A sample is not believed for ever: when all agents are really gone, they are
// paused.
func TestNetwork_sample_long(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outside{agents: endpoints("a.example", "b.example", "c.example")}
		n := newNetwork(t, o)
		o.set(false)
		for range 10 {
			cutOff(t, n, time.Now(), true)
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Minute)
		for range 3 {
			cutOff(t, n, time.Now(), false)
			time.Sleep(time.Minute)
		}
		if n.Stats().CutOff {
			t.Error("the figures still say cut off")
		}
		o.set(true) // and gone again later: believed anew
		if err := n.Watch(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		o.set(false)
		cutOff(t, n, time.Now(), true)
	})
}

// A sample of too few owners, of one server or of this machine alone says
// nothing.
func TestNetwork_sample_choice(t *testing.T) {
	t.Parallel()
	shared := endpoints("a.example", "b.example", "c.example")
	for i := range shared {
		shared[i].EndpointKey = "platform.example:443"
	}
	foreign := endpoints("a.example", "b.example", "c.example")
	foreign[0].Protocol = "smtp"
	for name, c := range map[string]struct {
		agents []arena.Agent
		err    error
		called []string
		cut    bool
	}{
		"none":                     {},
		"two owners":               {agents: endpoints("a.example", "b.example")},
		"one server":               {agents: shared},
		"a protocol without probe": {agents: foreign},
		"storage is unavailable":   {agents: endpoints("a.example", "b.example", "c.example"), err: errors.New("away")},
		"loopback is left out": {
			agents: endpoints("127.0.0.1", "a.example", "localhost", "b.example", "c.example"), cut: true,
			called: []string{"http://a.example/", "http://b.example/", "http://c.example/"},
		},
		"a lab on loopback": {
			agents: endpoints("127.0.0.1", "127.0.0.2", "a.example"), cut: true,
			called: []string{"http://127.0.0.1/", "http://127.0.0.2/", "http://a.example/"},
		},
		"at most eight": {
			agents: endpoints("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"), cut: true,
			called: []string{"http://a/", "http://b/", "http://c/", "http://d/", "http://e/", "http://f/", "http://g/", "http://h/"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := &outside{agents: c.agents, sampleErr: c.err}
				n := newNetwork(t, o)
				o.set(false)
				cutOff(t, n, time.Now(), c.cut)
				if diff := cmp.Diff(c.called, o.called); diff != "" {
					t.Errorf("called (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A reply of an agent just now shows that the network works, unless the attempt
// began after it.
func TestNetwork_lastReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outside{agents: endpoints("a.example", "b.example", "c.example")}
		n := newNetwork(t, o)
		o.set(false)
		began := time.Now()
		time.Sleep(30 * time.Second)
		o.lastReply = time.Now().Add(-time.Second)
		cutOff(t, n, began, false)
		if o.calls() != 0 {
			t.Errorf("called %v", o.called)
		}
		cutOff(t, n, time.Now(), true)
	})
}

// Calls at the same time share a check, and checks have a gap between them.
func TestNetwork_shared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outside{takes: 10 * time.Millisecond}
		n := newNetwork(t, o, "one:443")
		var asking sync.WaitGroup
		for range 100 {
			asking.Go(func() { cutOff(t, n, time.Now(), false) })
		}
		asking.Wait()
		if o.calls() > 2 {
			t.Errorf("%d calls for failures at the same time", o.calls())
		}
		began := time.Now()
		for range 4 {
			time.Sleep(time.Millisecond)
			cutOff(t, n, time.Now(), false)
		}
		if took := time.Since(began); took < 1500*time.Millisecond {
			t.Errorf("four checks in %v", took)
		}
	})
}

func TestNetwork_ends_with_context(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outside{}
		n := newNetwork(t, o, "one:443")
		o.set(false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n.CutOff(ctx, time.Now()) || n.Stats().Failed != 0 {
			t.Errorf("a check that was not finished counts: %+v", n.Stats())
		}
	})
}

// Threat N1, with sockets: a listener that is closed cuts the arena off, another
// one of them does not.
func TestNetwork_listeners(t *testing.T) {
	t.Parallel()
	var listeners []net.Listener
	var targets []string
	for range 2 {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		listeners, targets = append(listeners, l), append(targets, l.Addr().String())
	}
	n := health.NewNetwork(health.NetworkOptions{
		Targets: targets, Probers: map[string]health.Prober{"aap": &outside{}}, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Sample:    func(context.Context) ([]arena.Agent, error) { return nil, nil },
		LastReply: func() time.Time { return time.Time{} },
		Dial: func(ctx context.Context, target string) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", target)
			if err == nil {
				err = conn.Close()
			}
			return err
		},
	})
	cutOff(t, n, time.Now(), false)
	for i, l := range listeners {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		cutOff(t, n, time.Now(), i == 1)
	}
}
