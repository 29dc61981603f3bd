package runner

import (
	"encoding/json"
	"testing"

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
