package registry_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/registry"
)

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

// suspend suspends Alice at a time; the zero time restores her.
func (f *fixture) suspend(at time.Time) arena.Owner {
	f.t.Helper()
	before, err := f.store.Accounts.SuspendOwner(f.t.Context(), "ow_alice", at, "", arena.AuditEntry{At: start, Actor: "admin", Action: "suspend-owner"})
	f.ok(err)
	return before
}

// The agents of a suspended owner take no seats; a pause of an admin's own
// stays when the owner is restored. Threat T4.
func TestPauses_FollowOwner(t *testing.T) {
	t.Parallel()
	s := newService(t)
	p := s.options.Pauses
	s.agent("ant")
	s.agent("bee")
	s.ok(s.store.Agents.CreateAgent(t.Context(), arena.Agent{ID: "ag_bob", OwnerID: "ow_bob", Name: "bob", Protocol: arena.ProtocolAAP, CreatedAt: start, PassedAt: start}))
	_, err := s.Pause(t.Context(), admin(), "ag_bee")
	s.ok(err)
	s.advance(time.Minute)
	at := s.clock()
	s.suspend(at)
	s.published()
	s.ok(p.FollowOwner(t.Context(), "ow_alice", time.Time{}))
	s.ok(p.FollowOwner(t.Context(), "ow_alice", time.Time{}))
	if d := cmp.Diff([]string{`agent_paused ag_ant {"name":"ant","reason":"admin"} []`}, s.published()); d != "" {
		t.Error(d)
	}
	if got := s.stored("ag_bob").StatusAt(at); got != arena.AgentActive {
		t.Errorf("another owner's agent is %s", got)
	}
	_, err = s.Resume(t.Context(), admin(), "ag_ant")
	s.fails(err, arena.CodeConflict)
	// One that was registered meanwhile is paused by its first check.
	late := s.agent("late")
	s.check(p, late, arena.HealthStep{Health: arena.Health{OK: true}, Passed: true})
	if got := s.stored("ag_late").StatusAt(at); got != arena.AgentPaused {
		t.Errorf("an agent registered during the suspension is %s", got)
	}
	// An admin pauses one that is paused with its owner.
	s.advance(time.Minute)
	_, err = s.Pause(t.Context(), admin(), "ag_late")
	s.ok(err)
	s.ok(p.FollowOwner(t.Context(), "ow_alice", s.suspend(time.Time{}).SuspendedAt))
	for id, want := range map[string]arena.AgentStatus{"ag_ant": arena.AgentActive, "ag_bee": arena.AgentPaused, "ag_late": arena.AgentPaused} {
		if got := s.stored(id).StatusAt(s.clock()); got != want {
			t.Errorf("after the owner was restored %s is %s, want %s", id, got, want)
		}
	}
	_, err = s.Resume(t.Context(), admin(), "ag_late")
	s.ok(err)
}

// A moderator pauses and resumes any agent as an admin does. Threat T1.
func TestService_Pause_moderator(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.agent("ant")
	moderator := arena.Caller{TokenID: "to_m", Scope: arena.ScopeModerator}
	paused, err := s.Pause(t.Context(), moderator, "ag_ant")
	s.ok(err)
	if p, _ := paused.PauseAt(start); p.Reason != arena.PauseAdmin {
		t.Errorf("%+v", p)
	}
	_, err = s.Resume(t.Context(), alice(), "ag_ant")
	s.fails(err, arena.CodeConflict)
	resumed, err := s.Resume(t.Context(), moderator, "ag_ant")
	if s.ok(err); resumed.StatusAt(start) != arena.AgentActive {
		t.Errorf("%+v", resumed)
	}
	organizer := arena.Caller{Scope: arena.ScopeOrganizer, Leagues: []string{"quiz"}}
	_, err = s.Pause(t.Context(), organizer, "ag_ant")
	s.fails(err, arena.CodeNotFound)
	_, err = s.Pause(t.Context(), moderator, "ag_none")
	s.fails(err, arena.CodeNotFound)
	if got := s.audited(); len(got) != 2 || got[0] != "moderator to_m pause-agent ag_ant  " {
		t.Errorf("audited %q", got)
	}
}

// attempts is a store with the attempts of a test, newest first.
type attempts struct {
	registry.PauseStore

	list []arena.Delivery
}

func (a attempts) Deliveries(_ context.Context, _ arena.DeliveryFilter, p arena.Page) ([]arena.Delivery, string, error) {
	from, _ := strconv.Atoi(p.Cursor)
	if to := from + 2; to < len(a.list) { // small pages: whoever reads only the first misses attempts
		return a.list[from:to], strconv.Itoa(to), nil
	}
	return a.list[from:], "", nil
}

func TestPauses_PauseIfFailing(t *testing.T) {
	t.Parallel()
	attempt := func(match string, round int, o arena.Outcome, ago time.Duration) arena.Delivery {
		return arena.Delivery{MatchID: match, Round: round, Outcome: o, SentAt: start.Add(-ago)}
	}
	failed := []arena.Delivery{
		attempt("m_2", 1, arena.OutcomeTimeout, time.Minute), attempt("m_1", 2, arena.OutcomeError, 2*time.Minute),
		attempt("m_1", 1, arena.OutcomeInvalid, 3*time.Minute),
	}
	answered := attempt("m_1", 2, arena.OutcomeAnswered, 2*time.Minute)
	for name, c := range map[string]struct {
		after  int
		change func(*arena.Agent)
		list   []arena.Delivery
		want   bool
	}{
		"three rounds of two matches": {after: 3, list: failed, want: true},
		"one too few":                 {after: 4, list: failed},
		"never":                       {after: 0, list: failed},
		"an answer between":           {after: 3, list: []arena.Delivery{failed[0], answered, failed[1], failed[2]}},
		"a 429 between":               {after: 2, list: []arena.Delivery{failed[0], attempt("m_1", 3, arena.OutcomeRateLimited, 0), failed[1]}},
		"a round counts once":         {after: 3, list: []arena.Delivery{failed[0], failed[1], attempt("m_1", 2, arena.OutcomeError, 2*time.Minute)}},
		"the last attempt decides":    {after: 2, list: []arena.Delivery{failed[0], answered, attempt("m_1", 2, arena.OutcomeError, 2*time.Minute), failed[2]}},
		"since it was resumed":        {after: 3, change: func(g *arena.Agent) { g.ResumedAt = start.Add(-150 * time.Second) }, list: failed},
		"with another endpoint":       {after: 3, change: func(g *arena.Agent) { g.EndpointSince = start.Add(-150 * time.Second) }, list: failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			g := f.agent("ant")
			_, _, err := f.store.Agents.UpdateAgent(t.Context(), g.ID, func(g *arena.Agent) error {
				if g.PauseAfter = c.after; c.change != nil {
					c.change(g)
				}
				return nil
			})
			f.ok(err)
			p := registry.NewPauses(registry.PausesOptions{Store: attempts{f.store.Agents, c.list}, Publisher: f, Now: f.clock, Logger: f.log})
			f.ok(p.PauseIfFailing(t.Context(), g.ID))
			f.ok(p.PauseIfFailing(t.Context(), g.ID)) // a second match ends
			var want []string
			if c.want {
				want = []string{`agent_paused ag_ant {"name":"ant","reason":"failing"} []`}
			}
			if d := cmp.Diff(want, f.published()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestService_Resume_failing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	_, _, err := s.store.Agents.UpdateAgent(t.Context(), g.ID, func(g *arena.Agent) error {
		g.SetPause(arena.Pause{Reason: arena.PauseFailing, Since: start})
		return nil
	})
	s.ok(err)
	s.advance(time.Minute)
	_, err = s.Resume(t.Context(), alice(), g.ID)
	s.ok(err)
	if now := s.stored(g.ID); now.StatusAt(s.clock()) != arena.AgentActive || !now.ResumedAt.Equal(s.clock()) {
		t.Errorf("%s, resumed at %v", now.StatusAt(s.clock()), now.ResumedAt)
	}
}

// notices records the pauses that owners were informed of.
type notices struct{ about []string }

// Paused implements registry.Notices.
func (n *notices) Paused(_ context.Context, g arena.Agent, p arena.Pause) {
	n.about = append(n.about, g.ID+" "+string(p.Reason))
}

// Owners are informed once of each pause that they did not begin and that does not end by itself.
func TestPauses_notices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var sent notices
	p := registry.NewPauses(registry.PausesOptions{Store: f.store.Agents, Publisher: f, Notices: &sent, Now: f.clock, Logger: f.log})
	g := f.agent("ant")
	seat := arena.Seat{AgentID: g.ID, Name: g.Name}
	_, err := p.PauseForRateLimit(t.Context(), seat, f.clock().Add(time.Minute))
	f.ok(err)
	for range 2 {
		f.check(p, g, arena.HealthStep{Pause: true, Health: arena.Health{Failures: 3}})
	}
	if d := cmp.Diff([]string{"ag_ant health"}, sent.about); d != "" {
		t.Error(d)
	}
}
