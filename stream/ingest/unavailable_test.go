package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
)

// recorder is a log handler that keeps its lines.
type recorder struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (h *recorder) Enabled(context.Context, slog.Level) bool { return true }

func (h *recorder) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, r.Level.String()+" "+r.Message)
	return nil
}

func (h *recorder) WithAttrs([]slog.Attr) slog.Handler { return h }

// An agent whose events cannot be stored is asked to try again, whether the
// storage is unavailable or does not answer in time. Threats C5, C6.
func TestAgent_StorageAway(t *testing.T) {
	t.Parallel()
	const ndjson = "application/x-ndjson"
	for name, err := range map[string]error{
		"away": fmt.Errorf("append events: %w", arena.Errorf(arena.CodeUnavailable, "the disk is full")),
		"late": fmt.Errorf("append events: %w", context.DeadlineExceeded),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logged := &recorder{}
			b := start(t, func(s *settings) { s.logger = slog.New(logged) })
			token, _ := b.match(arena.VisibilityLive)
			b.log.FailAppends(err)
			p := b.Agent(t, token)
			p.Send(`{"type":"thinking"}`)
			code, got := p.Rest()
			if code != ws.CloseRestart || len(got) != 1 || got[0].Code != arena.CodeUnavailable || got[0].No != 1 || !strings.Contains(got[0].Message, "try again") {
				t.Errorf("closed with %d after %+v", code, got)
			}
			header := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {ndjson}}
			resp := b.Request(t, "POST", "", header, strings.Repeat("{\"type\":\"thinking\"}\n", 2))
			if resp.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			streamtest.WantProblem(t, resp, http.StatusServiceUnavailable, arena.CodeUnavailable)

			b.log.FailAppends(nil)
			wantAccepted(t, b.Request(t, "POST", "", header, `{"type":"thinking"}`), postReply{Accepted: 1, Errors: []lineError{}})
			logged.mu.Lock()
			defer logged.mu.Unlock()
			if diff := cmp.Diff([]string{"WARN storage is unavailable", "INFO storage is back"}, logged.lines); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("own_fault", func(t *testing.T) {
		t.Parallel()
		b := start(t)
		token, _ := b.match(arena.VisibilityLive)
		b.log.FailAppends(errors.New("a column is missing"))
		p := b.Agent(t, token)
		p.Send(`{"type":"thinking"}`)
		if got := p.Next(); got.Code != arena.CodeInternal {
			t.Errorf("answer %s", got.Raw)
		}
	})
	// What was stored before is not sent again: the answer states where it stopped.
	t.Run("midway", func(t *testing.T) {
		t.Parallel()
		b := start(t, func(s *settings) { s.limits.Burst = 10 * appendBatch })
		token, _ := b.match(arena.VisibilityLive)
		b.log.Limit = appendBatch
		header := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {ndjson}}
		want := postReply{Accepted: appendBatch}
		for no := range appendBatch {
			want.Errors = append(want.Errors, lineError{appendBatch + 1 + no, arena.CodeUnavailable, errUnavailable().message})
		}
		wantAccepted(t, b.Request(t, "POST", "", header, strings.Repeat("{\"type\":\"thinking\"}\n", 3*appendBatch)), want)
	})
}

func wantAccepted(t *testing.T, resp *http.Response, want postReply) {
	t.Helper()
	var got postReply
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatalf("status %d: %v", resp.StatusCode, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
