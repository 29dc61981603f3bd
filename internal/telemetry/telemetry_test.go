package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	span "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agora-arena/arena/internal/telemetry"
)

// collector is the other side: it keeps what was exported.
type collector struct {
	spans   chan *span.Span
	metrics chan string // names
	header  chan string // Authorization of each request
	status  int
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.header <- r.Header.Get("Authorization")
	switch r.URL.Path {
	case "/base/v1/traces":
		var request tracepb.ExportTraceServiceRequest
		err = proto.Unmarshal(data, &request)
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					c.spans <- s
				}
			}
		}
	case "/base/v1/metrics":
		var request metricspb.ExportMetricsServiceRequest
		err = proto.Unmarshal(data, &request)
		for _, resource := range request.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					c.metrics <- m.GetName()
				}
			}
		}
	}
	if err != nil {
		c.status = http.StatusBadRequest
	}
	w.WriteHeader(c.status)
}

func newExporter(t *testing.T, c *collector, change func(*telemetry.Options)) *telemetry.Exporter {
	t.Helper()
	c.spans, c.metrics, c.header = make(chan *span.Span, 100), make(chan string, 100), make(chan string, 100)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "arena_test", Help: "One."})
	gauge.Set(1)
	registry.MustRegister(gauge)
	o := telemetry.Options{
		URL: base, Headers: map[string]string{"Authorization": "Bearer key"}, Ratio: 1, Every: time.Hour, Version: "v1", Node: "no_1", Metrics: registry,
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	e, err := telemetry.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
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
		t.Error("the span of the seat is not below that of its match")
	}
	if got := seat.GetEndTimeUnixNano() - seat.GetStartTimeUnixNano(); got != uint64(time.Second) {
		t.Errorf("the span of the seat lasts %d ns", got)
	}
	if seat.GetStatus().GetCode() != span.Status_STATUS_CODE_ERROR || match.GetStatus().GetCode() != span.Status_STATUS_CODE_UNSET {
		t.Errorf("status of the seat: %v, of the match: %v", seat.GetStatus(), match.GetStatus())
	}
	attributes := map[string]string{}
	for _, a := range match.GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if d := cmp.Diff(map[string]string{"arena.match_id": "m_1", "arena.league": "trivia", "arena.status": "finished"}, attributes); d != "" {
		t.Error(d)
	}
	if name := <-c.metrics; name != "arena_test" {
		t.Errorf("exported %s", name)
	}
	if got := <-c.header; got != "Bearer key" {
		t.Errorf("Authorization is %q", got)
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

func TestNew_refusesMissingParts(t *testing.T) {
	t.Parallel()
	if _, err := telemetry.New(t.Context(), telemetry.Options{}); err == nil {
		t.Error("no error")
	}
}
