package league_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/league/format"
	"github.com/agora-arena/arena/league/settings"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// seasonWorld is a real store with one league, whose matches end by the strengths
// of its agents: a_9 beats a_8 beats a_7.
type seasonWorld struct {
	t     *testing.T
	store *store.Store
	slug  string
	now   time.Time
	draw  func(a, b string) bool // duels that nobody wins
	void  int                    // matches to make void first
	rival bool                   // another node makes every match first
}

func newSeasonWorld(t *testing.T, agents int, s arena.Settings, change ...func(*arena.League)) *seasonWorld {
	t.Helper()
	h := &seasonWorld{t: t, slug: "cup", now: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), draw: func(string, string) bool { return false }}
	var err error
	h.store, err = store.Open(t.Context(), storetest.SQLite(t), store.Options{Logger: slog.New(slog.DiscardHandler), Now: h.clock})
	h.ok(err)
	t.Cleanup(func() { h.ok(h.store.Close()) })
	h.ok(h.store.Migrate(t.Context()))
	s.Generator, s.Rounds, s.TimeLimit = &arena.GeneratorSpec{Name: "arithmetic"}, 1, time.Second
	l := arena.League{Slug: h.slug, Title: "Cup", Status: arena.LeagueRunning, Settings: settings.Defaults(s), CreatedAt: h.now}
	for _, c := range change {
		c(&l)
	}
	h.ok(h.store.Leagues.CreateLeague(t.Context(), l))
	for i := range agents {
		h.enter(i)
	}
	return h
}

func (h *seasonWorld) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func name(i int) string { return fmt.Sprintf("a_%d", i) }

func (h *seasonWorld) enter(i int) {
	h.t.Helper()
	ctx, id := h.t.Context(), name(i)
	h.ok(h.store.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow" + id, Name: id, CreatedAt: h.now}, arena.Token{
		ID: "to" + id, OwnerID: "ow" + id, Scope: arena.ScopeOwner, Hash: [32]byte{byte(i + 1)}, CreatedAt: h.now,
	}))
	h.ok(h.store.Agents.CreateAgent(ctx, arena.Agent{
		ID: id, OwnerID: "ow" + id, Name: id, Protocol: "aap", Endpoint: "https://" + strconv.Itoa(i) + ".example", Version: "1",
		CreatedAt: h.now, PassedAt: h.now, Health: arena.Health{OK: true, CheckedAt: h.now, Capabilities: []string{h.slug}, MaxConcurrent: 1},
	}))
	h.ok(h.store.Leagues.Enter(ctx, h.slug, id, h.now))
}

// tick looks once, as a node that has just started.
func (h *seasonWorld) tick() {
	h.t.Helper()
	s := league.NewScheduler(league.Options{
		Store: league.NewRows(h.store), Matches: matches(h.t, h.store, h, silence{}, h.clock), Now: h.clock, Rand: rand.NewPCG(uint64(h.now.Unix()), 1),
		Logger: slog.New(slog.DiscardHandler),
	})
	h.ok(s.Tick(h.t.Context()))
}

func (h *seasonWorld) clock() time.Time { return h.now }

// Create stores a match that waits to be claimed.
func (h *seasonWorld) Create(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error) {
	if h.rival {
		_, err := h.store.Matches.CreateMatch(ctx, m, e)
		h.ok(err)
	}
	return h.store.Matches.CreateMatch(ctx, m, e, audit...)
}

type silence struct{}

func (silence) Publish(string, ...arena.Event) {}

// play ends every match that waits.
func (h *seasonWorld) play() (played int) {
	h.t.Helper()
	ctx := h.t.Context()
	for {
		claimed, err := h.store.Matches.ClaimMatches(ctx, "nd_1", time.Hour, 100, nil)
		h.ok(err)
		if len(claimed) == 0 {
			return played
		}
		for _, m := range claimed {
			h.end(m)
			played++
		}
	}
}

func (h *seasonWorld) end(m arena.Match) {
	h.t.Helper()
	ctx, last := h.t.Context(), arena.Event{MatchID: m.ID, At: h.now, Type: arena.EventMatchFinished, Body: []byte(`{}`)}
	if h.void > 0 {
		h.void--
		last.Type = arena.EventMatchVoid
		_, err := h.store.Matches.VoidMatch(ctx, m.Lease, arena.OperatorReason("power cut"), m.Seats, h.now, last)
		h.ok(err)
		return
	}
	for i := range m.Seats {
		m.Seats[i].Place = 1
		for _, other := range m.Seats {
			if strength(other.AgentID) > strength(m.Seats[i].AgentID) && !h.draw(other.AgentID, m.Seats[i].AgentID) {
				m.Seats[i].Place++
			}
		}
	}
	_, err := h.store.Matches.Settle(ctx, m.Lease, arena.Result{MatchID: m.ID, League: m.League, Seats: m.Seats}, h.now, nil,
		func([]arena.RatingChange) (arena.Event, error) { return last, nil })
	h.ok(err)
}

func strength(id string) int { n, _ := strconv.Atoi(id[2:]); return n }

// season plays until the season is over and returns its table.
func (h *seasonWorld) season() []arena.TableRow {
	h.t.Helper()
	for range 2000 {
		h.tick()
		if s, _, err := h.store.Leagues.Season(h.t.Context(), h.slug, 0); err == nil && s.Status == arena.SeasonFinished {
			return s.Table
		}
		h.play()
		h.now = h.now.Add(20 * time.Second)
	}
	h.t.Fatal("the season does not end")
	return nil
}

func (h *seasonWorld) pairings() []arena.Pairing {
	h.t.Helper()
	_, pairings, err := h.store.Leagues.Season(h.t.Context(), h.slug, 0)
	h.ok(err)
	return pairings
}

func podium(table []arena.TableRow) (first []string) {
	for _, r := range table {
		if r.Rank <= 3 {
			first = append(first, r.AgentID)
		}
	}
	return first
}

func (h *seasonWorld) league() arena.League {
	h.t.Helper()
	l, err := h.store.Leagues.League(h.t.Context(), h.slug)
	h.ok(err)
	return l
}

func (h *seasonWorld) act(action arena.LeagueAction) {
	h.t.Helper()
	o := officeOptions(h.t, h.store, &league.Entries{})
	o.Now = h.clock
	s := league.NewService(o)
	_, err := s.Act(h.t.Context(), admin, h.slug, action)
	h.ok(err)
}

// Every format ends with the podium that the strengths say, each tick by
// another node, the first two matches void.
func TestScheduler_seasons(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		s      arena.Settings
		agents int
		podium []string
	}{
		"round robin":        {arena.Settings{Format: arena.FormatRoundRobin}, 5, []string{"a_4", "a_3", "a_2"}},
		"double round robin": {arena.Settings{Format: arena.FormatRoundRobin, Options: arena.FormatOptions{Double: true}}, 4, []string{"a_3", "a_2", "a_1"}},
		"swiss":              {arena.Settings{Format: arena.FormatSwiss, Options: arena.FormatOptions{Rounds: 5}}, 8, []string{"a_7"}},
		"knockout":           {arena.Settings{Format: arena.FormatKnockout}, 6, []string{"a_5"}},
		"best of three":      {arena.Settings{Format: arena.FormatKnockout, Options: arena.FormatOptions{BestOf: 3}}, 5, []string{"a_4"}},
		"double elimination": {arena.Settings{Format: arena.FormatDoubleElimination}, 7, []string{"a_6", "a_5"}},
		"arena":              {arena.Settings{Format: arena.FormatArena, Options: arena.FormatOptions{Duration: time.Hour}}, 5, []string{"a_4"}},
		"gauntlet":           {arena.Settings{Format: arena.FormatGauntlet, Options: arena.FormatOptions{Champion: "a_4"}}, 5, []string{"a_4"}},
		"elimination":        {arena.Settings{Format: arena.FormatElimination, Options: arena.FormatOptions{Duration: time.Hour}}, 5, []string{"a_4", "a_3", "a_2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newSeasonWorld(t, tt.agents, tt.s)
			h.void = 2
			table := h.season()
			if got := podium(table); len(got) < len(tt.podium) || cmp.Diff(tt.podium, got[:len(tt.podium)]) != "" {
				t.Errorf("podium %v, want %v\n%+v", got, tt.podium, table)
			}
			if len(table) != tt.agents {
				t.Errorf("%d of %d agents stand in the table", len(table), tt.agents)
			}
			if l := h.league(); l.Status != arena.LeagueFinished || l.Note.String() != "" {
				t.Errorf("the league is %s (%s)", l.Status, l.Note)
			}
			open := slices.ContainsFunc(h.pairings(), arena.Pairing.Open)
			live, err := h.store.Matches.LiveMatches(t.Context(), h.slug)
			if h.ok(err); open || len(live) > 0 {
				t.Errorf("something is left: open pairings %v, live matches %+v", open, live)
			}
			// Opened again, it plays another season.
			_, err = h.store.Leagues.UpdateLeague(t.Context(), h.slug, func(l *arena.League) error { l.Status = arena.LeagueRunning; return nil })
			h.ok(err)
			h.tick()
			if s, _, err := h.store.Leagues.Season(t.Context(), h.slug, 0); err != nil || s.No != 2 || s.Status != arena.SeasonRunning {
				t.Errorf("the next season: %+v (%v)", s, err)
			}
		})
	}
}

// Who does not come is waited for, then forfeits; who comes late joins the
// next round; who withdraws is not paired again.
func TestScheduler_seasons_absence(t *testing.T) {
	t.Parallel()
	h := newSeasonWorld(t, 4, arena.Settings{Format: arena.FormatSwiss, Options: arena.FormatOptions{Rounds: 3, Forfeit: time.Minute}})
	ctx := t.Context()
	pause := func(id string) {
		_, _, err := h.store.Agents.UpdateAgent(ctx, id, func(a *arena.Agent) error { a.SetPause(arena.Pause{Reason: arena.PauseOwner}); return nil })
		h.ok(err)
	}
	h.tick()
	h.play()
	pause("a_3") // before round 2
	h.enter(9)   // it may play from round 2 on
	h.tick()     // orders round 2
	h.play()
	h.tick()
	if l := h.league(); l.Note.String() != "round 2 waits for a_3" || !l.NextRunAt.Equal(h.now.Add(time.Minute)) {
		t.Errorf("note %q, next run %v after now", l.Note, l.NextRunAt.Sub(h.now))
	}
	h.now = h.now.Add(59 * time.Second)
	h.tick()
	if slices.ContainsFunc(h.pairings(), func(p arena.Pairing) bool { return p.Result == arena.PairingForfeit }) {
		t.Error("it forfeits too early")
	}
	h.now = h.now.Add(time.Second)
	h.ok(h.store.Leagues.Withdraw(ctx, h.slug, "a_0", h.now))
	table := h.season()
	forfeits := 0
	for _, p := range h.pairings() {
		if p.Result == arena.PairingForfeit && p.Round == 2 && slices.Contains(p.Agents, "a_3") {
			forfeits++
		}
		if p.Round == 3 && slices.Contains(p.Agents, "a_0") {
			t.Errorf("a_0 has withdrawn and is paired: %+v", p)
		}
		if p.Round == 1 && slices.Contains(p.Agents, "a_9") {
			t.Errorf("a_9 came late: %+v", p)
		}
	}
	if forfeits != 1 {
		t.Errorf("%d forfeits in round 2", forfeits)
	}
	if len(table) != 5 || !table[slices.IndexFunc(table, func(r arena.TableRow) bool { return r.AgentID == "a_0" })].Withdrawn {
		t.Errorf("table %+v", table)
	}
}

// A match that one agent left is that agent's forfeit.
func TestScheduler_seasons_matchLeft(t *testing.T) {
	t.Parallel()
	h := newSeasonWorld(t, 2, arena.Settings{Format: arena.FormatKnockout})
	h.tick()
	claimed, err := h.store.Matches.ClaimMatches(t.Context(), "nd_1", time.Hour, 1, nil)
	h.ok(err)
	m := claimed[0]
	stronger := slices.IndexFunc(m.Seats, func(s arena.Seat) bool { return s.AgentID == "a_1" })
	m.Seats[stronger].State = arena.SeatLeft
	_, err = h.store.Matches.VoidMatch(t.Context(), m.Lease, arena.VoidReason{Code: arena.VoidTooFewAgents}, m.Seats, h.now, arena.Event{MatchID: m.ID, At: h.now, Type: arena.EventMatchVoid, Body: []byte(`{}`)})
	h.ok(err)
	if got := podium(h.season())[0]; got != "a_0" {
		t.Errorf("%s won, it left the final", got)
	}
}

// A schedule that starts rounds, and one that starts seasons.
func TestScheduler_seasons_schedule(t *testing.T) {
	t.Parallel()
	hourly := func(l *arena.League) { l.Schedule = "0 * * * *" }
	t.Run("rounds", func(t *testing.T) {
		t.Parallel()
		h := newSeasonWorld(t, 4, arena.Settings{Format: arena.FormatRoundRobin, Options: arena.FormatOptions{Starts: arena.StartsRound}}, hourly)
		for round := range 4 {
			h.tick()
			if n := h.play(); (round == 0) != (n == 0) {
				t.Errorf("%d matches at occurrence %d", n, round)
			}
			h.tick()
			if h.play() > 0 {
				t.Error("the next round began before its time")
			}
			h.now = h.now.Truncate(time.Hour).Add(time.Hour)
		}
	})
	t.Run("seasons", func(t *testing.T) {
		t.Parallel()
		h := newSeasonWorld(t, 2, arena.Settings{Format: arena.FormatKnockout}, hourly)
		h.tick()
		if h.play() > 0 || !h.league().NextRunAt.Equal(h.now.Add(time.Hour)) {
			t.Errorf("it began before its time: %+v", h.league())
		}
		for no := range 3 {
			h.now = h.now.Truncate(time.Hour).Add(time.Hour)
			h.season()
			s, _, err := h.store.Leagues.Season(t.Context(), h.slug, 0)
			if h.ok(err); s.No != no+1 || h.league().Status != arena.LeagueRunning {
				t.Fatalf("season %+v, league %+v", s, h.league())
			}
		}
	})
	t.Run("seasons wait for agents", func(t *testing.T) {
		t.Parallel()
		h := newSeasonWorld(t, 1, arena.Settings{Format: arena.FormatKnockout}, hourly)
		h.tick()
		h.now = h.now.Truncate(time.Hour).Add(time.Hour)
		h.tick()
		if l := h.league(); l.Note.String() != "needs 2 idle agents, has 1" || !l.NextRunAt.Equal(h.now) {
			t.Errorf("note %q, next run at %v", l.Note, l.NextRunAt)
		}
		h.enter(1)
		h.now = h.now.Add(9 * time.Minute)
		h.season()
		if l := h.league(); l.Note.Code != "" || !l.NextRunAt.Equal(h.now.Truncate(time.Hour).Add(time.Hour)) {
			t.Errorf("note %q, next run at %v", l.Note, l.NextRunAt)
		}
	})
	t.Run("now", func(t *testing.T) {
		t.Parallel()
		h := newSeasonWorld(t, 2, arena.Settings{Format: arena.FormatKnockout}, hourly)
		h.now = h.now.Add(10 * time.Minute)
		h.tick()
		if h.play() > 0 {
			t.Error("it began before its time")
		}
		h.act(arena.StartLeagueNow)
		h.season()
		if at := h.now.Truncate(time.Hour).Add(time.Hour); !h.league().NextRunAt.Equal(at) {
			t.Errorf("next run at %v, want %v", h.league().NextRunAt, at)
		}
		h.tick()
		if h.play() > 0 {
			t.Error("a second season began before its time")
		}
	})
	t.Run("seasons of a ladder", func(t *testing.T) {
		t.Parallel()
		h := newSeasonWorld(t, 2, arena.Settings{Format: arena.FormatLadder, Rated: true}, hourly)
		h.tick()
		h.play()
		h.now = h.now.Add(time.Hour)
		h.tick() // ends the first
		h.tick()
		seasons, _, err := h.store.Leagues.Seasons(t.Context(), h.slug, arena.Page{Limit: 10})
		if h.ok(err); len(seasons) != 2 || seasons[0].Status != arena.SeasonRunning || seasons[1].Status != arena.SeasonFinished {
			t.Errorf("seasons %+v", seasons)
		}
		if got := h.league().NextRunAt; !got.Equal(h.now.Add(time.Hour)) {
			t.Errorf("next run at %v", got)
		}
	})
}

// A league that is finished by hand closes its season: waiting matches are
// cancelled, running ones play on.
func TestScheduler_seasons_finishedByHand(t *testing.T) {
	t.Parallel()
	h := newSeasonWorld(t, 6, arena.Settings{Format: arena.FormatRoundRobin})
	h.tick()
	claimed, err := h.store.Matches.ClaimMatches(t.Context(), "nd_1", time.Hour, 1, nil)
	h.ok(err)
	_, err = h.store.Leagues.UpdateLeague(t.Context(), h.slug, func(l *arena.League) error { l.Status = arena.LeagueFinished; return nil })
	h.ok(err)
	h.tick()
	s, pairings, err := h.store.Leagues.Season(t.Context(), h.slug, 0)
	h.ok(err)
	if s.Status != arena.SeasonFinished || len(s.Table) != 6 || slices.ContainsFunc(pairings, arena.Pairing.Open) {
		t.Errorf("season %+v", s)
	}
	live, err := h.store.Matches.LiveMatches(t.Context(), h.slug)
	if h.ok(err); len(live) != 1 || live[0].ID != claimed[0].ID {
		t.Errorf("live matches %+v", live)
	}
	h.end(claimed[0])
	h.tick()
}

// Two nodes that decide at once make each match once, and neither reports it.
func TestScheduler_seasons_otherNode(t *testing.T) {
	t.Parallel()
	h := newSeasonWorld(t, 4, arena.Settings{Format: arena.FormatKnockout})
	h.rival = true
	if got := podium(h.season())[0]; got != "a_3" {
		t.Errorf("%s won", got)
	}
}

// A crash between the season's decision and its matches loses nothing: the
// next tick makes them.
func TestScheduler_seasons_crashBeforeMatch(t *testing.T) {
	t.Parallel()
	h := newSeasonWorld(t, 2, arena.Settings{Format: arena.FormatKnockout})
	ctx := t.Context()
	season, err := h.store.Leagues.StartSeason(ctx, arena.Season{
		ID: "se_1", League: h.slug, Format: arena.FormatKnockout, Options: h.league().Settings.Options, StartedAt: h.now,
		Entrants: []arena.Entrant{{AgentID: "a_0", OwnerID: "owa_0", Name: "a_0", Round: 1}, {AgentID: "a_1", OwnerID: "owa_1", Name: "a_1", Round: 1}},
	})
	h.ok(err)
	step, err := format.Next(format.State{Season: season, Now: h.now})
	h.ok(err)
	p := step.Pairings[0]
	p.MatchID, p.CreatedAt = "m_promised", h.now
	h.ok(h.store.Leagues.ChangeSeason(ctx, season, arena.SeasonChange{Pairings: []arena.Pairing{p}}))
	h.tick()
	if m, err := h.store.Matches.Match(ctx, "m_promised"); err != nil || len(m.Seats) != 2 {
		t.Errorf("match %+v (%v)", m, err)
	}
	if got := podium(h.season())[0]; got != "a_1" {
		t.Errorf("%s won", got)
	}
}
