package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// start is the time at which every test begins. It lies in the past of any
// database's clock, so that a match that starts then is due.
var start = time.Date(2020, 3, 1, 12, 0, 0, 0, time.UTC)

// ttl is a lease that does not end during a test.
const ttl = time.Hour

// clock is the process's clock of a test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a store with a database of its own, and builders for what a test
// needs in it. Ids are made from names: owner "o" is ow_o, agent "a" is ag_a.
type fixture struct {
	*store.Store
	t     *testing.T
	url   string
	clock *clock

	closing func(*store.Store) // see Run
}

func newFixture(t *testing.T, url string, closing func(*store.Store)) *fixture {
	t.Helper()
	f := &fixture{t: t, url: url, clock: &clock{now: start}, closing: closing}
	f.Store = f.another()
	f.ok(f.Migrate(t.Context()))
	return f
}

// another opens the same database once more, as another node does.
func (f *fixture) another() *store.Store {
	f.t.Helper()
	s, err := store.Open(f.t.Context(), f.url, store.Options{Logger: slog.New(slog.NewTextHandler(f.t.Output(), nil)), Now: f.clock.read})
	f.ok(err)
	f.t.Cleanup(func() {
		f.closing(s)
		f.ok(s.Close())
	})
	return s
}

// peer is another node that writes as hard as the first one. Nodes share a
// PostgreSQL; a SQLite file has one process, whose lock is not fair to others.
func (f *fixture) peer() *store.Store {
	f.t.Helper()
	if strings.HasPrefix(f.url, "sqlite:") {
		return f.Store
	}
	return f.another()
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// fails checks the code of an error.
func (f *fixture) fails(code arena.Code, err error) {
	f.t.Helper()
	if got := arena.CodeOf(err); got != code {
		f.t.Fatalf("error code is %q, want %q (error: %v)", got, code, err)
	}
}

func (f *fixture) equal(want, got any) {
	f.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Fatalf("differs (-want +got):\n%s", diff)
	}
}

// must returns the value of a call that has to work.
func must[T any](v T, err error) func(f *fixture) T {
	return func(f *fixture) T {
		f.t.Helper()
		f.ok(err)
		return v
	}
}

func token(id, owner string) arena.Token {
	return arena.Token{
		ID: id, OwnerID: owner, Scope: arena.ScopeOwner, Name: "first", Hash: sha256.Sum256([]byte(id)), CreatedAt: start,
	}
}

func (f *fixture) owner(name string) arena.Owner {
	f.t.Helper()
	o := arena.Owner{ID: "ow_" + name, Name: name, Email: name + "@example.org", CreatedAt: start}
	f.ok(f.Accounts.CreateOwner(f.t.Context(), o, token("to_"+name, o.ID)))
	return o
}

// agent makes an active agent with an owner of its own.
func (f *fixture) agent(name string, change ...func(*arena.Agent)) arena.Agent {
	f.t.Helper()
	a := arena.Agent{
		ID: "ag_" + name, OwnerID: "ow_" + name, OwnerName: name, Name: name, Protocol: "aap",
		Endpoint: "https://" + name + ".example.org", PublicKey: "key", Version: "1", Description: "plays",
		Health: arena.Health{
			OK: true, CheckedAt: start, Latency: 1234567 * time.Nanosecond, Reason: "fine", Detail: "all well",
			Capabilities: []string{"trivia"}, DeclaredLatency: time.Second, MaxConcurrent: 1, Failures: 1, Successes: 2,
		},
		CreatedAt: start, PassedAt: start.Add(time.Minute), PullConcurrent: 1,
	}
	for _, c := range change {
		c(&a)
	}
	if a.OwnerID == "ow_"+name {
		f.owner(name)
	}
	f.ok(f.Agents.CreateAgent(f.t.Context(), a))
	return a
}

func (f *fixture) agents(names ...string) []string {
	f.t.Helper()
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = f.agent(name).ID
	}
	return ids
}

func settings() arena.Settings {
	return arena.Settings{
		Format: arena.FormatLadder, Generator: &arena.GeneratorSpec{Name: "arithmetic", Difficulty: 2},
		Judge: arena.JudgeSpec{Kind: arena.JudgeNumber, Tolerance: 0.5}, Rounds: 3, TimeLimit: 20 * time.Second,
		Rules: []string{"be short"}, MinSeats: 2, MaxSeats: 2, Rated: true, Visibility: arena.VisibilitySealed, ScoreMode: arena.ScoreMatch,
	}
}

func (f *fixture) league(slug string) arena.League {
	f.t.Helper()
	l := arena.League{
		Slug: slug, Title: strings.ToUpper(slug), Status: arena.LeagueOpen, Settings: settings(),
		Entry: arena.EntryRules{AgentsPerOwner: 3}, Schedule: "* * * * *", CreatedAt: start, NextRunAt: start.Add(time.Minute), Note: arena.NeedsAgentsNote(2, 1),
	}
	f.ok(f.Leagues.CreateLeague(f.t.Context(), l))
	return l
}

func event(kind arena.EventType, body string) arena.Event {
	return arena.Event{At: start, Type: kind, Body: json.RawMessage(body)}
}

// match schedules a match that is due.
func (f *fixture) match(id, league string, agents ...string) {
	f.t.Helper()
	m := arena.Match{
		ID: id, League: league, Status: arena.MatchScheduled, Settings: settings(), Seed: 1<<63 + 7,
		CreatedAt: start, StartsAt: start.Add(time.Minute),
	}
	for i, a := range agents {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: a, State: arena.SeatActive})
	}
	_, err := f.Matches.CreateMatch(f.t.Context(), m, event(arena.EventMatchScheduled, `{"league":"`+league+`"}`))
	f.ok(err)
}

// claim claims the only match that can be claimed.
func (f *fixture) claim() arena.Match {
	f.t.Helper()
	claimed := must(f.Matches.ClaimMatches(f.t.Context(), "nd_1", ttl, 10, nil))(f)
	if len(claimed) != 1 {
		f.t.Fatalf("claimed %d matches, want 1", len(claimed))
	}
	return claimed[0]
}

// begin schedules, claims and starts a match.
func (f *fixture) begin(id, league string, agents ...string) arena.Match {
	f.t.Helper()
	f.match(id, league, agents...)
	m := f.claim()
	_, err := f.Matches.StartMatch(f.t.Context(), m.Lease, m.Seats, start.Add(time.Minute), nil, []arena.Event{event(arena.EventMatchStarted, `{}`)})
	f.ok(err)
	return m
}

func round(no int) arena.Round {
	return arena.Round{
		No: no, OpenedAt: start.Add(time.Duration(no) * time.Minute),
		Task: arena.Task{
			ID: fmt.Sprintf("tk_%d", no), Description: "2+2?", Answers: []string{"4", "four"}, Options: []string{"4", "5"},
			InputFormat: "string", OutputFormat: "number", Topic: "sums", Difficulty: "easy", MaxTokens: 9, Rules: []string{"think"},
		},
	}
}

// open begins a match of the league trivia and opens its first round.
func (f *fixture) open(id string, agents ...string) arena.Match {
	f.t.Helper()
	m := f.begin(id, "trivia", agents...)
	_, err := f.Matches.OpenRound(f.t.Context(), m.Lease, round(1), []arena.Event{roundEvent()})
	f.ok(err)
	return m
}

func roundEvent() arena.Event {
	e := event(arena.EventRoundStarted, `{"task":{}}`)
	e.Round = 1
	return e
}

// log returns a match's whole log and checks its numbers (docs/rules.md, invariant:
// 1, 2, 3 … without gaps).
func (f *fixture) log(matchID string) []arena.Event {
	f.t.Helper()
	events := must(f.Matches.EventsAfter(f.t.Context(), matchID, 0, 1_000_000))(f)
	for i, e := range events {
		if e.Seq != int64(i+1) {
			f.t.Fatalf("event %d has seq %d", i+1, e.Seq)
		}
	}
	if m := must(f.Matches.Match(f.t.Context(), matchID))(f); m.Seq != int64(len(events)) {
		f.t.Fatalf("match has seq %d, its log %d events", m.Seq, len(events))
	}
	return events
}

func types(events []arena.Event) []arena.EventType {
	kinds := make([]arena.EventType, len(events))
	for i, e := range events {
		kinds[i] = e.Type
	}
	return kinds
}

// result ends a match with one point for the first seat.
func result(m arena.Match, rated bool) arena.Result {
	r := arena.Result{MatchID: m.ID, League: m.League, Rated: rated}
	for i, s := range m.Seats {
		s.Place = min(i+1, 2)
		if i == 0 {
			s.Points = arena.OnePoint
		}
		r.Seats = append(r.Seats, s)
	}
	return r
}

// moves returns rating changes that move 10 Elo from every other agent to the
// first one.
func moves(m arena.Match) func(map[string]arena.Rating) []arena.RatingChange {
	return func(before map[string]arena.Rating) []arena.RatingChange {
		var changes []arena.RatingChange
		for i, s := range m.Seats {
			c := arena.RatingChange{AgentID: s.AgentID, Before: before[s.AgentID].MilliElo, Delta: -10_000, K: 40}
			if i == 0 {
				c.Delta, c.Score = arena.MilliElo(10_000*(len(m.Seats)-1)), arena.OnePoint
			}
			c.After = c.Before + c.Delta
			c.Matches = before[s.AgentID].Matches + 1
			changes = append(changes, c)
		}
		return changes
	}
}

func finished([]arena.RatingChange) (arena.Event, error) {
	return event(arena.EventMatchFinished, `{"rated":true}`), nil
}

// settle ends a match that first won.
func (f *fixture) settle(m arena.Match, at time.Time) {
	f.t.Helper()
	_, err := f.Matches.Settle(f.t.Context(), m.Lease, result(m, true), at, moves(m), finished)
	f.ok(err)
}
