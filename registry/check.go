package registry

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
)

// fullCheckCost is what a full check counts for among the checks of a token:
// it makes some forty requests (threat S7).
const fullCheckCost = 20

// FullCheckTime bounds the conformance kit: a margin of what a request may take.
const FullCheckTime = 50 * time.Second

// check probes an agent now.
func (s *Service) check(ctx context.Context, id string) (arena.Agent, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return s.o.Checker.Check(ctx, id)
}

// checkChange probes an agent after a change that is stored. The next sweep does
// if its address gets too many requests now.
func (s *Service) checkChange(ctx context.Context, g arena.Agent) (arena.Agent, error) {
	checked, err := s.check(ctx, g.ID)
	if arena.CodeOf(err) == arena.CodeRateLimited {
		return g, nil
	}
	return checked, err
}

// Check probes an agent's endpoint now.
func (s *Service) Check(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error) {
	checked, err := s.checkFor(ctx, caller, id, 1)
	if err != nil {
		return arena.Agent{}, err
	}
	return checked, s.auditCheck(ctx, caller, id)
}

// FullCheck probes an agent's endpoint and then runs the conformance kit over
// it. Only agents that have passed a check get the kit's tasks: an endpoint
// that never has may be a victim (threat S7).
func (s *Service) FullCheck(ctx context.Context, caller arena.Caller, id string) (arena.Agent, arena.Conformance, error) {
	checked, err := s.checkFor(ctx, caller, id, fullCheckCost)
	if err != nil {
		return arena.Agent{}, arena.Conformance{}, err
	}
	if checked.PassedAt.IsZero() {
		return arena.Agent{}, arena.Conformance{}, arena.Errorf(arena.CodeAgentNotReady,
			"agent %s is pending: tasks are sent when it has passed a health check (%s)", id, checked.Health.Reason)
	}
	found, err := s.o.FullCheck(ctx, checked)
	if err != nil {
		return arena.Agent{}, arena.Conformance{}, err
	}
	entry, err := s.checkEntry(caller, id)
	if err != nil {
		return arena.Agent{}, arena.Conformance{}, err
	}
	return checked, found, s.o.Store.Agents.SaveConformance(ctx, found, entry)
}

// The times of Recheck.
const (
	RecheckEvery = time.Minute      // how often it should run
	recheckPause = 10 * time.Minute // least time between two full checks of an agent
)

// Recheck checks agents in full again that have declared another version since
// their last full check, one after the other. It begins none after a while, so
// that the next run on any node finds it over.
func (s *Service) Recheck(ctx context.Context) error {
	for began := s.o.Now(); s.o.Now().Sub(began) < RecheckEvery-FullCheckTime; {
		now := s.o.Now()
		agent, due, err := s.o.Store.Agents.DueForConformance(ctx, now, now.Add(-recheckPause))
		if err != nil || !due {
			return err
		}
		found, err := s.o.FullCheck(ctx, agent)
		if err != nil {
			return err
		}
		if err := s.o.Store.Agents.SaveConformance(ctx, found); err != nil {
			return err
		}
		s.o.Logger.InfoContext(ctx, "agent checked in full", "agent_id", agent.ID, "version", agent.Version, "passed", found.Passed)
	}
	return nil
}

func (s *Service) checkFor(ctx context.Context, caller arena.Caller, id string, cost int) (arena.Agent, error) {
	g, err := s.Own(ctx, caller, id)
	if err != nil {
		return arena.Agent{}, err
	}
	if err := g.NotRetired(); err != nil {
		return arena.Agent{}, err
	}
	for range cost {
		if err := s.o.Checks.Take(ctx, caller.Account()); err != nil {
			return arena.Agent{}, err
		}
		if g.EndpointKey == "" {
			continue // it calls the arena
		}
		if err := s.o.HostChecks.Take(ctx, g.EndpointKey); err != nil {
			return arena.Agent{}, err
		}
	}
	return s.check(ctx, g.ID)
}

// checkEntry returns the audit entry about a check that the caller asked for.
func (s *Service) checkEntry(caller arena.Caller, id string) (arena.AuditEntry, error) {
	return caller.Audit(s.now(), "check-agent", id, nil, nil)
}

// auditCheck records that the caller had an agent checked. The check changed
// what health changes at any time, so the entry has no rows to commit with.
func (s *Service) auditCheck(ctx context.Context, caller arena.Caller, id string) error {
	e, err := s.checkEntry(caller, id)
	if err != nil {
		return err
	}
	return s.o.Store.Operations.Audit(context.WithoutCancel(ctx), e)
}
