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
	"github.com/agora-arena/arena/arena/visibility"
)

// Source reads the visible events of matches.
type Source interface {
	// Events returns at most limit events of a log with a seq above since that
	// spectators may see, in the order of seq.
	Events(ctx context.Context, l visibility.Log, since int64, limit int) ([]arena.Event, error)
}

// Options are the parts of a Hub. All but Bus and MaxClients are needed.
type Options struct {
	Source     Source
	Bus        Bus              // nil: this node is alone
	Now        func() time.Time // must run with the wall clock: socket deadlines use it
	Logger     *slog.Logger
	MaxClients int // open sockets and event streams; 0 means 20,000
}

// timing holds the durations that the tests shorten.
type timing struct {
	cycle  time.Duration // at least so much between two rounds of waking readers
	gap    time.Duration // how long a gap may close by itself
	retry  time.Duration // first wait after a failed read of the log; doubles up to 20 times that
	read   time.Duration // for one read of the log, or one append to it
	sweep  time.Duration // pings, expiry, viewers
	ping   time.Duration
	pong   time.Duration
	remark time.Duration // between comments on an event stream
	write  time.Duration // in which a peer must take at least a byte
	grace  time.Duration // for a goodbye
	auth   time.Duration // for an agent's auth message
	flush  time.Duration // how long an answer waits for its agent's events

	// With a bus only.
	join  time.Duration // how long hello waits for a subscription
	poll  time.Duration // between two looks for topics that may miss events
	quiet time.Duration // after which a silent match is looked up in the log
}

func defaultTiming() timing {
	return timing{
		cycle: 5 * time.Millisecond, gap: 5 * time.Millisecond, retry: 100 * time.Millisecond, read: 10 * time.Second,
		sweep: time.Second, ping: 20 * time.Second, pong: 10 * time.Second, remark: 15 * time.Second, flush: 200 * time.Millisecond,
		write: time.Second, grace: 2 * time.Second, auth: 5 * time.Second,
		join: 500 * time.Millisecond, poll: 500 * time.Millisecond, quiet: 10 * time.Second,
	}
}

// The bounds of a topic's tail.
const (
	tailEvents = 4096
	tailBytes  = 4 << 20
)

const defaultMaxClients = 20_000

// Hub carries published events to spectators. Publishing never waits for
// them.
type Hub struct {
	source      Source
	bus         Bus           // nil: this node is alone
	reads       chan struct{} // places to read the log for a topic; nil: any number
	catching    chan struct{} // places to read it for spectators
	seats       *seats        // that agents speak for
	pages       pages
	now         func() time.Time
	log         *slog.Logger
	maxClients  int
	timing      timing
	bounds      bounds
	epoch       string
	counters    counters
	unavailable atomic.Bool // the outage of the storage is logged

	// ctx lives as long as the hub: sockets outlive the requests that opened
	// them, and reads for a topic serve many requests.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.RWMutex // guards topics and their refs
	topics map[topicKey]*topic

	dirtyMu  sync.Mutex
	dirty    []*topic     // with events that readers have not received
	notified []*spectator // that want to be looked after
	wakeups  chan struct{}
	changed  []*topic    // the pass alone uses it
	writers  *writerPool // the same
	cycleMu  sync.Mutex  // held during a pass: who reads the log waits that long

	clientsMu sync.Mutex // taken after a topic's lock where both are held
	clients   map[*client]struct{}
	closed    bool
	wg        sync.WaitGroup // clients and gap readers

	quit    chan struct{}
	running atomic.Bool
	ran     chan struct{}
}

// NewHub makes a hub. Nothing moves until Run is called.
func NewHub(o Options) (*Hub, error) {
	if o.Source == nil || o.Now == nil || o.Logger == nil {
		return nil, errors.New("stream: the hub needs a source, a clock and a logger")
	}
	if o.MaxClients == 0 {
		o.MaxClients = defaultMaxClients
	}
	ctx, cancel := context.WithCancel(context.Background())
	var reads chan struct{}
	if o.Bus != nil {
		reads = make(chan struct{}, readsAtOnce)
	}
	h := &Hub{
		source: o.Source, bus: o.Bus, reads: reads, now: o.Now, log: o.Logger, maxClients: o.MaxClients,
		timing: defaultTiming(), bounds: bounds{tailEvents, tailBytes}, epoch: arena.NewID("ep_", o.Now()),
		ctx: ctx, cancel: cancel,
		topics: map[topicKey]*topic{}, seats: newSeats(), wakeups: make(chan struct{}, 1),
		clients: map[*client]struct{}{}, quit: make(chan struct{}), ran: make(chan struct{}),
	}
	h.catching = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	h.pages.known = map[pageKey]*page{}
	h.writers = newWriterPool(h, runtime.GOMAXPROCS(0)) // with one fewer the p99 of bursts doubles on two
	return h, nil
}

// Run writes to readers, pings sockets and counts viewers until ctx ends or Close
// is called. Then it closes every socket with 1012 and returns when all
// goroutines of the hub have ended. It may be called once.
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
		case <-h.quit:
			return nil
		case <-sweep.C:
			h.sweep()
		case <-look:
			h.pollMatches()
		case <-h.wakeups:
			// A lone event goes out at once; under load a pass collects what
			// comes in its interval, and writes it in one go.
			h.flushCycle()
			pause.Reset(h.timing.cycle)
			select {
			case <-pause.C:
			case <-ctx.Done():
			case <-h.quit:
			}
		}
	}
}

// Close closes every socket with 1012 and returns when all goroutines of the
// hub have ended. It may be called more than once.
func (h *Hub) Close() {
	if h.running.CompareAndSwap(false, true) {
		defer close(h.ran)
		h.stop()
		return
	}
	h.shut()
	<-h.ran
}

// shut lets nobody in any more and asks everybody to leave.
func (h *Hub) shut() {
	h.clientsMu.Lock()
	defer h.clientsMu.Unlock()
	if !h.closed {
		h.closed = true
		close(h.quit)
	}
	for c := range h.clients {
		c.end(closeRestart, "the server restarts; come back")
	}
}

// stop sees everybody off.
func (h *Hub) stop() {
	h.shut()
	// Events that were read from a socket are still appended; a log that
	// hangs is not waited for.
	hang := time.AfterFunc(h.timing.grace, h.cancel)
	defer hang.Stop()
	gone := make(chan struct{})
	go func() {
		h.wg.Wait()
		close(gone)
	}()
	for {
		select {
		case <-h.wakeups:
			h.flushCycle()
		case <-gone:
			h.cancel()
			return
		}
	}
}

// Publish hands out committed events of one league's matches. An event
// without a match or a seq is passed over. Events of one match may come in
// any order and more than once.
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
			h.seats.end(e.MatchID)
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

// PublishAgent hands out an event of an agent outside matches, to the lobby
// and the named leagues.
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

// acquire returns the topic of a key, made when there is none. Each call needs
// a letGo.
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

// releaseTopic frees a topic that nobody uses.
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

// markDirty notes that a topic has something for its readers.
func (h *Hub) markDirty(t *topic) {
	h.dirtyMu.Lock()
	h.dirty = append(h.dirty, t)
	h.dirtyMu.Unlock()
	h.wake()
}

// notify notes that a spectator is to be looked after.
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

// flushCycle looks after the readers of every topic that changed, and after those
// who called.
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

// sweep checks every client and publishes the numbers of viewers.
func (h *Hub) sweep() {
	now := h.now()
	h.clientsMu.Lock()
	for c := range h.clients {
		c.check(now, h.timing.pong)
	}
	h.clientsMu.Unlock()
	if h.bus != nil {
		h.bus.Announce(h.ViewersByMatch())
	}
	for _, t := range h.topicsOfKind(topicMatch) {
		t.announce(now)
	}
	for _, t := range h.topicsOfKind(topicLeague, topicLobby) {
		t.forgetRead()
	}
	h.seats.tidy(now)
}

// admit counts a client in. Close waits for its dismiss. It gives
// CodeUnavailable when the hub is full or closed.
func (h *Hub) admit(c *client) error {
	c.pinged = h.now()
	h.clientsMu.Lock()
	defer h.clientsMu.Unlock()
	if h.closed {
		return arena.Errorf(arena.CodeUnavailable, "the server restarts")
	}
	if len(h.clients) >= h.maxClients {
		return arena.Errorf(arena.CodeUnavailable, "the server has all the %d streams it can carry", h.maxClients)
	}
	h.clients[c] = struct{}{}
	h.wg.Add(1)
	h.counters.open[c.kind].Add(1)
	return nil
}

// dismiss counts a client out.
func (h *Hub) dismiss(c *client) {
	h.clientsMu.Lock()
	delete(h.clients, c)
	h.clientsMu.Unlock()
	if c.release != nil {
		c.release()
	}
	h.counters.open[c.kind].Add(-1)
	h.wg.Done()
}

// spawn runs f in a goroutine that Close waits for, unless the hub is closed.
func (h *Hub) spawn(f func()) bool {
	h.clientsMu.Lock()
	defer h.clientsMu.Unlock()
	if h.closed {
		return false
	}
	h.wg.Go(f)
	return true
}

// pause waits for d, or less when the hub closes: then it reports false.
func (h *Hub) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-h.quit:
		return false
	}
}
