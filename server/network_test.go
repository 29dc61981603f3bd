package server

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Threat N1: the targets of the setting decide, and the metrics show it.
func TestServer_canary(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s := newTestServer(t, "ARENA_CANARY_TARGETS="+l.Addr().String())
	metrics := func() string {
		w := httptest.NewRecorder()
		s.metrics.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		return w.Body.String()
	}
	if s.network.CutOff(t.Context(), time.Now()) || !strings.Contains(metrics(), "arena_network_cut_off 0") {
		t.Error("cut off while the target accepts connections")
	}
	must(t, l.Close())
	if !s.network.CutOff(t.Context(), time.Now()) || !strings.Contains(metrics(), "arena_network_cut_off 1") {
		t.Errorf("not cut off without the target:\n%s", metrics())
	}
}
