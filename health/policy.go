package health

import (
	"time"

	"github.com/agora-arena/arena/arena"
)

// The thresholds (AAP, "Health check"; rulebook, section 4).
const (
	PauseAfter  = 3 // failures in a row
	ResumeAfter = 2 // successes in a row
)

// Step is what one probe changes.
type Step struct {
	Health arena.Health // with Failures and Successes counted
	Pause  bool         // the health pause begins
	Resume bool         // it ends
	Passed bool         // a pending agent has passed its first check
}

// Next decides what follows when probe is what a check of a found at now. A
// failed check keeps what the agent last declared of itself, so that one lost
// packet does not take it out of the pairing. An agent that has never passed
// has nothing to pause.
func Next(a arena.Agent, probe arena.Health, now time.Time) Step {
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
	paused := hasPause(a, arena.PauseHealth)
	return Step{
		Health: h,
		Pause:  !pending && !paused && h.Failures >= PauseAfter,
		Resume: paused && h.Successes >= ResumeAfter,
		Passed: pending && h.OK,
	}
}

// Apply writes the step into a, at the same instant for which it was made.
func (s Step) Apply(a *arena.Agent, now time.Time) {
	a.Health = s.Health
	if s.Passed {
		a.PassedAt = now
	}
	if s.Pause {
		a.SetPause(arena.Pause{Reason: arena.PauseHealth, Since: now})
	}
	if s.Resume {
		a.LiftPause(arena.PauseHealth)
	}
}

// liftExpired ends the pauses whose time is over.
func liftExpired(a *arena.Agent, now time.Time) {
	for _, p := range a.Pauses {
		if !p.Until.IsZero() && !now.Before(p.Until) {
			a.LiftPause(p.Reason)
		}
	}
}

func hasPause(a arena.Agent, reason arena.PauseReason) bool {
	_, has := pauseOf(a, reason)
	return has
}

func pauseOf(a arena.Agent, reason arena.PauseReason) (arena.Pause, bool) {
	for _, p := range a.Pauses {
		if p.Reason == reason {
			return p, true
		}
	}
	return arena.Pause{}, false
}
