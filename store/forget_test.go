package store_test

import (
	"testing"

	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// TestStore_Forget: a store that little is written to gives its pages back,
// one that works keeps them. Not parallel: all connections of the process
// share their pages.
func TestStore_Forget(t *testing.T) {
	s := openStore(t, storetest.SQLite(t))
	for _, text := range []string{
		"CREATE TABLE pages (b BLOB)",
		"INSERT INTO pages WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000) SELECT randomblob(4000) FROM c",
	} {
		if _, err := s.Writer().ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	read := func() {
		t.Helper()
		if _, err := s.Reader().ExecContext(t.Context(), "SELECT sum(length(b)) FROM pages"); err != nil {
			t.Fatal(err)
		}
	}
	forget := func() {
		t.Helper()
		if err := s.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	pages := func() int {
		t.Helper()
		bytes, err := s.PageBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	const few, many = 1 << 20, 4 << 20
	if n := pages(); n < many {
		t.Errorf("written: only %d bytes of pages", n)
	}
	forget()
	if n := pages(); n > few {
		t.Errorf("quiet: %d bytes of pages", n)
	}
	read()
	s.Committed(store.BusyCommits)
	forget()
	if n := pages(); n < many {
		t.Errorf("busy: only %d bytes of pages", n)
	}
	forget()
	if n := pages(); n > few {
		t.Errorf("quiet again: %d bytes of pages", n)
	}
}
