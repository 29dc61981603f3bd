package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"github.com/agora-arena/arena/arena"
)

// query is what a spectator asks for.
type query struct {
	topics int // how many it names; one is right
	key    topicKey
	since  int64 // -1: live only
	batch  bool
}

// maxName bounds a match id or slug in a query; the longest real one is far
// shorter.
const maxName = 128

// parseQuery reads the query string, and the header with which an EventSource
// comes back; that one is newer than the since of its address.
func parseQuery(v url.Values, lastEventID string) (query, error) {
	q := query{since: -1, topics: len(v["match"]) + len(v["league"]) + len(v["lobby"])}
	switch {
	case v.Has("match"):
		q.key = topicKey{topicMatch, v.Get("match")}
	case v.Has("league"):
		q.key = topicKey{topicLeague, v.Get("league")}
	case v.Has("lobby"):
		q.key = topicKey{topicLobby, ""}
		if v.Get("lobby") != "1" {
			return q, arena.Errorf(arena.CodeMalformed, "lobby must be 1")
		}
	}
	since, given := v.Get("since"), v.Has("since")
	if lastEventID != "" && q.key.kind == topicMatch {
		since, given = lastEventID, true
	}
	if given {
		n, err := strconv.ParseUint(since, 10, 63)
		if err != nil {
			return q, arena.Errorf(arena.CodeMalformed, "since must be a whole number from 0 on")
		}
		if q.topics == 1 && q.key.kind != topicMatch {
			return q, arena.Errorf(arena.CodeMalformed, "since goes with match: other topics have no log")
		}
		q.since = int64(n)
	}
	switch v.Get("batch") {
	case "", "0":
	case "1":
		q.batch = true
	default:
		return q, arena.Errorf(arena.CodeMalformed, "batch must be 1")
	}
	return q, nil
}

// oneTopic refuses a query that does not name exactly one topic.
func (q query) oneTopic() error {
	if q.topics != 1 {
		return arena.Errorf(arena.CodeMalformed, "name one topic: match=ID, league=SLUG or lobby=1")
	}
	return nil
}

// step is what a spectator does next.
type step uint8

const (
	stepWait step = iota // until something happens
	stepSend             // what is ready
	stepRead             // the log: it is behind the tail
	stepSlow             // goodbye: it fell off the tail
	stepOver             // goodbye: nothing will follow
)

// sink is where the bytes of a spectator go: a WebSocket or an event stream.
// send gives errSlow when they are not taken in time.
type sink interface {
	send(b []byte) error
	ping() error
}

// spectator is a reader of one topic: a cursor, not a queue.
type spectator struct {
	client
	topic  *topic
	form   form
	index  int // in topic.readers
	hello  []byte
	seq    int64 // until it is live: the last position it has
	live   bool  // cursor is in the tail
	cursor cursor
	gone   bool // nothing left, and nothing will come
}

// hello is the first message.
type hello struct {
	Type   string `json:"type"`
	Topic  string `json:"topic"`
	Seq    int64  `json:"seq"`
	Epoch  string `json:"epoch"`
	Resync bool   `json:"resync,omitempty"` // since was ahead of the log: take a snapshot
}

// subscribe makes a reader of the topic that q asks for. After success the
// caller must unsubscribe. It gives CodeNotFound for a match or league that
// does not exist.
func (h *Handler) subscribe(ctx context.Context, s *spectator, q query) error {
	t := h.hub.acquire(q.key)
	if err := h.start(ctx, s, t, q); err != nil {
		h.hub.letGo(t)
		return err
	}
	s.topic = t
	t.attach(s)
	return nil
}

// start finds where s begins. A topic that is already watched answers by
// itself; else, and for a position that it has not seen, the rows are asked.
func (h *Handler) start(ctx context.Context, s *spectator, t *topic, q query) error {
	head, known, _ := t.position()
	switch {
	case len(q.key.id) > maxName:
		return arena.Errorf(arena.CodeNotFound, "there is no such match or league")
	case q.key.kind == topicMatch && (!known || q.since > head):
		m, err := h.parts.Matches.Match(ctx, q.key.id)
		if err != nil {
			return fmt.Errorf("match %s: %w", q.key.id, err)
		}
		t.learn(m)
	case q.key.kind == topicLeague:
		if _, err := h.parts.Leagues.League(ctx, q.key.id); err != nil {
			return fmt.Errorf("league %s: %w", q.key.id, err)
		}
	}
	h.hub.join(t)
	head, _, over := t.position()
	first := hello{Type: "hello", Topic: q.key.String(), Seq: head, Epoch: h.hub.epoch, Resync: q.since > head}
	s.seq = head
	if q.since >= 0 && !first.Resync {
		s.seq = q.since
	}
	s.gone = over && s.seq >= head
	id := s.seq
	if q.key.kind != topicMatch {
		id = noID
	}
	text, err := json.Marshal(first)
	if err != nil {
		return fmt.Errorf("encode hello: %w", err)
	}
	s.hello = s.form.append(nil, id, text)
	return nil
}

func (h *Handler) unsubscribe(s *spectator) {
	s.topic.detach(s)
	h.hub.letGo(s.topic)
}

// watch writes to out until the spectator is done, and says why it is.
func (h *Handler) watch(s *spectator, out sink) ending {
	if err := out.send(s.hello); err != nil {
		return lostOrSlow(err)
	}
	s.hello = nil
	for {
		if e := s.ended.Load(); e != nil {
			return *e
		}
		if s.ping.Swap(false) {
			if err := out.ping(); err != nil {
				return lostOrSlow(err)
			}
		}
		b, n, do := s.topic.next(s)
		switch do {
		case stepSend:
			if err := out.send(b); err != nil {
				return lostOrSlow(err)
			}
			h.hub.counters.delivered.Add(uint64(n)) //nolint:gosec // G115: a count
		case stepRead:
			if e := h.catchUp(s, out); e != nil {
				return *e
			}
		case stepSlow:
			return ending{CloseSlow, "too slow; come back with since"}
		case stepOver:
			return ending{closeOver, "match over"}
		case stepWait:
			<-s.wake
		}
	}
}

// catchUpBytes is how much of a page is encoded before it is written.
const catchUpBytes = 32 << 10

// catchUp reads one page of the log behind s.seq and writes it.
func (h *Handler) catchUp(s *spectator, out sink) *ending {
	id := s.topic.key.id
	ctx, cancel := context.WithTimeout(h.hub.ctx, h.hub.timing.read)
	events, err := h.hub.source.EventsAfter(ctx, id, s.seq, logPage)
	cancel()
	if err == nil && (len(events) == 0 || events[0].Seq != s.seq+1) {
		err = errors.New("the log has a gap")
	}
	if err != nil && h.storageAway(err) {
		return &ending{closeRestart, "the arena's storage is away; come back with since"}
	}
	if err != nil {
		h.log.Error("cannot read the log for a spectator", slog.String("match_id", id), slog.Int64("seq", s.seq), slog.Any("error", err))
		return &ending{closeInternal, "the log cannot be read; come back with since"}
	}
	h.storageBack()
	var b, text []byte
	n := 0
	for i, e := range events {
		if e.Seq != s.seq+1 {
			break // the next page begins there, and says so
		}
		text = e.AppendJSON(text[:0])
		b = s.form.append(b, e.Seq, text)
		s.seq, n = e.Seq, n+1
		if len(b) < catchUpBytes && i < len(events)-1 {
			continue
		}
		if err := out.send(b); err != nil {
			e := lostOrSlow(err)
			return &e
		}
		h.hub.counters.delivered.Add(uint64(n))
		b, n = b[:0], 0
		if e := s.ended.Load(); e != nil {
			return e
		}
	}
	return nil
}

func lostOrSlow(err error) ending {
	if errors.Is(err, errSlow) {
		return ending{CloseSlow, "too slow; come back with since"}
	}
	return ending{code: closeLost}
}

// socket is the sink of a WebSocket.
type socket struct {
	*wire
	batch bool
	head  [maxFrameHeader]byte
}

func (s *socket) send(b []byte) error {
	if !s.batch {
		return s.wire.send(nil, b)
	}
	b = b[:len(b)-1] // no line break after the last line
	return s.wire.send(appendFrameHeader(s.head[:0], frameText, len(b)), b)
}

// serveSocket answers a spectator's WebSocket request.
func (h *Handler) serveSocket(w http.ResponseWriter, r *http.Request, q query) {
	release, err := h.addresses.take(h.parts.ClientIP(r))
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	s := &spectator{client: newClient(kindSpectator, h.hub.timing.ping, release), form: formMessage}
	if q.batch {
		s.form = formBatch
	}
	if err := h.hub.admit(&s.client); err != nil {
		release()
		h.refuse(w, r, err)
		return
	}
	if err := h.subscribe(r.Context(), s, q); err != nil {
		h.hub.dismiss(&s.client)
		h.refuse(w, r, err)
		return
	}
	ws, conn, err := h.hub.upgrade(w, r, spectatorMessage, func() { s.waiting.Store(false) })
	if err != nil {
		h.unsubscribe(s)
		h.hub.dismiss(&s.client)
		h.log.Debug("websocket handshake failed", slog.Any("error", err))
		return
	}
	// The request ends here: its goroutine and buffers are not kept for the
	// life of the socket.
	go func() {
		defer h.hub.dismiss(&s.client)
		reading := make(chan struct{})
		go func() {
			defer close(reading)
			s.listen(ws, h.hub)
		}()
		e := h.watch(s, &socket{wire: conn, batch: q.batch})
		h.unsubscribe(s)
		h.hub.counters.closed(e.code)
		s.finish(ws, conn, reading, e, h.hub.timing.grace)
	}()
}

// What a spectator may say, though nobody listens: small messages, seldom.
const (
	spectatorMessage = 512 // bytes
	spectatorRate    = 5   // messages per second
	spectatorBurst   = 20
)

// listen reads pongs and the goodbye. Messages are thrown away.
func (s *spectator) listen(ws *websocket.Conn, h *Hub) {
	var limit *rate.Limiter
	for {
		_, m, err := ws.Reader(context.Background()) // ends with the connection
		if err == nil {
			_, err = io.Copy(io.Discard, m)
		}
		if err != nil {
			e := lostBy(err)
			s.end(e.code, e.reason)
			return
		}
		if limit == nil {
			limit = rate.NewLimiter(spectatorRate, spectatorBurst)
		}
		if !limit.AllowN(h.now(), 1) {
			s.end(CloseBadRequest, "a spectator only listens")
		}
	}
}
