package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// Threat F9: an owner who pauses, re-points or retires an agent between its pairing
// and the start gets a no-show. What the arena does, and what was so before, is free.
func TestEngine_WithdrawnBeforeTheStart(t *testing.T) {
	t.Parallel()
	pause := func(reason arena.PauseReason) func(*arena.Agent, time.Time) {
		return func(a *arena.Agent, at time.Time) { a.SetPause(arena.Pause{Reason: reason, Since: at}) }
	}
	repoint := func(a *arena.Agent, at time.Time) {
		a.Endpoint, a.EndpointSince, a.PassedAt, a.Health = "http://elsewhere", at, time.Time{}, arena.Health{MaxConcurrent: 1}
	}
	both := func(first, then func(*arena.Agent, time.Time)) func(*arena.Agent, time.Time) {
		return func(a *arena.Agent, at time.Time) { first(a, at); then(a, at.Add(time.Second)) }
	}
	for name, c := range map[string]struct {
		before, after func(*arena.Agent, time.Time) // the pairing
		plays         bool
		want          arena.Withdrawal
	}{
		"paused":               {after: pause(arena.PauseOwner), want: arena.WithdrawnPaused},
		"retired":              {after: func(a *arena.Agent, at time.Time) { a.RetiredAt = at }, want: arena.WithdrawnRetired},
		"re-pointed":           {after: repoint, want: arena.WithdrawnEndpoint},
		"re-pointed, another":  {after: both(repoint, func(a *arena.Agent, at time.Time) { a.PassedAt, a.Health.Capabilities = at, []string{"chess"} }), want: arena.WithdrawnEndpoint},
		"re-pointed, and well": {after: both(repoint, func(a *arena.Agent, at time.Time) { a.PassedAt, a.Health.Capabilities = at, []string{slug} }), plays: true},
		"paused and resumed":   {after: both(pause(arena.PauseOwner), func(a *arena.Agent, _ time.Time) { a.LiftPause(arena.PauseOwner) }), plays: true},
		"paused, then unwell":  {after: both(pause(arena.PauseOwner), pause(arena.PauseHealth)), want: arena.WithdrawnPaused},
		"unwell, then paused":  {after: both(pause(arena.PauseHealth), pause(arena.PauseOwner))},
		"unwell":               {after: pause(arena.PauseHealth)},
		"paused by an admin":   {after: pause(arena.PauseAdmin)},
		"paused before":        {before: pause(arena.PauseOwner)},
		"re-pointed before":    {before: repoint},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, right, wrong)
			change := func(apply func(*arena.Agent, time.Time), at time.Time) {
				if apply == nil {
					return
				}
				_, _, err := b.store.Agents.UpdateAgent(t.Context(), agentID(0), func(a *arena.Agent) error { apply(a, at); return nil })
				b.ok(err)
			}
			change(c.before, time.Now().Add(-time.Minute))
			id := b.match()
			change(c.after, time.Now().Add(time.Millisecond))
			b.node("n1")
			m, events := b.over(id)
			if played := m.Status == arena.MatchFinished; played != c.plays {
				t.Fatalf("match is %s (%s)", m.Status, m.VoidReason)
			}
			var want []arena.NoShow
			code := arena.VoidTooFewAgents
			if c.want != "" {
				want = []arena.NoShow{{AgentID: agentID(0), Opponent: agentID(1), League: slug, MatchID: id, Outcome: arena.OutcomeUnavailable, At: m.StartedAt}}
				code = arena.VoidNoShow
			}
			got, err := b.store.Ratings.NoShows(t.Context(), slug, []string{agentID(0), agentID(1)})
			b.ok(err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("no-shows differ (-want +got):\n%s", diff)
			}
			if m.Seats[0].Withdrawal != c.want || m.Seats[1].State != arena.SeatActive {
				t.Errorf("seats are %+v", m.Seats)
			}
			if !c.plays && m.VoidReason.Code != code {
				t.Errorf("void because of %s, want %s", m.VoidReason.Code, code)
			}
			left := count(events, func(e arena.Event) bool {
				return e.Type == arena.EventAgentLeft && strings.Contains(string(e.Body), c.want.String())
			})
			if c.want != "" && left != 1 {
				t.Errorf("no agent left with the reason %q: %+v", c.want, events)
			}
		})
	}
}
