package league_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/league/format"
)

// A simulated arena: the scheduler ticks every two minutes, and every match lasts
// three.
const (
	tickEvery = 2 * time.Minute
	matchTime = 3 * time.Minute
)

// budgetOf returns one of several budgets, a different one for neighbors.
func budgetOf(i int) arena.Budget {
	return []arena.Budget{
		{},
		{MatchesPerDay: 5},
		{TokensPerDay: 10_000},
		{MatchesPerDay: 20, Hours: &arena.PlayingHours{Zone: "Europe/Madrid", From: 8 * 60, To: 20 * 60}},
		{MatchesPerDay: 1},
		{TokensPerDay: 25_000, Hours: &arena.PlayingHours{Zone: "America/New_York", From: 22 * 60, To: 6 * 60}},
		{MatchesPerDay: 12, TokensPerDay: 30_000, Hours: &arena.PlayingHours{Zone: "Asia/Kathmandu"}},
	}[i%7]
}

// simulate plays from noon for a time, and has agents answer with up to 1,200
// tokens a match.
func simulate(t *testing.T, w *world, s *league.Scheduler, d time.Duration) {
	t.Helper()
	var open []int
	seen := 0
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(tickEvery) {
		open = slices.DeleteFunc(open, func(i int) bool {
			m := &w.matches[i]
			if w.now.Sub(m.StartedAt) < matchTime {
				return false
			}
			m.Status, m.FinishedAt = arena.MatchFinished, w.now
			for j := range m.Seats {
				m.Seats[j].Tokens = int64(1200 - 100*((i+j)%5))
				w.agent(m.Seats[j].AgentID).Running--
			}
			return true
		})
		if err := s.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		for ; seen < len(w.matches); seen++ {
			m := &w.matches[seen]
			m.Status, m.StartedAt = arena.MatchRunning, w.now
			for _, seat := range m.Seats {
				w.agent(seat.AgentID).Running++
			}
			open = append(open, seen)
		}
	}
}

// A day of a ladder with its default pace, and with budgets of every kind: no
// budget is exceeded on any calendar day of an agent's zone, no agent plays
// outside its hours or faster than the league allows, and at least 95 % of the
// matches are rated.
func TestScheduler_simulatedDay(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{2, 24} {
		t.Run(fmt.Sprintf("%d agents", agents), func(t *testing.T) {
			t.Parallel()
			simulateDay(t, agents)
		})
	}
}

// The same with 1,000 agents.
func TestSlow_simulatedDay(t *testing.T) {
	t.Parallel()
	if os.Getenv("ARENA_TEST_SLOW") == "" {
		t.Skip("simulates a day of 1,000 agents in 20 s; ARENA_TEST_SLOW=1 runs it")
	}
	simulateDay(t, 1000)
}

func simulateDay(t *testing.T, agents int) {
	t.Helper()
	ids := make([]string, agents)
	for i := range ids {
		ids[i] = fmt.Sprintf("ag%04d", i)
	}
	w := newWorld([]arena.League{pacedLeague(func(l *arena.League) { l.Settings.MaxTokens = 300 })}, ids...)
	w.pageSize = agents
	for i := range w.agents {
		w.agents[i].Budget = budgetOf(i)
		if agents > 2 {
			w.agents[i].OwnerID = fmt.Sprintf("owner %d", i/3)
		}
	}
	simulate(t, w, w.scheduler(t), 24*time.Hour)

	rated, zones := 0, arena.Zones{}
	days, spent := map[string]int{}, map[string]int64{}
	last, count := map[string]time.Time{}, map[string]int{}
	for _, m := range w.matches {
		if m.Settings.Rated {
			rated++
		}
		for _, seat := range m.Seats {
			a := w.agent(seat.AgentID)
			zone := zones.Of(a.Budget)
			if !a.Budget.Hours.Next(m.StartedAt, zone).Equal(m.StartedAt) {
				t.Errorf("agent %s plays outside its hours: %s", a.ID, m.StartedAt)
			}
			if at := last[a.ID]; !at.IsZero() && m.StartedAt.Sub(at) < format.Of(arena.FormatLadder).Pace.Pause {
				t.Errorf("agent %s plays %s after its last match", a.ID, m.StartedAt.Sub(at))
			}
			last[a.ID] = m.FinishedAt
			if count[a.ID]++; count[a.ID] > format.Of(arena.FormatLadder).Pace.MatchesPerDay {
				t.Errorf("agent %s plays %d matches in 24 h", a.ID, count[a.ID])
			}
			key := a.ID + m.StartedAt.In(zone).Format(time.DateOnly)
			days[key]++
			spent[key] += seat.Tokens
			if b := a.Budget; b.MatchesPerDay > 0 && days[key] > b.MatchesPerDay || b.TokensPerDay > 0 && spent[key] > b.TokensPerDay {
				t.Errorf("agent %s on %s: %d matches, %d tokens; its budget is %+v", a.ID, key, days[key], spent[key], b)
			}
		}
	}
	if len(w.matches) == 0 || rated*100 < 95*len(w.matches) {
		t.Errorf("%d of %d matches are rated", rated, len(w.matches))
	}
	if idle := agents - len(count); agents > 2 && idle > 0 {
		t.Errorf("%d agents have not played in a day", idle)
	}
	t.Logf("%d agents: %d matches in a day, %.1f per agent, %d %% rated, %d reads of budgets in %d ticks",
		agents, len(w.matches), 2*float64(len(w.matches))/float64(agents), 100*rated/len(w.matches), w.useQueries, int(24*time.Hour/tickEvery))
}

// A league that asks for it gets unrated matches when no rated one is left.
func TestScheduler_filler(t *testing.T) {
	t.Parallel()
	for filler, most := range map[bool]int{false: 3, true: 20} {
		w := newWorld([]arena.League{ladderLeague(func(l *arena.League) {
			l.Settings.Pace = &arena.Pace{MatchesPerDay: 20, Pause: time.Minute, UnratedFiller: filler}
		})}, "ann", "bob")
		simulate(t, w, w.scheduler(t), 23*time.Hour)
		if len(w.matches) != most {
			t.Errorf("filler %t: %d matches, want %d", filler, len(w.matches), most)
		}
	}
}

// A budget keeps a pairing of a season waiting, for a day at most; other agents
// are not kept.
func TestScheduler_budgetInSeason(t *testing.T) {
	t.Parallel()
	cup := arena.League{Slug: "cup", Status: arena.LeagueRunning, Settings: ladderLeague().Settings}
	cup.Settings.Format, cup.Settings.Pace, cup.Settings.Options = arena.FormatRoundRobin, nil, arena.FormatOptions{Forfeit: time.Minute}
	w := newWorld([]arena.League{cup}, "ann", "bob", "cid", "dan")
	w.agent("ann").Budget = arena.Budget{MatchesPerDay: 1}
	s := w.scheduler(t)
	simulate(t, w, s, 3*time.Hour)
	played := func(id string) (n int) {
		for _, m := range w.matches {
			if slices.ContainsFunc(m.Seats, func(s arena.Seat) bool { return s.AgentID == id }) {
				n++
			}
		}
		return n
	}
	if played("ann") != 1 || played("bob") < 1 {
		t.Fatalf("ann has played %d matches, bob %d", played("ann"), played("bob"))
	}
	if note := w.league("cup").Note.String(); !strings.Contains(note, "ann") || !strings.Contains(note, "budget") {
		t.Errorf("the league's note is %q", note)
	}
	for _, p := range w.pairings["cup"] {
		if p.Result == arena.PairingForfeit {
			t.Errorf("a pairing is forfeited before its deadline: %+v", p)
		}
	}
	simulate(t, w, s, 10*time.Hour) // a new day
	if played("ann") != 2 {
		t.Errorf("on the next day ann has played %d matches, want 2", played("ann"))
	}
	w.agent("ann").Budget = arena.Budget{TokensPerDay: 1} // no match fits into it
	simulate(t, w, s, 26*time.Hour)
	forfeits := 0
	for _, p := range w.pairings["cup"] {
		if p.Result == arena.PairingForfeit {
			forfeits++
		}
	}
	if forfeits != 1 {
		t.Errorf("after the deadline %d pairings are forfeited, want 1", forfeits)
	}
}

// Agents on a cooldown do not delay an elimination, and a ladder goes on while one
// runs.
func TestScheduler_cooldownAndElimination(t *testing.T) {
	t.Parallel()
	w := newWorld([]arena.League{royale(), ladderLeague()}, "ann", "bob", "cid", "dan", "eve", "fay")
	for _, id := range []string{"ann", "bob"} {
		w.agent(id).Budget = arena.Budget{Hours: &arena.PlayingHours{From: 18 * 60, To: 20 * 60}}
	}
	s := w.scheduler(t)
	if made := w.tick(t, s); !slices.Equal(made, []string{"royale: cid dan eve fay"}) {
		t.Fatalf("made %v", made)
	}
	w.start()
	w.agent("ann").Budget, w.agent("bob").Budget = arena.Budget{}, arena.Budget{}
	if made := w.tick(t, s); !slices.Equal(made, []string{"ladder: ann bob"}) {
		t.Errorf("while an elimination runs, made %v", made)
	}
}
