package stream

import (
	"net/http"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/streamtest"
)

// Of a delayed match spectators get what is old enough, early or late,
// however it comes; its end brings the rest at once. docs/rules.md, section 5.
func TestSpectator_Delayed(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", "delayed:30", "ag_1")
	commit := func(n int) {
		for range n {
			b.log.Commit(arena.Event{})
		}
	}
	shown := int64(0)
	show := func(upTo int64) { // as the node does that plays the match
		b.log.ShowUpTo(upTo)
		b.hub.Publish(streamtest.League, b.log.Rows("m_1")[shown:upTo]...)
		shown = upTo
	}
	commit(5)
	show(3)

	early := b.Dial(t, "?match=m_1&since=0", nil)
	if hello := early.Next(); hello.Seq != 3 || hello.Resync {
		t.Errorf("hello %s", hello.Raw)
	}
	streamtest.WantSeqs(t, early.Until(3), 1, 3)
	ahead := b.Dial(t, "?match=m_1&since=4", nil) // events that are not visible yet do not exist
	if hello := ahead.Next(); hello.Seq != 3 || !hello.Resync {
		t.Errorf("hello %s", hello.Raw)
	}

	// An agent's events are open, and are not published when they come.
	if err := b.agents.Accept(t.Context(), "m_1", "ag_1", []byte(`{"type":"thinking","message":"Lima?"}`)); err != nil {
		t.Fatal(err)
	}
	if row := b.log.Rows("m_1")[5]; string(row.Body) != `{"message":"Lima?"}` || row.Hidden != nil {
		t.Errorf("stored %s, hidden %s", row.Body, row.Hidden)
	}
	if seq, _, _ := b.hub.topicsOfKind(topicMatch)[0].position(); seq != 3 {
		t.Errorf("event %d is known of a match that is shown up to 3", seq)
	}
	show(6)
	got := early.Until(6)
	streamtest.WantSeqs(t, got, 4, 6)
	if got[2].Message != "Lima?" {
		t.Errorf("got %s", got[2].Raw)
	}
	streamtest.WantSeqs(t, ahead.Until(6), 4, 6)

	// The log is long: it is read page by page, as far as it is shown, also when
	// of all that is old enough only the last was published.
	commit(3 * logPage)
	shown = 2*logPage + 6
	show(2*logPage + 7)
	streamtest.WantSeqs(t, early.Until(2*logPage+7), 7, 2*logPage+7)
	late := b.Events(t, "?match=m_1&since=0", "")
	streamtest.WantSeqs(t, late.Until(2*logPage+7), 1, 2*logPage+7)

	end := b.log.Commit(arena.Event{Type: arena.EventMatchFinished})
	b.hub.Publish(streamtest.League, end)
	streamtest.WantSeqs(t, early.Until(end.Seq), 2*logPage+8, end.Seq)
	streamtest.WantSeqs(t, late.Until(end.Seq), 2*logPage+8, end.Seq)
	if code, _ := early.Rest(); code != 1000 {
		t.Errorf("closed with %d", code)
	}
	if s := b.Events(t, "?match=m_1&since=0", ""); s.Response.StatusCode != http.StatusOK {
		t.Errorf("status %d", s.Response.StatusCode)
	} else {
		streamtest.WantSeqs(t, s.Until(end.Seq), 1, end.Seq)
	}
	if n := b.log.EarlyReads(); n > 0 {
		t.Errorf("%d reads of the log ignore the delay", n)
	}
}
