package league_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// A league that waits because health checks do not list it says so; an agent whose
// health check lists nothing plays everywhere.
func TestScheduler_notOffered(t *testing.T) {
	t.Parallel()
	knockout := arena.League{Slug: "cup", Status: arena.LeagueRunning, Settings: arena.Settings{Format: arena.FormatKnockout, MinSeats: 2, MaxSeats: 2}}
	for _, l := range []arena.League{ladderLeague(), royale(func(l *arena.League) { l.Settings.MinSeats = 2 }), knockout} {
		t.Run(l.Slug, func(t *testing.T) {
			t.Parallel()
			w := newWorld([]arena.League{l}, "a", "b", "c", "d")
			for _, id := range []string{"a", "b", "c", "d"} {
				w.agent(id).Health.Capabilities = []string{"chess"}
			}
			s := w.scheduler(t)
			want(t, w.tick(t, s))
			note := "needs 2 idle agents, has 0; these do not list " + l.Slug + " in their health checks: Agent a, Agent b, Agent c, …"
			if got := w.league(l.Slug).Note; got.String() != note || got.Code != arena.NoteNotOffered {
				t.Errorf("note %q, want %q", got, note)
			}
			w.agent("a").Health.Capabilities, w.agent("b").Health.Capabilities = nil, []string{}
			want(t, w.tick(t, s), l.Slug+": a b")
		})
	}
}

// A season that waits for an agent that plays elsewhere says until when.
func TestScheduler_playsElsewhere(t *testing.T) {
	t.Parallel()
	cup := arena.League{Slug: "cup", Status: arena.LeaguePaused, Settings: arena.Settings{Format: arena.FormatKnockout, MinSeats: 2, MaxSeats: 2}}
	w := newWorld([]arena.League{ladderLeague(func(l *arena.League) { l.Settings.TimeLimit = time.Minute }), cup}, "a", "b", "c")
	s := w.scheduler(t)
	w.agent("c").RetiredAt = noon
	want(t, w.tick(t, s), "ladder: a b")
	w.start()
	w.agent("c").RetiredAt = time.Time{}
	w.agent("b").Leagues = []string{"ladder"}
	w.league("cup").Status = arena.LeagueRunning
	want(t, w.tick(t, s)) // nor does the ladder take c
	until := noon.Add(5 * time.Minute)
	if got := w.league("cup"); got.Note.String() != "round 1 waits for Agent a, which plays elsewhere, until 2026-11-21T12:05:00Z at the latest" || !got.NextRunAt.Equal(until) {
		t.Errorf("note %q, next run at %v", got.Note, got.NextRunAt)
	}
	w.end()
	want(t, w.tick(t, s), "cup: a c")
}
