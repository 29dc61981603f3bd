package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/internal/vitals"
)

// Threat C7: a schedule that stands still is noticed within a minute and ten seconds,
// once, and so is its end, whatever the clocks say: what counts is that the last tick
// changes.
func TestTickWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w tickWatch
		if age := w.age(time.Now()); age != 0 {
			t.Errorf("before the first look: %s", age)
		}
		changes := 0
		look := func(tick time.Time) (silent bool) {
			time.Sleep(10 * time.Second)
			changed, silent := w.see(tick, time.Now())
			if changed {
				changes++
			}
			return silent
		}
		tick := time.Now()
		for _, step := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute, 72 * time.Hour, -72 * time.Hour} {
			if look(tick.Add(step)) {
				t.Errorf("silent after a step of %s", step)
			}
		}
		stuck := tick.Add(72 * time.Hour)
		for range 6 {
			if look(stuck) {
				t.Error("silent before a minute has passed")
			}
		}
		for range 3 {
			if !look(stuck) || changes != 1 {
				t.Errorf("not noticed, or %d times", changes)
			}
		}
		if age := w.age(time.Now()); age < vitals.TickSilence {
			t.Errorf("the age is %s", age)
		}
		if look(tick) || changes != 2 {
			t.Error("its end is not noticed")
		}
	})
}

// Threat C7: a tick of the schedule that does not come is in the log, the metrics and the vitals.
func TestServer_watchSchedule(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	var lines bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&lines, nil))
	must(t, s.watchSchedule(t.Context()))
	s.ticks.since = s.ticks.since.Add(-2 * time.Minute)
	must(t, s.watchSchedule(t.Context()))
	if !strings.Contains(lines.String(), "level=WARN") || !strings.Contains(lines.String(), "no schedule tick") {
		t.Errorf("the log: %s", lines.String())
	}
	v := s.newVitals()
	o, err := s.store.Operations.Operations(t.Context())
	must(t, err)
	facts, err := v.Facts(t.Context(), o)
	must(t, err)
	if f := facts[len(facts)-1]; f.Name != vitals.Schedule || f.Level != vitals.Warning || f.At.IsZero() {
		t.Errorf("the fact is %+v", f)
	}
	families, err := s.metrics.registry.Gather()
	must(t, err)
	found := false
	for _, f := range families {
		if f.GetName() == "arena_schedule_tick_age_seconds" {
			found = f.GetMetric()[0].GetGauge().GetValue() >= 120
		}
	}
	if !found {
		t.Error("the metric does not show it")
	}
	if got := request(t, s, "GET", "/readyz", "", "").Code; got != 200 {
		t.Errorf("/readyz answers %d: this node plays its matches", got)
	}
	if _, err := s.store.Operations.ClaimTick(t.Context(), scheduleJob, time.Second); err != nil {
		t.Fatal(err)
	}
	must(t, s.watchSchedule(t.Context()))
	if !strings.Contains(lines.String(), "schedule ticks again") || s.tickAge() > time.Minute {
		t.Errorf("the log: %s", lines.String())
	}
}
