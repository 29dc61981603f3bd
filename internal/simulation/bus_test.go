package simulation

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/stream/bus"
)

// exchange connects the buses of all nodes.
type exchange struct {
	mu      sync.Mutex
	nodes   []*nodeBus
	viewers map[*nodeBus]map[string]int
	full    map[string]time.Time // when the bucket of a quota is full again
}

func newExchange() *exchange {
	return &exchange{viewers: map[*nodeBus]map[string]int{}, full: map[string]time.Time{}}
}

// nodeBus is the bus of one node: messages arrive in their order, one at a time.
type nodeBus struct {
	all   *exchange
	woken chan struct{}
	done  sync.WaitGroup

	mu       sync.Mutex
	changed  *sync.Cond
	queue    []func()
	readers  map[string][]reader
	off, cut bool
}

type reader struct {
	message func([]byte)
	link    func(bool)
}

// join adds a node.
func (x *exchange) join() *nodeBus {
	b := &nodeBus{all: x, woken: make(chan struct{}, 1), readers: map[string][]reader{}}
	b.changed = sync.NewCond(&b.mu)
	x.mu.Lock()
	x.nodes = append(x.nodes, b)
	x.mu.Unlock()
	b.done.Go(b.run)
	return b
}

// run hands out what has arrived.
func (b *nodeBus) run() {
	for {
		b.mu.Lock()
		for len(b.queue) == 0 && !b.off {
			b.changed.Wait()
		}
		queue := b.queue
		b.queue = nil
		b.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, do := range queue {
			do()
		}
	}
}

func (b *nodeBus) put(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.off {
		b.queue = append(b.queue, do)
		b.changed.Signal()
	}
}

// interrupt loses all messages from and to the node while cut is true.
func (b *nodeBus) interrupt(cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = cut
	for _, readers := range b.readers {
		for _, r := range readers {
			b.queue = append(b.queue, func() { r.link(!cut) })
		}
	}
	b.changed.Signal()
}

func (b *nodeBus) isCut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cut || b.off
}

// others calls do for the other nodes that can be reached.
func (b *nodeBus) others(do func(*nodeBus)) {
	if b.isCut() {
		return
	}
	b.all.mu.Lock()
	nodes := slices.Clone(b.all.nodes)
	b.all.mu.Unlock()
	for _, o := range nodes {
		if o != b && !o.isCut() {
			do(o)
		}
	}
}

func (b *nodeBus) Publish(topic string, payload []byte) {
	b.others(func(o *nodeBus) {
		o.put(func() {
			o.mu.Lock()
			readers := slices.Clone(o.readers[topic])
			o.mu.Unlock()
			for _, r := range readers {
				r.message(slices.Clone(payload))
			}
		})
	})
}

func (b *nodeBus) Subscribe(topic string, message func([]byte), link func(bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers[topic] = append(b.readers[topic], reader{message, link})
	if !b.cut && !b.off {
		b.queue = append(b.queue, func() { link(true) })
		b.changed.Signal()
	}
}

func (b *nodeBus) Unsubscribe(topic string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.readers, topic)
}

func (b *nodeBus) Announce(viewers map[string]int) {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	b.all.viewers[b] = viewers
}

func (b *nodeBus) Viewers(matchID string) (n int) {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	for o, viewers := range b.all.viewers {
		if o != b {
			n += viewers[matchID]
		}
	}
	return n
}

func (b *nodeBus) Wake() {
	b.others(func(o *nodeBus) {
		select {
		case o.woken <- struct{}{}:
		default:
		}
	})
}

func (b *nodeBus) Woken() <-chan struct{} { return b.woken }

// Take counts in a bucket as that of Redis.
func (b *nodeBus) Take(_ context.Context, key string, limit int, window time.Duration) (wait time.Duration, ok bool, err error) {
	if b.isCut() {
		return 0, false, bus.ErrAway
	}
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	now := time.Now()
	full := b.all.full[key]
	if full.Before(now) {
		full = now
	}
	full = full.Add(window / time.Duration(limit))
	if wait = full.Sub(now) - window; wait > 0 {
		return wait, false, nil
	}
	b.all.full[key] = full
	return 0, true, nil
}

func (b *nodeBus) Stats() bus.Stats { return bus.Stats{Up: !b.isCut()} }

// Close leaves the exchange.
func (b *nodeBus) Close() error {
	b.all.mu.Lock()
	b.all.nodes = slices.DeleteFunc(b.all.nodes, func(o *nodeBus) bool { return o == b })
	delete(b.all.viewers, b)
	b.all.mu.Unlock()
	b.mu.Lock()
	b.off = true
	b.queue = nil
	b.changed.Signal()
	b.mu.Unlock()
	b.done.Wait()
	return nil
}
