package store_test

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// TestStatements_NoDeadlock: who waits for a connection in order to prepare a
// text holds up nobody who has one.
func TestStatements_NoDeadlock(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	s.Reader().SetMaxOpenConns(1)
	var wg sync.WaitGroup
	if err := s.View(t.Context(), func(q *store.Tx) error {
		for range 2 { // of the same text: one of them is not needed
			wg.Go(func() {
				if _, err := s.Leagues.League(t.Context(), "none"); arena.CodeOf(err) != arena.CodeNotFound {
					t.Error(err)
				}
			})
		}
		for s.Reader().Stats().WaitCount < 2 {
			runtime.Gosched()
		}
		rows, err := q.QueryContext(t.Context(), "SELECT 1 FROM owners WHERE id = $1", "ow")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		return rows.Err()
	}); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, reader := s.Prepared(); reader != 3 { // ping, league, owner
		t.Errorf("%d texts are prepared", reader)
	}
}

// TestStatements_Few: lists of any length come in a few texts, each of which
// is prepared once.
func TestStatements_Few(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	ctx := t.Context()
	if err := s.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow", Name: "o"}, arena.Token{ID: "to", OwnerID: "ow", Scope: arena.ScopeOwner, Hash: sha256.Sum256(nil)}); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 600; n += 7 {
		ids, tasks := make([]string, n), make([]arena.Task, n)
		for i := range n {
			ids[i] = fmt.Sprintf("ag_%d_%d", n, i)
		}
		a := arena.Agent{ID: ids[n-1], OwnerID: "ow", Name: ids[n-1]}
		if err := s.Agents.CreateAgent(ctx, a); err != nil {
			t.Fatal(err)
		}
		found, err := s.Agents.AgentsByID(ctx, ids)
		if err != nil || len(found) != 1 || found[a.ID].ID != a.ID {
			t.Fatalf("of %d agents %d were found (%v)", n, len(found), err)
		}
		pack := arena.Pack{ID: fmt.Sprintf("pk_%d", n)}
		if err := s.Packs.CreatePack(ctx, pack, tasks); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Packs.Task(ctx, pack.ID, n-1); err != nil {
			t.Fatal(err)
		}
	}
	if writer, reader := s.Prepared(); writer > 20 || reader > 10 {
		t.Errorf("%d and %d texts are prepared", writer, reader)
	}
}
