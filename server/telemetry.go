package server

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/telemetry"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/protocol"
)

// exportEvery is the time between two exports of metrics.
const exportEvery = 30 * time.Second

// newTelemetry makes the exporter to the collector that the settings name.
func (s *Server) newTelemetry(ctx context.Context) error {
	if s.cfg.OTLPURL == nil {
		return nil
	}
	o, err := s.cfg.telemetryOptions()
	if err != nil {
		return err
	}
	o.Version, o.Node, o.Metrics, o.Now, o.Logger = s.version(), s.node, s.metrics.registry, s.now, s.log
	s.telemetry = telemetry.New(ctx, o)
	return nil
}

// telemetryOptions returns what the settings say about the collector, which they must
// name.
func (c Config) telemetryOptions() (telemetry.Options, error) {
	client, err := protocol.NewOperatorClient(protocol.ClientOptions{})
	return telemetry.Options{URL: c.OTLPURL, Headers: c.OTLPHeaders, HTTP: client, Ratio: c.TraceRatio, Every: exportEvery}, err
}

// traceParent returns the function that makes the traceparent of tasks. It is nil
// without a collector: an agent's spans would join a trace that is not recorded.
func (s *Server) traceParent() func(matchID string, round int, agentID string) string {
	if s.telemetry == nil {
		return nil
	}
	return s.telemetry.TraceParent
}

// observe measures, exports matches and requests to agents as spans, and forgets
// the tokens of a match that has ended.
func (s *Server) observe(o engine.Observation) {
	s.metrics.observe(o)
	if o.Status != "" {
		s.ofMatch.End(o.MatchID)
	}
	switch {
	case s.telemetry == nil || o.Start.IsZero():
	case o.Status != "":
		s.telemetry.ObserveMatch(telemetry.Match{ID: o.MatchID, League: o.League, Status: string(o.Status), Start: o.Start, End: o.Start.Add(o.Elapsed)})
	default:
		s.telemetry.ObserveSeat(telemetry.Seat{
			MatchID: o.MatchID, League: o.League, AgentID: o.AgentID, Round: o.Round, Outcome: string(o.Outcome),
			Failed: o.Outcome != arena.OutcomeAnswered, Start: o.Start, End: o.Start.Add(o.Elapsed),
		})
	}
}
