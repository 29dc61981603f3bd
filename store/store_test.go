package store_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// servers starts the one PostgreSQL server of this test run when it is first
// asked for.
type servers struct {
	once   sync.Once
	server *storetest.Server
	err    error
}

var postgres servers

func (s *servers) get(t testing.TB) *storetest.Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = storetest.StartServer(context.WithoutCancel(t.Context())) })
	if storetest.Missing(s.err) {
		t.Skip(s.err)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if postgres.server != nil {
		if err := postgres.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func sqliteURL(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "arena.db")
}

// TestStore_SQLite runs the suite, and then explains all statements that it made: none
// reads much of a growing table. Threat V7.
func TestStore_SQLite(t *testing.T) { //nolint:tparallel // the plans come after the suite
	t.Parallel()
	var made statements
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) string { t.Helper(); return storetest.SQLite(t) }, made.add)
	})
	t.Run("plans", func(t *testing.T) { checkPlans(t, &made) })
}

func TestStore_Postgres(t *testing.T) {
	t.Parallel()
	if os.Getenv("ARENA_TEST_SLOW") == "" {
		t.Skip("runs for a minute what SQLite runs too; make test-postgres runs it")
	}
	postgres.get(t)
	storetest.Run(t, func(t *testing.T) string { t.Helper(); return postgres.get(t).Database(t) }, func(*store.Store) {})
}
