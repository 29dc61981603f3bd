package league_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Threat F5: an agent suspended by its no-show record gets no match in that
// league until the cooldown is over, and the league does not wait for it.
func TestScheduler_noShows(t *testing.T) {
	t.Parallel()
	other := ladderLeague(func(l *arena.League) { l.Slug = "ladder2" })
	w := newWorld([]arena.League{ladderLeague(), other}, "absentee", "honest")
	for range arena.SuspendingNoShows - 1 {
		w.noShows = append(w.noShows, arena.NoShow{AgentID: "absentee", League: "ladder2", Outcome: arena.OutcomeUnavailable, At: noon})
	}
	for range arena.SuspendingNoShows {
		w.noShows = append(w.noShows, arena.NoShow{AgentID: "absentee", League: "ladder", Outcome: arena.OutcomeUnavailable, At: noon})
	}
	s := w.scheduler(t)
	want(t, w.tick(t, s), "ladder2: absentee honest") // two are too few
	w.league("ladder2").Status = arena.LeaguePaused
	w.start()
	w.end()
	w.now = noon.Add(arena.NoShowCooldown - time.Second)
	want(t, w.tick(t, s))
	if note := w.league("ladder").Note.String(); note == "" {
		t.Error("the ladder waits for an agent that is suspended")
	}
	w.now = noon.Add(arena.NoShowCooldown)
	want(t, w.tick(t, s), "ladder: absentee honest")
}
