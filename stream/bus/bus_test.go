package bus_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/stream/bus"
	"github.com/agora-arena/arena/stream/bus/redistest"
)

// The pool of go-redis tries to dial once per second, and looks only then
// whether it was closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// open joins a node to the Redis at url.
func open(t *testing.T, node, url string, now ...func() time.Time) *bus.Bus {
	t.Helper()
	clock := time.Now
	if len(now) > 0 {
		clock = now[0]
	}
	b, err := bus.Open(url, bus.Options{Node: node, Now: clock, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)).With("node", node)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b.Patient()
}

func start(t *testing.T, cluster bool) *redistest.Server {
	t.Helper()
	if cluster {
		return redistest.StartCluster(t)
	}
	return redistest.Start(t)
}

// listener records the calls of a subscription.
type listener struct {
	mu    sync.Mutex
	got   []string
	ups   int
	downs int
}

func listen(b *bus.Bus, topic string) *listener {
	l := &listener{}
	b.Subscribe(topic, func(p []byte) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.got = append(l.got, string(p))
	}, func(up bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if up {
			l.ups++
		} else {
			l.downs++
		}
	})
	return l
}

func (l *listener) seen() (messages, ups, downs int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.got), l.ups, l.downs
}

func (l *listener) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.got, text)
}

// linked waits until the subscription holds for the nth time.
func (l *listener) linked(t *testing.T, n int) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("link %d", n), func() bool { _, ups, _ := l.seen(); return ups >= n })
}

func TestBus_Publish(t *testing.T) {
	t.Parallel()
	for _, cluster := range []bool{false, true} {
		t.Run(fmt.Sprintf("cluster=%v", cluster), func(t *testing.T) {
			t.Parallel()
			s := start(t, cluster)
			a, b := open(t, "n_a", s.URL()), open(t, "n_b", s.URL())
			// More topics than shards, each with its own order.
			const topics, each = 100, 30
			var there []*listener
			for i := range topics {
				there = append(there, listen(b, fmt.Sprint("match:m_", i)))
			}
			here, other := listen(a, "match:m_0"), listen(b, "lobby")
			for _, l := range append(there, here, other) {
				l.linked(t, 1)
			}
			for i := range each {
				for k := range topics {
					a.Publish(fmt.Sprint("match:m_", k), []byte(fmt.Sprintf("%d\n%d", k, i)))
				}
			}
			for k, l := range there {
				testwait.Until(t, "all messages", func() bool { n, _, _ := l.seen(); return n == each })
				for i, m := range l.got {
					if m != fmt.Sprintf("%d\n%d", k, i) {
						t.Fatalf("topic %d: message %d is %q", k, i, m)
					}
				}
			}
			for _, l := range []*listener{here, other} {
				if n, _, _ := l.seen(); n != 0 {
					t.Errorf("%d messages of the node's own, or of another topic", n)
				}
			}
			if st := b.Stats(); st.Cluster != cluster || !st.Up || st.Received < topics*each {
				t.Errorf("stats %+v", st)
			}
			// On a cluster no channel is sent to every server of it.
			plain, sharded := s.Do(t, "PUBSUB", "CHANNELS"), s.Do(t, "PUBSUB", "SHARDCHANNELS")
			if strings.Contains(plain, "match:") == cluster || strings.Contains(sharded, "match:") != cluster {
				t.Errorf("channels %q, shard channels %q", plain, sharded)
			}
			b.Unsubscribe("match:m_1")
			testwait.Until(t, "the channel to be left", func() bool {
				return !strings.Contains(s.Do(t, "PUBSUB", "CHANNELS")+s.Do(t, "PUBSUB", "SHARDCHANNELS"), "match:m_1\r")
			})
			a.Publish("match:m_1", []byte("late"))
			a.Publish("match:m_2", []byte("end"))
			testwait.Until(t, "the end", func() bool { return there[2].has("end") })
			if there[1].has("late") {
				t.Error("a message came after Unsubscribe")
			}
			if st := b.Stats(); st.Breaks != 0 {
				t.Errorf("%d connections broke", st.Breaks)
			}
		})
	}
}

// Whatever happens to the connections, subscribers are notified, and what is sent
// afterwards arrives. Threat C4.
func TestBus_Outage(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"client kill", "restart", "cut"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			p := redistest.NewProxy(t, s.Addr)
			a, b := open(t, "n_a", p.URL()), open(t, "n_b", p.URL())
			l := listen(b, "match:m_1")
			l.linked(t, 1)
			switch fault {
			case "client kill":
				s.Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
			case "restart":
				s.Kill(t)
				s.Restart(t)
			case "cut":
				p.Cut()
			}
			l.linked(t, 2)
			testwait.Until(t, "both nodes", func() bool {
				a.Publish("match:m_1", []byte("after"))
				return l.has("after") && a.Up() && b.Up()
			})
			if _, _, downs := l.seen(); downs == 0 {
				t.Error("no subscriber was notified that the connection was lost")
			}
		})
	}
}

// A connection that is open and silent is given up.
func TestBus_Stall(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr)
	b := open(t, "n_b", p.URL())
	l := listen(b, "match:m_1")
	l.linked(t, 1)
	p.Stall()
	testwait.Until(t, "the silence to be noticed", func() bool { _, _, downs := l.seen(); return downs == 1 && !b.Up() })
	if _, _, err := b.Take(t.Context(), "k", 1, time.Minute); !errors.Is(err, bus.ErrAway) {
		t.Errorf("take: %v, want ErrAway", err)
	}
	p.Resume()
	l.linked(t, 2)
}

// The sender alone is cut off: those who listen would never know.
func TestBus_Sender_reports_losses(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr)
	a, b := open(t, "n_a", p.URL()), open(t, "n_b", s.URL())
	l, calm := listen(b, "match:m_1"), listen(b, "match:m_2")
	l.linked(t, 1)
	calm.linked(t, 1)
	testwait.Until(t, "the sender", a.Up)
	p.Refuse()
	p.Cut()
	testwait.Until(t, "a loss", func() bool { // of one more than the node's own request for the counts of viewers
		a.Publish("match:m_1", []byte("lost"))
		return a.Stats().Lost > 1
	})
	p.Resume()
	l.linked(t, 2)
	if _, ups, downs := calm.seen(); ups != 1 || downs != 0 {
		t.Errorf("another topic was notified %d and %d times", ups, downs)
	}
	if _, _, downs := l.seen(); downs != 0 {
		t.Error("the subscriber's own connection broke")
	}
}

// No caller waits for a Redis that hangs, memory is bounded, and afterwards every
// topic is notified. Threat C4.
func TestBus_Frozen_server(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := open(t, "n_a", s.URL()), open(t, "n_b", s.URL())
	l := listen(b, "match:m_1")
	l.linked(t, 1)
	testwait.Until(t, "the sender", a.Up)
	s.Freeze(t)
	payload := make([]byte, 1000)
	for range 50_000 { // far over what the queue and the socket take
		a.Publish("match:m_1", payload)
		a.Wake()
	}
	if lost := a.Stats().Lost; lost == 0 {
		t.Error("nothing was lost, so everything was kept")
	}
	s.Thaw(t)
	l.linked(t, 2)
	testwait.Until(t, "the next message", func() bool {
		a.Publish("match:m_1", []byte("after"))
		return l.has("after")
	})
}

func TestBus_Wake(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := open(t, "n_a", s.URL()), open(t, "n_b", s.URL())
	testwait.Until(t, "both nodes", func() bool { return a.Up() && b.Up() })
	<-a.Woken() // the connection is new: a call may have been missed
	<-b.Woken()
	for range 3 {
		a.Wake()
		<-b.Woken()
	}
	if len(a.Woken()) != 0 {
		t.Error("the node woke itself")
	}
}

func TestBus_Viewers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var skew atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
	p := redistest.NewProxy(t, s.Addr)
	a, b, c := open(t, "n_a", s.URL(), clock), open(t, "n_b", s.URL(), clock), open(t, "n_c", p.URL(), clock)
	testwait.Until(t, "all nodes", func() bool { return a.Up() && b.Up() && c.Up() })
	is := func(m1, m2 int) {
		t.Helper()
		testwait.Until(t, fmt.Sprintf("%d and %d viewers", m1, m2), func() bool { return a.Viewers("m_1") == m1 && a.Viewers("m_2") == m2 })
	}
	a.Announce(map[string]int{"m_1": 100}) // its own are not among the others'
	b.Announce(map[string]int{"m_1": 3, "m_2": 1})
	c.Announce(map[string]int{"m_1": 4})
	is(7, 1)
	b.Announce(map[string]int{"m_1": 2})
	is(6, 0)
	// A node that comes later receives all at once.
	d := open(t, "n_d", s.URL(), clock)
	testwait.Until(t, "the late node", func() bool {
		a.Announce(map[string]int{"m_1": 100})
		b.Announce(map[string]int{"m_1": 2})
		c.Announce(map[string]int{"m_1": 4})
		return d.Viewers("m_1") == 106
	})
	if err := b.Close(); err != nil { // it says goodbye
		t.Fatal(err)
	}
	is(4, 0)
	// This one does not.
	p.Refuse()
	p.Cut()
	testwait.Until(t, "the break", func() bool { return !c.Up() })
	if c.Viewers("m_1") != 0 {
		t.Error("a node that receives nothing still counts the others")
	}
	skew.Store(int64(time.Minute))
	a.Announce(map[string]int{"m_1": 100})
	is(0, 0)
}

func TestBus_Take(t *testing.T) {
	t.Parallel()
	for _, cluster := range []bool{false, true} {
		t.Run(fmt.Sprintf("cluster=%v", cluster), func(t *testing.T) {
			t.Parallel()
			s := start(t, cluster)
			a, b := open(t, "n_a", s.URL()), open(t, "n_b", s.URL())
			testwait.Until(t, "both nodes", func() bool { return a.Up() && b.Up() })
			take := func(b *bus.Bus, key string) (time.Duration, bool) {
				t.Helper()
				wait, ok, err := b.Take(t.Context(), key, 4, time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				return wait, ok
			}
			for i := range 4 {
				if _, ok := take([]*bus.Bus{a, b}[i%2], "x"); !ok {
					t.Fatalf("take %d was refused", i+1)
				}
			}
			for _, b := range []*bus.Bus{a, b} {
				if wait, ok := take(b, "x"); ok || wait < 14*time.Minute || wait > 15*time.Minute {
					t.Errorf("the fifth: %v, wait %v; want to wait the quarter of an hour in which one comes back", ok, wait)
				}
			}
			if _, ok := take(a, "y"); !ok {
				t.Error("another key was refused")
			}
			if ttl := s.Do(t, "PTTL", "arena:0:limit:x"); len(ttl) != len(":3600000") || ttl[1] != '3' {
				t.Errorf("the key lives %s ms, want an hour", ttl)
			}
			s.Do(t, "FLUSHALL")
			if _, ok := take(a, "x"); !ok {
				t.Error("refused after FLUSHALL")
			}
			s.Kill(t)
			testwait.Until(t, "an error", func() bool {
				_, _, err := a.Take(t.Context(), "x", 4, time.Hour)
				return errors.Is(err, bus.ErrAway)
			})
		})
	}
}

// A token comes back.
func TestBus_Take_refills(t *testing.T) {
	t.Parallel()
	b := open(t, "n_a", redistest.Start(t).URL())
	testwait.Until(t, "the node", b.Up)
	testwait.Until(t, "three takes of a limit of one in a millisecond", func() func() bool {
		taken := 0
		return func() bool {
			if _, ok, err := b.Take(t.Context(), "x", 1, time.Millisecond); err == nil && ok {
				taken++
			}
			return taken == 3
		}
	}())
}

// What others write into the channels does no harm.
func TestBus_Malformed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := open(t, "n_a", s.URL()+"/3"), open(t, "n_b", s.URL()+"/3")
	elsewhere := open(t, "n_c", s.URL()+"/4") // another arena on the same server
	l, other := listen(b, "lobby"), listen(elsewhere, "lobby")
	l.linked(t, 1)
	other.linked(t, 1)
	for _, text := range []string{"", "x", "\n", "mn_x\n", "mn_x ?\n", "?n_x 1\npayload", "mn_x 99999999999999999999\np"} {
		s.Do(t, "PUBLISH", "arena:3:lobby", text)
		s.Do(t, "PUBLISH", "arena:3:node:viewers", text)
	}
	s.Do(t, "PUBLISH", "arena:3:node:viewers", "mn_x 2\nall\nm_1 -5\nm_2 x\n\nm_3 7\n")
	a.Publish("lobby", []byte("good"))
	testwait.Until(t, "the good one", func() bool { return l.has("good") })
	if n, _, _ := l.seen(); n != 1 || b.Stats().Malformed == 0 {
		t.Errorf("%d messages, stats %+v", n, b.Stats())
	}
	testwait.Until(t, "the good count", func() bool { return b.Viewers("m_3") == 7 })
	if n, _, _ := other.seen(); n != 0 {
		t.Error("a message of another database's arena came through")
	}
}

// What a client of Redis sends again after a connection broke is not shown
// twice.
func TestBus_Sent_twice(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b := open(t, "n_b", s.URL())
	l := listen(b, "lobby")
	l.linked(t, 1)
	for _, text := range []string{"mn_x 1\none", "mn_x 2\ntwo", "mn_x 1\none", "mn_x 2\ntwo", "mn_y 1\nother", "mn_x 11\nlast"} {
		s.Do(t, "PUBLISH", "arena:0:lobby", text)
	}
	testwait.Until(t, "the last", func() bool { return l.has("last") })
	if want := []string{"one", "two", "other", "last"}; !slices.Equal(l.got, want) {
		t.Errorf("got %q, want %q", l.got, want)
	}
}

// A node starts, works alone and stops without Redis; it joins when there is one.
func TestBus_Late_server(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Kill(t)
	b := open(t, "n_a", s.URL())
	l := listen(b, "lobby")
	b.Publish("lobby", []byte("x"))
	b.Wake()
	b.Announce(map[string]int{"m_1": 1})
	if _, _, err := b.Take(t.Context(), "k", 1, time.Minute); !errors.Is(err, bus.ErrAway) {
		t.Errorf("take: %v, want ErrAway", err)
	}
	if b.Up() || b.Viewers("m_1") != 0 {
		t.Error("a bus without Redis is up")
	}
	alone := open(t, "n_b", s.URL())
	if err := errors.Join(alone.Close(), alone.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	s.Restart(t)
	l.linked(t, 1)
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for url, bad := range map[string]string{
		"redis://localhost":                 "",
		"redis://:pass%20word@h:1/2":        "",
		"rediss://user:pw@h":                "",
		"redis://h?pool_size=5":             "",
		"redis://h1:1,h2:2,h3":              "",
		"redis://u:p@h1,h2?read_timeout=2s": "",
		"redis://h1:1?addr=h2:2":            "",
		"redis://[::1]:1,[::2]":             "",
		"":                                  "form",
		"http://h":                          "form",
		"redis://":                          "no host",
		"redis://u:secret@":                 "no host",
		"redis://u:sec ret@h":               "percent",
		"redis://u:secret@h/x":              "database",
		"redis://u:secret@h1,h2/1":          "database",
		"redis://u:secret@h1,,h2":           "addr",
		"redis://h?nonsense=1":              "nonsense",
		"redis://h?read_timeout=secretly":   "read_timeout",
		"redis://u:secret@h#x":              "#",
		"redis://h/1/2":                     "database",
		"redis://u:secret@h:port":           "percent",
	} {
		err := bus.CheckURL(url)
		switch {
		case bad == "" && err != nil:
			t.Errorf("%s: %v", url, err)
		case bad != "" && (err == nil || !strings.Contains(err.Error(), bad) || strings.Contains(err.Error(), "secret@")):
			t.Errorf("%s: %v, want something about %q", url, err, bad)
		}
	}
}
