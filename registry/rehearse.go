package registry

import (
	"context"

	"github.com/agora-arena/arena/arena"
)

// Rehearse plays a private run of the caller's agent and stores the most tokens
// that a round of it cost. Only agents that have passed a check get its tasks:
// an endpoint that never has may be a victim (threat S7).
func (s *Service) Rehearse(ctx context.Context, caller arena.Caller, id string, in arena.RehearsalRequest) (arena.Rehearsal, arena.RehearsalReport, error) {
	r, err := s.rehearsal(ctx, caller, id, in)
	if err != nil {
		return arena.Rehearsal{}, arena.RehearsalReport{}, err
	}
	if err := s.o.Rehearsals.Take(ctx, r.Agent.OwnerID); err != nil {
		return arena.Rehearsal{}, arena.RehearsalReport{}, err
	}
	report, err := s.o.Rehearse(ctx, r)
	if err != nil {
		return arena.Rehearsal{}, arena.RehearsalReport{}, err
	}
	_, _, err = s.o.Store.Agents.UpdateAgent(context.WithoutCancel(ctx), id, func(g *arena.Agent) error {
		if tokens, _ := report.RoundTokens(); tokens > 0 {
			g.RoundTokens = tokens
		}
		return nil
	}, s.act(caller, s.now(), "rehearse", false))
	return r, report, err
}

// rehearsal returns the rehearsal that the caller asks for.
func (s *Service) rehearsal(ctx context.Context, caller arena.Caller, id string, in arena.RehearsalRequest) (arena.Rehearsal, error) {
	g, err := s.Own(ctx, caller, id)
	if err != nil {
		return arena.Rehearsal{}, err
	}
	if err := g.NotRetired(); err != nil {
		return arena.Rehearsal{}, err
	}
	if g.PassedAt.IsZero() {
		return arena.Rehearsal{}, arena.Errorf(arena.CodeAgentNotReady,
			"the agent has not passed a health check yet: ask for one with POST /v1/agents/{id}/check")
	}
	if g.Running >= max(1, g.Health.MaxConcurrent) {
		return arena.Rehearsal{}, arena.Errorf(arena.CodeAgentNotReady,
			"the agent plays %d matches, as many as it can take; rehearse when one is over", g.Running)
	}
	l, err := s.o.Store.Leagues.League(ctx, in.League)
	if err != nil {
		return arena.Rehearsal{}, arena.AtField("league", err)
	}
	r := arena.Rehearsal{Agent: g, League: l, Faults: in.Faults, Rounds: in.Rounds}
	if in.Faults == nil {
		r.Faults = arena.Faults()
	}
	if least := 1 + len(r.Faults); r.Rounds != 0 && r.Rounds < least {
		return arena.Rehearsal{}, arena.Invalid("rounds", "must be at least %d: one without a fault, and one for each fault", least)
	}
	return r, nil
}
