package league_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Threat C7: leagues go on within one interval after a clock that was ahead for a
// while is set back.
func TestScheduler_clockSteps(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{10 * time.Minute, 72 * time.Hour, -10 * time.Minute, -72 * time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			t.Run("with a schedule", func(t *testing.T) {
				t.Parallel()
				w := newWorld([]arena.League{royale(func(l *arena.League) { l.Schedule = "*/5 * * * *" })}, "a", "b", "c")
				s := w.scheduler(t)
				w.now = noon.Add(time.Minute)
				want(t, w.tick(t, s)) // it waits for 12:05
				w.now = w.now.Add(step)
				made := w.tick(t, s)
				w.start()
				w.end()
				w.now = noon.Add(time.Minute + 45*time.Second)
				if made = append(made, w.tick(t, s)...); len(made) != 1 { // the wrong clock made it seem that one was missed
					t.Errorf("made %v", made)
				}
				w.start()
				w.end()
				if next := w.league("royale").NextRunAt; !next.Equal(noon.Add(5 * time.Minute)) {
					t.Errorf("next run at %s", next)
				}
				w.now = noon.Add(5 * time.Minute)
				want(t, w.tick(t, s), "royale: a b c")
				w.start()
				w.end()
				want(t, w.tick(t, s))
			})
			t.Run("without a schedule", func(t *testing.T) {
				t.Parallel()
				w := newWorld([]arena.League{royale()}, "a", "b", "c")
				s := w.scheduler(t)
				w.now = noon.Add(step)
				want(t, w.tick(t, s), "royale: a b c")
				w.start()
				w.now = noon.Add(45 * time.Second)
				want(t, w.tick(t, s)) // it runs
				w.now = w.now.Add(step)
				w.end()
				w.now = noon.Add(2 * time.Minute)
				want(t, w.tick(t, s), "royale: a b c")
			})
			t.Run("no-shows", func(t *testing.T) {
				t.Parallel()
				w := newWorld([]arena.League{ladderLeague()}, "a", "b")
				for range arena.SuspendingNoShows {
					w.noShows = append(w.noShows, arena.NoShow{AgentID: "a", League: "ladder", Outcome: arena.OutcomeUnavailable, At: noon.Add(step)})
				}
				want(t, w.tick(t, w.scheduler(t)), "ladder: a b")
			})
		})
	}
}

// A clock that is set back by less than an interval does not bring the same
// occurrence twice.
func TestScheduler_clockStep_once(t *testing.T) {
	t.Parallel()
	w := newWorld([]arena.League{royale(func(l *arena.League) { l.Schedule = "*/5 * * * *" })}, "a", "b", "c")
	s := w.scheduler(t)
	want(t, w.tick(t, s))
	w.now = noon.Add(5 * time.Minute)
	want(t, w.tick(t, s), "royale: a b c")
	w.start()
	w.end()
	w.now = noon.Add(time.Minute)
	want(t, w.tick(t, s))
	w.now = noon.Add(5 * time.Minute)
	want(t, w.tick(t, s))
	w.now = noon.Add(10 * time.Minute)
	want(t, w.tick(t, s), "royale: a b c")
}
