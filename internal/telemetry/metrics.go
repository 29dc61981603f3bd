package telemetry

import (
	"context"
	"math"

	dto "github.com/prometheus/client_model/go"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// exportMetrics exports what /metrics shows now.
func (e *Exporter) exportMetrics(ctx context.Context) {
	families, err := e.options.Metrics.Gather()
	if err != nil {
		e.options.Logger.Warn("some metrics were not collected", "error", err)
	}
	t := translation{started: nanoseconds(e.started), now: nanoseconds(e.options.Now())}
	metrics := make([]*metricspb.Metric, 0, len(families))
	for _, family := range families {
		if m := t.metric(family); m != nil {
			metrics = append(metrics, m)
		}
	}
	if err := e.post(ctx, "metrics", &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource: e.resource, ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: e.scope, Metrics: metrics}},
	}}}); err != nil {
		e.options.Logger.Warn("metrics were not exported: check ARENA_OTLP_URL and the collector", "error", err)
	}
}

// translation turns metrics of Prometheus into those of OTLP.
type translation struct {
	started, now uint64
}

// metric returns a metric in OTLP's form, and nil for kinds that the arena does
// not have, such as native histograms.
func (t translation) metric(f *dto.MetricFamily) *metricspb.Metric {
	const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	m := &metricspb.Metric{Name: f.GetName(), Description: f.GetHelp()}
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{DataPoints: points(f, t.counter), AggregationTemporality: cumulative, IsMonotonic: true}}
	case dto.MetricType_GAUGE:
		m.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: points(f, t.gauge)}}
	case dto.MetricType_HISTOGRAM:
		m.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{DataPoints: points(f, t.histogram), AggregationTemporality: cumulative}}
	case dto.MetricType_SUMMARY:
		m.Data = &metricspb.Metric_Summary{Summary: &metricspb.Summary{DataPoints: points(f, t.summary)}}
	default:
		return nil
	}
	return m
}

// points returns a data point for each combination of labels.
func points[P any](f *dto.MetricFamily, point func(*dto.Metric) P) []P {
	all := make([]P, len(f.GetMetric()))
	for i, m := range f.GetMetric() {
		all[i] = point(m)
	}
	return all
}

func (t translation) counter(m *dto.Metric) *metricspb.NumberDataPoint {
	c := m.GetCounter()
	return &metricspb.NumberDataPoint{
		Attributes: labels(m), StartTimeUnixNano: t.since(c.GetCreatedTimestamp()), TimeUnixNano: t.now,
		Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: c.GetValue()},
	}
}

func (t translation) gauge(m *dto.Metric) *metricspb.NumberDataPoint {
	return &metricspb.NumberDataPoint{
		Attributes: labels(m), TimeUnixNano: t.now, Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: m.GetGauge().GetValue()},
	}
}

// histogram returns a point with the count of each bucket; those of Prometheus
// include the buckets below, and may end with one for +Inf.
func (t translation) histogram(m *dto.Metric) *metricspb.HistogramDataPoint {
	h := m.GetHistogram()
	p := &metricspb.HistogramDataPoint{
		Attributes: labels(m), StartTimeUnixNano: t.since(h.GetCreatedTimestamp()), TimeUnixNano: t.now,
		Count: h.GetSampleCount(), Sum: new(h.GetSampleSum()),
	}
	var below uint64
	for _, b := range h.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) {
			break
		}
		p.ExplicitBounds = append(p.ExplicitBounds, b.GetUpperBound())
		p.BucketCounts = append(p.BucketCounts, b.GetCumulativeCount()-below)
		below = b.GetCumulativeCount()
	}
	p.BucketCounts = append(p.BucketCounts, h.GetSampleCount()-below)
	return p
}

func (t translation) summary(m *dto.Metric) *metricspb.SummaryDataPoint {
	s := m.GetSummary()
	p := &metricspb.SummaryDataPoint{
		Attributes: labels(m), StartTimeUnixNano: t.since(s.GetCreatedTimestamp()), TimeUnixNano: t.now,
		Count: s.GetSampleCount(), Sum: s.GetSampleSum(),
	}
	for _, q := range s.GetQuantile() {
		p.QuantileValues = append(p.QuantileValues, &metricspb.SummaryDataPoint_ValueAtQuantile{Quantile: q.GetQuantile(), Value: q.GetValue()})
	}
	return p
}

// since returns when a metric began to count: with the process, if it does not say.
func (t translation) since(created *timestamppb.Timestamp) uint64 {
	if created == nil {
		return t.started
	}
	return nanoseconds(created.AsTime())
}

// labels returns the labels of a metric as attributes.
func labels(m *dto.Metric) []*commonpb.KeyValue {
	attributes := make([]*commonpb.KeyValue, len(m.GetLabel()))
	for i, l := range m.GetLabel() {
		attributes[i] = text(l.GetName(), l.GetValue())
	}
	return attributes
}
