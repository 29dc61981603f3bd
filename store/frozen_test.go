package store_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// A node that freezes inside a transaction holds its locks only for moments:
// the others go on without it, and when it wakes it gets an error that storage was
// unavailable. Threats C2, C5.
func TestPostgres_frozenTransaction(t *testing.T) {
	t.Parallel()
	url := postgres.get(t).Database(t)
	open := func() *store.Store {
		s, err := store.Open(t.Context(), url, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	frozen, awake := open(), open()
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	m := arena.Match{ID: "m_1", League: "l", CreatedAt: at, Seats: []arena.Seat{{AgentID: "ag"}}}
	if err := errors.Join(
		awake.Leagues.CreateLeague(t.Context(), arena.League{Slug: "l", Status: arena.LeagueOpen, CreatedAt: at}),
		awake.Accounts.CreateOwner(t.Context(), arena.Owner{ID: "ow", Name: "o"}, arena.Token{ID: "to", OwnerID: "ow", Scope: arena.ScopeOwner}),
		awake.Agents.CreateAgent(t.Context(), arena.Agent{ID: "ag", OwnerID: "ow", Name: "a", CreatedAt: at, Health: arena.Health{MaxConcurrent: 1}}),
	); err != nil {
		t.Fatal(err)
	}
	tx, err := frozen.Writer().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(hashtext('agora-arena claim'))"); err != nil {
		t.Fatal(err)
	}
	// The creation of a match does not wait for that lock: the match does.
	e := arena.Event{At: at, Type: arena.EventMatchScheduled}
	if _, l, err := awake.Matches.CreateAndClaim(t.Context(), m, e, "node", time.Second); err != nil || l != (arena.Lease{}) {
		t.Errorf("the match is created with %+v (%v)", l, err)
	}
	if claimed, err := awake.Matches.ClaimMatches(t.Context(), "node", time.Second, 1, nil); err != nil || len(claimed) != 1 {
		t.Errorf("the others claim %d matches (%v)", len(claimed), err)
	}
	_, err = tx.ExecContext(t.Context(), "SELECT 1")
	if err == nil {
		t.Fatal("the frozen transaction goes on")
	}
	if got := arena.CodeOf(frozen.Explain(err)); got != arena.CodeUnavailable {
		t.Errorf("the node that wakes gets %v, code %s", err, got)
	}
	if err := frozen.Ping(t.Context()); err != nil {
		t.Errorf("the node that wakes cannot go on: %v", err)
	}
}
