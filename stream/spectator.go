package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/ws"
)

// query is the request of a spectator.
type query struct {
	topics int // how many it names; must be one
	key    topicKey
	since  int64 // -1: live only
	batch  bool
}

// maxName bounds a match id or slug in a query; the longest real one is far
// shorter.
const maxName = 128

// parseQuery reads the query string and the header with which an EventSource
// reconnects, which is newer than the since of its address.
func parseQuery(raw, lastEventID string) (query, error) {
	v, err := url.ParseQuery(raw)
	q := query{since: -1, topics: len(v["match"]) + len(v["league"]) + len(v["lobby"])}
	switch {
	case err != nil: // a malformed since must not be ignored
		return q, arena.Errorf(arena.CodeMalformed, "the query cannot be read: %v", err)
	case len(v["since"]) > 1:
		return q, arena.Errorf(arena.CodeMalformed, "since may stand there once")
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

// action is what a spectator does next.
type action uint8

const (
	actionWait action = iota // until something happens
	actionSend               // write what is ready
	actionRead               // read the log: the spectator is behind the tail
	actionSlow               // close: the tail has dropped its position
	actionOver               // close: nothing will follow
)

// spectator is a reader of one topic: a cursor, not a queue.
type spectator struct {
	*ws.Client
	topic  *topic
	form   form
	index  int // in topic.readers
	hello  []byte
	seq    int64 // until it is live: the last position it has read
	live   bool  // cursor is in the tail
	cursor cursor
	gone   bool // it has everything, and nothing will follow

	socket *socket // nil: an event stream
}

// hello is the first message.
type hello struct {
	Type   string `json:"type"`
	Topic  string `json:"topic"`
	Seq    int64  `json:"seq"`
	Epoch  string `json:"epoch"`
	Resync bool   `json:"resync,omitempty"` // since was ahead of the log: take a snapshot
}

// subscribe makes s a reader of the topic of q. After success the caller must
// unsubscribe. It returns CodeNotFound for a match or league that does not
// exist.
func (h *Handler) subscribe(ctx context.Context, s *spectator, q query) error {
	t := h.hub.acquire(q.key)
	if err := h.start(ctx, s, t, q); err != nil {
		h.hub.releaseTopic(t)
		return err
	}
	s.topic = t
	t.attach(s)
	return nil
}

// start finds where s begins: from the topic if it is already watched, else and
// for a position that it has not seen, from the stored match.
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

func (h *Hub) unsubscribe(s *spectator) {
	s.topic.detach(s)
	h.releaseTopic(s.topic)
}
