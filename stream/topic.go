package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

type topicKind uint8

const (
	topicMatch topicKind = iota
	topicLeague
	topicLobby
)

// topicKey names a topic. id is the match id or the league's slug.
type topicKey struct {
	kind topicKind
	id   string
}

// String returns the name on the wire.
func (k topicKey) String() string {
	switch k.kind {
	case topicMatch:
		return "match:" + k.id
	case topicLeague:
		return "league:" + k.id
	default:
		return "lobby"
	}
}

const (
	// logPage is how many rows are read from the log at once.
	logPage = 500
	// maxEarly is how many events may wait for one before them. More are not
	// kept: the log has them.
	maxEarly = 1024
)

// topic is the live end of one stream. For a match its positions are positions in
// the log; for a league and the lobby it counts the events that it carried.
type topic struct {
	hub  *Hub
	key  topicKey
	refs int // guarded by hub.mu

	joined bool          // it has a subscription on the bus; guarded by hub.mu
	ready  chan struct{} // closed when that held for the first time

	mu        sync.Mutex
	known     bool  // head is known; for a match once the log was asked
	head      int64 // last position emitted
	seen      int64 // highest seq known to be in the log
	last      int64 // seq of the last event of a match that is over; 0: not known
	over      bool  // nothing will follow head
	early     map[int64]line
	log       visibility.Log
	filling   bool
	tails     [forms]*tail // only those with readers
	readers   []*spectator
	dirty     bool
	announced int // viewers, as last published

	// With a bus only.
	linked bool          // the subscription holds
	stale  bool          // the log may hold more than seen
	silent time.Duration // since something was published
}

// line is an event that waits for the one before it.
type line struct {
	text []byte
	last bool // of its match
}

func newTopic(h *Hub, key topicKey) *topic {
	return &topic{hub: h, key: key, known: key.kind != topicMatch, early: map[int64]line{}, ready: make(chan struct{})}
}

// learn updates the topic from the match's row, which may be older than the topic's
// own state.
func (t *topic) learn(m visibility.Match) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = m.Log()
	if !t.known {
		t.known, t.head = true, m.Seq
	}
	t.seen = max(t.seen, m.Seq)
	if m.Status.Over() {
		t.last = m.Seq
		t.over = t.head >= t.last
	}
	t.fillIfBehind()
}

// position returns the last position in the log that the topic has seen.
func (t *topic) position() (seq int64, known, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.head, t.seen), t.known, t.over
}

// publish adds one event of the match. text is its wire form.
func (t *topic) publish(e *arena.Event, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.publishLocked(e.Seq, e.Type.Ends(), text)
	t.fillIfBehind()
}

func (t *topic) publishLocked(seq int64, last bool, text []byte) {
	t.seen = max(t.seen, seq)
	t.silent = 0
	switch {
	case !t.known || seq <= t.head:
		return
	case seq == t.head+1:
		t.emit(seq, last, text)
		t.emitEarly()
	case len(t.early) < maxEarly:
		t.early[seq] = line{bytes.Clone(text), last}
	}
}

// emitEarly emits the events that waited for the one before them.
func (t *topic) emitEarly() {
	for len(t.early) > 0 {
		e, ok := t.early[t.head+1]
		if !ok {
			return
		}
		t.emit(t.head+1, e.last, e.text)
	}
}

// emit appends the event that follows head.
func (t *topic) emit(seq int64, last bool, text []byte) {
	delete(t.early, seq)
	t.head = seq
	t.over = last || seq == t.last
	t.append(seq, text)
}

// append adds to the tails. id is the seq in the log, or noID.
func (t *topic) append(id int64, text []byte) {
	for _, tl := range t.tails {
		if tl != nil {
			tl.append(t.head, id, text)
		}
	}
	if !t.dirty {
		t.dirty = true
		t.hub.markDirty(t)
	}
}

// count adds one event of a league or the lobby.
func (t *topic) count(text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.countLocked(text)
}

func (t *topic) countLocked(text []byte) {
	t.head++
	t.append(noID, text)
}

// changed returns the readers to wake.
func (t *topic) changed(into []*spectator) []*spectator {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty = false
	return append(into, t.readers...)
}

// fillIfBehind starts reading the log when it holds events that were not
// published here, or not yet, or may hold such. Rows are committed before they
// are published, so a gap can always be read.
func (t *topic) fillIfBehind() {
	if t.known && t.behind() && !t.filling && len(t.readers) > 0 {
		t.filling = t.hub.clients.Go(t.fill)
	}
}

func (t *topic) behind() bool {
	return t.seen > t.head || t.stale && !t.over && t.key.kind == topicMatch
}

// fill reads the log until the topic has caught up. One runs per topic.
func (t *topic) fill() {
	h := t.hub
	// Writers that share a commit publish at the same time, so most gaps close
	// at once.
	wait := h.timing.gap
	retry := h.timing.retry
	for h.pause(wait) {
		done, ok := h.acquireRead()
		if !ok {
			return
		}
		t.mu.Lock()
		since, stale := t.head, t.stale
		if !t.behind() || len(t.readers) == 0 {
			t.filling = false
			t.mu.Unlock()
			done()
			return
		}
		t.stale = false
		gap := t.seen > t.head
		t.mu.Unlock()
		if gap {
			h.counters.fills.Add(1)
		} else {
			h.counters.polls.Add(1)
		}
		ctx, cancel := context.WithTimeout(h.clients.Context(), h.timing.read)
		events, err := t.rows(ctx, since)
		cancel()
		done()
		if t.emitRows(events, stale, err) {
			wait, retry = h.timing.cycle, h.timing.retry // readers keep pace with a long gap
			continue
		}
		if retry == h.timing.retry { // the first time only
			h.log.Warn("cannot fill a gap in the stream", slog.String("topic", t.key.String()), slog.Int64("seq", since), slog.Any("error", err))
		}
		wait, retry = retry, min(2*retry, 20*h.timing.retry)
	}
}

// rows reads a page of the match's visible log.
func (t *topic) rows(ctx context.Context, since int64) ([]arena.Event, error) {
	t.mu.Lock()
	log := t.log
	t.mu.Unlock()
	return t.hub.source.Events(ctx, log, since, logPage)
}

// emitRows emits rows of the log and reports whether the topic advanced. stale
// means that the number of missing events was not known.
func (t *topic) emitRows(events []arena.Event, stale bool, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.head
	for i := range events {
		if e := &events[i]; e.Seq == t.head+1 {
			t.emit(e.Seq, e.Type.Ends(), e.AppendJSON(nil))
		}
	}
	t.emitEarly()
	t.seen = max(t.seen, t.head)
	if stale && (err != nil || len(events) == logPage) {
		t.stale = true
	}
	return t.head > before || t.head >= t.seen && (err == nil || !stale)
}

// attach makes s a reader. From now on its form is recorded.
func (t *topic) attach(s *spectator) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tl := t.tails[s.form]
	if tl == nil {
		tl = newTail(s.form, t.head, t.hub.bounds)
		t.tails[s.form] = tl
	}
	if t.key.kind != topicMatch {
		s.seq = max(s.seq, tl.base) // there is no log to read the events since hello from
	}
	tl.readers++
	if s.seq == t.head { // live from here on; later it could not detect missed events without a seq
		s.cursor, s.live = tl.end(), true
	}
	s.index = len(t.readers)
	t.readers = append(t.readers, s)
	t.fillIfBehind()
}

// detach is the end of attach.
func (t *topic) detach(s *spectator) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.readers) - 1
	t.readers[s.index] = t.readers[last]
	t.readers[s.index].index = s.index
	t.readers[last] = nil
	t.readers = t.readers[:last]
	if tl := t.tails[s.form]; tl.readers == 1 {
		t.tails[s.form] = nil
	} else {
		tl.readers--
	}
	s.cursor = cursor{}
}

// next returns the next action of s and the n events that are ready as one
// range of bytes.
func (t *topic) next(s *spectator) (b []byte, n int, do action) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tl := t.tails[s.form]
	if !s.live {
		switch {
		case s.seq > t.head:
			return nil, 0, actionWait
		case s.seq < tl.base:
			return nil, 0, actionRead
		}
		s.cursor, s.live = tl.seek(s.seq), true
		t.announced = 0 // it may have missed the viewers while it read the log
	}
	b, n, ok := tl.next(&s.cursor)
	switch {
	case !ok:
		return nil, 0, actionSlow
	case n > 0:
		return b, n, actionSend
	case t.over:
		return nil, 0, actionOver
	default:
		return nil, 0, actionWait
	}
}

// forgetRead drops what all readers of a league or the lobby have read: without
// a log no reader can request it, and the topic may be watched for weeks. The tail
// of a match serves spectators that reconnect, and is dropped with its topic.
func (t *topic) forgetRead() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for form, tl := range t.tails {
		if tl == nil || tl.oldest == tl.newest {
			continue
		}
		needed := tl.newest.no
		for _, s := range t.readers {
			switch {
			case int(s.form) != form:
			case s.live:
				needed = min(needed, s.cursor.seg.no)
			default: // where it begins is not known yet
				needed = tl.oldest.no
			}
		}
		tl.dropBefore(needed)
	}
}

func (t *topic) tailBytes() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tl := range t.tails {
		if tl != nil {
			n += tl.bytes
		}
	}
	return n
}

func (t *topic) viewers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.readers)
}

// announce publishes the number of a match's spectators, when that has
// changed.
func (t *topic) announce(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known || t.over || len(t.readers) == 0 {
		return
	}
	n := len(t.readers) + t.hub.viewersElsewhere(t.key.id)
	if n == t.announced {
		return
	}
	t.announced = n
	body := json.RawMessage(`{"count":` + strconv.Itoa(n) + `}`)
	t.append(noID, arena.Event{MatchID: t.key.id, At: now, Type: arena.EventViewers, Body: body}.AppendJSON(nil))
}
