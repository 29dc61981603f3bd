package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/registry"
)

// pauses changes the pauses of the bench's agents.
func (b *bench) pauses() *registry.Pauses {
	b.t.Helper()
	p := registry.NewPauses(registry.PausesOptions{Store: b.store.Agents, Publisher: b, Now: time.Now, Logger: b.log})
	return p
}

// PublishAgent keeps the pauses of agents that fail. Another one fails the test:
// a pause that a round caused is in the log of its match alone.
func (b *bench) PublishAgent(_ []string, e arena.Event) {
	if !strings.Contains(string(e.Body), string(arena.PauseFailing)) {
		b.t.Errorf("published outside the match: %+v", e)
	}
	b.Publish("", e)
}

// An agent that fails rounds of two matches is paused when the second ends, and
// loses no rating by that.
func TestEngine_PausesAFailingAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(failing), right)
	for i, after := range []int{4, 2} {
		_, _, err := b.store.Agents.UpdateAgent(t.Context(), agentID(i), func(a *arena.Agent) error { a.PauseAfter = after; return nil })
		b.ok(err)
	}
	b.node("n1")
	for range 2 { // of three rounds
		b.over(b.match())
	}
	b.wait("the agent is paused", func() bool {
		return slices.ContainsFunc(b.published, func(e arena.Event) bool { return e.Type == arena.EventAgentPaused && e.AgentID == agentID(0) })
	})
	paused, err := b.store.Agents.Agent(t.Context(), agentID(0))
	b.ok(err)
	if p, _ := paused.PauseAt(time.Now()); p.Reason != arena.PauseFailing {
		t.Errorf("pause %+v", p)
	}
}
