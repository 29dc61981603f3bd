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

// Threat N2: an agent that has never passed a check expires after seven days
// with its endpoint. A check that passes brings it back.
func TestNext_expires(t *testing.T) {
	t.Parallel()
	old := noon.Add(-health.ExpireAfter)
	for name, c := range map[string]struct {
		agent arena.Agent
		want  arena.AgentStatus
	}{
		"registered seven days ago":  {arena.Agent{CreatedAt: old}, arena.AgentPaused},
		"registered later":           {arena.Agent{CreatedAt: old.Add(time.Millisecond)}, arena.AgentPending},
		"moved seven days ago":       {arena.Agent{CreatedAt: old.Add(-time.Hour), EndpointSince: old}, arena.AgentPaused},
		"moved later":                {arena.Agent{CreatedAt: old.Add(-time.Hour), EndpointSince: old.Add(time.Millisecond)}, arena.AgentPending},
		"passed, and unhealthy once": {arena.Agent{CreatedAt: old, PassedAt: old}, arena.AgentActive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.agent
			health.Next(a, bad(), noon).Apply(&a, noon)
			if got := a.StatusAt(noon); got != c.want {
				t.Fatalf("%s, want %s", got, c.want)
			}
			if c.want == arena.AgentPaused {
				if p, _ := a.PauseAt(noon); p.Reason != arena.PauseExpired || !p.Since.Equal(noon) || !p.Until.IsZero() {
					t.Errorf("pause %+v", p)
				}
				later := noon.Add(time.Hour)
				health.Next(a, bad(), later).Apply(&a, later)
				if p, _ := a.PauseAt(later); !p.Since.Equal(noon) {
					t.Errorf("it expired again: %+v", p)
				}
			}
			health.Next(a, good(), noon).Apply(&a, noon)
			if got := a.StatusAt(noon); got != arena.AgentActive {
				t.Errorf("after a good check: %s", got)
			}
		})
	}
}

// Threat N2: the checks of an agent that has never passed one become rare.
func TestDue(t *testing.T) {
	t.Parallel()
	const interval = 30 * time.Second
	at := func(failures int) arena.Agent {
		return arena.Agent{Health: arena.Health{CheckedAt: noon, Failures: failures}}
	}
	for name, c := range map[string]struct {
		agent    arena.Agent
		interval time.Duration
		after    time.Duration // a sweep later than this probes it; negative: none does
	}{
		"never checked":             {arena.Agent{}, interval, 0},
		"one failure":               {at(1), interval, 0},
		"two failures":              {at(2), interval, interval},
		"three failures":            {at(3), interval, 3 * interval},
		"ten failures":              {at(10), interval, 511 * interval},
		"eleven failures":           {at(11), interval, 6*time.Hour - interval},
		"a thousand failures":       {at(1000), interval, 6*time.Hour - interval},
		"an interval of one second": {at(4), time.Second, 7 * time.Second},
		"an interval of one hour":   {at(9), time.Hour, 5 * time.Hour},
		"it has passed":             {arena.Agent{PassedAt: noon, Health: at(1000).Health}, interval, 0},
		"expired":                   {arena.Agent{Pauses: []arena.Pause{{Reason: arena.PauseExpired}}, Health: at(40).Health}, interval, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.after < 0 {
				if health.Due(c.agent, c.interval, noon.Add(1000*time.Hour)) {
					t.Error("due")
				}
				return
			}
			if !health.Due(c.agent, c.interval, noon.Add(c.after+time.Nanosecond)) {
				t.Error("not due")
			}
			if c.after > 0 && health.Due(c.agent, c.interval, noon.Add(c.after)) {
				t.Error("due too early")
			}
		})
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
