package telemetry_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/agora-arena/arena/internal/telemetry"
)

// collector is the other side: it keeps what was exported.
type collector struct {
	spans   chan *tracepb.Span
	metrics chan *metricspb.Metric
	header  chan string // Authorization of each request
	status  int
	body    string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.header <- r.Header.Get("Authorization")
	switch r.URL.Path {
	case "/base/v1/traces":
		var request tracepb.TracesData
		err = proto.Unmarshal(data, &request)
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					c.spans <- s
				}
			}
		}
	case "/base/v1/metrics":
		var request metricspb.MetricsData
		err = proto.Unmarshal(data, &request)
		for _, resource := range request.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					c.metrics <- m
				}
			}
		}
	}
	if err != nil {
		c.status = http.StatusBadRequest
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(c.status)
	_, _ = io.WriteString(w, c.body)
}

// transport passes requests to a handler without a network.
type transport struct{ http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

func newExporter(t *testing.T, c *collector, change func(*telemetry.Options)) *telemetry.Exporter {
	t.Helper()
	c.spans, c.metrics, c.header = make(chan *tracepb.Span, 100), make(chan *metricspb.Metric, 100), make(chan string, 100)
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "arena_test", Help: "One."})
	gauge.Set(1)
	registry.MustRegister(gauge)
	o := telemetry.Options{
		URL: &url.URL{Scheme: "http", Host: "collector", Path: "/base"}, Headers: map[string]string{"Authorization": "Bearer key"},
		HTTP: &http.Client{Transport: transport{c}}, Ratio: 1, Every: time.Hour, Version: "v1", Node: "no_1", Metrics: registry,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	e := telemetry.New(t.Context(), o)
	return e
}

func TestExporter(t *testing.T) {
	t.Parallel()
	c := &collector{status: http.StatusOK}
	e := newExporter(t, c, nil)
	parent := e.TraceParent("m_1", 2, "ag_1")
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e.ObserveSeat(telemetry.Seat{
		MatchID: "m_1", League: "trivia", AgentID: "ag_1", Round: 2, Outcome: "timeout", Failed: true, Start: start, End: start.Add(time.Second),
	})
	e.ObserveMatch(telemetry.Match{ID: "m_1", League: "trivia", Status: "finished", Start: start, End: start.Add(time.Minute)})
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	seat, match := <-c.spans, <-c.spans
	id := func(b []byte) string { return hex.EncodeToString(b) }
	if want := "00-" + id(seat.GetTraceId()) + "-" + id(seat.GetSpanId()) + "-01"; parent != want {
		t.Errorf("traceparent is %s, and the span has %s", parent, want)
	}
	if id(seat.GetParentSpanId()) != id(match.GetSpanId()) || id(seat.GetTraceId()) != id(match.GetTraceId()) {
		t.Error("the span of the match is not the parent of the seat's")
	}
	if seat.GetFlags() != 0x301 || match.GetFlags() != 0x101 { // sampled, and whether the parent is remote
		t.Errorf("flags of the seat: %#x, of the match: %#x", seat.GetFlags(), match.GetFlags())
	}
	if got := seat.GetEndTimeUnixNano() - seat.GetStartTimeUnixNano(); got != uint64(time.Second) {
		t.Errorf("the span of the seat lasts %d ns", got)
	}
	if seat.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || match.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("status of the seat: %v, of the match: %v", seat.GetStatus(), match.GetStatus())
	}
	attributes := map[string]string{}
	for _, a := range match.GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if d := cmp.Diff(map[string]string{"arena.match_id": "m_1", "arena.league": "trivia", "arena.status": "finished"}, attributes); d != "" {
		t.Error(d)
	}
	if m := <-c.metrics; m.GetName() != "arena_test" {
		t.Errorf("exported %s", m.GetName())
	}
	if got := <-c.header; got != "Bearer key" {
		t.Errorf("Authorization is %q", got)
	}
}

// The metrics of /metrics arrive with their kinds, labels and buckets.
func TestExporter_metrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "a_total", Help: "A counter."}, []string{"kind"})
	counter.WithLabelValues("x").Add(3)
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "b", Help: "A gauge."})
	gauge.Set(-1.5)
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "c_seconds", Help: "A histogram.", Buckets: []float64{1, 2}})
	for _, v := range []float64{0.5, 0.5, 1.5, 9} {
		histogram.Observe(v)
	}
	summary := prometheus.NewSummary(prometheus.SummaryOpts{Name: "d", Help: "A summary.", Objectives: map[float64]float64{0.5: 0.1}})
	summary.Observe(7)
	registry.MustRegister(counter, gauge, histogram, summary)

	before := uint64(time.Now().Add(-time.Minute).UnixNano())
	c := &collector{status: http.StatusOK}
	e := newExporter(t, c, func(o *telemetry.Options) { o.Metrics = registry })
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	ignoreTimes := cmp.Options{
		protocmp.Transform(), protocmp.IgnoreFields(&metricspb.NumberDataPoint{}, "start_time_unix_nano", "time_unix_nano"),
		protocmp.IgnoreFields(&metricspb.HistogramDataPoint{}, "start_time_unix_nano", "time_unix_nano"),
		protocmp.IgnoreFields(&metricspb.SummaryDataPoint{}, "start_time_unix_nano", "time_unix_nano"),
	}
	for _, text := range []string{
		`name: "a_total" description: "A counter." sum { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE is_monotonic: true
			data_points { as_double: 3 attributes { key: "kind" value { string_value: "x" } } } }`,
		`name: "b" description: "A gauge." gauge { data_points { as_double: -1.5 } }`,
		`name: "c_seconds" description: "A histogram." histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { count: 4 sum: 11.5 explicit_bounds: [1, 2] bucket_counts: [2, 1, 1] } }`,
		`name: "d" description: "A summary." summary { data_points { count: 1 sum: 7 quantile_values { quantile: 0.5 value: 7 } } }`,
	} {
		var want metricspb.Metric
		if err := prototext.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got := <-c.metrics
		if d := cmp.Diff(&want, got, ignoreTimes); d != "" {
			t.Error(d)
		}
		for _, p := range got.GetSum().GetDataPoints() {
			if p.GetStartTimeUnixNano() < before || p.GetTimeUnixNano() < p.GetStartTimeUnixNano() {
				t.Errorf("%s is counted from %d to %d", got.GetName(), p.GetStartTimeUnixNano(), p.GetTimeUnixNano())
			}
		}
	}
}

// Any OpenTelemetry SDK that samples by ratio decides alike.
func TestExporter_TraceParent_sample(t *testing.T) {
	t.Parallel()
	c := &collector{status: http.StatusOK}
	e := newExporter(t, c, func(o *telemetry.Options) { o.Ratio = 0.5 })
	var sampled strings.Builder
	for n := range 32 {
		parent := e.TraceParent("m_"+strconv.Itoa(n), 1, "ag_1")
		sampled.WriteString(parent[len(parent)-1:])
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "00110101000111110111000011111000"; sampled.String() != want {
		t.Errorf("sampled %s, want %s", sampled.String(), want)
	}
}

// All nodes trace the same matches, and agents learn which.
func TestExporter_TraceParent_ratio(t *testing.T) {
	t.Parallel()
	c := &collector{status: http.StatusOK}
	e := newExporter(t, c, func(o *telemetry.Options) { o.Ratio = 0 })
	if p := e.TraceParent("m_1", 1, "ag_1"); !strings.HasSuffix(p, "-00") {
		t.Errorf("traceparent %s of a match that is not traced", p)
	}
	now := time.Now()
	e.ObserveMatch(telemetry.Match{ID: "m_1", Start: now, End: now})
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != 0 {
		t.Error("a match was traced")
	}
}

// A collector that refuses everything is logged, and nothing else.
func TestExporter_refused(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := &collector{status: http.StatusForbidden}
	e := newExporter(t, c, func(o *telemetry.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	now := time.Now()
	e.ObserveMatch(telemetry.Match{ID: "m_1", Start: now, End: now})
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"traces were not exported", "metrics were not exported", "ARENA_OTLP_URL"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "Bearer") {
		t.Error("the key is in the log")
	}
}

// An overloaded collector is asked again: after 5 and 10 seconds, give or take half,
// or when it says. One that stays overloaded loses the spans after 30 seconds.
func TestExporter_retries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		retryAfter string
		failures   int           // before the collector accepts
		minimum    time.Duration // until the last request
		maximum    time.Duration
		lost       bool
	}{
		{"twice", "", 2, 7500 * time.Millisecond, 22500 * time.Millisecond, false},
		{"when told", "20", 1, 20 * time.Second, 20 * time.Second, false},
		{"in vain", "", 100, 7500 * time.Millisecond, 30 * time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var requests int
				var last time.Time
				c := &collector{status: http.StatusOK}
				e := newExporter(t, c, func(o *telemetry.Options) {
					o.Logger = slog.New(slog.NewTextHandler(&log, nil))
					o.HTTP.Transport = transport{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path == "/base/v1/traces" {
							requests, last = requests+1, time.Now()
							if requests <= test.failures {
								w.Header().Set("Retry-After", test.retryAfter)
								w.WriteHeader(http.StatusServiceUnavailable)
								return
							}
						}
						c.ServeHTTP(w, r)
					})}
				})
				start := time.Now()
				e.ObserveMatch(telemetry.Match{ID: "m_1"})
				if err := e.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := last.Sub(start); took < test.minimum || took > test.maximum {
					t.Errorf("the last of %d requests was sent after %s", requests, took)
				}
				if lost := len(c.spans) == 0; lost != test.lost || lost != strings.Contains(log.String(), "traces were not exported") {
					t.Errorf("lost: %t, log: %s", lost, log.String())
				}
			})
		})
	}
}

// While the collector does not answer, observing blocks nobody, and Close gives up
// with its context.
func TestExporter_blocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collector{status: http.StatusOK}
		var requests atomic.Int64
		e := newExporter(t, c, func(o *telemetry.Options) {
			o.HTTP.Transport = transport{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				<-r.Context().Done()
			})}
		})
		for n := range 10_000 {
			e.ObserveMatch(telemetry.Match{ID: strconv.Itoa(n)})
		}
		synctest.Wait()
		if requests.Load() == 0 {
			t.Error("a full queue waits for the next tick")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := e.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close returned %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("Close took %s", took)
		}
	})
}

// A collector may accept a request and reject some of its spans.
func TestExporter_partialSuccess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, body, want string }{
		{"rejected", "\n\v\b\x03\x12\atoo old", "too old"}, // ExportTraceServiceResponse{PartialSuccess: {RejectedSpans: 3, ErrorMessage: "too old"}}
		{"accepted", "\n\x00", ""},                         // PartialSuccess: {}
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			c := &collector{status: http.StatusOK, body: test.body}
			e := newExporter(t, c, func(o *telemetry.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			e.ObserveMatch(telemetry.Match{ID: "m_1"})
			if err := e.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if logged := log.String(); (logged != "") != (test.want != "") || !strings.Contains(logged, test.want) {
				t.Errorf("the log has %q, want %q", logged, test.want)
			}
		})
	}
}
