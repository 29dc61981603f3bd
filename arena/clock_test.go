package arena_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Threat C7: what ends at a time does so by the clock that its readers have. The
// table in docs/operations.md states the effect of a step.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	const back10m, back3d, ahead10m, ahead3d = -10 * time.Minute, -72 * time.Hour, 10 * time.Minute, 72 * time.Hour
	type holds map[time.Duration]bool
	always := holds{back3d: true, back10m: true, ahead10m: true, ahead3d: true}
	withinAnHour := holds{back3d: true, back10m: true, ahead10m: true, ahead3d: false}
	for name, c := range map[string]struct {
		at   func(now time.Time) bool
		want holds
	}{
		"a token without an end": {arena.Token{}.LiveAt, always},
		"a token for an hour":    {arena.Token{ExpiresAt: now.Add(time.Hour)}.LiveAt, withinAnHour},
		"an invitation for an hour": {func(at time.Time) bool {
			return arena.Invitation{Uses: 1, ExpiresAt: now.Add(time.Hour)}.Open(at) == nil
		}, withinAnHour},
		"a session that is in use": {func(at time.Time) bool {
			return at.Before(arena.Session{CreatedAt: now, LastUsedAt: now}.EndsAt())
		}, withinAnHour},
		"an owner's pause": {paused(arena.Pause{Reason: arena.PauseOwner, Since: now}), always},
		"a pause of an hour": {
			paused(arena.Pause{Reason: arena.PauseRateLimit, Since: now, Until: now.Add(time.Hour)}), withinAnHour,
		},
		"what happened now lies ahead": {func(at time.Time) bool { return arena.Ahead(now, at) }, holds{back3d: true, back10m: true, ahead10m: false, ahead3d: false}},
	} {
		for step, want := range c.want {
			if got := c.at(now.Add(step)); got != want {
				t.Errorf("%s, the clock set by %s: %t, want %t", name, step, got, want)
			}
		}
	}
	// Clocks of nodes differ.
	if arena.Ahead(now.Add(arena.ClockSlack), now) || !arena.Ahead(now.Add(arena.ClockSlack+1), now) {
		t.Error("a minute ahead is what clocks may differ")
	}
}

func paused(p arena.Pause) func(time.Time) bool {
	return func(at time.Time) bool {
		_, paused := arena.Agent{Pauses: []arena.Pause{p}}.PauseAt(at)
		return paused
	}
}
