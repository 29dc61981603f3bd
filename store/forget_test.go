package store_test

import (
	"database/sql"
	"testing"

	"modernc.org/sqlite"

	"github.com/agora-arena/arena/store"
)

// TestStore_Forget: a store that little is written to gives its pages back,
// one that works keeps them. Not parallel: all connections of the process
// share their pages.
func TestStore_Forget(t *testing.T) { //nolint:tparallel // see above
	s := openStore(t, sqliteURL(t))
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
	forget()
	if w, r := pages(t, s.Writer()), pages(t, s.Reader()); w > 1<<20 || r > 1<<20 {
		t.Errorf("quiet: %d bytes of pages for the writer, %d for readers", w, r)
	}
	read()
	s.Committed(store.BusyCommits)
	forget()
	if n := pages(t, s.Reader()); n < 1<<20 {
		t.Errorf("busy: only %d bytes of pages", n)
	}
	forget()
	if n := pages(t, s.Reader()); n > 1<<20 {
		t.Errorf("quiet again: %d bytes of pages", n)
	}
}

// pages gives the bytes of pages that a connection keeps.
func pages(t *testing.T, db *sql.DB) (bytes int) {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // goes back to where it was
	if err := c.Raw(func(driver any) (err error) {
		bytes, _, err = driver.(sqlite.DBStatus).Status(sqlite.DBStatusCacheUsed, false)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return bytes
}
