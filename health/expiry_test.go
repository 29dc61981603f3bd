package health_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
)

// Threat N2: a week of sweeps calls an endpoint that never passes a few dozen
// times, and then no more, until its owner has it checked.
func TestSweeper_Sweep_never_passes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := agent(1, "bad")
		a.PassedAt, a.CreatedAt = time.Time{}, time.Now()
		b := newBundle(t, nil, a)
		var gaps []time.Duration
		for last := time.Now(); time.Since(a.CreatedAt) < 10*24*time.Hour; time.Sleep(30 * time.Second) {
			r, err := b.Sweep(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Probed > 0 {
				gaps = append(gaps, time.Since(last))
				last = time.Now()
			}
		}
		want := []time.Duration{0, 30, 60, 120, 240, 480, 960, 1920, 3840, 7680, 15360, 21600, 21600}
		for i := range want {
			if gaps[i] != want[i]*time.Second {
				t.Errorf("gap %d is %v, want %ds", i, gaps[i], want[i])
			}
		}
		if len(gaps) > 40 {
			t.Errorf("%d checks", len(gaps))
		}
		got := b.agents["ag_1"]
		if p, _ := got.PauseAt(time.Now()); p.Reason != arena.PauseExpired || p.Since.Sub(a.CreatedAt) < health.ExpireAfter || p.Since.Sub(a.CreatedAt) > health.ExpireAfter+6*time.Hour {
			t.Errorf("pause %+v", p)
		}
		got.Endpoint = "good"
		b.agents["ag_1"] = got
		if r, err := b.Sweep(t.Context()); err != nil || r.Probed != 0 {
			t.Errorf("an expired agent was probed: %+v, %v", r, err)
		}
		if back, err := b.Check(t.Context(), "ag_1"); err != nil || back.StatusAt(time.Now()) != arena.AgentActive {
			t.Errorf("checked again: %+v, %v", back, err)
		}
		events := []string{"agent_paused ag_1 Agent 1 expired in trivia,sums", "agent_resumed ag_1 Agent 1 expired in trivia,sums"}
		if diff := cmp.Diff(events, b.events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// Threats N3 and N4: a check that was not made, because the address gets too many,
// says nothing of the agent.
func TestSweeper_host_busy(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil, agent(1, "busy"), agent(2, "good"), agent(3, "good"))
	for range 4 {
		sweep(t, b, health.Report{Probed: 2})
	}
	if got := b.agents["ag_1"]; got.Health.Failures != 0 || !got.Health.CheckedAt.IsZero() || len(b.events) != 0 || b.records != 8 {
		t.Errorf("agent %+v, events %v, %d records", got, b.events, b.records)
	}
	_, err := b.Check(t.Context(), "ag_1")
	if e, ok := errors.AsType[*arena.Error](err); !ok || e.Code != arena.CodeRateLimited || e.RetryAfter <= 0 {
		t.Errorf("checked: %v", err)
	}
}
