package arena_test

import (
	"math"
	"testing"

	"github.com/agora-arena/arena/arena"
)

func TestNewEvent(t *testing.T) {
	t.Parallel()
	e, err := arena.NewEvent(arena.Event{AgentID: "ag_1", Type: arena.EventAgentResumed}, arena.AgentResumedBody{Name: "A", Reason: arena.PauseOwner})
	if err != nil || e.AgentID != "ag_1" || e.Type != arena.EventAgentResumed || string(e.Body) != `{"name":"A","reason":"owner"}` {
		t.Errorf("NewEvent returned %+v with body %s, %v", e, e.Body, err)
	}
	if e, err := arena.NewEvent(arena.Event{MatchID: "m_1", Type: arena.EventViewers}, math.Inf(1)); err == nil {
		t.Errorf("a body without JSON gave %+v", e)
	}
}
