package stream

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/ws"
)

// Bus connects the hubs of several nodes. It may lose messages, which it
// reports. Its methods never block.
type Bus interface {
	// Publish sends a message to the other nodes that subscribe to the topic.
	// The payload is not changed afterwards.
	Publish(topic string, payload []byte)
	// Subscribe calls message for what other nodes publish, one at a time and
	// in the order of each node. It calls link with true when the subscription
	// holds from now on and something may have been missed before, and with
	// false when the connection was lost. It begins as not linked.
	Subscribe(topic string, message func(payload []byte), link func(up bool))
	Unsubscribe(topic string)
	// Announce informs the other nodes how many spectators each match has here.
	Announce(viewers map[string]int)
	// Viewers returns the number of a match's spectators on other nodes.
	Viewers(matchID string) int
}

// readsAtOnce bounds the reads of the log that an outage of the bus causes:
// all topics need one at the same time, and matches need the database too.
const readsAtOnce = 4

// A message on a match topic is the seq of its first event in decimal, after
// one of these bytes, and the events that follow each other, each behind a
// line break. Messages on other topics are events, each behind a line break.
const (
	payloadOpen = '.' // more events will follow
	payloadLast = '!' // its last event is the last of the match
)

// payload collects the events of one message.
type payload struct {
	match string
	next  int64 // the seq that continues it
	text  []byte
}

// begin starts a message with the event seq.
func (p *payload) begin(match string, seq int64) {
	*p = payload{match: match, next: seq, text: strconv.AppendInt([]byte{payloadOpen}, seq, 10)}
}

// add appends an event and returns its text.
func (p *payload) add(e *arena.Event) []byte {
	p.text = append(p.text, '\n')
	at := len(p.text)
	p.text = e.AppendJSON(p.text)
	p.next++
	if e.Type.Ends() {
		p.text[0] = payloadLast
	}
	return p.text[at:]
}

// JoinMessages returns one message that carries the events of two on the same
// topic, the second right after the first; false when events are missing
// between them, or the topic does not belong to stream. It may change the first.
func JoinMessages(topic string, first, then []byte) ([]byte, bool) {
	switch kind, _, _ := strings.Cut(topic, ":"); kind {
	case "league", "lobby":
		return append(first, then...), true
	case "match":
	default:
		return nil, false
	}
	head, lines, _ := bytes.Cut(first, []byte{'\n'})
	nextHead, nextLines, more := bytes.Cut(then, []byte{'\n'})
	if len(head) < 2 || len(nextHead) < 2 || !more || head[0] == payloadLast {
		return nil, false
	}
	seq, err := strconv.ParseInt(string(head[1:]), 10, 64)
	nextSeq, nextErr := strconv.ParseInt(string(nextHead[1:]), 10, 64)
	if err != nil || nextErr != nil || seq+int64(bytes.Count(lines, []byte{'\n'}))+1 != nextSeq {
		return nil, false
	}
	first[0] = then[0]
	return append(append(first, '\n'), nextLines...), true
}

// publishToNodes is Publish on a hub with a bus: events are encoded once, for the
// spectators here and for the other nodes.
func (h *Hub) publishToNodes(league string, events []arena.Event) {
	var run payload
	var wide []byte
	flush := func() {
		if len(run.text) > 0 {
			h.bus.Publish(topicKey{topicMatch, run.match}.String(), run.text)
		}
	}
	for i := range events {
		e := &events[i]
		if e.MatchID == "" || e.Seq <= 0 {
			continue
		}
		h.counters.published.Add(1)
		if e.Type.Ends() {
			h.seats.End(e.MatchID)
		}
		if e.MatchID != run.match || e.Seq != run.next {
			flush()
			run.begin(e.MatchID, e.Seq)
		}
		text := run.add(e)
		if matchLevel(e.Type) {
			wide = append(append(wide, '\n'), text...)
		}
		if match, league, lobby := h.topicsOf(league, e); match != nil || league != nil || lobby != nil {
			h.fanOut(match, league, lobby, e, text)
		}
	}
	flush()
	if len(wide) > 0 {
		h.bus.Publish(topicKey{topicLeague, league}.String(), wide)
		h.bus.Publish(topicKey{topicLobby, ""}.String(), wide)
	}
}

// receive handles a message of another node.
func (t *topic) receive(message []byte) {
	head, lines, _ := bytes.Cut(message, []byte{'\n'})
	if t.key.kind != topicMatch {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.hub.counters.received.Add(uint64(t.eachLine(lines, func(text []byte, _ bool) { t.countLocked(text) }))) //nolint:gosec // G115: a count
		return
	}
	if len(head) < 2 {
		return
	}
	seq, err := strconv.ParseInt(string(head[1:]), 10, 64)
	if err != nil || seq <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hub.counters.received.Add(uint64(t.eachLine(lines, func(text []byte, final bool) { //nolint:gosec // G115: a count
		t.publishLocked(seq, final && head[0] == payloadLast, text)
		seq++
	})))
	t.fillIfBehind()
}

// eachLine calls f for each event of a message. final marks the last one.
func (t *topic) eachLine(lines []byte, f func(text []byte, final bool)) (n int) {
	for more := len(lines) > 0; more; n++ {
		var text []byte
		text, lines, more = bytes.Cut(lines, []byte{'\n'})
		f(text, !more)
	}
	return n
}

// join subscribes a topic on the bus, once. For the topics without a log it
// waits briefly until the subscription holds, so that nothing is missing after
// hello.
func (h *Hub) join(t *topic) {
	if h.bus == nil {
		return
	}
	h.mu.Lock()
	if !t.joined {
		t.joined = true
		h.bus.Subscribe(t.key.String(), t.receive, t.link)
	}
	h.mu.Unlock()
	if t.key.kind == topicMatch {
		return
	}
	patience := time.NewTimer(h.timing.join)
	defer patience.Stop()
	select {
	case <-t.ready:
	case <-patience.C:
	case <-h.clients.Closing():
	}
}

// link follows the subscription. Whatever may have been missed is read from
// the log; the readers of a topic without a log must reconnect.
func (t *topic) link(up bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.linked = up
	if !up {
		return
	}
	t.stale = true
	t.fillIfBehind()
	if t.key.kind == topicMatch {
		return
	}
	select {
	case <-t.ready:
	default:
		close(t.ready)
	}
	for _, s := range t.readers {
		s.End(ws.Ending{Code: ws.CloseRestart, Reason: "events may be missing; reconnect"})
	}
}

// pollMatches reads the log for the match topics that may be missing events:
// always while the bus is down, and from time to time while a match is silent,
// since a killed node does not publish its last commits.
func (h *Hub) pollMatches() {
	for _, t := range h.topicsOfKind(topicMatch) {
		t.mu.Lock()
		t.silent += h.timing.poll
		if !t.linked || t.silent >= h.timing.quiet {
			t.silent, t.stale = 0, true
			t.fillIfBehind()
		}
		t.mu.Unlock()
	}
}

// acquireRead waits until a topic may read the log. It reports false when the
// clients close.
func (h *Hub) acquireRead() (done func(), ok bool) {
	if h.reads == nil {
		return func() {}, true
	}
	select {
	case h.reads <- struct{}{}:
		return func() { <-h.reads }, true
	case <-h.clients.Closing():
		return nil, false
	}
}
