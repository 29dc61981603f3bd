package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestInBatches(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, tc := range []struct {
		name  string
		age   time.Duration
		taken []int // what is there to take at each call
		err   error // of the last call
		calls int
	}{
		{"until_nothing_is_left", time.Hour, []int{cleanBatch, cleanBatch, 7, cleanBatch}, nil, 3},
		{"nothing_there", time.Hour, []int{0, cleanBatch}, nil, 1},
		{"for_ever", 0, []int{cleanBatch}, nil, 0},
		{"failure", time.Hour, []int{cleanBatch, cleanBatch}, boom, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			err := (&Server{now: time.Now}).inBatches(t.Context(), tc.age, func(_ context.Context, before time.Time, limit int) (int, error) {
				n := tc.taken[calls]
				calls++
				if limit != cleanBatch || time.Since(before) < tc.age {
					t.Errorf("asked for %d older than %s", limit, before)
				}
				if calls == len(tc.taken) {
					return n, tc.err
				}
				return n, nil
			})
			if calls != tc.calls || !errors.Is(err, tc.err) {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
	gone, cancel := context.WithCancel(t.Context())
	calls := 0
	if err := (&Server{now: time.Now}).inBatches(gone, time.Hour, func(context.Context, time.Time, int) (int, error) {
		calls++
		cancel()
		return cleanBatch, nil
	}); err != nil || calls != 1 {
		t.Errorf("after the end: %d calls, %v", calls, err)
	}
}

// Threat C7: a node mends what a clock that was ahead has left, and says so.
func TestServer_mendTimes(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	var lines bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&lines, nil))
	must(t, s.store.RecordBackup(t.Context(), time.Now().AddDate(0, 0, 3)))
	must(t, s.mendTimes(t.Context()))
	if last, err := s.store.LastBackup(t.Context()); err != nil || last.After(time.Now()) || !strings.Contains(lines.String(), "table=counters rows=1") {
		t.Errorf("the last backup is of %s (%v); the log: %s", last, err, lines.String())
	}
}
