package registry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/registry"
)

func TestNewPauses_refusesMissingParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	complete := registry.PausesOptions{Store: f.store, Publisher: f, Now: f.clock, Logger: f.log}
	for name, drop := range map[string]func(*registry.PausesOptions){
		"Store": func(o *registry.PausesOptions) { o.Store = nil }, "Publisher": func(o *registry.PausesOptions) { o.Publisher = nil },
		"Now": func(o *registry.PausesOptions) { o.Now = nil }, "Logger": func(o *registry.PausesOptions) { o.Logger = nil },
	} {
		o := complete
		drop(&o)
		if _, err := registry.NewPauses(o); err == nil {
			t.Errorf("without %s: no error", name)
		}
	}
}

// A pause after a 429 is in the log of the match that caused it, under the
// name that the seat has there, and is not published twice. When it ends, the
// next health check publishes that.
func TestPauses_PauseForRateLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p, g := f.pauses(), f.agent("ant")
	until := start.Add(5 * time.Minute)
	e, err := p.PauseForRateLimit(t.Context(), arena.Seat{AgentID: g.ID, Name: "Ant of then"}, until)
	f.ok(err)
	if want := `{"name":"Ant of then","reason":"rate_limit","until":"2025-06-01T12:05:00.000Z"}`; e.Type != arena.EventAgentPaused || e.AgentID != g.ID || string(e.Body) != want || !e.At.Equal(start) {
		t.Errorf("event %+v with %s", e, e.Body)
	}
	if pause, paused := f.stored(g.ID).PauseAt(start); !paused || pause.Reason != arena.PauseRateLimit || !pause.Until.Equal(until) {
		t.Errorf("the agent is paused: %v, %+v", paused, pause)
	}
	if got := f.published(); got != nil {
		t.Errorf("published %q", got)
	}
	if _, err := p.PauseForRateLimit(t.Context(), arena.Seat{AgentID: "ag_none"}, until); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("of an unknown agent: %v", err)
	}
	f.advance(5 * time.Minute)
	f.check(p, g, arena.HealthStep{Health: arena.Health{OK: true}})
	if d := cmp.Diff([]string{`agent_resumed ag_ant {"name":"ant","reason":"rate_limit"} []`}, f.published()); d != "" {
		t.Error(d)
	}
}

// check records one check that found what step says.
func (f *fixture) check(p *registry.Pauses, g arena.Agent, step arena.HealthStep) arena.Probed {
	f.t.Helper()
	recorded, err := p.RecordChecks(f.t.Context(), f.clock(), []arena.HealthCheck{{Agent: g, OK: step.Health.OK, Step: func(arena.Agent) arena.HealthStep { return step }}})
	f.ok(err)
	return recorded[0]
}

func TestPauses_RecordChecks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p, g := f.pauses(), f.agent("ant")
	if d := f.check(p, g, arena.HealthStep{Health: arena.Health{Reason: "refused"}, Pause: true}); d.Err != nil || d.After.Health.Reason != "refused" {
		t.Errorf("%+v", d)
	}
	f.check(p, g, arena.HealthStep{Health: arena.Health{Reason: "refused"}})
	if d := f.check(p, g, arena.HealthStep{Health: arena.Health{OK: true}, Resume: true}); d.Err != nil || f.stored(g.ID).StatusAt(start) != arena.AgentActive {
		t.Errorf("%+v", d)
	}
	want := []string{`agent_paused ag_ant {"name":"ant","reason":"health"} []`, `agent_resumed ag_ant {"name":"ant","reason":"health"} []`}
	if d := cmp.Diff(want, f.published()); d != "" {
		t.Error(d)
	}
	elsewhere := g
	elsewhere.Endpoint = "https://before.example"
	if d := f.check(p, elsewhere, arena.HealthStep{Pause: true}); arena.CodeOf(d.Err) != arena.CodeConflict {
		t.Errorf("of an agent that moved: %v", d.Err)
	}
	if d := f.check(p, arena.Agent{ID: "ag_none"}, arena.HealthStep{}); arena.CodeOf(d.Err) != arena.CodeNotFound {
		t.Errorf("of an unknown agent: %v", d.Err)
	}
	if got := f.published(); got != nil {
		t.Errorf("published %q", got)
	}
}
