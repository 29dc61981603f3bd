package arenaagent

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent/agenttest"
)

// A task that takes longer than the grace time is released with 503.
func TestConnect_releases(t *testing.T) {
	t.Parallel()
	arena := agenttest.New(t)
	entered := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- connect(ctx, Config{Arena: arena.URL(), AgentKey: agenttest.AgentKey}, func(ctx context.Context, _ *Task, _ *Events) (Answer, error) {
			close(entered)
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}, time.Millisecond)
	}()
	id := arena.Offer(agenttest.Task{TimeLimit: time.Minute})
	<-entered
	stop()
	r, err := arena.Answered(t.Context(), id)
	if err != nil || r.Status != http.StatusServiceUnavailable {
		t.Errorf("reply is %d, %v", r.Status, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "999999999": longestOrder, "soon": 0,
		"Sat, 21 Nov 2026 12:00:09 GMT": 9 * time.Second, "Sat, 21 Nov 2026 11:00:00 GMT": 0, "Sun, 22 Nov 2026 12:00:00 GMT": longestOrder,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A late delivery leaves only the time up to the deadline.
func TestTask_times_late(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 21, 12, 0, 7, 0, time.UTC) // the whole second of a token made at 7.9 s
	task := Task{TimeLimit: 10 * time.Second, Deadline: made.Add(3 * time.Second), Claims: Claims{IssuedAt: made.Add(-5 * time.Second), BodyHash: "hash"}}
	for name, test := range map[string]struct {
		arrived time.Time
		wait    time.Duration
	}{
		"no clock":      {time.Time{}, 2900 * time.Millisecond},
		"equal clocks":  {made.Add(900 * time.Millisecond), 2 * time.Second},
		"clock ahead":   {made.Add(time.Minute), 2900 * time.Millisecond},
		"clock is late": {made.Add(-time.Minute), 2900 * time.Millisecond},
	} {
		if _, wait := task.times(test.arrived); wait != test.wait {
			t.Errorf("%s: waits %s, want %s", name, wait, test.wait)
		}
	}
}
