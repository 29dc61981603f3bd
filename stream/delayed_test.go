package stream

import (
	"net/http"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Of a delayed match spectators get what is old enough, early or late,
// however it comes; its end brings the rest at once. Rulebook, section 5.
func TestSpectator_Delayed(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.poll = time.Millisecond })
	b.log.match("m_1", "delayed:30", "ag_1")
	commit := func(n int) {
		for range n {
			b.log.commit(arena.Event{}) // nobody publishes it
		}
	}
	commit(5)
	b.log.show(3)

	early := b.dial(t, "?match=m_1&since=0", nil)
	if hello := early.next(); hello.Seq != 3 || hello.Resync {
		t.Errorf("hello %s", hello.raw)
	}
	slice(t, early.until(3), 1, 3)
	ahead := b.dial(t, "?match=m_1&since=4", nil) // what is not shown is not there
	if hello := ahead.next(); hello.Seq != 3 || !hello.Resync {
		t.Errorf("hello %s", hello.raw)
	}

	// An agent's events are open, and are not published when they come.
	agent := b.agent(t, b.token("m_1", "ag_1", 1, time.Hour))
	agent.say(`{"type":"thinking","message":"Lima?"}`)
	eventually(t, "the agent's event", func() bool { return len(b.log.rows("m_1")) == 6 })
	if row := b.log.rows("m_1")[5]; string(row.Body) != `{"message":"Lima?"}` || row.Hidden != nil {
		t.Errorf("stored %s, hidden %s", row.Body, row.Hidden)
	}
	polls := b.hub.counters.polls.Load()
	eventually(t, "looks into the log", func() bool { return b.hub.counters.polls.Load() > polls+2 })
	topic := b.hub.topicsOfKind(topicMatch)[0]
	if seq, _, _ := topic.position(); seq != 3 {
		t.Errorf("event %d is known of a match that is shown up to 3", seq)
	}
	b.log.show(6)
	got := early.until(6)
	slice(t, got, 4, 6)
	if got[2].Message != "Lima?" {
		t.Errorf("got %s", got[2].raw)
	}
	slice(t, ahead.until(6), 4, 6)

	// The log is long: it is read page by page, as far as it is shown.
	commit(3 * logPage)
	b.log.show(2*logPage + 7)
	slice(t, early.until(2*logPage+7), 7, 2*logPage+7)
	late := b.events(t, "?match=m_1&since=0", "")
	slice(t, late.until(2*logPage+7), 1, 2*logPage+7)

	end := b.log.commit(arena.Event{Type: arena.EventMatchFinished})
	b.hub.Publish(league, end)
	slice(t, early.until(end.Seq), 2*logPage+8, end.Seq)
	slice(t, late.until(end.Seq), 2*logPage+8, end.Seq)
	if code, _ := early.rest(); code != 1000 {
		t.Errorf("closed with %d", code)
	}
	if s := b.events(t, "?match=m_1&since=0", ""); s.resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", s.resp.StatusCode)
	} else {
		slice(t, s.until(end.Seq), 1, end.Seq)
	}
	b.log.mu.Lock()
	defer b.log.mu.Unlock()
	if b.log.early > 0 {
		t.Errorf("%d reads of the log do not mind the delay", b.log.early)
	}
}
