package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// shard listens on one connection to the topics that fall to it. On a cluster
// they share a hash slot.
type shard struct {
	bus     *Bus
	client  redis.UniversalClient
	sharded bool
	prefix  string // of its channels

	mu      sync.Mutex
	changed map[string]struct{} // topics that came or went
	wake    chan struct{}
}

// markChanged notes that a topic came or went.
func (l *shard) markChanged(topic string) {
	l.mu.Lock()
	l.changed[topic] = struct{}{}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// idle waits for the first topic. It reports false when ctx ends.
func (l *shard) idle(ctx context.Context) bool {
	for ctx.Err() == nil {
		if len(l.wanted()) > 0 {
			return true
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
		}
	}
	return false
}

// wanted returns the shard's topics and forgets what changed before.
func (l *shard) wanted() []string {
	l.mu.Lock()
	clear(l.changed)
	l.mu.Unlock()
	b := l.bus
	b.mu.RLock()
	defer b.mu.RUnlock()
	var topics []string
	for topic := range b.subs {
		if b.shard(topic) == l {
			topics = append(topics, topic)
		}
	}
	return topics
}

// run keeps the shard connected until ctx ends.
func (l *shard) run(ctx context.Context) {
	wait, reported := l.bus.timing.retry, false
	for l.idle(ctx) {
		s := &session{shard: l, pending: map[string]int{}, alive: func() {
			if reported {
				l.bus.log.Info("connection to redis is back")
			}
			wait, reported = l.bus.timing.retry, false
		}}
		err := s.run(ctx)
		for _, topic := range l.wanted() {
			if sub := l.bus.subscription(topic); sub != nil && sub.linked.Swap(false) {
				sub.link(false)
			}
		}
		if ctx.Err() != nil {
			return
		}
		l.bus.counts.breaks.Add(1)
		if !reported {
			l.bus.log.Warn("connection to redis was lost; events of other nodes are read from the log", "error", err)
			reported = true
		}
		if cluster, ok := l.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // the slot may have moved
		}
		if !l.bus.pause(&wait) {
			return
		}
	}
}

// session is one connection of a shard.
type session struct {
	shard *shard
	ps    *redis.PubSub
	alive func() // the connection works

	mu      sync.Mutex
	pending map[string]int // channels that we left, by how often that is not confirmed
}

// run listens until the connection breaks or is silent for too long.
func (s *session) run(ctx context.Context) error {
	if s.shard.sharded {
		s.ps = s.shard.client.SSubscribe(ctx)
	} else {
		s.ps = s.shard.client.Subscribe(ctx)
	}
	// Reading ends with the connection, not with ctx.
	release := context.AfterFunc(ctx, func() { _ = s.ps.Close() })
	defer release()
	if err := s.follow(ctx, s.shard.wanted(), nil); err != nil {
		return errors.Join(err, s.close())
	}
	steering, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.steer(steering) })
	err := s.listen(ctx)
	stop()
	err = errors.Join(err, s.close())
	wg.Wait()
	return err
}

func (s *session) close() error {
	if err := s.ps.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// maxNames is how many channels one command names.
const maxNames = 1000

// follow subscribes to new topics in Redis and unsubscribes from old ones.
func (s *session) follow(ctx context.Context, came, went []string) error {
	subscribe, unsubscribe := s.ps.Subscribe, s.ps.Unsubscribe
	if s.shard.sharded {
		subscribe, unsubscribe = s.ps.SSubscribe, s.ps.SUnsubscribe
	}
	for len(came) > 0 {
		n := min(len(came), maxNames)
		if err := subscribe(ctx, s.channels(came[:n])...); err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		came = came[n:]
	}
	for len(went) > 0 {
		n := min(len(went), maxNames)
		names := s.channels(went[:n])
		s.mu.Lock()
		for _, c := range names {
			s.pending[c]++
		}
		s.mu.Unlock()
		if err := unsubscribe(ctx, names...); err != nil {
			return fmt.Errorf("unsubscribe: %w", err)
		}
		went = went[n:]
	}
	return nil
}

func (s *session) channels(topics []string) []string {
	names := make([]string, len(topics))
	for i, topic := range topics {
		names[i] = s.shard.prefix + topic
	}
	return names
}

// steer follows the topics that come and go, and pings: a connection that
// brings neither messages nor pongs is dead.
func (s *session) steer(ctx context.Context) {
	ping := time.NewTicker(s.shard.bus.timing.ping)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			err = s.ps.Ping(ctx)
		case <-s.shard.wake:
			came, went := s.shard.changes()
			err = s.follow(ctx, came, went)
		}
		if err != nil {
			_ = s.ps.Close() // listen ends and says why
			return
		}
	}
}

// changes returns the topics that came and those that went since it was asked
// last.
func (l *shard) changes() (came, went []string) {
	l.mu.Lock()
	changed := l.changed
	l.changed = map[string]struct{}{}
	l.mu.Unlock()
	for topic := range changed {
		if l.bus.subscription(topic) != nil {
			came = append(came, topic)
		} else {
			went = append(went, topic)
		}
	}
	return came, went
}

// errMoved ends a session whose channel Redis has let go: its slot moves.
var errMoved = errors.New("redis ended a subscription")

// listen receives messages.
func (s *session) listen(ctx context.Context) error {
	for first := true; ; first = false {
		in, err := s.ps.ReceiveTimeout(ctx, s.shard.bus.timing.silence)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		if first {
			s.alive()
		}
		switch in := in.(type) {
		case *redis.Message:
			s.shard.message(strings.TrimPrefix(in.Channel, s.shard.prefix), in.Payload)
		case *redis.Subscription:
			if !s.confirmed(in) {
				return errMoved
			}
		}
	}
}

// confirmed handles the answer to a command of follow. It returns false for an
// answer without a command.
func (s *session) confirmed(in *redis.Subscription) bool {
	if strings.HasSuffix(in.Kind, "unsubscribe") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending[in.Channel]--
		asked := s.pending[in.Channel] >= 0
		if s.pending[in.Channel] <= 0 {
			delete(s.pending, in.Channel)
		}
		return asked
	}
	if sub := s.shard.bus.subscription(strings.TrimPrefix(in.Channel, s.shard.prefix)); sub != nil {
		sub.linked.Store(true)
		sub.link(true)
	}
	return true
}

// message handles a message of another node.
func (l *shard) message(topic, text string) {
	b := l.bus
	k, node, no, payload, ok := open(text)
	if !ok {
		b.counts.malformed.Add(1)
		return
	}
	if node == b.node {
		return
	}
	b.counts.received.Add(1)
	if k == kindMissed && string(payload) == allTopics {
		b.missed()
		return
	}
	sub := b.subscription(topic)
	if sub == nil || no <= sub.last[node] {
		return
	}
	sub.last[node] = no
	switch k {
	case kindMessage:
		sub.message(node, payload)
	case kindMissed:
		if sub.linked.Load() {
			sub.link(true)
		}
	}
}

// missed notifies every subscriber that something may be missing.
func (b *Bus) missed() {
	b.mu.RLock()
	subs := make([]*subscription, 0, len(b.subs))
	for _, s := range b.subs {
		subs = append(subs, s)
	}
	b.mu.RUnlock()
	for _, s := range subs {
		if s.linked.Load() {
			s.link(true)
		}
	}
}
