package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/conformance"
)

// The time of a full check through the API: a margin of what a request may
// take, and less patience for each task than a match has.
const (
	fullCheckTime  = 50 * time.Second
	fullCheckLimit = 5 * time.Second
	recheckEvery   = time.Minute
)

// CheckOptions are the options of a conformance run. All have defaults.
type CheckOptions struct {
	League   string
	Limit    time.Duration
	Progress func(conformance.Finding)
}

// Check runs the conformance kit over an agent with this arena's own keys. Its
// tasks are of matches that do not exist.
func (s *Server) Check(ctx context.Context, g arena.Agent, o CheckOptions) (conformance.Report, error) {
	p := s.protocols[g.Protocol]
	if p == nil {
		return conformance.Report{}, arena.Invalid("protocol", "the conformance kit has no protocol %q", g.Protocol)
	}
	kit, err := conformance.New(conformance.Options{
		Driver: p.driver, Profile: p.profileOf(g), Client: s.client, Issuer: s.url, League: o.League, Limit: o.Limit, Progress: o.Progress, Now: time.Now,
	})
	if err != nil {
		return conformance.Report{}, err
	}
	return kit.Run(ctx, g), nil
}

// fullCheck runs the kit over a registered agent and stores its report.
func (s *Server) fullCheck(ctx context.Context, g arena.Agent) (arena.Conformance, error) {
	found := arena.Conformance{AgentID: g.ID, Version: g.Version, CheckedAt: time.Now().UTC()}
	limited, cancel := context.WithTimeout(ctx, fullCheckTime)
	defer cancel()
	report, err := s.Check(limited, g, CheckOptions{Limit: fullCheckLimit})
	if err != nil {
		return found, err
	}
	if ctx.Err() != nil { // the caller has gone: what was skipped says nothing about the agent
		return found, fmt.Errorf("full check of agent %s: %w", g.ID, context.Cause(ctx))
	}
	total := func(t conformance.Tally) int { return t.Pass + t.Fail + t.Skip }
	found.Passed, found.MustPass, found.MustTotal = report.Passed, report.Must.Pass, total(report.Must)
	found.ShouldPass, found.ShouldTotal = report.Should.Pass, total(report.Should)
	if found.Report, err = json.Marshal(report); err != nil {
		return found, fmt.Errorf("full check of agent %s: %w", g.ID, err)
	}
	return found, s.store.SaveConformance(ctx, found)
}

// recheckPause is the least time between two full checks of an agent that the arena
// starts by itself.
const recheckPause = 10 * time.Minute

// recheck checks agents in full again that have declared another version since
// their last full check, one after the other. It begins none after a while, so
// that the next tick of any node finds it over.
func (s *Server) recheck(ctx context.Context, now time.Time) error {
	for began := time.Now(); time.Since(began) < recheckEvery-fullCheckTime; {
		agent, due, err := s.store.DueForConformance(ctx, now, now.Add(-recheckPause))
		if err != nil || !due {
			return err
		}
		found, err := s.fullCheck(ctx, agent)
		if err != nil {
			return err
		}
		s.log.InfoContext(ctx, "agent checked in full", "agent_id", agent.ID, "version", agent.Version, "passed", found.Passed)
	}
	return nil
}
