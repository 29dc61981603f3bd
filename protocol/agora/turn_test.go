package agora

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// The clock of an attempt runs from its first message to the last byte of its
// last reply.
func TestTurn_elapsed(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	d := &Driver{o: Options{Now: func() time.Time { return began.Add(9 * time.Second) }}}
	for _, c := range []struct {
		turn turn
		want time.Duration
	}{
		{turn{}, 0},
		{turn{sentAt: began, exchange: protocol.Exchange{SentAt: began, Elapsed: time.Second}}, time.Second},
		{turn{sentAt: began, exchange: protocol.Exchange{SentAt: began.Add(4 * time.Second), Elapsed: time.Second}}, 5 * time.Second},
		{turn{sentAt: began, exchange: protocol.Exchange{Failure: protocol.FailConnect}}, 9 * time.Second},
	} {
		c.turn.d = d
		if got := c.turn.elapsed(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.turn.exchange, got, c.want)
		}
	}
}

// What is left of the limit is all that a second message gets: nothing is sent
// when nothing is left.
func TestTurn_no_time_left(t *testing.T) {
	t.Parallel()
	turn := &turn{d: &Driver{o: Options{Now: time.Now}}, conv: conversation{id: "c1"}}
	if v, answer := turn.ask(t.Context()); v.Outcome != arena.OutcomeTimeout || answer != nil || v.Retry {
		t.Errorf("%+v", v)
	}
}
