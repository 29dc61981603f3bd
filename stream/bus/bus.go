package bus

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// Options are the parts of a Bus. All but Join are needed.
type Options struct {
	Node   string // id of this process, unique in the cluster, without spaces
	Now    func() time.Time
	Logger *slog.Logger
	// Join returns one message in place of two of a topic that follow each
	// other, and whether there is one. It may change the first. What waits to be
	// sent is joined: under load a topic's messages cost as one.
	Join func(topic string, first, then []byte) ([]byte, bool)
}

// Bus is one node's place on the bus. All methods may be called at any time
// from any goroutine, and none of them waits for Redis but Take.
type Bus struct {
	node   string
	now    func() time.Time
	log    *slog.Logger
	target target
	timing timing

	ctx    context.Context // lives as long as the bus
	cancel context.CancelFunc
	wg     sync.WaitGroup
	closed sync.Once

	out     outbox
	join    func(topic string, first, then []byte) ([]byte, bool)
	viewers viewers
	woken   chan struct{} // holds one
	up      atomic.Bool   // the connection for the nodes' own topics holds
	counts  counters
	bucket  *redis.Script

	mu     sync.RWMutex
	subs   map[string]*subscription // by topic; all subscriptions, even while Redis is down
	client redis.UniversalClient    // nil before Redis was reached for the first time
	shards []*shard                 // one, or shardCount on a cluster
}

// subscription is a subscription of a client on this node.
type subscription struct {
	message func(node string, payload []byte)
	link    func(up bool)
	linked  atomic.Bool
	last    map[string]uint64 // the last message by sending node; its shard alone uses it
}

// timing holds the durations that the tests shorten.
type timing struct {
	ping    time.Duration // between two pings of a connection that listens
	silence time.Duration // after which such a connection is given up
	retry   time.Duration // first wait after a failure; doubles up to 20 times that
	take    time.Duration // for one Take
	flush   time.Duration // for the last messages on Close
	count   time.Duration // between two full counts of viewers
}

func defaultTiming() timing {
	return timing{
		ping: time.Second, silence: 2500 * time.Millisecond, retry: 100 * time.Millisecond,
		take: 250 * time.Millisecond, flush: time.Second, count: 15 * time.Second,
	}
}

// The bus's own topics. No topic of stream has a name that begins like them.
const (
	topicWake    = "node:wake"
	topicViewers = "node:viewers"
)

// Open makes a bus for the Redis at url (see CheckURL) and starts to connect.
// It does not wait for that: a node works without Redis until it is available.
func Open(url string, o Options) (*Bus, error) {
	target, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("bus: redis url: %w", err)
	}
	quiet()
	ctx, cancel := context.WithCancel(context.Background())
	b := &Bus{
		node: o.Node, now: o.Now, log: o.Logger, target: target, timing: defaultTiming(),
		ctx: ctx, cancel: cancel, subs: map[string]*subscription{}, out: newOutbox(), join: o.Join, viewers: newViewers(), bucket: bucket(), woken: make(chan struct{}, 1),
	}
	b.listen(topicWake, func(string, []byte) { b.wakeUp() }, b.linked)
	b.listen(topicViewers, b.viewersMessage, b.viewersLinked)
	b.wg.Go(b.run)
	return b, nil
}

// Check returns why the Redis at url cannot be used.
func Check(ctx context.Context, url string) error {
	target, err := parseURL(url)
	if err != nil {
		return fmt.Errorf("bus: redis url: %w", err)
	}
	quiet()
	client, _, err := (&Bus{ctx: ctx, target: target, node: "check"}).dial()
	if err != nil {
		return err
	}
	return client.Close()
}

// quiet silences the package logger of go-redis, which would write to standard
// error what the bus already logs.
func quiet() { logging.Disable() }

// Close sends what waits, for at most a second, and returns when all
// goroutines of the bus have ended. It may be called more than once.
func (b *Bus) Close() error {
	b.closed.Do(func() {
		b.publishNoViewers()
		b.out.close()
		hang := time.AfterFunc(b.timing.flush, b.cancel)
		defer hang.Stop()
		b.wg.Wait()
		b.cancel()
	})
	return nil
}

// Publish sends a message to all other nodes that subscribe to the topic. The
// payload must not be changed afterwards.
func (b *Bus) Publish(topic string, payload []byte) {
	b.out.put(message{topic: topic, kind: kindMessage, payload: payload})
}

// Subscribe starts to listen to a topic. message is called for each message of
// other nodes, one at a time. link is called with true when the subscription
// holds from now on, and something may have been missed before; with false
// when the connection was lost. It begins as not linked. Both may still be
// called shortly after Unsubscribe, and must return soon.
func (b *Bus) Subscribe(topic string, message func(payload []byte), link func(up bool)) {
	b.listen(topic, func(_ string, payload []byte) { message(payload) }, link)
}

func (b *Bus) listen(topic string, message func(node string, payload []byte), link func(up bool)) {
	s := &subscription{message: message, link: link, last: map[string]uint64{}}
	b.mu.Lock()
	b.subs[topic] = s
	l := b.shard(topic)
	b.mu.Unlock()
	if l != nil {
		l.markChanged(topic)
	}
}

// Unsubscribe is the end of Subscribe.
func (b *Bus) Unsubscribe(topic string) {
	b.mu.Lock()
	delete(b.subs, topic)
	l := b.shard(topic)
	b.mu.Unlock()
	if l != nil {
		l.markChanged(topic)
	}
}

// Wake wakes all other nodes. Many calls become one.
func (b *Bus) Wake() { b.out.putWake() }

// Woken returns a channel that receives when another node calls Wake, or may
// have done so while the connection was down. Many calls become one.
func (b *Bus) Woken() <-chan struct{} { return b.woken }

func (b *Bus) wakeUp() {
	select {
	case b.woken <- struct{}{}:
	default: // one waits already
	}
}

// linked follows the connection of the bus's own topics.
func (b *Bus) linked(up bool) {
	b.up.Store(up)
	if up {
		b.wakeUp()
	}
}

// Up reports whether this node is connected to Redis.
func (b *Bus) Up() bool { return b.up.Load() }

func (b *Bus) subscription(topic string) *subscription {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.subs[topic]
}

// shardCount is the number of shards on a cluster: enough to spread over its
// nodes, few enough to have a connection each.
const shardCount = 64

// shardOf returns the number of a topic's shard.
func shardOf(topic string, shards int) int {
	if shards == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(topic))          // documented never to fail
	return int(h.Sum32() % uint32(shards)) //nolint:gosec // G115: at most shardCount
}

// Channel returns the channel of a topic on a cluster. What stands in its braces
// decides on its hash slot.
func Channel(topic string) string { return shardPrefix(shardOf(topic, shardCount)) + topic }

func shardPrefix(shard int) string { return "arena:{" + strconv.Itoa(shard) + "}:" }

// shard returns the shard of a topic, nil before Redis was reached. b.mu is held.
func (b *Bus) shard(topic string) *shard {
	if b.shards == nil {
		return nil
	}
	return b.shards[shardOf(topic, len(b.shards))]
}

// run connects, then listens on every shard and sends.
func (b *Bus) run() {
	client, sharded, ok := b.connect()
	if !ok {
		return
	}
	shards := make([]*shard, 1)
	if sharded {
		shards = make([]*shard, shardCount)
	}
	for i := range shards {
		prefix := "arena:" + strconv.Itoa(b.target.db) + ":"
		if sharded {
			prefix = shardPrefix(i)
		}
		shards[i] = &shard{bus: b, client: client, sharded: sharded, prefix: prefix, changed: map[string]struct{}{}, wake: make(chan struct{}, 1)}
	}
	b.mu.Lock()
	b.client, b.shards = client, shards
	for topic := range b.subs {
		b.shard(topic).markChanged(topic)
	}
	b.mu.Unlock()
	b.log.Info("connected to redis", "cluster", sharded)
	listening, stop := context.WithCancel(b.ctx)
	var listeners sync.WaitGroup
	for _, l := range shards {
		listeners.Go(func() { l.run(listening) })
	}
	b.send(client, shards)
	stop()
	listeners.Wait()
	if err := client.Close(); err != nil {
		b.log.Debug("redis client did not close", "error", err)
	}
}

// connect waits until Redis answers and finds out whether it is a cluster.
// It reports false when the bus was closed before that.
func (b *Bus) connect() (client redis.UniversalClient, sharded, ok bool) {
	wait, reported := b.timing.retry, false
	for {
		client, sharded, err := b.dial()
		if err == nil {
			return client, sharded, true
		}
		if b.ctx.Err() == nil && !reported {
			b.log.Warn("redis is unreachable; events of other nodes are read from the log", "error", err)
			reported = true
		}
		if !b.pause(&wait) {
			return nil, false, false
		}
	}
}

func (b *Bus) dial() (redis.UniversalClient, bool, error) {
	ctx, cancel := context.WithTimeout(b.ctx, 2*(dialTimeout+callTimeout))
	defer cancel()
	many := *b.target.many
	many.ClientName = b.clientName()
	if b.target.one == nil {
		client := redis.NewClusterClient(&many)
		if err := client.Ping(ctx).Err(); err != nil {
			return nil, false, errors.Join(fmt.Errorf("ping: %w", err), client.Close())
		}
		return client, true, nil
	}
	one := *b.target.one
	one.ClientName = many.ClientName
	client := redis.NewClient(&one)
	info, err := client.Info(ctx, "cluster").Result()
	if redis.HasErrorPrefix(err, "NOPERM") { // an error for the operator who set the permissions
		info, err = "", nil
	}
	if err != nil {
		return nil, false, errors.Join(fmt.Errorf("ask for info: %w", err), client.Close())
	}
	if strings.Contains(info, "cluster_enabled:1") {
		if err := client.Close(); err != nil {
			return nil, false, fmt.Errorf("close: %w", err)
		}
		return redis.NewClusterClient(&many), true, nil
	}
	return client, false, nil
}

// clientName is what CLIENT LIST shows.
func (b *Bus) clientName() string { return "arena-" + b.node }

// pause waits, and doubles the next wait. It reports false when the bus was
// closed.
func (b *Bus) pause(wait *time.Duration) bool {
	t := time.NewTimer(*wait)
	defer t.Stop()
	*wait = min(2**wait, 20*b.timing.retry)
	select {
	case <-t.C:
		return true
	case <-b.out.done:
		return false
	case <-b.ctx.Done():
		return false
	}
}
