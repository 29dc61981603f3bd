package registry

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// change stores a change of an agent's pauses with its audit entries and
// publishes the pauses that began or ended.
func (p *Pauses) change(ctx context.Context, id string, at time.Time, apply func(*arena.Agent) error, audit ...arena.AgentAudit) (arena.Agent, error) {
	before, after, err := p.o.Store.UpdateAgent(ctx, id, func(g *arena.Agent) error {
		if err := g.NotRetired(); err != nil {
			return err
		}
		return apply(g)
	}, audit...)
	if err != nil {
		return arena.Agent{}, err
	}
	return after, p.publish(ctx, before, after, at)
}

// mayPause returns an error unless the caller may pause and resume an agent.
func (s *Service) mayPause(ctx context.Context, caller arena.Caller, id string) error {
	if caller.May("", arena.RightModerate) {
		return nil
	}
	_, err := s.Own(ctx, caller, id)
	return err
}

// Pause adds the caller's pause: an owner adds an owner's pause, an admin or a
// moderator an admin's.
func (s *Service) Pause(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error) {
	if err := s.mayPause(ctx, caller, id); err != nil {
		return arena.Agent{}, err
	}
	now, reason := s.now(), arena.PauseOwner
	if caller.May("", arena.RightModerate) {
		reason = arena.PauseAdmin
	}
	return s.o.Pauses.change(ctx, id, now, func(g *arena.Agent) error {
		if p, paused := g.PauseFor(reason); !paused || reason == arena.PauseAdmin && p.Since.Equal(g.OwnerSuspendedAt) {
			g.SetPause(arena.Pause{Reason: reason, Since: now})
		}
		return nil
	}, s.act(caller, now, "pause-agent", false))
}

// Resume ends the pauses that the caller may end. A pause that ends in another
// way stays; if it is the only one, Resume returns a conflict.
func (s *Service) Resume(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error) {
	if err := s.mayPause(ctx, caller, id); err != nil {
		return arena.Agent{}, err
	}
	now, moderates := s.now(), caller.May("", arena.RightModerate)
	var mayEnd []arena.PauseReason
	for _, k := range arena.PauseKinds() {
		if k.OwnerEnds || moderates && k.Reason == arena.PauseAdmin {
			mayEnd = append(mayEnd, k.Reason)
		}
	}
	return s.o.Pauses.change(ctx, id, now, func(g *arena.Agent) error {
		if !g.OwnerSuspendedAt.IsZero() {
			return arena.Errorf(arena.CodeConflict, "the agent's owner is suspended: an admin has to restore the owner first")
		}
		ended := slices.ContainsFunc(mayEnd, func(reason arena.PauseReason) bool { _, has := g.PauseFor(reason); return has })
		if p, paused := g.PauseAt(now); paused && !ended {
			return arena.Errorf(arena.CodeConflict, "the agent is paused (%s): %s", p.Reason, p.Ending())
		}
		for _, reason := range mayEnd {
			if g.LiftPause(reason) && reason == arena.PauseFailing {
				g.ResumedAt = now
			}
		}
		return nil
	}, s.act(caller, now, "resume-agent", false))
}
