package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/seal"
)

// A revealed part is the one that its seat committed to, also where encoding/json
// spells a character differently from RFC 8785.
func TestMatchRun_closingEvents_reveal(t *testing.T) {
	t.Parallel()
	mr := &matchRun{engine: &Engine{o: Options{Now: time.Now}}, m: arena.Match{ID: "m_1", Settings: arena.Settings{Visibility: arena.VisibilitySealed}}}
	sealed, err := mr.outcomeEvent(arena.Answer{Round: 1, AgentID: "ag_1", Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "<Lima> & \u2028 more"}})
	if err != nil {
		t.Fatal(err)
	}
	sealed.Seq = 3
	events := mr.closingEvents(&round{Round: arena.Round{No: 1}}, arena.RoundClose{Round: 1}, arena.ClosedGame{}, []arena.Event{sealed})
	if len(events) != 2 || events[0].Type != arena.EventReveal {
		t.Fatalf("got %v", events)
	}
	var committed struct{ Commitment string }
	var reveal arena.RevealBody
	if err := errors.Join(json.Unmarshal(sealed.Body, &committed), json.Unmarshal(events[0].Body, &reveal)); err != nil {
		t.Fatal(err)
	}
	if len(reveal.Events) != 1 || reveal.Events[0].Seq != 3 || reveal.Events[0].AgentID != "ag_1" {
		t.Fatalf("got %s", events[0].Body)
	}
	if err := seal.Verify(reveal.Events[0].Hidden, committed.Commitment); err != nil {
		t.Error(err)
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
