package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exportTimeout is the most time that one request to the collector takes.
const exportTimeout = 10 * time.Second

// Options are the parts of an Exporter. All but Headers are required.
type Options struct {
	URL     *url.URL            // of the collector; /v1/traces and /v1/metrics are added
	Headers map[string]string   // of every request to it
	Ratio   float64             // share of matches that are traced, 0 to 1
	Every   time.Duration       // between two exports of metrics
	Version string              // of the program
	Node    string              // id of this process
	Metrics prometheus.Gatherer // what /metrics shows
	Logger  *slog.Logger
}

// Exporter exports the traces and metrics of a node. It is safe for concurrent use.
type Exporter struct {
	spans   *sdktrace.TracerProvider
	metrics *metric.MeterProvider
	tracer  trace.Tracer
	sampler sdktrace.Sampler
}

// New returns an Exporter that exports until Close. It does not wait for the
// collector: failures are logged, and the arena runs on.
func New(ctx context.Context, o Options) (*Exporter, error) {
	if o.URL == nil || o.Every <= 0 || o.Node == "" || o.Metrics == nil || o.Logger == nil {
		return nil, errors.New("telemetry: URL, Every, Node, Metrics and Logger are required")
	}
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.URL.JoinPath("v1", "traces").String()),
		otlptracehttp.WithHeaders(o.Headers), otlptracehttp.WithTimeout(exportTimeout))
	if err != nil {
		return nil, fmt.Errorf("exporter of traces: %w", err)
	}
	figures, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(o.URL.JoinPath("v1", "metrics").String()),
		otlpmetrichttp.WithHeaders(o.Headers), otlpmetrichttp.WithTimeout(exportTimeout))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("exporter of metrics: %w", err), spans.Shutdown(ctx))
	}
	service := resource.NewSchemaless(attribute.String("service.name", "arena"), attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Node))
	e := &Exporter{sampler: sdktrace.TraceIDRatioBased(o.Ratio)}
	e.spans = sdktrace.NewTracerProvider(sdktrace.WithResource(service), sdktrace.WithSampler(e.sampler), sdktrace.WithIDGenerator(givenIDs{}),
		sdktrace.WithBatcher(loggedSpans{spans, o.Logger}))
	e.tracer = e.spans.Tracer("github.com/agora-arena/arena")
	reader := metric.NewPeriodicReader(loggedMetrics{figures, o.Logger}, metric.WithInterval(o.Every), metric.WithTimeout(exportTimeout),
		metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(o.Metrics))))
	e.metrics = metric.NewMeterProvider(metric.WithResource(service), metric.WithReader(reader))
	return e, nil
}

// Close exports what waits, for as long as ctx allows, and stops.
func (e *Exporter) Close(ctx context.Context) error {
	return errors.Join(e.spans.Shutdown(ctx), e.metrics.Shutdown(ctx))
}

// TraceParent returns the traceparent header of the tasks of an agent in a round
// (W3C Trace Context, section 3.2).
func (e *Exporter) TraceParent(matchID string, round int, agentID string) string {
	ids := seatIDs(matchID, round, agentID)
	sampled := 0
	if e.sampler.ShouldSample(sdktrace.SamplingParameters{TraceID: ids.trace}).Decision == sdktrace.RecordAndSample {
		sampled = 1
	}
	return fmt.Sprintf("00-%s-%s-%02x", ids.trace, ids.span, sampled)
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
	status := codes.Unset
	if s.Failed {
		status = codes.Error
	}
	e.span("seat round", trace.SpanKindClient, seatIDs(s.MatchID, s.Round, s.AgentID), matchIDs(s.MatchID), s.Start, s.End, status, s.Outcome,
		attribute.String("arena.match_id", s.MatchID), attribute.String("arena.league", s.League), attribute.String("arena.agent_id", s.AgentID),
		attribute.Int("arena.round", s.Round), attribute.String("arena.outcome", s.Outcome))
}

// Match is a match that ended.
type Match struct {
	ID, League, Status string
	Start, End         time.Time
}

// ObserveMatch ends the trace of a match. It does not block.
func (e *Exporter) ObserveMatch(m Match) {
	e.span("match", trace.SpanKindInternal, matchIDs(m.ID), ids{}, m.Start, m.End, codes.Unset, "",
		attribute.String("arena.match_id", m.ID), attribute.String("arena.league", m.League), attribute.String("arena.status", m.Status))
}

// span records a span that is over.
func (e *Exporter) span(name string, kind trace.SpanKind, own, parent ids, start, end time.Time, status codes.Code, description string, attributes ...attribute.KeyValue) {
	ctx := context.WithValue(context.Background(), idsKey{}, own)
	if parent.span.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: parent.trace, SpanID: parent.span, Remote: true}))
	}
	_, s := e.tracer.Start(ctx, name, trace.WithTimestamp(start), trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	s.SetStatus(status, description)
	s.End(trace.WithTimestamp(end))
}

// loggedSpans logs failed exports of spans instead of reporting them to the
// handler of errors that OpenTelemetry has for the whole process.
type loggedSpans struct {
	sdktrace.SpanExporter

	log *slog.Logger
}

// ExportSpans exports spans.
func (l loggedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := l.SpanExporter.ExportSpans(ctx, spans); err != nil {
		l.log.Warn("traces were not exported: check ARENA_OTLP_URL and the collector", "spans", len(spans), "error", err)
	}
	return nil
}

// loggedMetrics does the same for metrics.
type loggedMetrics struct {
	metric.Exporter

	log *slog.Logger
}

// Export exports metrics.
func (l loggedMetrics) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if err := l.Exporter.Export(ctx, m); err != nil {
		l.log.Warn("metrics were not exported: check ARENA_OTLP_URL and the collector", "error", err)
	}
	return nil
}
