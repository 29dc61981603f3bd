package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/token"
	"github.com/agora-arena/arena/protocol/conformance"
)

// The time of a full check through the API: a margin of what a request may
// take, and less patience for each task than a match has.
const (
	fullCheckTime  = 50 * time.Second
	fullCheckLimit = 5 * time.Second
	recheckEvery   = time.Minute
)

// fullCheck runs the kit with this arena's own keys, which an agent that plays
// here knows, and keeps what it found. Its tasks are of a match that does not
// exist.
func (s *Server) fullCheck(ctx context.Context, g arena.Agent) (arena.Conformance, error) {
	found := arena.Conformance{AgentID: g.ID, Version: g.Version, CheckedAt: time.Now().UTC()}
	foreign, err := token.New(ctx, token.Options{Store: &token.MemoryStore{}, Issuer: s.url, Alg: token.ES256, Now: time.Now, Logger: s.log})
	if err != nil {
		return found, err
	}
	kit, err := conformance.New(conformance.Options{
		Client: s.client, Sign: s.keys.Sign, Unknown: foreign.Sign, Issuer: s.url, AgentID: g.ID, Limit: fullCheckLimit, Now: time.Now,
	})
	if err != nil {
		return found, err
	}
	limited, cancel := context.WithTimeout(ctx, fullCheckTime)
	defer cancel()
	report := kit.Run(limited, g.Endpoint)
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

// recheckPause is the least time between two full checks of an agent that
// nobody asked for.
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
