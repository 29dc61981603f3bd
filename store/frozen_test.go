package store_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// A node that freezes inside a transaction holds its locks only for moments:
// the others go on without it, and when it wakes it hears that storage was
// away. Threats C2, C5.
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
	tx, err := frozen.Writer().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(hashtext('agora-arena claim'))"); err != nil {
		t.Fatal(err)
	}
	if _, err := awake.ClaimMatches(t.Context(), "node", time.Second, 1); err != nil {
		t.Errorf("the others cannot claim: %v", err)
	}
	_, err = tx.ExecContext(t.Context(), "SELECT 1")
	if err == nil {
		t.Fatal("the frozen transaction goes on")
	}
	if got := arena.CodeOf(frozen.Explain(err)); got != arena.CodeUnavailable {
		t.Errorf("the node that wakes hears %v, code %s", err, got)
	}
	if err := frozen.Ping(t.Context()); err != nil {
		t.Errorf("the node that wakes cannot go on: %v", err)
	}
}
