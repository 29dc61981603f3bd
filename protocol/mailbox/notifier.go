package mailbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bus carries keys to the other nodes. It may lose one and then
// calls link.
type Bus interface {
	Publish(topic string, payload []byte)
	Subscribe(topic string, message func(payload []byte), link func(up bool))
}

// SingleNode is the Bus of a node that has its database to itself: no other node
// notifies, so nothing is ever missed.
type SingleNode struct{}

// Publish does nothing.
func (SingleNode) Publish(string, []byte) {}

// Subscribe reports the link as up; no message ever comes.
func (SingleNode) Subscribe(_ string, _ func(payload []byte), link func(up bool)) { link(true) }

const topic = "mail"

// How often a waiter polls without a notification. While the bus works, only a node
// that was killed between its commit and its notification needs this.
const (
	tickAlone  = 250 * time.Millisecond
	tickLinked = 2 * time.Second
)

// Notifier wakes the waiters of a key, on this node and others. It is safe for
// concurrent use.
type Notifier struct {
	bus    Bus
	linked atomic.Bool

	mu       sync.Mutex
	waiters  map[string]map[chan struct{}]struct{}
	watchers []watcher
}

// watcher is a function that Watch has added.
type watcher struct {
	prefix string
	woken  func(rest string)
}

// NewNotifier returns a Notifier. Without a bus (nil) it wakes only the waiters of
// this node; waiters of other nodes poll 4 times a second.
func NewNotifier(bus Bus) *Notifier {
	b := &Notifier{bus: bus, waiters: map[string]map[chan struct{}]struct{}{}}
	if bus != nil {
		bus.Subscribe(topic, func(key []byte) { b.wake(string(key)) }, func(up bool) {
			b.linked.Store(up)
			if up {
				b.wakeAll() // something may have been missed
			}
		})
	}
	return b
}

// Notify wakes all waiters of the key. Call it after the commit of what they wait
// for.
func (b *Notifier) Notify(key string) {
	b.wake(key)
	if b.bus != nil {
		b.bus.Publish(topic, []byte(key))
	}
}

// Listen returns a channel that receives at least once after each Notify of the
// key from now on, until stop is called. To miss nothing, call it before looking;
// Await does that.
func (b *Notifier) Listen(key string) (notified <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters[key] == nil {
		b.waiters[key] = map[chan struct{}]struct{}{}
	}
	b.waiters[key][ch] = struct{}{}
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiters[key], ch)
		if len(b.waiters[key]) == 0 {
			delete(b.waiters, key)
		}
	}
}

// Await calls look until it finds something, each time that the key is notified and
// now and then. It returns nil when look found something or ctx ended, and
// look's error otherwise.
func (b *Notifier) Await(ctx context.Context, key string, look func(context.Context) (found bool, err error)) error {
	notified, stop := b.Listen(key)
	defer stop()
	var tick *time.Timer
	for {
		found, err := look(ctx)
		switch {
		case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return nil
		case err != nil:
			return fmt.Errorf("wait for %s: %w", key, err)
		case found:
			return nil
		}
		every := tickAlone
		if b.linked.Load() {
			every = tickLinked
		}
		if tick == nil {
			tick = time.NewTimer(every)
			defer tick.Stop()
		} else {
			tick.Reset(every)
		}
		select {
		case <-notified:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Watch calls woken for each Notify of a key that begins with prefix, on any
// node, with the rest of the key. woken must not block.
func (b *Notifier) Watch(prefix string, woken func(rest string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = append(b.watchers, watcher{prefix, woken})
}

// Linked reports whether notifications of other nodes arrive.
func (b *Notifier) Linked() bool { return b.linked.Load() }

func (b *Notifier) wake(key string) {
	b.mu.Lock()
	signal(b.waiters[key])
	watchers := b.watchers
	b.mu.Unlock()
	for _, w := range watchers {
		if rest, ok := strings.CutPrefix(key, w.prefix); ok {
			w.woken(rest)
		}
	}
}

func (b *Notifier) wakeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, waiters := range b.waiters {
		signal(waiters)
	}
}

func signal(waiters map[chan struct{}]struct{}) {
	for ch := range waiters {
		select {
		case ch <- struct{}{}:
		default: // it has not looked since the last signal
		}
	}
}
