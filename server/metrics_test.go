package server

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// scrape returns what /metrics answers, one line per series.
func scrape(t *testing.T, s *Server) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.privateHandler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	return w.Body.String()
}

// Threat O2: operators see failing storage, slow or failing routes, callers
// that were refused and the state of the judge's processes. Labels are patterns, so that
// clients cannot make series without end.
func TestMetrics_operators(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for range 61 {
		request(t, s, "GET", "/v1/leagues/none", "", "")
	}
	request(t, s, "GET", "/v1/leagues", testAdmin, "")
	request(t, s, "BREW", "/v1/leagues/pot", "", "")
	request(t, s, "GET", "/v1/nothing/here", "", "")
	request(t, s, "GET", "/some/page", "", "")
	must(t, s.store.Close())
	request(t, s, "GET", "/readyz", "", "")
	text := scrape(t, s)
	for _, want := range []string{
		`arena_http_requests_total{method="GET",route="/v1/leagues/:slug",status="404"} 60`,
		`arena_http_requests_total{method="GET",route="/v1/leagues/:slug",status="429"} 1`,
		`arena_http_requests_total{method="GET",route="/v1/leagues",status="200"} 1`,
		`arena_http_requests_total{method="other",route="unknown",status="405"} 1`,
		`arena_http_requests_total{method="GET",route="unknown",status="404"} 1`,
		`arena_http_requests_total{method="GET",route="page",status="404"} 1`,
		`arena_http_requests_total{method="GET",route="/readyz",status="503"} 1`,
		`arena_http_request_seconds_count{route="/v1/leagues/:slug"} 61`,
		`arena_limit_refusals_total{kind="address"} 1`,
		`arena_limit_refusals_total{kind="signup"} 0`,
		`arena_storage_errors_total{kind="unavailable"} 0`,
		`arena_script_workers{state="busy"} 0`,
		`arena_script_workers_started_total 0`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	// The scrape itself fails too: it counts the rows of a closed database.
	if !strings.Contains(text, `arena_storage_errors_total{kind="failed"} `) || strings.Contains(text, `arena_storage_errors_total{kind="failed"} 0`) {
		t.Error("/metrics shows no error of the storage")
	}
	if t.Failed() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "arena_http_requests") || strings.HasPrefix(line, "arena_storage") || strings.HasPrefix(line, "arena_limit") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}
