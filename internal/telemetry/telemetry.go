package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

const (
	spansEvery = 5 * time.Second // between two exports of spans
	maxSpans   = 2048            // spans that wait; more are dropped
	dueSpans   = 512             // so many are exported at once, without waiting for spansEvery
)

// Options are the parts of an Exporter. All but Headers are required.
type Options struct {
	URL     *url.URL            // of the collector; /v1/traces and /v1/metrics are added
	Headers map[string]string   // of every request to it
	HTTP    *http.Client        // sends the requests; Close closes its idle connections
	Ratio   float64             // share of matches that are traced, 0 to 1
	Every   time.Duration       // between two exports of metrics
	Version string              // of the program
	Node    string              // id of this process
	Metrics prometheus.Gatherer // what /metrics shows
	Now     func() time.Time
	Logger  *slog.Logger
}

// Exporter exports the traces and metrics of a node. It is safe for concurrent use.
type Exporter struct {
	options  Options
	resource *resourcepb.Resource
	scope    *commonpb.InstrumentationScope
	started  time.Time

	spans chan *tracepb.Span
	due   chan struct{} // dueSpans wait

	stop, abort context.CancelFunc
	loops       sync.WaitGroup
}

// New returns an Exporter that exports until Close. It does not wait for the
// collector: failures are logged, and the arena runs on.
func New(ctx context.Context, o Options) *Exporter {
	requests, abort := context.WithCancel(context.WithoutCancel(ctx)) // the last exports follow the end of ctx
	running, stop := context.WithCancel(requests)
	e := &Exporter{
		options: o,
		resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			text("service.name", "arena"), text("service.version", o.Version), text("service.instance.id", o.Node),
		}},
		scope:   &commonpb.InstrumentationScope{Name: "github.com/agora-arena/arena"},
		started: o.Now(),
		spans:   make(chan *tracepb.Span, maxSpans),
		due:     make(chan struct{}, 1),
		stop:    stop,
		abort:   abort,
	}
	e.loops.Go(func() { loop(running, spansEvery, e.due, func() { e.exportSpans(requests) }) })
	e.loops.Go(func() { loop(running, o.Every, nil, func() { e.exportMetrics(requests) }) })
	return e
}

// loop calls export regularly, when due receives, and a last time when ctx ends.
func loop(ctx context.Context, every time.Duration, due <-chan struct{}, export func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-due:
		case <-ctx.Done():
		}
		last := ctx.Err() != nil
		export()
		if last {
			return
		}
	}
}

// Close exports what waits, for as long as ctx allows, and stops.
func (e *Exporter) Close(ctx context.Context) error {
	e.stop()
	defer context.AfterFunc(ctx, e.abort)()
	e.loops.Wait()
	e.options.HTTP.CloseIdleConnections()
	return ctx.Err()
}

// exportSpans exports the spans that wait.
func (e *Exporter) exportSpans(ctx context.Context) {
	spans := make([]*tracepb.Span, len(e.spans))
	if len(spans) == 0 {
		return
	}
	for i := range spans {
		spans[i] = <-e.spans
	}
	if err := e.post(ctx, "traces", &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: e.resource, ScopeSpans: []*tracepb.ScopeSpans{{Scope: e.scope, Spans: spans}},
	}}}); err != nil {
		e.options.Logger.Warn("traces were not exported: check ARENA_OTLP_URL and the collector", "spans", len(spans), "error", err)
	}
}

// ids are the ids of a span and of its trace.
type ids struct {
	trace [16]byte
	span  [8]byte
}

// matchIDs returns the ids of the span of a match: parts of the SHA-256 of its id.
func matchIDs(matchID string) ids {
	sum := sha256.Sum256([]byte(matchID))
	return ids{[16]byte(sum[:16]), [8]byte(sum[16:24])}
}

// seatIDs returns the ids of the span of a seat in a round.
func seatIDs(matchID string, round int, agentID string) ids {
	sum := sha256.Sum256([]byte(matchID + " " + strconv.Itoa(round) + " " + agentID))
	return ids{matchIDs(matchID).trace, [8]byte(sum[:8])}
}

// sampled reports whether a trace is exported. It decides as TraceIDRatioBased of
// the OpenTelemetry SDKs does, so that agents which sample by the same ratio have
// the same traces.
func (e *Exporter) sampled(i ids) bool {
	return binary.BigEndian.Uint64(i.trace[8:])>>1 < uint64(e.options.Ratio*(1<<63))
}

// TraceParent returns the traceparent header of the tasks of an agent in a round
// (W3C Trace Context, section 3.2).
func (e *Exporter) TraceParent(matchID string, round int, agentID string) string {
	ids := seatIDs(matchID, round, agentID)
	flags := "00"
	if e.sampled(ids) {
		flags = "01"
	}
	return fmt.Sprintf("00-%x-%x-%s", ids.trace, ids.span, flags)
}

// Seat is the part of a seat in a round: the request to its agent and the reply.
type Seat struct {
	MatchID, League, AgentID string
	Round                    int
	Outcome                  string
	Failed                   bool // the outcome is not an answer
	Start, End               time.Time
}

// ObserveSeat adds a span to the trace of a match. It does not block.
func (e *Exporter) ObserveSeat(s Seat) {
	status := &tracepb.Status{}
	if s.Failed {
		status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.Outcome}
	}
	parent := matchIDs(s.MatchID)
	e.observe(seatIDs(s.MatchID, s.Round, s.AgentID), s.Start, s.End, &tracepb.Span{
		Name: "seat round", Kind: tracepb.Span_SPAN_KIND_CLIENT, Status: status, ParentSpanId: parent.span[:],
		Flags: uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK), // another node may export the span of the match
		Attributes: []*commonpb.KeyValue{
			text("arena.match_id", s.MatchID), text("arena.league", s.League), text("arena.agent_id", s.AgentID),
			{Key: "arena.round", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(s.Round)}}},
			text("arena.outcome", s.Outcome),
		},
	})
}

// Match is a match that ended.
type Match struct {
	ID, League, Status string
	Start, End         time.Time
}

// ObserveMatch ends the trace of a match. It does not block.
func (e *Exporter) ObserveMatch(m Match) {
	e.observe(matchIDs(m.ID), m.Start, m.End, &tracepb.Span{
		Name: "match", Kind: tracepb.Span_SPAN_KIND_INTERNAL, Status: &tracepb.Status{},
		Attributes: []*commonpb.KeyValue{text("arena.match_id", m.ID), text("arena.league", m.League), text("arena.status", m.Status)},
	})
}

// observe queues a span that is over, if its trace is sampled and the queue has room.
func (e *Exporter) observe(own ids, start, end time.Time, s *tracepb.Span) {
	if !e.sampled(own) {
		return
	}
	s.TraceId, s.SpanId = own.trace[:], own.span[:]
	s.StartTimeUnixNano, s.EndTimeUnixNano = nanoseconds(start), nanoseconds(end)
	s.Flags |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK) | 1 // 1: sampled
	select {
	case e.spans <- s:
	default:
	}
	if len(e.spans) >= dueSpans {
		select {
		case e.due <- struct{}{}:
		default:
		}
	}
}

// text returns an attribute.
func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

// nanoseconds returns a time after 1970 in OTLP's form.
func nanoseconds(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }
