package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/conformance"
	"github.com/agora-arena/arena/registry"
)

// fullCheckLimit is the time for each task of a full check through the API, less
// than in a match.
const fullCheckLimit = 5 * time.Second

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
		Driver: p.driver, Profile: p.profileOf(g), Client: s.client, Issuer: s.url, League: o.League, Limit: o.Limit, Progress: o.Progress, Now: s.now,
	})
	if err != nil {
		return conformance.Report{}, err
	}
	return kit.Run(ctx, g), nil
}

// fullCheck runs the kit over a registered agent.
func (s *Server) fullCheck(ctx context.Context, g arena.Agent) (arena.Conformance, error) {
	found := arena.Conformance{AgentID: g.ID, Version: g.Version, CheckedAt: s.now().UTC()}
	limited, cancel := context.WithTimeout(ctx, registry.FullCheckTime)
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
	return found, nil
}
