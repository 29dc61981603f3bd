package stream

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/ws"
	"github.com/agora-arena/arena/visibility"
)

// Source reads the visible events of matches.
type Source interface {
	// Events returns at most limit events of a log with a seq above since that
	// spectators may see, in the order of seq.
	Events(ctx context.Context, l visibility.Log, since int64, limit int) ([]arena.Event, error)
}

// SeatRecords are what a node has counted for the seats that send events.
type SeatRecords interface {
	// End forgets the seats of a match that is over.
	End(matchID string)
	// Tidy forgets the seats that have been idle for long.
	Tidy(now time.Time)
}

// Options are the parts of a Hub. All but Bus are needed.
type Options struct {
	Source  Source
	Bus     Bus // nil: this node is alone
	Clients *ws.Clients
	Seats   SeatRecords
	Now     func() time.Time
	Logger  *slog.Logger
}

// timing holds the durations that the tests change.
type timing struct {
	cycle time.Duration // least time between two flush cycles
	gap   time.Duration // how long other writers may take to close a gap
	retry time.Duration // first wait after a failed read of the log; doubles up to 20 times that
	read  time.Duration // of the log
	write time.Duration // in which a spectator must read at least one byte
	sweep time.Duration // between two checks of clients, viewers and idle seats

	// With a bus only.
	join  time.Duration // how long hello waits for a subscription
	poll  time.Duration // between two searches for topics that may miss events
	quiet time.Duration // after which the log of a silent match is read
}

func defaultTiming() timing {
	return timing{
		cycle: 5 * time.Millisecond, gap: 5 * time.Millisecond, retry: 100 * time.Millisecond, read: 10 * time.Second,
		write: ws.WriteTimeout, sweep: time.Second,
		join: 500 * time.Millisecond, poll: 500 * time.Millisecond, quiet: 10 * time.Second,
	}
}

// The bounds of a topic's tail.
const (
	tailEvents = 4096
	tailBytes  = 4 << 20
)

// Hub carries published events to spectators. Publishing never waits for
// them.
type Hub struct {
	source      Source
	bus         Bus           // nil: this node is alone
	reads       chan struct{} // limits reads of the log for topics; nil: no limit
	catching    chan struct{} // limits reads of the log for spectators
	clients     *ws.Clients
	seats       SeatRecords
	pages       pages
	now         func() time.Time
	log         *slog.Logger
	timing      timing
	bounds      bounds
	epoch       string
	counters    counters
	unavailable atomic.Bool // an outage of the storage is logged

	mu     sync.RWMutex // guards topics and their refs
	topics map[topicKey]*topic

	dirtyMu  sync.Mutex
	dirty    []*topic     // with events that readers have not received
	notified []*spectator // that asked for a writer
	wakeups  chan struct{}
	changed  []*topic    // used by the flush cycle alone
	writers  *writerPool // the same
	cycleMu  sync.Mutex  // held during a flush cycle, for which readers of the log wait

	running atomic.Bool
	ran     chan struct{}
}

// NewHub returns a hub. It delivers nothing until Run is called.
func NewHub(o Options) *Hub {
	var reads chan struct{}
	if o.Bus != nil {
		reads = make(chan struct{}, readsAtOnce)
	}
	h := &Hub{
		source: o.Source, bus: o.Bus, reads: reads, clients: o.Clients, seats: o.Seats, now: o.Now, log: o.Logger,
		timing: defaultTiming(), bounds: bounds{tailEvents, tailBytes}, epoch: arena.NewID("ep_", o.Now()),
		topics: map[topicKey]*topic{}, wakeups: make(chan struct{}, 1), ran: make(chan struct{}),
	}
	h.catching = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	h.pages.known = map[pageKey]*page{}
	h.writers = newWriterPool(h, runtime.GOMAXPROCS(0)) // with one fewer the p99 of bursts doubles on two
	return h
}

// Run writes to readers, pings sockets and counts viewers until ctx ends or Close
// is called. Then it closes every socket with 1012 and returns when all clients
// are gone. It may be called once.
func (h *Hub) Run(ctx context.Context) error {
	if !h.running.CompareAndSwap(false, true) {
		return errors.New("stream: the hub was run before")
	}
	defer close(h.ran)
	defer h.stop()
	sweep := time.NewTicker(h.timing.sweep)
	defer sweep.Stop()
	pause := time.NewTimer(h.timing.cycle)
	defer pause.Stop()
	var look <-chan time.Time
	if h.bus != nil {
		poll := time.NewTicker(h.timing.poll)
		defer poll.Stop()
		look = poll.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.clients.Closing():
			return nil
		case <-sweep.C:
			h.sweep()
		case <-look:
			h.pollMatches()
		case <-h.wakeups:
			// A lone event is written at once. Under load a cycle collects the
			// events of its interval and writes them together.
			h.flushCycle()
			pause.Reset(h.timing.cycle)
			select {
			case <-pause.C:
			case <-ctx.Done():
			case <-h.clients.Closing():
			}
		}
	}
}

// Close closes every socket with 1012 and returns when all clients are gone. It
// may be called more than once.
func (h *Hub) Close() {
	if h.running.CompareAndSwap(false, true) {
		defer close(h.ran)
		h.stop()
		return
	}
	h.clients.Close()
	<-h.ran
}

// stop closes all clients and writes until none is left.
func (h *Hub) stop() {
	gone := h.clients.Close()
	for {
		select {
		case <-h.wakeups:
			h.flushCycle()
		case <-gone:
			return
		}
	}
}

// Publish delivers committed events of one league's matches. It ignores events
// without a match or a seq. Events of one match may come in any order and more
// than once.
func (h *Hub) Publish(league string, events ...arena.Event) {
	if h.bus != nil {
		h.publishToNodes(league, events)
		return
	}
	var scratch [1024]byte
	for i := range events {
		e := &events[i]
		if e.MatchID == "" || e.Seq <= 0 {
			continue
		}
		h.counters.published.Add(1)
		if e.Type.Ends() {
			h.seats.End(e.MatchID)
		}
		match, league, lobby := h.topicsOf(league, e)
		if match == nil && league == nil && lobby == nil {
			continue
		}
		h.fanOut(match, league, lobby, e, e.AppendJSON(scratch[:0]))
	}
}

// topicsOf returns the topics with spectators that an event belongs to.
func (h *Hub) topicsOf(slug string, e *arena.Event) (match, league, lobby *topic) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	match = h.topics[topicKey{topicMatch, e.MatchID}]
	if matchLevel(e.Type) {
		league = h.topics[topicKey{topicLeague, slug}]
		lobby = h.topics[topicKey{topicLobby, ""}]
	}
	return match, league, lobby
}

// fanOut adds an event, with its wire form, to those topics that are not nil.
func (h *Hub) fanOut(match, league, lobby *topic, e *arena.Event, text []byte) {
	if match != nil {
		match.publish(e, text)
	}
	if league != nil {
		league.count(text)
	}
	if lobby != nil {
		lobby.count(text)
	}
}

// PublishAgent delivers an event of an agent outside matches to the lobby and
// the named leagues.
func (h *Hub) PublishAgent(leagues []string, e arena.Event) {
	h.counters.published.Add(1)
	text := e.AppendJSON(nil)
	if h.bus != nil {
		message := append([]byte{'\n'}, text...)
		h.bus.Publish(topicKey{topicLobby, ""}.String(), message)
		for _, slug := range leagues {
			h.bus.Publish(topicKey{topicLeague, slug}.String(), message)
		}
	}
	h.mu.RLock()
	topics := []*topic{h.topics[topicKey{topicLobby, ""}]}
	for _, slug := range leagues {
		topics = append(topics, h.topics[topicKey{topicLeague, slug}])
	}
	h.mu.RUnlock()
	for _, t := range topics {
		if t != nil {
			t.count(text)
		}
	}
}

// matchLevel reports whether an event of a match is of interest beyond its
// own spectators.
func matchLevel(t arena.EventType) bool {
	switch t {
	case arena.EventMatchScheduled, arena.EventMatchStarted, arena.EventRoundStarted, arena.EventRoundClosed,
		arena.EventMatchFinished, arena.EventMatchVoid,
		arena.EventAgentPaused, arena.EventAgentResumed, arena.EventAgentLeft:
		return true
	default:
		return false
	}
}

func (h *Hub) topicsOfKind(kinds ...topicKind) []*topic {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var out []*topic
	for key, t := range h.topics {
		if slices.Contains(kinds, key.kind) {
			out = append(out, t)
		}
	}
	return out
}

// acquire returns the topic of a key and creates it if there is none.
// releaseTopic must follow.
func (h *Hub) acquire(key topicKey) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[key]
	if t == nil {
		t = newTopic(h, key)
		h.topics[key] = t
	}
	t.refs++
	return t
}

// releaseTopic drops one use of a topic, and the topic with the last one.
func (h *Hub) releaseTopic(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.refs--; t.refs == 0 {
		delete(h.topics, t.key)
		h.pages.forget(t.key.id)
		if t.joined {
			h.bus.Unsubscribe(t.key.String())
		}
	}
}

// markDirty adds a topic to the next flush cycle.
func (h *Hub) markDirty(t *topic) {
	h.dirtyMu.Lock()
	h.dirty = append(h.dirty, t)
	h.dirtyMu.Unlock()
	h.wake()
}

// notify adds a spectator to the next flush cycle.
func (h *Hub) notify(s *spectator) {
	h.dirtyMu.Lock()
	h.notified = append(h.notified, s)
	h.dirtyMu.Unlock()
	h.wake()
}

func (h *Hub) wake() {
	select {
	case h.wakeups <- struct{}{}:
	default:
	}
}

// flushCycle writes to the readers of every topic that changed, and to the
// spectators that asked for a writer.
func (h *Hub) flushCycle() {
	work := h.writers.work
	h.dirtyMu.Lock()
	work = append(work, h.notified...)
	clear(h.notified)
	h.notified = h.notified[:0]
	h.changed = append(h.changed, h.dirty...)
	clear(h.dirty)
	h.dirty = h.dirty[:0]
	h.dirtyMu.Unlock()
	for _, t := range h.changed {
		work = t.changed(work)
	}
	clear(h.changed)
	h.changed = h.changed[:0]
	h.writers.work = work
	h.cycleMu.Lock()
	defer h.cycleMu.Unlock()
	h.writers.flush()
}

// sweep checks every client, publishes the numbers of viewers and frees memory.
func (h *Hub) sweep() {
	now := h.now()
	h.clients.Check(now)
	if h.bus != nil {
		h.bus.Announce(h.ViewersByMatch())
	}
	for _, t := range h.topicsOfKind(topicMatch) {
		t.announce(now)
	}
	for _, t := range h.topicsOfKind(topicLeague, topicLobby) {
		t.forgetRead()
	}
	h.seats.Tidy(now)
}

// pause waits for d and reports true, or false as soon as the clients close.
func (h *Hub) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-h.clients.Closing():
		return false
	}
}
