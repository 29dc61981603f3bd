package a2a

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// Events accepts the stream events of an agent in a match: one JSON object in
// the form of AAP.
type Events interface {
	Accept(ctx context.Context, matchID, agentID string, event []byte) error
}

// The limits of the events of one attempt.
const (
	maxEvents  = 200
	maxWords   = 4 << 10 // bytes of an event's text
	eventQueue = 16      // more are dropped while the store is slow
)

// thoughts are the status messages of an agent on their way to spectators. They
// are stored by a goroutine of their own, so that a slow store costs the agent
// no time.
type thoughts struct {
	events Events
	a      *arena.Attempt

	sent int
	last string
	ch   chan []byte
	done chan struct{}
}

// add adds the message of a status that is not the last one.
func (t *thoughts) add(ctx context.Context, m *message) {
	if m == nil || t.a.Judging || t.sent == maxEvents {
		return
	}
	text := strings.Join(texts(m.Parts), "\n")
	if text == "" || text == t.last { // a poll returns the same message again
		return
	}
	t.last = text
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "…"
	}
	event, err := json.Marshal(map[string]string{"type": string(arena.EventThinking), "message": text})
	if err != nil {
		return // a text always encodes
	}
	if t.ch == nil {
		t.start(ctx)
	}
	select {
	case t.ch <- event:
		t.sent++
	default:
	}
}

func (t *thoughts) start(ctx context.Context) {
	t.ch, t.done = make(chan []byte, eventQueue), make(chan struct{})
	go func() {
		defer close(t.done)
		for event := range t.ch {
			_ = t.events.Accept(ctx, t.a.MatchID, t.a.Seat.AgentID, event) // one that is refused is not shown
		}
	}()
}

// flush waits until all events are stored: they belong to the round that the
// answer may close.
func (t *thoughts) flush() {
	if t.ch != nil {
		close(t.ch)
		<-t.done
	}
}
