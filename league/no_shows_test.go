package league_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Threat F5: whom the dodge ledger suspends gets no match in that league until
// the cooldown is over, and nobody waits for it.
func TestScheduler_dodges(t *testing.T) {
	t.Parallel()
	other := ladderLeague(func(l *arena.League) { l.Slug = "ladder2" })
	w := newWorld([]arena.League{ladderLeague(), other}, "dodger", "honest")
	for range arena.DodgesSuspending - 1 {
		w.dodges = append(w.dodges, arena.Dodge{AgentID: "dodger", League: "ladder2", Outcome: arena.OutcomeUnavailable, At: noon})
	}
	for range arena.DodgesSuspending {
		w.dodges = append(w.dodges, arena.Dodge{AgentID: "dodger", League: "ladder", Outcome: arena.OutcomeUnavailable, At: noon})
	}
	s := w.scheduler(t)
	want(t, w.tick(t, s), "ladder2: dodger honest") // two are too few
	w.league("ladder2").Status = arena.LeaguePaused
	w.start()
	w.end()
	w.now = noon.Add(arena.DodgeCooldown - time.Second)
	want(t, w.tick(t, s))
	if note := w.league("ladder").Note; note == "" {
		t.Error("the ladder waits for an agent that is suspended")
	}
	w.now = noon.Add(arena.DodgeCooldown)
	want(t, w.tick(t, s), "ladder: dodger honest")
}
