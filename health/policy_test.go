package health_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func good() arena.Health {
	return arena.Health{OK: true, Capabilities: []string{"trivia"}, MaxConcurrent: 5, Latency: time.Millisecond}
}

func bad() arena.Health {
	return arena.Health{Reason: "refused", Detail: "the endpoint refused the connection"}
}

// follow applies probes, one per 30 s: '+' succeeds, '-' fails. It gives the
// agent's status after each: p(ending), a(ctive), z (paused).
func follow(a *arena.Agent, probes string) string {
	var statuses []byte
	for i, c := range probes {
		now := noon.Add(time.Duration(i) * 30 * time.Second)
		probe := bad()
		if c == '+' {
			probe = good()
		}
		health.Next(*a, probe, now).Apply(a, now)
		statuses = append(statuses, map[arena.AgentStatus]byte{
			arena.AgentPending: 'p', arena.AgentActive: 'a', arena.AgentPaused: 'z', arena.AgentRetired: 'r',
		}[a.StatusAt(now)])
	}
	return string(statuses)
}

// Three failures in a row pause, two successes in a row resume, the first
// success of a new agent passes it.
func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ probes, want string }{
		{"+", "a"},
		{"----+", "ppppa"},
		{"+--+--+", "aaaaaaa"},
		{"+---", "aaaz"},
		{"+----+-+-++", "aaazzzzzzza"},
		{"+---++---++", "aaazzaaazza"},
		{"----+---", "ppppaaaz"},
	} {
		if got := follow(&arena.Agent{}, c.probes); got != c.want {
			t.Errorf("%s: %s, want %s", c.probes, got, c.want)
		}
	}
}

func TestNext_other_pauses_stay(t *testing.T) {
	t.Parallel()
	others := []arena.Pause{
		{Reason: arena.PauseAdmin, Since: noon},
		{Reason: arena.PauseOwner, Since: noon},
		{Reason: arena.PauseRateLimit, Since: noon, Until: noon.Add(5 * time.Minute)},
	}
	a := arena.Agent{PassedAt: noon, Pauses: others}
	if follow(&a, "---"); len(a.Pauses) != 4 {
		t.Fatalf("pauses after three failures: %+v", a.Pauses)
	}
	follow(&a, "++++")
	if diff := cmp.Diff(others, a.Pauses); diff != "" {
		t.Errorf("pauses after four successes (-want +got):\n%s", diff)
	}
}

func TestNext_health(t *testing.T) {
	t.Parallel()
	var a arena.Agent
	follow(&a, "+-")
	want := bad()
	want.CheckedAt, want.Failures = noon.Add(30*time.Second), 1
	want.Capabilities, want.MaxConcurrent = []string{"trivia"}, 5 // as last declared
	if diff := cmp.Diff(want, a.Health); diff != "" {
		t.Errorf("after a failure (-want +got):\n%s", diff)
	}
	if h := health.Next(arena.Agent{}, bad(), noon).Health; h.MaxConcurrent != 1 {
		t.Errorf("an unknown agent allows %d seats, want 1", h.MaxConcurrent)
	}
}

// Invariant: an agent that has passed is paused by health exactly from a third
// failure in a row to a second success in a row.
func TestNext_property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		probes := rapid.SliceOfN(rapid.Bool(), 1, 60).Draw(t, "probes")
		a := arena.Agent{PassedAt: noon}
		paused, fails, successes := false, 0, 0
		for i, ok := range probes {
			probe := bad()
			if ok {
				probe = good()
				fails, successes = 0, successes+1
			} else {
				fails, successes = fails+1, 0
			}
			switch {
			case fails >= health.PauseAfter:
				paused = true
			case successes >= health.ResumeAfter:
				paused = false
			}
			step := health.Next(a, probe, noon)
			step.Apply(&a, noon)
			if a.Health.Failures != fails || a.Health.Successes != successes || (a.StatusAt(noon) == arena.AgentPaused) != paused {
				t.Fatalf("after probe %d: %+v, want %d failures, %d successes, paused %t", i, a, fails, successes, paused)
			}
			if step.Pause && step.Resume || len(a.Pauses) > 1 {
				t.Fatalf("step %+v, pauses %+v", step, a.Pauses)
			}
		}
	})
}
