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

// message is a queued message.
type message struct {
	topic   string
	kind    kind
	payload []byte
}

// The limits of the queue. Messages beyond them are lost, and the subscribers of
// their topics are notified.
const (
	maxMessages = 8192
	maxBytes    = 16 << 20
	maxBatch    = 512 // in one pipeline
	maxLost     = 10_000
	maxJoined   = 64 << 10 // a message of this size takes no more
)

// allTopics is the payload of a kindMissed that is for every topic.
const allTopics = "*"

// outbox is the bounded queue of messages to other nodes.
type outbox struct {
	mu         sync.Mutex
	queue      []message
	bytes      int
	lost       map[string]struct{} // topics whose subscribers must be notified
	all        bool                // every topic's must
	wakeQueued bool                // a wake-up is in the queue
	shut       bool
	wake       chan struct{}
	done       chan struct{} // closed with shut

	lostCount uint64 // messages
}

func newOutbox() outbox {
	return outbox{lost: map[string]struct{}{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) put(m message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.shut:
		return
	case len(o.queue) >= maxMessages, o.bytes+len(m.payload) > maxBytes:
		o.lose(m)
	default:
		o.queue = append(o.queue, m)
		o.bytes += len(m.payload)
	}
	o.signal()
}

// putWake queues a wake-up unless one is queued.
func (o *outbox) putWake() {
	o.mu.Lock()
	queued := o.wakeQueued
	o.wakeQueued = true
	o.mu.Unlock()
	if !queued {
		o.put(message{topic: topicWake, kind: kindMessage})
	}
}

// lose records that a message was not delivered.
func (o *outbox) lose(m message) {
	if m.kind == kindMessage {
		o.lostCount++
	}
	if m.topic == topicWake {
		o.wakeQueued = false
	}
	switch {
	case m.kind == kindMissed && string(m.payload) == allTopics, len(o.lost) >= maxLost:
		o.all = true
		clear(o.lost)
	case !o.all:
		o.lost[m.topic] = struct{}{}
	}
}

// take returns the next batch: first the notices of lost messages.
func (o *outbox) take() []message {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all {
		o.all = false
		return []message{{topic: topicWake, kind: kindMissed, payload: []byte(allTopics)}}
	}
	var batch []message
	for topic := range o.lost {
		if len(batch) == maxBatch {
			return batch
		}
		batch = append(batch, message{topic: topic, kind: kindMissed})
		delete(o.lost, topic)
	}
	n := min(len(o.queue), maxBatch-len(batch))
	for _, m := range o.queue[:n] {
		o.bytes -= len(m.payload)
		if m.topic == topicWake {
			o.wakeQueued = false
		}
	}
	batch = append(batch, o.queue[:n]...)
	clear(o.queue[:n])
	if o.queue = o.queue[n:]; len(o.queue) == 0 {
		o.queue = nil
	}
	return batch
}

// fail records the undelivered messages of a batch as lost. With everything, it
// drops the queue behind them too, which would arrive too late.
func (o *outbox) fail(batch []message, everything bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range batch {
		o.lose(m)
	}
	if !everything {
		return
	}
	for _, m := range o.queue {
		o.lose(m)
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

// send sends messages until the bus is closed and the queue is empty.
func (b *Bus) send(client redis.UniversalClient, shards []*shard) {
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
		failed, err := b.deliver(client, shards, batch, &no)
		if err == nil {
			if reported {
				b.log.Info("redis accepts events again")
			}
			wait, reported = b.timing.retry, false
			continue
		}
		b.out.fail(failed, len(failed) == len(batch))
		if b.ctx.Err() == nil && !reported {
			b.log.Warn("redis rejects events; other nodes read them from the log", "error", err)
			reported = true
		}
		if !b.pause(&wait) {
			return
		}
	}
}

// joined merges consecutive messages of a topic into one. Messages of different
// topics have no order.
func (b *Bus) joined(batch []message) []message {
	if b.join == nil || len(batch) < 2 {
		return batch
	}
	last := make(map[string]int, len(batch)) // of each topic, in kept
	owned := make(map[string]bool)           // whose payload is a copy
	kept := batch[:0]
	for _, m := range batch {
		if i, more := last[m.topic]; more && m.kind == kindMessage && kept[i].kind == kindMessage && len(kept[i].payload) < maxJoined {
			first := kept[i].payload
			if !owned[m.topic] {
				first = slices.Clone(first) // others still read it
			}
			if payload, ok := b.join(m.topic, first, m.payload); ok {
				kept[i].payload, owned[m.topic] = payload, true
				continue
			}
		}
		last[m.topic] = len(kept)
		delete(owned, m.topic)
		kept = append(kept, m)
	}
	return kept
}

// deliver sends a batch in one pipeline and returns the messages that may not
// have arrived.
func (b *Bus) deliver(client redis.UniversalClient, shards []*shard, batch []message, no *uint64) (failed []message, err error) {
	cmds, err := client.Pipelined(b.ctx, func(p redis.Pipeliner) error {
		for _, m := range batch {
			*no++
			shard := shards[shardOf(m.topic, len(shards))]
			if shard.sharded {
				p.SPublish(b.ctx, shard.prefix+m.topic, b.envelope(m, *no))
			} else {
				p.Publish(b.ctx, shard.prefix+m.topic, b.envelope(m, *no))
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

// envelope encodes a message for the wire: its kind, the sender's name and count,
// a line break, and the payload.
func (b *Bus) envelope(m message, no uint64) []byte {
	e := make([]byte, 0, len(b.node)+len(m.payload)+24)
	e = append(e, byte(m.kind))
	e = append(e, b.node...)
	e = append(e, ' ')
	e = strconv.AppendUint(e, no, 36)
	e = append(e, '\n')
	return append(e, m.payload...)
}

// open decodes what envelope has encoded.
func open(text string) (k kind, node string, no uint64, payload []byte, ok bool) {
	head, body, ok := strings.Cut(text, "\n")
	if !ok || head == "" {
		return 0, "", 0, nil, false
	}
	node, count, ok := strings.Cut(head[1:], " ")
	no, err := strconv.ParseUint(count, 36, 64)
	return kind(head[0]), node, no, []byte(body), ok && err == nil
}
