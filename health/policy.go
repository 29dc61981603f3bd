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

// The rules for agents that have never passed a check: their endpoints may
// belong to somebody else (threat N2).
const (
	// MostBackoff is the longest time between two checks of one.
	MostBackoff = 6 * time.Hour
	// ExpireAfter is how long one is checked.
	ExpireAfter = 7 * 24 * time.Hour
)

// Due reports whether a sweep that begins at now probes an agent. Sweeps come
// once per interval. The time between two checks of an agent that has never
// passed one doubles with every failure.
func Due(a arena.Agent, interval time.Duration, now time.Time) bool {
	if _, expired := a.PauseFor(arena.PauseExpired); expired {
		return false
	}
	if !a.PassedAt.IsZero() || a.Health.CheckedAt.IsZero() {
		return true
	}
	delay := min(interval, MostBackoff)
	for n := 1; n < a.Health.Failures && delay < MostBackoff; n++ {
		delay = min(2*delay, MostBackoff)
	}
	// The check was stored less than an interval after its sweep began.
	return now.Sub(a.Health.CheckedAt) > delay-interval
}

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
	since := a.EndpointSince
	if since.IsZero() {
		since = a.CreatedAt
	}
	_, expired := a.PauseFor(arena.PauseExpired)
	_, paused := a.PauseFor(arena.PauseHealth)
	return arena.HealthStep{
		Health: h,
		Pause:  !pending && !paused && h.Failures >= PauseAfter,
		Resume: paused && h.Successes >= ResumeAfter,
		Passed: pending && h.OK,
		Expire: pending && !h.OK && !expired && !since.IsZero() && now.Sub(since) >= ExpireAfter,
	}
}
