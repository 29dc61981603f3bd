package server

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agora-arena/arena/internal/vitals"
)

// scheduleJob is the job that pairs agents: the one that comes most often.
const scheduleJob = "schedule"

// tickWatch finds out whether scheduled jobs are run somewhere in the cluster. It goes
// by elapsed time: no step of any clock hides that they have stopped.
type tickWatch struct {
	mu     sync.Mutex
	tick   time.Time // that was seen last
	since  time.Time // when it was first seen; with a monotonic reading
	silent bool
}

// see notes the last tick, and reports whether ticks have begun to be missing or to
// come again.
func (w *tickWatch) see(tick, now time.Time) (changed, silent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || !tick.Equal(w.tick) {
		w.tick, w.since = tick, now
	}
	was := w.silent
	w.silent = now.Sub(w.since) >= vitals.TickSilence
	return w.silent != was, w.silent
}

// age returns how long ago a tick was seen that was a new one; 0 before the first look.
func (w *tickWatch) age(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return 0
	}
	return now.Sub(w.since)
}

// watchSchedule looks for the last tick of the schedule.
func (s *Server) watchSchedule(ctx context.Context) error {
	tick, err := s.store.Operations.LastTick(ctx, scheduleJob)
	if err != nil {
		return err
	}
	switch changed, silent := s.ticks.see(tick, s.now()); {
	case changed && silent:
		s.log.Warn("no schedule tick: no node pairs agents or runs scheduled jobs", "for_s", int(s.tickAge().Seconds()), "last", tick)
	case changed:
		s.log.Info("schedule ticks again")
	}
	return nil
}

// tickAge returns the time since the last tick of the schedule.
func (s *Server) tickAge() time.Duration { return s.ticks.age(s.now()) }

// tickCollector shows how old the last tick of the schedule is.
type tickCollector struct{ age func() time.Duration }

var descTickAge = prometheus.NewDesc("arena_schedule_tick_age_seconds", "Time since a tick of the schedule was claimed somewhere in the cluster, as this node has seen it, to 10 s.", nil, nil)

// Describe sends nothing: the collector is unchecked, its name is above.
func (c tickCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the age.
func (c tickCollector) Collect(ch chan<- prometheus.Metric) {
	gauge(ch, descTickAge, c.age().Seconds())
}
