package registry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/agora-arena/arena/arena"
)

// PauseStore keeps the pauses of agents.
type PauseStore interface {
	UpdateAgent(ctx context.Context, id string, apply func(*arena.Agent) error, audit ...arena.AgentAudit) (before, after arena.Agent, err error)
	// RecordProbes stores the results of health checks of different agents and
	// counts the day's uptime. The results are in the order of probes.
	RecordProbes(ctx context.Context, at time.Time, probes []arena.Probe) ([]arena.Probed, error)
	Agent(ctx context.Context, id string) (arena.Agent, error)
	Agents(ctx context.Context, f arena.AgentFilter, p arena.Page) ([]arena.Agent, string, error)
	// Deliveries lists attempts, newest first.
	Deliveries(ctx context.Context, f arena.DeliveryFilter, p arena.Page) ([]arena.Delivery, string, error)
}

// Publisher sends an event of an agent outside matches to the spectators of
// the leagues it has entered, and to the lobby.
type Publisher interface {
	PublishAgent(leagues []string, e arena.Event)
}

// Notices inform owners of pauses that their agents cannot end alone.
type Notices interface {
	// Paused informs the owner of a pause that has begun, if the owner wants that.
	// It logs its failures.
	Paused(ctx context.Context, g arena.Agent, p arena.Pause)
}

// PausesOptions are the parts of Pauses. All but Notices are needed.
type PausesOptions struct {
	Store     PauseStore
	Publisher Publisher
	Notices   Notices // nil: owners are not informed
	Now       func() time.Time
	Logger    *slog.Logger
}

// Pauses begins and ends the pauses of agents. Each pause that begins or ends
// outside a match is published once it is stored.
type Pauses struct{ o PausesOptions }

// NewPauses makes Pauses.
func NewPauses(o PausesOptions) *Pauses {
	return &Pauses{o: o}
}

// PauseForRateLimit pauses the agent of a seat until a time, after it answered
// 429. It does not publish: the agent_paused event that it returns belongs into
// the log of the match whose round caused the pause, with the stored answer.
func (p *Pauses) PauseForRateLimit(ctx context.Context, seat arena.Seat, until time.Time) (arena.Event, error) {
	now := p.o.Now()
	pause := arena.Pause{Reason: arena.PauseRateLimit, Since: now, Until: until}
	_, _, err := p.o.Store.UpdateAgent(ctx, seat.AgentID, func(g *arena.Agent) error {
		g.SetPause(pause)
		return nil
	})
	if err != nil {
		return arena.Event{}, fmt.Errorf("pause agent %s: %w", seat.AgentID, err)
	}
	return pausedEvent(arena.Agent{ID: seat.AgentID, Name: seat.Name}, pause, now)
}

// PauseIfFailing pauses an agent that failed as many rounds in a row as its
// owner allows, in whatever matches.
func (p *Pauses) PauseIfFailing(ctx context.Context, agentID string) error {
	g, err := p.o.Store.Agent(ctx, agentID)
	if err != nil {
		return fmt.Errorf("read agent %s: %w", agentID, err)
	}
	if _, paused := g.PauseFor(arena.PauseFailing); paused || g.PauseAfter == 0 {
		return nil
	}
	failing, err := p.failing(ctx, g)
	if err != nil || !failing {
		return err
	}
	now := p.o.Now().UTC().Truncate(time.Millisecond)
	_, err = p.change(ctx, g.ID, now, func(g *arena.Agent) error {
		if _, paused := g.PauseFor(arena.PauseFailing); !paused {
			g.SetPause(arena.Pause{Reason: arena.PauseFailing, Since: now})
		}
		return nil
	})
	if err != nil && arena.CodeOf(err) != arena.CodeConflict { // conflict: it has been retired meanwhile
		return fmt.Errorf("pause agent %s, which fails: %w", agentID, err)
	}
	return nil
}

// failing reports whether the newest g.PauseAfter rounds that the agent was
// asked in failed. The last attempt of a round decides.
func (p *Pauses) failing(ctx context.Context, g arena.Agent) (bool, error) {
	type round struct {
		matchID string
		no      int
	}
	failed := map[round]bool{}
	page := arena.Page{Limit: g.PauseAfter}
	for {
		attempts, next, err := p.o.Store.Deliveries(ctx, arena.DeliveryFilter{AgentID: g.ID}, page)
		if err != nil {
			return false, fmt.Errorf("read deliveries of agent %s: %w", g.ID, err)
		}
		for _, d := range attempts {
			r := round{d.MatchID, d.Round}
			if failed[r] {
				continue // an attempt before the last one
			}
			if !d.Outcome.Failed() || d.SentAt.Before(g.ResumedAt) || d.SentAt.Before(g.EndpointSince) {
				return false, nil
			}
			failed[r] = true
			if len(failed) == g.PauseAfter {
				return true, nil
			}
		}
		if next == "" {
			return false, nil
		}
		page.Cursor = next
	}
}

// RecordChecks stores what health checks of different agents found and what
// follows from it. The results are in the order of checks. The error of one
// agent leaves the others alone; conflict: the agent was retired, or got
// another endpoint or key, while it was checked, or another check came before
// that of a sweep.
func (p *Pauses) RecordChecks(ctx context.Context, at time.Time, checks []arena.HealthCheck) ([]arena.Probed, error) {
	probes := make([]arena.Probe, len(checks))
	for i, c := range checks {
		probes[i] = arena.Probe{AgentID: c.Agent.ID, OK: c.OK, Apply: func(g *arena.Agent) error {
			if !g.RetiredAt.IsZero() || g.Endpoint != c.Agent.Endpoint || g.PublicKey != c.Agent.PublicKey {
				return arena.Errorf(arena.CodeConflict, "the agent changed while it was checked: check it again")
			}
			if c.Sweep && !g.Health.CheckedAt.Equal(c.Agent.Health.CheckedAt) {
				return arena.Errorf(arena.CodeConflict, "the agent was checked meanwhile")
			}
			c.Step(*g).Apply(g, at)
			followOwner(g, time.Time{}) // an agent that was registered while its owner was suspended
			return nil
		}}
	}
	recorded, err := p.o.Store.RecordProbes(ctx, at, probes)
	if err != nil {
		return nil, fmt.Errorf("record checks of %d agents: %w", len(checks), err)
	}
	for i := range recorded {
		d := &recorded[i]
		if d.Err == nil {
			d.Err = p.publish(ctx, d.Before, d.After, at)
		}
		if d.Err != nil {
			d.Err = fmt.Errorf("record check of agent %s: %w", checks[i].Agent.ID, d.Err)
		}
	}
	return recorded, nil
}

// FollowOwner pauses the agents of an owner that is suspended, and resumes those
// of one that was suspended since a time and is not any more.
func (p *Pauses) FollowOwner(ctx context.Context, ownerID string, since time.Time) error {
	page := arena.Page{Limit: 100}
	for {
		agents, next, err := p.o.Store.Agents(ctx, arena.AgentFilter{OwnerID: ownerID}, page)
		if err != nil {
			return fmt.Errorf("pause agents of owner %s: %w", ownerID, err)
		}
		for _, g := range agents {
			_, err := p.change(ctx, g.ID, p.o.Now().UTC().Truncate(time.Millisecond), func(g *arena.Agent) error {
				followOwner(g, since)
				return nil
			})
			if err != nil && arena.CodeOf(err) != arena.CodeConflict { // conflict: it has been retired meanwhile
				return fmt.Errorf("pause agent %s with its owner: %w", g.ID, err)
			}
		}
		if next == "" {
			return nil
		}
		page.Cursor = next
	}
}

// followOwner adds the pause of the owner's suspension to an agent, or ends the
// one of a suspension since a time that is over. The pause begins when the
// suspension did; an admin's own pause stays.
func followOwner(g *arena.Agent, since time.Time) {
	p, paused := g.PauseFor(arena.PauseAdmin)
	switch {
	case !g.OwnerSuspendedAt.IsZero():
		if !paused {
			g.SetPause(arena.Pause{Reason: arena.PauseAdmin, Since: g.OwnerSuspendedAt})
		}
	case paused && !since.IsZero() && p.Since.Equal(since):
		g.LiftPause(arena.PauseAdmin)
	}
}

// publish publishes the pauses that began or ended between before and after.
func (p *Pauses) publish(ctx context.Context, before, after arena.Agent, at time.Time) error {
	for _, reason := range arena.PauseReasons() {
		pause, is := after.PauseFor(reason)
		_, was := before.PauseFor(reason)
		if is == was {
			continue
		}
		var e arena.Event
		var err error
		if is {
			e, err = pausedEvent(after, pause, at)
			p.o.Logger.InfoContext(ctx, "agent paused", "agent_id", after.ID, "reason", reason, "failure", after.Health.Reason)
			if p.o.Notices != nil && reason != arena.PauseOwner {
				p.o.Notices.Paused(ctx, after, pause)
			}
		} else {
			e, err = arena.NewEvent(arena.Event{AgentID: after.ID, At: at, Type: arena.EventAgentResumed}, arena.AgentResumedBody{Name: after.Name, Reason: reason})
			p.o.Logger.InfoContext(ctx, "agent resumed", "agent_id", after.ID, "reason", reason)
		}
		if err != nil {
			return err
		}
		p.o.Publisher.PublishAgent(after.Leagues, e)
	}
	return nil
}

// pausedEvent returns the agent_paused event of a pause.
func pausedEvent(g arena.Agent, p arena.Pause, at time.Time) (arena.Event, error) {
	body := arena.AgentPausedBody{Name: g.Name, Reason: p.Reason}
	if !p.Until.IsZero() {
		body.Until = p.Until.UTC().Format(arena.TimeFormat)
	}
	return arena.NewEvent(arena.Event{AgentID: g.ID, At: at, Type: arena.EventAgentPaused}, body)
}
