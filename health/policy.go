package health

import (
	"time"

	"github.com/agora-arena/arena/arena"
)

// The thresholds (AAP, "Health check"; docs/rules.md, section 4).
const (
	PauseAfter  = 3 // failures in a row
	ResumeAfter = 2 // successes in a row
)

// Next decides what follows when probe is what a check of a found at now. A
// failed check keeps what the agent last declared of itself, so that one lost
// packet does not take it out of the pairing. An agent that has never passed
// has nothing to pause.
func Next(a arena.Agent, probe arena.Health, now time.Time) arena.HealthStep {
	h := probe
	h.CheckedAt = now
	if h.OK {
		h.Failures, h.Successes = 0, a.Health.Successes+1
		h.MaxConcurrent = max(h.MaxConcurrent, 1)
	} else {
		h.Failures, h.Successes = a.Health.Failures+1, 0
		h.Capabilities, h.DeclaredLatency = a.Health.Capabilities, a.Health.DeclaredLatency
		h.MaxConcurrent = max(a.Health.MaxConcurrent, 1)
	}
	pending := a.PassedAt.IsZero()
	_, paused := a.PauseFor(arena.PauseHealth)
	return arena.HealthStep{
		Health: h,
		Pause:  !pending && !paused && h.Failures >= PauseAfter,
		Resume: paused && h.Successes >= ResumeAfter,
		Passed: pending && h.OK,
	}
}
