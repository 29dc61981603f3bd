package stream

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

// Events that another node has committed and this one has not received are in the
// log: a spectator that names a position there gets what follows, without a
// resync. Threat V4.
func TestSpectator_Since_not_received(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	b.publish(3)
	watcher := b.Dial(t, "?match=m_1", nil)
	watcher.Next()
	for range 5 {
		b.log.Commit(arena.Event{})
	}
	p := b.Dial(t, "?match=m_1&since=6", nil)
	if hello := p.Next(); hello.Resync || hello.Seq != 8 {
		t.Errorf("hello %s", hello.Raw)
	}
	streamtest.WantSeqs(t, p.Until(8), 7, 8)
	streamtest.WantSeqs(t, watcher.Until(8), 4, 8)
	b.log.Commit(arena.Event{})
	if hello := b.Dial(t, "?match=m_1&since=10", nil).Next(); !hello.Resync || hello.Seq != 9 {
		t.Errorf("hello %s", hello.Raw)
	}
}

// A spectator that reconnects after the end of a match gets the rest. Only one
// that has all events gets 204. Threat V4.
func TestSpectator_SSE_after_the_end(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	b.publish(3)
	b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Type: arena.EventMatchFinished}))
	for query, last := range map[string]string{"?match=m_1&since=2": "", "?match=m_1": "2", "?match=m_1&since=4": "2"} {
		s := b.Events(t, query, last)
		if s.Response.StatusCode != http.StatusOK {
			t.Fatalf("%s after %q: status %d", query, last, s.Response.StatusCode)
		}
		streamtest.WantSeqs(t, s.Until(4), 3, 4)
	}
	if s := b.Events(t, "?match=m_1", "4"); s.Response.StatusCode != http.StatusNoContent {
		t.Errorf("after the last: status %d", s.Response.StatusCode)
	}
}

// A browser that reconnects with the id of an event to a topic without ids is
// accepted and starts live.
func TestSpectator_SSE_id_without_a_log(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, query := range []string{"?league=" + streamtest.League, "?lobby=1"} {
		s := b.Events(t, query, "7")
		if hello, _ := s.Next(); hello.Type != "hello" || hello.Resync {
			t.Errorf("%s: status %d, hello %s", query, s.Response.StatusCode, hello.Raw)
		}
	}
}

// A match's row with the status finished ends no stream before the rest of
// the log has been sent, whatever the last event is. Threat V4.
func TestTopic_Over_with_the_last_event(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.gap = time.Hour }) // the test reads the log
	b.log.AddMatch("m_1", arena.VisibilityLive)
	for range 5 {
		b.log.Commit(arena.Event{})
	}
	topic := b.hub.acquire(topicKey{topicMatch, "m_1"})
	defer b.hub.releaseTopic(topic)
	topic.learn(visibilitytest.Match(arena.Match{ID: "m_1", Status: arena.MatchRunning, Seq: 3}))
	reader := &spectator{Client: ws.NewClient(ws.KindEventStream, nil, nil), form: formMessage, seq: 3}
	topic.attach(reader)
	defer topic.detach(reader)
	next := func(want action, events int) {
		t.Helper()
		if _, n, do := topic.next(reader); do != want || n != events {
			t.Errorf("got action %d, with %d events; want %d, with %d", do, n, want, events)
		}
	}
	next(actionWait, 0)
	topic.learn(visibilitytest.Match(arena.Match{ID: "m_1", Status: arena.MatchCancelled, Seq: 5}))
	next(actionWait, 0)
	topic.emitRows(b.log.Rows("m_1")[3:4], false, nil)
	next(actionSend, 1)
	next(actionWait, 0)
	topic.emitRows(b.log.Rows("m_1")[4:], false, nil)
	next(actionSend, 1)
	next(actionOver, 0)
}

// Rows that do not follow each other, and a read that failed, leave nothing
// out: what is missing is read again. Threat V4.
func TestTopic_Take_leaves_nothing_out(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.gap = time.Hour }) // the test reads the log
	b.log.AddMatch("m_1", arena.VisibilityLive)
	for range 4 {
		b.log.Commit(arena.Event{})
	}
	rows := b.log.Rows("m_1")
	topic := b.hub.acquire(topicKey{topicMatch, "m_1"})
	defer b.hub.releaseTopic(topic)
	topic.learn(visibilitytest.Match(arena.Match{ID: "m_1", Status: arena.MatchRunning}))
	reader := &spectator{Client: ws.NewClient(ws.KindEventStream, nil, nil), form: formMessage}
	topic.attach(reader)
	defer topic.detach(reader)
	behind := func() bool {
		topic.mu.Lock()
		defer topic.mu.Unlock()
		return topic.behind()
	}
	topic.link(true) // there may be more than was published
	topic.mu.Lock()
	topic.stale = false // a read is under way
	topic.mu.Unlock()
	if topic.emitRows(nil, true, errors.New("the log is unavailable")) || !behind() {
		t.Error("a read that failed counts as one that found nothing")
	}
	topic.emitRows([]arena.Event{rows[0], rows[2], rows[3]}, false, nil)
	if head, _, _ := topic.position(); head != 1 || !behind() {
		t.Errorf("after rows 1, 3 and 4 the topic stands at %d", head)
	}
	topic.emitRows(rows[1:], false, nil)
	if _, n, do := topic.next(reader); do != actionSend || n != 4 {
		t.Errorf("got action %d, with %d events of 4", do, n)
	}
}

// Events of a league published between hello and attach are skipped: there is no
// log to read them from.
func TestTopic_Attach_without_a_log(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := b.hub.acquire(topicKey{topicLeague, streamtest.League})
	defer b.hub.releaseTopic(topic)
	reader := &spectator{Client: ws.NewClient(ws.KindEventStream, nil, nil), form: formMessage}
	reader.seq, _, _ = topic.position()
	topic.count([]byte(`{}`))
	topic.attach(reader)
	defer topic.detach(reader)
	if _, n, do := topic.next(reader); do != actionWait || n != 0 {
		t.Errorf("got action %d, with %d events", do, n)
	}
	topic.count([]byte(`{}`))
	if _, n, do := topic.next(reader); do != actionSend || n != 1 {
		t.Errorf("got action %d, with %d events of 1", do, n)
	}
}

// A log with a missing row is not presented as complete: a reader gets the events
// before it and an error. Threat V4.
func TestSpectator_Log_with_a_gap(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	for range 4 {
		b.log.Commit(arena.Event{})
	}
	b.log.Delete("m_1", 2)
	for _, batch := range []string{"", "&batch=1"} {
		p := b.Dial(t, "?match=m_1&since=0"+batch, nil)
		p.Next()
		code, got := p.Rest()
		if code != ws.CloseInternal {
			t.Errorf("closed with %d", code)
		}
		streamtest.WantSeqs(t, got, 1, 2)
	}
}

// recordingBus is a bus that keeps what is published.
type recordingBus struct {
	Bus
	messages []string
}

func (b *recordingBus) Publish(topic string, payload []byte) {
	b.messages = append(b.messages, topic+" "+string(payload))
}

// A message to other nodes numbers its events by the first one: what does not
// follow, or is of another match, begins a message of its own. Threat V4.
func TestHub_Publish_runs(t *testing.T) {
	t.Parallel()
	bus := &recordingBus{Bus: muteBus{}}
	h := start(t, func(s *settings) { s.options.Bus = bus }).hub
	var events []arena.Event
	for _, at := range []struct {
		match string
		seq   int64
	}{{"m_1", 1}, {"m_1", 2}, {"m_1", 4}, {"m_2", 5}, {"m_1", 6}} {
		events = append(events, arena.Event{MatchID: at.match, Seq: at.seq, Type: arena.EventThinking})
	}
	h.Publish(streamtest.League, events...)
	line := func(n int) string { return "\n" + string(events[n].AppendJSON(nil)) }
	want := []string{"match:m_1 .1" + line(0) + line(1), "match:m_1 .4" + line(2), "match:m_2 .5" + line(3), "match:m_1 .6" + line(4)}
	if diff := cmp.Diff(want, bus.messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
