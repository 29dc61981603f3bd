package bus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// kind is the first byte on the wire.
type kind byte

const (
	kindMessage kind = 'm'
	kindMissed  kind = '!' // the sender lost messages on this topic; with allTopics, on any
)

// letter is something to send.
type letter struct {
	topic   string
	kind    kind
	payload []byte
}

// The bounds of what waits to be sent. What does not fit is lost, which its
// subscribers learn.
const (
	maxLetters = 8192
	maxBytes   = 16 << 20
	maxBatch   = 512 // in one pipeline
	maxLost    = 10_000
	maxJoined  = 64 << 10 // a message of this size takes no more
)

// allTopics is the payload of a kindMissed that is for every topic.
const allTopics = "*"

// outbox is what waits to be sent.
type outbox struct {
	mu    sync.Mutex
	queue []letter
	bytes int
	lost  map[string]struct{} // topics whose subscribers must be notified
	all   bool                // every topic's must
	rung  bool                // a wake-up waits
	shut  bool
	wake  chan struct{}
	done  chan struct{} // closed with shut

	lostCount uint64 // messages
}

func newOutbox() outbox {
	return outbox{lost: map[string]struct{}{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (o *outbox) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) put(l letter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.shut:
		return
	case len(o.queue) >= maxLetters, o.bytes+len(l.payload) > maxBytes:
		o.lose(l)
	default:
		o.queue = append(o.queue, l)
		o.bytes += len(l.payload)
	}
	o.poke()
}

// ring puts one wake-up into the queue, unless one waits there.
func (o *outbox) ring() {
	o.mu.Lock()
	rung := o.rung
	o.rung = true
	o.mu.Unlock()
	if !rung {
		o.put(letter{topic: topicWake, kind: kindMessage})
	}
}

// lose remembers that a letter was not delivered.
func (o *outbox) lose(l letter) {
	if l.kind == kindMessage {
		o.lostCount++
	}
	if l.topic == topicWake {
		o.rung = false
	}
	switch {
	case l.kind == kindMissed && string(l.payload) == allTopics, len(o.lost) >= maxLost:
		o.all = true
		clear(o.lost)
	case !o.all:
		o.lost[l.topic] = struct{}{}
	}
}

// take returns what is sent next: first word of what was lost.
func (o *outbox) take() []letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all {
		o.all = false
		return []letter{{topic: topicWake, kind: kindMissed, payload: []byte(allTopics)}}
	}
	var batch []letter
	for topic := range o.lost {
		if len(batch) == maxBatch {
			return batch
		}
		batch = append(batch, letter{topic: topic, kind: kindMissed})
		delete(o.lost, topic)
	}
	n := min(len(o.queue), maxBatch-len(batch))
	for _, l := range o.queue[:n] {
		o.bytes -= len(l.payload)
		if l.topic == topicWake {
			o.rung = false
		}
	}
	batch = append(batch, o.queue[:n]...)
	clear(o.queue[:n])
	if o.queue = o.queue[n:]; len(o.queue) == 0 {
		o.queue = nil
	}
	return batch
}

// fail returns messages to the queue that were not delivered. What waits behind them
// would come too late: its topics are notified as well.
func (o *outbox) fail(batch []letter, everything bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range batch {
		o.lose(l)
	}
	if !everything {
		return
	}
	for _, l := range o.queue {
		o.lose(l)
	}
	o.queue, o.bytes = nil, 0
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.shut {
		o.shut = true
		close(o.done)
	}
}

// send sends letters until the bus is closed and nothing waits.
func (b *Bus) send(client redis.UniversalClient, lanes []*shard) {
	wait, reported := b.timing.retry, false
	var no uint64
	for {
		batch := b.joined(b.out.take())
		if len(batch) == 0 {
			select {
			case <-b.out.wake:
				continue
			case <-b.out.done:
			case <-b.ctx.Done():
			}
			if batch = b.joined(b.out.take()); len(batch) == 0 || b.ctx.Err() != nil {
				return
			}
		}
		failed, err := b.deliver(client, lanes, batch, &no)
		if err == nil {
			if reported {
				b.log.Info("redis takes events again")
			}
			wait, reported = b.timing.retry, false
			continue
		}
		b.out.fail(failed, len(failed) == len(batch))
		if b.ctx.Err() == nil && !reported {
			b.log.Warn("redis takes no events; other nodes read them from the log", "error", err)
			reported = true
		}
		if !b.pause(&wait) {
			return
		}
	}
}

// joined makes one letter of those that follow each other on a topic. Letters
// of different topics have no order.
func (b *Bus) joined(batch []letter) []letter {
	if b.join == nil || len(batch) < 2 {
		return batch
	}
	last := make(map[string]int, len(batch)) // of each topic, in kept
	owned := make(map[string]bool)           // whose payload is a copy
	kept := batch[:0]
	for _, l := range batch {
		if i, more := last[l.topic]; more && l.kind == kindMessage && kept[i].kind == kindMessage && len(kept[i].payload) < maxJoined {
			first := kept[i].payload
			if !owned[l.topic] {
				first = slices.Clone(first) // others still read it
			}
			if payload, ok := b.join(l.topic, first, l.payload); ok {
				kept[i].payload, owned[l.topic] = payload, true
				continue
			}
		}
		last[l.topic] = len(kept)
		delete(owned, l.topic)
		kept = append(kept, l)
	}
	return kept
}

// deliver sends a batch in one pipeline and gives the letters that may not
// have arrived.
func (b *Bus) deliver(client redis.UniversalClient, lanes []*shard, batch []letter, no *uint64) (failed []letter, err error) {
	cmds, err := client.Pipelined(b.ctx, func(p redis.Pipeliner) error {
		for _, l := range batch {
			*no++
			lane := lanes[laneOf(l.topic, len(lanes))]
			if lane.sharded {
				p.SPublish(b.ctx, lane.prefix+l.topic, b.envelope(l, *no))
			} else {
				p.Publish(b.ctx, lane.prefix+l.topic, b.envelope(l, *no))
			}
		}
		return nil
	})
	for i, cmd := range cmds {
		if cmd.Err() != nil {
			failed = append(failed, batch[i])
		}
	}
	if err != nil && len(cmds) == 0 {
		failed = batch
	}
	b.counts.published.Add(uint64(len(batch) - len(failed))) //nolint:gosec // G115: not below 0
	if err != nil {
		err = fmt.Errorf("publish: %w", err)
	}
	return failed, err
}

// envelope is a letter on the wire: its kind, the sender's name and count,
// and after a line break the payload.
func (b *Bus) envelope(l letter, no uint64) []byte {
	e := make([]byte, 0, len(b.node)+len(l.payload)+24)
	e = append(e, byte(l.kind))
	e = append(e, b.node...)
	e = append(e, ' ')
	e = strconv.AppendUint(e, no, 36)
	e = append(e, '\n')
	return append(e, l.payload...)
}

// open is the end of envelope.
func open(text string) (k kind, node string, no uint64, payload []byte, ok bool) {
	head, body, ok := strings.Cut(text, "\n")
	if !ok || head == "" {
		return 0, "", 0, nil, false
	}
	node, count, ok := strings.Cut(head[1:], " ")
	no, err := strconv.ParseUint(count, 36, 64)
	return kind(head[0]), node, no, []byte(body), ok && err == nil
}
