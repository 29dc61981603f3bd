package league_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
)

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestScheduler_ladder(t *testing.T) {
	t.Parallel()

	t.Run("pairs by the ratings of the league, over all pages", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "elo1500", "elo1900", "elo1510", "elo1890", "elo1700")
		w.agent("elo1700").Health.Capabilities = nil
		want(t, w.tick(t, w.scheduler(t)), "ladder: elo1500 elo1510", "ladder: elo1890 elo1900")
	})

	t.Run("a match is whole and announced", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "a", "b")
		w.tick(t, w.scheduler(t))
		m := w.matches[0]
		if !strings.HasPrefix(m.ID, arena.MatchPrefix) || m.Seed == 0 {
			t.Errorf("id %q, seed %d", m.ID, m.Seed)
		}
		settings := ladderLeague().Settings
		settings.RulesVersion, settings.Pace = arena.RulesVersion, nil // a league's pace is none of its matches'
		wantMatch := arena.Match{
			ID: m.ID, League: "ladder", Status: arena.MatchScheduled, Settings: settings, Seed: m.Seed,
			CreatedAt: noon, StartsAt: noon,
			Seats: []arena.Seat{
				{No: 0, AgentID: "a", Name: "Agent a", OwnerID: "owner of a", Protocol: "aap", Version: "1.2", State: arena.SeatActive},
				{No: 1, AgentID: "b", Name: "Agent b", OwnerID: "owner of b", Protocol: "aap", Version: "1.2", State: arena.SeatActive},
			},
		}
		if m.SeedSalt == "" || m.Seats[0].Salt == "" || m.Seats[1].Salt == "" {
			t.Errorf("salts %q, %q, %q", m.SeedSalt, m.Seats[0].Salt, m.Seats[1].Salt)
		}
		if d := cmp.Diff(wantMatch, m, cmpopts.IgnoreFields(arena.Match{}, "SeedSalt"), cmpopts.IgnoreFields(arena.Seat{}, "Salt")); d != "" {
			t.Error(d)
		}
		if len(w.published) != 1 || w.published[0].Seq != 1 || w.published[0].Type != arena.EventMatchScheduled {
			t.Fatalf("published %+v", w.published)
		}
		line, err := json.Marshal(w.published[0])
		if err != nil {
			t.Fatal(err)
		}
		wantLine := fmt.Sprintf(`{"seq":1,"match_id":%q,"ts":"2026-11-21T12:00:00.000Z","type":"match_scheduled",`+
			`"league":"ladder","starts_at":"2026-11-21T12:00:00.000Z","rated":true,`+
			`"seats":[{"agent_id":"a","name":"Agent a","version":"1.2"},{"agent_id":"b","name":"Agent b","version":"1.2"}]}`, m.ID)
		if d := cmp.Diff(wantLine, string(line)); d != "" {
			t.Error(d)
		}
	})

	t.Run("who may not play is not paired", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "pending", "paused", "retired", "elsewhere", "busy", "good")
		w.agent("pending").PassedAt = time.Time{}
		w.agent("paused").Pauses = []arena.Pause{{Reason: arena.PauseOwner}}
		w.agent("retired").RetiredAt = noon
		w.agent("elsewhere").Health.Capabilities = []string{"chess"}
		w.agent("busy").Running = 1
		s := w.scheduler(t)
		want(t, w.tick(t, s))
		if note := w.league("ladder").Note.String(); note != "" {
			t.Errorf("one is busy and will be back, but the note says %q", note)
		}
		w.agent("busy").Health.MaxConcurrent = 2
		want(t, w.tick(t, s), "ladder: busy good")
	})

	t.Run("nobody is in two waiting matches", func(t *testing.T) {
		t.Parallel()
		other := ladderLeague(func(l *arena.League) { l.Slug = "ladder2" })
		w := newWorld([]arena.League{ladderLeague(), other}, "a", "b", "c", "d", "e")
		for i := range w.agents {
			w.agents[i].Health.MaxConcurrent = 5
		}
		for i, id := range []string{"a", "b", "c"} { // over more than one page of waiting matches
			w.matches = append(w.matches, arena.Match{
				ID: id, League: "open", Status: arena.MatchReady, StartsAt: noon.Add(time.Duration(i) * time.Minute), Seats: []arena.Seat{{AgentID: id}},
			})
		}
		s := w.scheduler(t)
		if made := w.tick(t, s); len(made) != 1 || !strings.HasSuffix(made[0], ": d e") {
			t.Errorf("made %v", made) // the other ladder finds nobody
		}
		want(t, w.tick(t, s))
	})

	t.Run("a match of next week reserves nobody", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "a", "b")
		w.matches = append(w.matches, arena.Match{
			League: "open", Status: arena.MatchScheduled, StartsAt: noon.Add(7 * 24 * time.Hour),
			Seats: []arena.Seat{{AgentID: "a"}, {AgentID: "b"}},
		})
		want(t, w.tick(t, w.scheduler(t)), "ladder: a b")
	})

	t.Run("an agent rests between two matches", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "a", "b")
		s := w.scheduler(t)
		want(t, w.tick(t, s), "ladder: a b")
		w.start()
		w.now = w.now.Add(time.Minute)
		want(t, w.tick(t, s))
		w.end()
		w.now = w.now.Add(4 * time.Second)
		want(t, w.tick(t, s))
		if l := w.league("ladder"); !l.NextRunAt.Equal(w.now.Add(time.Second)) || l.Note.String() != "" {
			t.Errorf("next run at %v, note %q", l.NextRunAt, l.Note)
		}
		w.now = w.now.Add(time.Second)
		want(t, w.tick(t, s), "ladder: a b")
	})

	t.Run("two that have just met wait while others play", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "a", "b", "c", "d")
		s := w.scheduler(t)
		w.agent("c").Running, w.agent("d").Running = 1, 1
		want(t, w.tick(t, s), "ladder: a b")
		w.start()
		w.end()
		w.now = w.now.Add(19 * time.Second)
		want(t, w.tick(t, s))
		w.agent("c").Running = 0
		made := w.tick(t, s)
		if len(made) != 1 || !strings.Contains(made[0], "c") {
			t.Errorf("made %v, want one with c", made)
		}
	})

	t.Run("the fourth duel of a day is not rated", func(t *testing.T) { // Threat F4.
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "a", "b")
		s := w.scheduler(t)
		var ratedDuels []bool
		for range 4 {
			want(t, w.tick(t, s), "ladder: a b")
			ratedDuels = append(ratedDuels, w.matches[len(w.matches)-1].Settings.Rated)
			w.start()
			w.end()
			w.now = w.now.Add(time.Minute)
		}
		if d := cmp.Diff([]bool{true, true, true, false}, ratedDuels); d != "" {
			t.Error(d)
		}
		if got := w.matches[3].UnratedReason; got != arena.UnratedPairLimit {
			t.Errorf("reason %q", got)
		}
		if !w.leagues[0].Settings.Rated {
			t.Error("the league's own settings were changed")
		}
	})

	t.Run("no duel of an unrated league is rated", func(t *testing.T) { // Threat F4.
		t.Parallel()
		l := ladderLeague()
		l.Settings.Rated = false
		w := newWorld([]arena.League{l}, "a", "b")
		want(t, w.tick(t, w.scheduler(t)), "ladder: a b")
		if w.matches[0].Settings.Rated {
			t.Error("it is rated")
		}
	})

	t.Run("a duel of one owner is not rated", func(t *testing.T) { // Threat F4.
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "a", "b")
		w.agent("a").OwnerID = w.agent("b").OwnerID
		want(t, w.tick(t, w.scheduler(t)), "ladder: a b")
		if w.matches[0].Settings.Rated || !strings.Contains(string(w.published[0].Body), `"rated":false,"unrated_reason":"same_owner"`) {
			t.Errorf("it is rated: %s", w.published[0].Body)
		}
	})

	t.Run("owners that share a server meet others first, and unrated", func(t *testing.T) { // Threat G1.
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "a", "b", "c", "d")
		for _, id := range []string{"a", "b"} {
			w.links = append(w.links, arena.OwnerLink{
				OwnerID: w.agent(id).OwnerID, Kind: arena.UnratedSharedEndpoint, Value: "farm.example:443", First: "a", FirstOf: w.agent("a").OwnerID,
			})
		}
		s := w.scheduler(t)
		w.tick(t, s)
		for _, m := range w.matches {
			if owners := []string{m.Seats[0].Group(), m.Seats[1].Group()}; owners[0] == owners[1] {
				t.Errorf("two agents of %s play each other", owners[0])
			}
			if !m.Settings.Rated {
				t.Errorf("match of %s and %s is not rated", m.Seats[0].AgentID, m.Seats[1].AgentID)
			}
		}
		w.agent("c").RetiredAt, w.agent("d").RetiredAt = noon, noon
		w.start()
		w.end()
		w.now = noon.Add(time.Minute)
		want(t, w.tick(t, s), "ladder: a b")
		m := w.matches[len(w.matches)-1]
		if m.Settings.Rated || m.UnratedReason != arena.UnratedSharedEndpoint {
			t.Errorf("rated %v, reason %q", m.Settings.Rated, m.UnratedReason)
		}
	})

	t.Run("starvation is noted once and taken back", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague()}, "a", "b")
		w.agent("b").RetiredAt = noon
		s := w.scheduler(t)
		for range 3 {
			want(t, w.tick(t, s))
		}
		if note := w.league("ladder").Note.String(); note != "needs 2 idle agents, has 1" || w.updates != 1 {
			t.Errorf("note %q after %d writes", note, w.updates)
		}
		w.agent("b").RetiredAt = time.Time{}
		want(t, w.tick(t, s), "ladder: a b")
		if note := w.league("ladder").Note.String(); note != "" {
			t.Errorf("note %q", note)
		}
	})
}

func TestScheduler_elimination(t *testing.T) {
	t.Parallel()
	hourly := func(l *arena.League) { l.Schedule = "*/5 * * * *" }

	t.Run("without a schedule: a pause after the last match", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{royale()}, "a", "b", "c", "d")
		s := w.scheduler(t)
		want(t, w.tick(t, s), "royale: a b c d")
		want(t, w.tick(t, s)) // it waits
		w.start()
		w.now = w.now.Add(10 * time.Minute)
		want(t, w.tick(t, s)) // it runs
		w.end()
		w.now = w.now.Add(59 * time.Second)
		want(t, w.tick(t, s))
		if next := w.league("royale").NextRunAt; !next.Equal(w.now.Add(time.Second)) {
			t.Errorf("next run at %v", next)
		}
		w.now = w.now.Add(time.Second)
		want(t, w.tick(t, s), "royale: a b c d")
	})

	t.Run("a match of next week holds nothing up", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{royale()}, "a", "b", "c")
		w.matches = []arena.Match{{League: "royale", Status: arena.MatchScheduled, StartsAt: noon.Add(7 * 24 * time.Hour)}}
		want(t, w.tick(t, w.scheduler(t)), "royale: a b c")
	})

	t.Run("starved", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{royale()}, "a", "b")
		s := w.scheduler(t)
		want(t, w.tick(t, s))
		want(t, w.tick(t, s))
		if l := w.league("royale"); l.Note.String() != "needs 3 idle agents, has 2" || w.updates != 1 {
			t.Errorf("note %q, %d writes", l.Note, w.updates)
		}
	})

	t.Run("with a schedule: once per occurrence", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{royale(hourly)}, "a", "b", "c")
		s := w.scheduler(t)
		want(t, w.tick(t, s))
		if next := w.league("royale").NextRunAt; !next.Equal(noon.Add(5 * time.Minute)) {
			t.Fatalf("next run at %v", next)
		}
		w.now = noon.Add(5*time.Minute - time.Second)
		want(t, w.tick(t, s))
		w.now = noon.Add(5*time.Minute + time.Second)
		want(t, w.tick(t, s), "royale: a b c")
		w.start()
		w.end()
		want(t, w.tick(t, s))
		w.now = noon.Add(10 * time.Minute)
		want(t, w.tick(t, s), "royale: a b c")
	})

	t.Run("with a schedule: two nodes in one tick", func(t *testing.T) { // Threat C3.
		t.Parallel()
		w := newWorld([]arena.League{royale(hourly)}, "a", "b", "c", "d", "e", "f")
		due := noon.Add(-time.Second)
		w.league("royale").NextRunAt = due
		w.league("royale").Settings.MaxSeats = 3
		w.read = slices.Clone(w.leagues) // by both, before one of them takes the occurrence
		if made := w.tick(t, w.scheduler(t)); len(made) != 1 {
			t.Fatalf("made %v", made)
		}
		want(t, w.tick(t, w.scheduler(t)))
	})

	t.Run("with a schedule: a starved occurrence waits for ten minutes", func(t *testing.T) {
		t.Parallel()
		daily := func(l *arena.League) { l.Schedule = "0 12 * * *" }
		w := newWorld([]arena.League{royale(daily)}, "a", "b", "c")
		w.league("royale").NextRunAt = noon
		w.agent("c").RetiredAt = noon
		s := w.scheduler(t)
		for _, at := range []time.Duration{0, 10*time.Minute - time.Second} {
			w.now = noon.Add(at)
			want(t, w.tick(t, s))
			if l := w.league("royale"); l.Note.String() != "needs 3 idle agents, has 2" || !l.NextRunAt.Equal(noon) {
				t.Errorf("after %v: note %q, next run at %v", at, l.Note, l.NextRunAt)
			}
		}
		w.agent("c").RetiredAt = time.Time{}
		want(t, w.tick(t, s), "royale: a b c")
	})

	t.Run("with a schedule: a starved occurrence is over", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{royale(hourly)}, "a", "b")
		w.league("royale").NextRunAt = noon
		w.now = noon.Add(10 * time.Minute)
		s := w.scheduler(t)
		want(t, w.tick(t, s))
		if l := w.league("royale"); l.Note.String() == "" || !l.NextRunAt.Equal(noon.Add(15*time.Minute)) {
			t.Errorf("note %q, next run at %v", l.Note, l.NextRunAt)
		}
	})

	t.Run("comes before the ladder", func(t *testing.T) {
		t.Parallel()
		w := newWorld([]arena.League{ladderLeague(), royale()}, "a", "b", "c")
		want(t, w.tick(t, w.scheduler(t)), "royale: a b c")
	})

	for _, kind := range []struct {
		name string
		l    arena.League
	}{{"without a schedule", royale()}, {"with a schedule", royale(hourly)}} {
		t.Run("is not starved by a ladder: "+kind.name, func(t *testing.T) {
			t.Parallel()
			slow := func(l *arena.League) { l.Settings.TimeLimit = time.Minute }
			w := newWorld([]arena.League{ladderLeague(slow), kind.l}, "a", "b", "c", "d")
			w.league("royale").NextRunAt = noon.Add(time.Second)
			w.league("royale").Settings.MinSeats = 4
			w.league("royale").Status = arena.LeaguePaused
			s := w.scheduler(t)
			w.tick(t, s)
			w.start() // two duels
			w.league("royale").Status = arena.LeagueRunning
			w.now = noon.Add(2 * time.Second)
			want(t, w.tick(t, s))
			for n := range 2 { // they last longer than the pause, and do not end together
				w.now = w.now.Add(2 * time.Minute)
				m := &w.matches[n]
				m.Status, m.FinishedAt = arena.MatchFinished, w.now
				for _, seat := range m.Seats {
					w.agent(seat.AgentID).Running = 0
				}
				if n == 0 {
					want(t, w.tick(t, s)) // nor may the ladder take the two that are free
					if note := w.league("royale").Note; note.String() != "2 agents are ready; 2 still play elsewhere, until 2026-11-21T12:05:00Z at the latest" {
						t.Errorf("note %q", note)
					}
				}
			}
			want(t, w.tick(t, s), "royale: a b c d")
		})

		t.Run("waits for agents that play elsewhere: "+kind.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld([]arena.League{ladderLeague(), kind.l}, "a", "b", "c", "d", "e")
			w.league("royale").NextRunAt = noon
			w.agent("d").Running, w.agent("e").Running = 1, 1
			s := w.scheduler(t)
			want(t, w.tick(t, s)) // nor may the ladder take a, b and c
			if note := w.league("royale").Note.String(); note != "3 agents are ready; 2 still play elsewhere" {
				t.Errorf("note %q", note)
			}
			w.now = noon.Add(30 * time.Second)
			w.agent("d").Running = 0
			want(t, w.tick(t, s))
			w.now = noon.Add(40 * time.Second)
			w.agent("e").Running = 0
			want(t, w.tick(t, s), "royale: a b c d e")
		})

		t.Run("waits no longer than the pause: "+kind.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld([]arena.League{kind.l}, "a", "b", "c", "d")
			w.league("royale").NextRunAt = noon
			w.agent("d").Running = 1
			s := w.scheduler(t)
			want(t, w.tick(t, s))
			w.now = noon.Add(time.Minute)
			want(t, w.tick(t, s), "royale: a b c")
		})
	}
}

// The first agent of a league meets a built-in opponent within a minute, which plays
// many matches at once without a pause. Built-in opponents alone play nothing.
func TestScheduler_builtIn(t *testing.T) {
	t.Parallel()
	l := ladderLeague(func(l *arena.League) {
		l.Settings.Pace = &arena.Pace{MatchesPerDay: 24, Pause: 10 * time.Minute}
	})
	w := newWorld([]arena.League{l}, "random", "greedy")
	for i := range w.agents {
		a := &w.agents[i]
		a.Protocol, a.OwnerID, a.Health = arena.ProtocolBuiltIn, arena.BuiltInOwnerID(), arena.BuiltInHealth(noon)
	}
	s := w.scheduler(t)
	for range 60 {
		want(t, w.tick(t, s))
		w.now = w.now.Add(time.Second)
	}
	if note := w.league("ladder").Note; note.Code != arena.NoteNeedsAgents {
		t.Errorf("note %+v", note)
	}

	for n := range 5 { // one after the other, while the earlier ones play
		id := string(rune('a' + n))
		joined := newWorld([]arena.League{l}, id).agents[0]
		joined.PassedAt = w.now
		w.agents = append(w.agents, joined)
		came, before := w.now, len(w.matches)
		for len(w.matches) == before && w.now.Sub(came) < time.Minute {
			w.tick(t, s)
			w.start()
			w.now = w.now.Add(time.Second)
		}
		if len(w.matches) == before {
			t.Fatalf("agent %s has no match after a minute", id)
		}
	}
	for range 3600 {
		w.tick(t, s)
		w.start()
		if w.now.Second()%20 == 0 {
			w.end()
		}
		w.now = w.now.Add(time.Second)
	}
	for _, m := range w.matches {
		if w.agent(m.Seats[0].AgentID).BuiltIn() && w.agent(m.Seats[1].AgentID).BuiltIn() {
			t.Errorf("%s and %s play with each other", m.Seats[0].AgentID, m.Seats[1].AgentID)
		}
	}
	t.Logf("%d matches in an hour", len(w.matches))
}

func TestScheduler_continuousLeaguesTakeTurns(t *testing.T) {
	t.Parallel()
	hour := func(l *arena.League) {
		l.Slug, l.Settings.Format = "hour", arena.FormatArena
		l.Settings.Options = format.Defaults(arena.FormatOptions{Duration: time.Hour}, arena.FormatArena)
	}
	w := newWorld([]arena.League{ladderLeague(hour), ladderLeague()}, "a", "b", "c", "d")
	s := w.scheduler(t)
	played := map[string]int{}
	for range 40 {
		for _, made := range w.tick(t, s) {
			league, _, _ := strings.Cut(made, ":")
			played[league]++
		}
		w.start()
		w.end()
		w.now = w.now.Add(time.Minute)
	}
	if played["hour"] < 10 || played["ladder"] < 10 {
		t.Errorf("matches by league: %v", played)
	}
}

func TestScheduler_looksOnlyAtRunningLeagues(t *testing.T) {
	t.Parallel()
	for status, pairs := range map[arena.LeagueStatus]bool{
		arena.LeagueDraft: false, arena.LeagueOpen: false, arena.LeagueRunning: true,
		arena.LeaguePaused: false, arena.LeagueFrozen: true, arena.LeagueFinished: false,
	} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld([]arena.League{ladderLeague(func(l *arena.League) { l.Status = status })}, "a", "b")
			if made := w.tick(t, w.scheduler(t)); (len(made) > 0) != pairs {
				t.Errorf("made %v", made)
			}
		})
	}
}

func TestScheduler_archivedLeaguesWait(t *testing.T) {
	t.Parallel()
	w := newWorld([]arena.League{ladderLeague(func(l *arena.League) { l.ArchivedAt = noon })}, "a", "b")
	if made := w.tick(t, w.scheduler(t)); len(made) > 0 {
		t.Errorf("made %v", made)
	}
	w.leagues[0].ArchivedAt = time.Time{}
	if made := w.tick(t, w.scheduler(t)); len(made) != 1 {
		t.Errorf("unarchived, made %v", made)
	}
}

func TestScheduler_oneLeaguesErrorStopsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld([]arena.League{royale(), ladderLeague()}, "a", "b")
	w.broken = "royale"
	err := w.scheduler(t).Tick(t.Context())
	if err == nil || !strings.Contains(err.Error(), "schedule league royale: read agents: disk on fire") {
		t.Errorf("error %v", err)
	}
	if len(w.matches) != 1 || w.matches[0].League != "ladder" {
		t.Errorf("matches %+v", w.matches)
	}
}
