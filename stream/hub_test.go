package stream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	arenaquota "github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

// 50 writers commit and publish in whatever order the machine runs them,
// while spectators of every form come at any moment. Each must get an exact
// slice of the log. Threat V4, invariant 12.
func TestSpectator_Races_writers(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	const writers, each = 50, 40
	const last = writers * each
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			var late []arena.Event
			for range each {
				e := b.log.Commit(arena.Event{Body: json.RawMessage(`{"message":"hm"}`)})
				// Hold some back, some for ever, publish some twice.
				switch rand.IntN(8) {
				case 0:
					late = append(late, e)
				case 1:
				case 2:
					b.hub.Publish(streamtest.League, e, e)
				default:
					b.hub.Publish(streamtest.League, e)
				}
			}
			b.hub.Publish(streamtest.League, late...)
			_ = w
		})
	}
	for i := range 24 {
		wg.Go(func() {
			since := int64(rand.IntN(last / 2))
			switch i % 4 {
			case 0:
				s := b.Events(t, "?match=m_1", fmt.Sprint(since))
				first, _ := s.Next()
				if first.Resync {
					since = first.Seq
				}
				streamtest.WantSeqs(t, s.Until(last), since+1, last)
			case 1: // live only
				p := b.Dial(t, "?match=m_1", nil)
				if hello := p.Next(); hello.Seq < last {
					streamtest.WantSeqs(t, p.Until(last), hello.Seq+1, last)
				}
			default:
				p := b.Dial(t, fmt.Sprintf("?match=m_1&since=%d&batch=%d", since, i%2), nil)
				if hello := p.Next(); hello.Resync {
					since = hello.Seq
				}
				streamtest.WantSeqs(t, p.Until(last), since+1, last)
			}
		})
	}
	wg.Wait()
	streamtest.WantSeqs(t, b.Dial(t, "?match=m_1&since=0", nil).UntilHead(), 1, last)
}

// Events that were not published here are read from the log. A log that is
// unavailable for a while delays them, and no event is lost or repeated.
func TestHub_Gap(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.retry = time.Millisecond })
	b.log.AddMatch("m_1", arena.VisibilityLive)
	p := b.Dial(t, "?match=m_1", nil)
	p.Next()
	var rows []arena.Event
	for range 1700 {
		rows = append(rows, b.log.Commit(arena.Event{}))
	}
	b.log.FailReads(3)
	b.hub.Publish(streamtest.League, rows[1699], rows[3], rows[1699], rows[0], rows[0])
	streamtest.WantSeqs(t, p.Until(1700), 1, 1700)
	b.hub.Publish(streamtest.League, rows...)
	b.publish(1)
	streamtest.WantSeqs(t, p.Until(1701), 1701, 1701)
	topic := b.hub.acquire(topicKey{topicMatch, "m_1"})
	defer b.hub.releaseTopic(topic)
	topic.mu.Lock()
	early := len(topic.early)
	topic.mu.Unlock()
	if early > 0 {
		t.Errorf("%d events wait for ever", early)
	}
	if got := b.hub.Stats().Fills; got < 4 {
		t.Errorf("%d reads to fill the gap, want 3 failed ones and some good ones", got)
	}
}

// An event is committed and published between the moment a topic is made and
// the moment its row is read.
func TestHub_Publish_before_the_head_is_known(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	stale, _ := b.log.Match(t.Context(), "m_1")
	key := topicKey{topicMatch, "m_1"}
	topic := b.hub.acquire(key)
	defer b.hub.releaseTopic(topic)
	b.publish(2)
	topic.learn(visibilitytest.Match(stale))
	p := b.Dial(t, "?match=m_1&since=0", nil)
	if hello := p.Next(); hello.Seq != 2 {
		t.Errorf("hello says seq %d, want 2", hello.Seq)
	}
	streamtest.WantSeqs(t, p.Until(2), 1, 2)
}

// A long log is read page by page while events keep coming.
func TestSpectator_Late_joiner(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	b.publish(6_000)
	live := b.Dial(t, "?match=m_1", nil)
	live.Next()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			p := b.Dial(t, fmt.Sprintf("?match=m_1&since=0&batch=%d", i%2), nil)
			streamtest.WantSeqs(t, p.Until(6_500), 1, 6_500)
		})
	}
	wg.Go(func() { b.publish(500) })
	wg.Wait()
	streamtest.WantSeqs(t, live.Until(6_500), 6_001, 6_500)
}

// Threat V1.
func TestSpectator_Slow(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.write = 50 * time.Millisecond })
	b.log.AddMatch("m_1", arena.VisibilityLive)
	frozen := map[string]*streamtest.Peer{}
	for _, q := range []string{"", "&batch=1", "&since=0"} {
		frozen[q] = b.Dial(t, "?match=m_1"+q, nil)
		frozen[q].Next()
	}
	b.hub.timing.write = 30 * time.Second // the others are never slow, however busy the machine
	const live, step = 50, 20
	var wg sync.WaitGroup
	var targets [live]chan int64
	reached := make(chan struct{}, live)
	for i := range targets {
		targets[i] = make(chan int64)
		p := b.Dial(t, "?match=m_1&batch=1", nil)
		p.Next()
		wg.Go(func() {
			for seq := range targets[i] {
				streamtest.WantSeqs(t, p.Until(seq), seq-step+1, seq)
				reached <- struct{}{}
			}
		})
	}
	fat := json.RawMessage(`{"message":"` + strings.Repeat("x", 4<<10) + `"}`)
	var last int64
	for b.hub.Stats().Closes[ws.CloseSlow] < 3 || last < 5*step {
		for range step {
			e := b.log.Commit(arena.Event{Body: fat})
			b.hub.Publish(streamtest.League, e)
			last = e.Seq
		}
		for i := range targets { // the tail is bounded: all but the frozen ones keep pace
			targets[i] <- last
		}
		for range targets {
			<-reached
		}
	}
	for i := range targets {
		close(targets[i])
	}
	wg.Wait()
	for q, p := range frozen {
		code, got := p.Rest()
		if code != ws.CloseSlow {
			t.Errorf("%q: closed with %d, want %d", q, code, ws.CloseSlow)
		}
		var events []streamtest.Received
		for _, r := range got {
			if r.Seq > 0 && r.Type != "hello" {
				events = append(events, r)
			}
		}
		if len(events) > 0 {
			streamtest.WantSeqs(t, events, 1, events[len(events)-1].Seq)
		}
	}
}

func TestHub_League_and_lobby(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	lobby, wide := b.Dial(t, "?lobby=1", nil), b.Dial(t, "?league=trivia&batch=1", nil)
	if h := lobby.Next(); h.Topic != "lobby" || h.Seq != 0 || h.Epoch != b.hub.epoch {
		t.Errorf("hello %+v", h)
	}
	if h := wide.Next(); h.Topic != "league:trivia" {
		t.Errorf("hello %+v", h)
	}
	all := []arena.EventType{
		arena.EventMatchScheduled, arena.EventMatchStarted, arena.EventRoundStarted, arena.EventThinking, arena.EventAnswer,
		arena.EventSeatOutcome, arena.EventReveal, arena.EventRoundClosed, arena.EventAgentPaused, arena.EventAgentResumed,
		arena.EventAgentLeft, arena.EventMatchFinished,
	}
	for _, typ := range all {
		e := b.log.Commit(arena.Event{Type: typ})
		b.hub.Publish("another", e) // for the lobby only
		b.hub.Publish(streamtest.League, e)
	}
	b.hub.PublishAgent([]string{streamtest.League, "nobody"}, arena.Event{AgentID: "ag_1", Type: arena.EventAgentPaused})
	b.hub.PublishAgent(nil, arena.Event{AgentID: "ag_2", Type: arena.EventAgentPaused})
	b.hub.PublishAgent([]string{streamtest.League}, arena.Event{AgentID: "ag_3", Type: "end"})
	want := []string{
		"match_scheduled", "match_started", "round_started", "round_closed", "agent_paused", "agent_resumed", "agent_left",
		"match_finished", "agent_paused", "end",
	}
	var got []string
	for len(got) == 0 || got[len(got)-1] != "end" {
		_, data, err := wide.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			got = append(got, streamtest.Parse(t, line).Type)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("league (-want +got):\n%s", diff)
	}
	for n := 0; ; n++ {
		if lobby.Next().Type == "end" {
			if n != 2*8+2 {
				t.Errorf("lobby got %d events, want %d", n, 2*8+2)
			}
			break
		}
	}
}

func TestHub_Viewers(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.sweep = time.Millisecond })
	b.log.AddMatch("m_1", arena.VisibilityLive)
	first := b.Dial(t, "?match=m_1", nil)
	first.Next()
	if got := first.Next(); got.Type != "viewers" || got.Count != 1 || got.Seq != 0 || got.MatchID != "m_1" {
		t.Fatalf("got %s", got.Raw)
	}
	second := b.Events(t, "?match=m_1", "")
	if got := first.Next(); got.Type != "viewers" || got.Count != 2 {
		t.Fatalf("got %s", got.Raw)
	}
	if diff := cmp.Diff(map[string]int{"m_1": 2}, b.hub.ViewersByMatch()); diff != "" || b.hub.Viewers("m_1") != 2 {
		t.Errorf("viewers (-want +got):\n%s", diff)
	}
	// viewers is no event of the log: since still lands behind seq.
	b.publish(2)
	third := b.Dial(t, "?match=m_1&since=1", nil)
	streamtest.WantSeqs(t, third.Until(2), 2, 2)
	_ = third.CloseNow()
	_ = second.Response.Body.Close()
	_ = first.CloseNow()
	testwait.Until(t, "the topic to be freed", func() bool { return b.hub.Viewers("m_1") == 0 && b.hub.Stats().Topics == 0 })
}

// State is created on demand and freed with its last user.
func TestHub_Idle(t *testing.T) {
	t.Parallel()
	slots := arenaquota.NewSlots(2, "too many")
	b := start(t, func(s *settings) { s.parts.Addresses = slots })
	b.log.AddMatch("m_1", arena.VisibilityLive)
	b.publish(5)
	if got := b.hub.Stats(); got.Topics != 0 || b.log.Reads() != 0 {
		t.Errorf("no spectators, yet %d topics and %d reads", got.Topics, b.log.Reads())
	}
	p, s := b.Dial(t, "?match=m_1", nil), b.Events(t, "?league=trivia", "")
	p.Next()
	s.Next()
	open := map[string]int{"spectator": 1, "sse": 1, "agent": 0}
	if got := b.hub.Stats(); got.Topics != 2 || !cmp.Equal(got.Open, open) {
		t.Errorf("stats %+v", got)
	}
	_ = p.Close(1000, "enough")
	_ = s.Response.Body.Close()
	testwait.Until(t, "everything to be freed", func() bool {
		got := b.hub.Stats()
		return got.Topics == 0 && got.Open["spectator"] == 0 && got.Open["sse"] == 0 && streamtest.Free(slots, 2, "")
	})
	if got := b.hub.Stats().Closes; got[1000] != 1 || got[ws.CloseLost] != 1 {
		t.Errorf("closes %v, want one 1000 and one lost", got)
	}
}

func TestHub_Close(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive, "ag_1")
	token := b.Token("m_1", "ag_1", 1, time.Hour)
	peers := []*streamtest.Peer{b.Dial(t, "?match=m_1", nil), b.Dial(t, "?lobby=1&batch=1", nil), b.Agent(t, token), b.Dial(t, "", nil)}
	s := b.Events(t, "?match=m_1", "")
	s.Next()
	var wg sync.WaitGroup
	for _, p := range peers {
		wg.Go(func() {
			if code, _ := p.Rest(); code != ws.CloseRestart {
				t.Errorf("closed with %d, want 1012", code)
			}
		})
	}
	b.hub.Close()
	b.hub.Close()
	wg.Wait()
	for more := true; more; {
		_, more = s.Next()
	}
	streamtest.WantProblem(t, b.Request(t, "GET", "?lobby=1", http.Header{"Accept": {"text/event-stream"}}, ""), 503, arena.CodeUnavailable)
	if err := b.hub.Run(t.Context()); err == nil {
		t.Error("a closed hub ran again")
	}
}

// A league may be watched for weeks. Events that all its spectators have read are
// dropped, and those that one of them still has to read are kept. A match keeps
// its tail for spectators that reconnect.
func TestHub_Forgets_what_was_read(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.sweep = time.Hour }) // the test sweeps
	b.log.AddMatch("m_1", arena.VisibilityLive)
	readers := []*streamtest.Peer{b.Dial(t, "?league="+streamtest.League, nil), b.Dial(t, "?league="+streamtest.League+"&batch=1", nil), b.Dial(t, "?match=m_1", nil)}
	for _, p := range readers {
		p.Next() // hello
	}
	kept := func(key topicKey) int {
		topic := b.hub.acquire(key)
		defer b.hub.releaseTopic(topic)
		return topic.tailBytes()
	}
	const events, size = 400, 1000
	body := json.RawMessage(`{"message":"` + strings.Repeat("x", size) + `"}`)
	for range events {
		b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Type: arena.EventRoundStarted, Body: body}))
	}
	for _, p := range readers {
		p.Until(events)
	}
	watched, match := topicKey{topicLeague, streamtest.League}, topicKey{topicMatch, "m_1"}
	b.hub.sweep()
	if n := kept(watched); n > 2*lastSegment {
		t.Errorf("the league keeps %d bytes that all clients have read", n)
	}
	if n := kept(match); n < events*size {
		t.Errorf("the match keeps %d bytes of %d", n, events*size)
	}

	// One who has not read: nothing of it may go.
	topic := b.hub.acquire(watched)
	late := &spectator{Client: ws.NewClient(ws.KindEventStream, nil, nil), form: formMessage}
	late.seq, _, _ = topic.position()
	topic.attach(late)
	for range events {
		b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Type: arena.EventRoundStarted, Body: body}))
	}
	readers[0].Until(2 * events)
	b.hub.sweep()
	got := 0
	for {
		_, n, do := topic.next(late)
		if do != actionSend {
			if do != actionWait {
				t.Errorf("the late one gets action %d", do)
			}
			break
		}
		got += n
	}
	if got != events {
		t.Errorf("the late one gets %d events of %d", got, events)
	}
	topic.detach(late)
	b.hub.releaseTopic(topic)
}

// A reader whose position the tail has dropped is closed and does not wait, even
// if its socket is fast. Threat V1.
func TestTopic_Fell_off(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.bounds.events = 10 })
	for _, key := range []topicKey{{topicMatch, "m_1"}, {topicLeague, streamtest.League}} {
		b.log.AddMatch("m_1", arena.VisibilityLive)
		topic := b.hub.acquire(key)
		topic.learn(visibilitytest.Match(arena.Match{ID: "m_1"}))
		reader := &spectator{Client: ws.NewClient(ws.KindEventStream, nil, nil), form: formMessage}
		topic.attach(reader)
		body := json.RawMessage(`{"message":"` + strings.Repeat("x", firstSegment) + `"}`)
		for range 50 {
			b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Type: arena.EventRoundStarted, Body: body}))
		}
		if _, n, do := topic.next(reader); do != actionSlow {
			t.Errorf("%s: a reader of 50 events behind a tail of 10 gets action %d, with %d events", key, do, n)
		}
		topic.detach(reader)
		b.hub.releaseTopic(topic)
	}
}
