package engine

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// What is written by hand is what the type encodes to.
func TestRevealBody(t *testing.T) {
	t.Parallel()
	hidden := []arena.Event{
		{Seq: 3, AgentID: "ag_1", Hidden: json.RawMessage(`{"answer":"Lima","nonce":"x"}`)},
		{Seq: 12, AgentID: "ag_2", Hidden: json.RawMessage(`{}`)},
	}
	for n := range len(hidden) + 1 {
		body := arena.RevealBody{Events: []arena.RevealedEvent{}}
		for _, h := range hidden[:n] {
			body.Events = append(body.Events, arena.RevealedEvent{Seq: h.Seq, AgentID: h.AgentID, Hidden: h.Hidden})
		}
		want, err := json.Marshal(body)
		if got := revealBody(hidden[:n]); err != nil || string(got) != string(want) {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	}
}

// An answer is shown at once only where the match is known to be live; what is
// not known to be open stays shut. Threat F1.
func TestMatchRun_outcomeEvent_sealed(t *testing.T) {
	t.Parallel()
	for visibility, open := range map[arena.Visibility]bool{arena.VisibilityLive: true, arena.VisibilitySealed: false, "": false, "unheard of": false} {
		mr := &matchRun{engine: &Engine{o: Options{Now: time.Now}}, m: arena.Match{ID: "m_1", Settings: arena.Settings{Visibility: visibility}}}
		e, err := mr.outcomeEvent(arena.Answer{Round: 1, AgentID: "ag_1", Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "Lima"}})
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(e.Body, []byte("Lima")) != open || bytes.Contains(e.Hidden, []byte("Lima")) == open {
			t.Errorf("visibility %q: %s hides %s", visibility, e.Body, e.Hidden)
		}
	}
}
