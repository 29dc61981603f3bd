package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
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
			err := inBatches(t.Context(), tc.age, func(_ context.Context, before time.Time, limit int) (int, error) {
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
	if err := inBatches(gone, time.Hour, func(context.Context, time.Time, int) (int, error) {
		calls++
		cancel()
		return cleanBatch, nil
	}); err != nil || calls != 1 {
		t.Errorf("after the end: %d calls, %v", calls, err)
	}
}

// Threat C7: schedules are UTC whatever the clock's zone says, through the
// change to summer time and back.
func TestDue_UTC(t *testing.T) {
	t.Parallel()
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	l := arena.League{Schedule: "30 1 * * *"} // in Vienna there are nights with two half past ones, and in spring half past two is missing
	for _, now := range []time.Time{
		time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
	} {
		want := now.Add(90 * time.Minute)
		if _, next := due(l, now.In(vienna)); !next.Equal(want) {
			t.Errorf("after %v comes %v, want %v", now, next, want)
		}
		l.NextRunAt = want
		if come, next := due(l, want.In(vienna)); !come || !next.Equal(want.Add(24*time.Hour)) {
			t.Errorf("at %v: due %t, next %v", want, come, next)
		}
		l.NextRunAt = time.Time{}
	}
}

// A schedule with a zone keeps its local time when clocks change.
func TestNextRun_zone(t *testing.T) {
	t.Parallel()
	const friday = "CRON_TZ=Europe/Madrid 0 20 * * 5"
	for after, want := range map[string]string{"2026-10-20T00:00:00Z": "2026-10-23T18:00:00Z", "2026-10-25T12:00:00Z": "2026-10-30T19:00:00Z"} {
		at, err := time.Parse(time.RFC3339, after)
		if err != nil {
			t.Fatal(err)
		}
		if next := nextRun(friday, at).UTC().Format(time.RFC3339); next != want {
			t.Errorf("after %s: %s, want %s", after, next, want)
		}
	}
}

func TestCheckSchedule(t *testing.T) {
	t.Parallel()
	for expression, fine := range map[string]bool{
		"*/5 * * * *": true, "0 20 * * FRI": true, "@daily": true,
		"": false, "soon": false, "61 * * * *": false, "* * * * * *": false,
		"CRON_TZ=Europe/Madrid 0 20 * * 5": true, "TZ=UTC 0 20 * * 5": true, "CRON_TZ=Nowhere/Else 0 20 * * 5": false, "TZ=UTC": false,
		"0 0 30 2 *": false, // the 30th of February
	} {
		if err := checkSchedule(expression); (err == nil) != fine {
			t.Errorf("%q: %v", expression, err)
		}
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
