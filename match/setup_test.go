package match_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/settings"
	"github.com/agora-arena/arena/match"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// fixture is a store with the ladder quiz and two owners, and the other parts
// of a service.
type fixture struct {
	t     *testing.T
	store *store.Store
	now   time.Time

	events []string // published

	rescorer                        *rescorer
	challenges, challenged, judging count
}

// count is a quota that counts its callers and refuses one of them.
type count struct {
	taken   map[string]int
	exceeds string
}

func (c *count) Take(_ context.Context, caller string) error {
	if caller == c.exceeds {
		return arena.Errorf(arena.CodeRateLimited, "too many of %s", caller)
	}
	if c.taken == nil {
		c.taken = map[string]int{}
	}
	c.taken[caller]++
	return nil
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, now: start}
	f.rescorer = &rescorer{f: f}
	var err error
	f.store, err = store.Open(t.Context(), storetest.SQLite(t), store.Options{Logger: f.log(), Now: f.clock})
	f.ok(err)
	t.Cleanup(func() { f.ok(f.store.Close()) })
	f.ok(f.store.Migrate(t.Context()))
	for i, name := range []string{"alice", "bob"} {
		o := arena.Owner{ID: "ow_" + name, Name: name, CreatedAt: start}
		f.ok(f.store.Accounts.CreateOwner(t.Context(), o, arena.Token{ID: "to_" + name, OwnerID: o.ID, Scope: arena.ScopeOwner, Hash: [32]byte{byte(i)}, CreatedAt: start}))
	}
	f.league("quiz", func(*arena.League) {})
	return f
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) clock() time.Time  { return f.now }
func (f *fixture) log() *slog.Logger { return slog.New(slog.NewTextHandler(f.t.Output(), nil)) }

// Create stores a match that waits to be claimed.
func (f *fixture) Create(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error) {
	e, err := f.store.Matches.CreateMatch(ctx, m, e, audit...)
	if err == nil {
		f.Publish(m.League, e)
	}
	return e, err
}

// Publish keeps the events.
func (f *fixture) Publish(league string, events ...arena.Event) {
	for _, e := range events {
		f.events = append(f.events, fmt.Sprint(league, " ", e.MatchID, " ", e.Seq, " ", e.Type, " ", string(e.Body)))
	}
}

// published returns the events since the last call.
func (f *fixture) published() []string {
	events := f.events
	f.events = nil
	return events
}

func (f *fixture) options() match.Options {
	always, _ := arena.OwnerLinkKinds()
	return match.Options{
		GroupBy: always,
		Store:   f.store, Engine: f, Rescorer: f.rescorer, Publisher: f,
		Challenges: &f.challenges, Challenged: &f.challenged, Judging: &f.judging, Now: f.clock, Rand: rand.NewPCG(1, 2), Logger: f.log(),
	}
}

func (f *fixture) service() *match.Service {
	f.t.Helper()
	s := match.New(f.options())
	return s
}

// league stores an open ladder of three rounds.
func (f *fixture) league(slug string, change func(*arena.League)) {
	f.t.Helper()
	l := arena.League{Slug: slug, Title: slug, Status: arena.LeagueOpen, CreatedAt: start, Settings: settings.Defaults(arena.Settings{
		Generator: &arena.GeneratorSpec{Name: "arithmetic"}, Rounds: 3, TimeLimit: time.Second, Rated: true, Visibility: arena.VisibilityLive,
	})}
	change(&l)
	f.ok(f.store.Leagues.CreateLeague(f.t.Context(), l))
}

// agent stores an active agent that has entered quiz and plays it.
func (f *fixture) agent(name, owner string, change ...func(*arena.Agent)) arena.Agent {
	f.t.Helper()
	g := arena.Agent{
		ID: "ag_" + name, OwnerID: "ow_" + owner, Name: name, Protocol: arena.ProtocolAAP, Endpoint: "https://" + name + ".example", Version: "1.2",
		Leagues: []string{"quiz"}, CreatedAt: start, PassedAt: start, Health: arena.Health{OK: true, CheckedAt: start, Capabilities: []string{"quiz"}, MaxConcurrent: 1},
	}
	for _, c := range change {
		c(&g)
	}
	f.ok(f.store.Agents.CreateAgent(f.t.Context(), g))
	return g
}

func (f *fixture) stored(id string) arena.Match {
	f.t.Helper()
	m, err := f.store.Matches.Match(f.t.Context(), id)
	f.ok(err)
	return m
}

func (f *fixture) audited() []string {
	f.t.Helper()
	entries, _, err := f.store.Operations.AuditLog(f.t.Context(), arena.AuditFilter{}, arena.Page{Limit: 100})
	f.ok(err)
	var log []string
	for _, e := range entries {
		log = append(log, fmt.Sprint(e.Actor, " ", e.Action, " ", e.Target, " ", string(e.Before), string(e.After)))
	}
	return log
}
