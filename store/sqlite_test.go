package store_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

func TestOpen_Refuses(t *testing.T) {
	t.Parallel()
	options := store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	for _, url := range []string{
		"", "arena.db", "mysql://x", "sqlite:", "sqlite://", "sqlite::memory:", "sqlite:file::memory:", "sqlite:file:x?mode=memory",
		"sqlite:x.db?_pragma=synchronous(0)", "sqlite:" + filepath.Join(t.TempDir(), "none", "x.db"), "sqlite:" + t.TempDir(),
		"postgres://%zz", "postgres:///x?host=" + t.TempDir(),
	} {
		s, err := store.Open(t.Context(), url, options)
		if err == nil {
			_ = s.Close()
			t.Errorf("%q was opened", url)
		}
	}
	const secret = "hunter2"
	_, err := store.Open(t.Context(), "postgres://u:"+secret+"@127.0.0.1:1/x?connect_timeout=nonsense", options)
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("the password is in %v", err)
	}
}

func TestOpen_FileIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	// A name that would change the meaning of a URI if it were not escaped.
	path := filepath.Join(t.TempDir(), "a #%41;b.db")
	s := openStore(t, "sqlite:"+path)
	if err := s.Leagues.CreateLeague(t.Context(), arena.League{Slug: "l", Status: arena.LeagueOpen}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode of %q is %v", suffix, info.Mode())
		}
	}
}

func TestOpen_Settings(t *testing.T) {
	t.Parallel()
	s := openStore(t, sqliteURL(t))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000", "secure_delete": "1"} {
		var got string
		if err := s.Writer().QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", pragma, got, err, want)
		}
	}
	if _, err := s.Reader().ExecContext(t.Context(), "DELETE FROM owners"); err == nil {
		t.Error("a reader wrote")
	}
}

// Threat O3: one server at a time uses a file; what only reads it, and commands
// beside the server, need no lock.
func TestStore_Lock(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "arena.db")
	open := func() *store.Store {
		s, err := store.Open(ctx, "sqlite:"+path, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second := open(), open()
	defer second.Close() //nolint:errcheck // the test is over
	if err := errors.Join(first.Lock(ctx), first.Lock(ctx), first.Migrate(ctx)); err != nil {
		t.Fatal(err)
	}
	if err := second.Lock(ctx); arena.CodeOf(err) != arena.CodeConflict || !strings.Contains(err.Error(), "another server uses the database "+path) {
		t.Errorf("the second lock: %v", err)
	}
	if err := second.Leagues.CreateLeague(ctx, arena.League{Slug: "l", Status: arena.LeagueOpen}); err != nil {
		t.Errorf("without the lock: %v", err)
	}
	if info, err := os.Stat(path + "-lock"); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the lock file: %v, %v", info, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Lock(ctx); err != nil {
		t.Errorf("after the first server ended: %v", err)
	}
}

// A server that has the file for itself is one node, however often it restarts.
func TestStore_Lock_oneNode(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "arena.db")
	for _, c := range []struct {
		node   string
		locked bool
		nodes  int
	}{{"nd_1", false, 1}, {"nd_2", false, 2}, {"nd_3", true, 1}, {"nd_4", true, 1}} {
		s := openStore(t, url)
		if c.locked {
			if err := s.Lock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Operations.Heartbeat(t.Context(), arena.Node{ID: c.node, StartedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		o, err := s.Operations.Operations(t.Context())
		if err != nil || len(o.Nodes) != c.nodes || !o.Nodes[len(o.Nodes)-1].Alive {
			t.Errorf("%s: %+v (%v)", c.node, o.Nodes, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Stores whose connections the caller makes share a file: it decides who writes.
func TestStore_Lock_connect(t *testing.T) {
	t.Parallel()
	var opened []string
	connect := func(source string) (*sql.DB, error) {
		opened = append(opened, source)
		return sql.Open("sqlite", source)
	}
	path := filepath.Join(t.TempDir(), "arena.db")
	for range 2 {
		s, err := store.Open(t.Context(), "sqlite:"+path, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now, SQLite: connect})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // the test is over
		if err := s.Lock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(opened) != 4 {
		t.Errorf("opened %q, want a writer and a reader for each", opened)
	}
}

// Threat O4: an empty file is a restore that failed or a wrong mount, and a new
// arena in it would hide that.
func TestOpen_EmptyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "arena.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), "sqlite:"+path, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if err == nil {
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), path+" is an empty file") {
		t.Errorf("got %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("the file was changed: %v, %v", info, err)
	}
}

// TestStore_DiskFull: threat C6, a full disk is a 503 for writers, readers go
// on, and nothing half-written stays.
func TestStore_DiskFull(t *testing.T) {
	t.Parallel()
	s := openStore(t, sqliteURL(t))
	ctx := t.Context()
	var pages int
	if err := s.Writer().QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		t.Helper()
		var got int
		if err := s.Writer().QueryRowContext(ctx, "PRAGMA max_page_count = "+strconv.Itoa(n)).Scan(&got); err != nil || got != n {
			t.Fatalf("limit is %d (%v), want %d", got, err, n)
		}
	}
	limit(pages + 2)
	pack := arena.Pack{ID: "pk_1", Name: "p"}
	tasks := make([]arena.Task, 200)
	for i := range tasks {
		tasks[i].Description = strings.Repeat("x", 4000)
	}
	if err := s.Packs.CreatePack(ctx, pack, tasks); arena.CodeOf(err) != arena.CodeUnavailable {
		t.Fatalf("got %v, want unavailable", err)
	}
	if _, err := s.Packs.Pack(ctx, "pk_1"); arena.CodeOf(err) != arena.CodeNotFound {
		t.Fatalf("got %v, want not_found", err)
	}
	if got := s.ErrorStats(); got.Unavailable != 1 || got.Failed != 0 || got.LastAt.IsZero() { // a missing row is no fault
		t.Errorf("counted %+v", got)
	}
	// A token opens the door even when its use cannot be noted.
	limit(1 << 20)
	if err := s.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow", Name: "o"}, arena.Token{ID: "to", OwnerID: "ow", Scope: arena.ScopeOwner, Hash: sha256.Sum256(nil)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Writer().ExecContext(ctx, "PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accounts.TokenByHash(ctx, sha256.Sum256(nil)); err != nil {
		t.Error(err)
	}
	if err := s.Packs.CreatePack(ctx, pack, nil); arena.CodeOf(err) != arena.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
	if _, err := s.Writer().ExecContext(ctx, "PRAGMA query_only = 0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Packs.CreatePack(ctx, pack, tasks); err != nil {
		t.Error(err)
	}
	var check string
	if err := s.Reader().QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
		t.Errorf("integrity: %s (%v)", check, err)
	}
}

func TestStore_CheckIntegrity(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "arena.db")
	s := openStore(t, "sqlite:"+path)
	for i := range 200 {
		l := arena.League{Slug: "l" + strconv.Itoa(i), Title: strings.Repeat("x", 100), Status: arena.LeagueOpen}
		if err := s.Leagues.CreateLeague(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CheckIntegrity(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // its log is in the file now
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt(make([]byte, 4096), info.Size()-8192) // the leagues came last
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	s, err = store.Open(t.Context(), "sqlite:"+path, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it was only read
	if err := s.CheckIntegrity(t.Context()); err == nil {
		t.Error("a file with a page of zeros is whole")
	}
}

// A crowd makes SQLite read on many connections, and each keeps pages of its
// own: those that nobody needs any more are closed.
func TestStore_IdleReaders(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), url, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // only read
		crowd := s.HoldReaders(t.Context(), 4)
		if n := s.Readers(); n != 4 {
			t.Errorf("%d connections read, want 4", n)
		}
		crowd()
		time.Sleep(time.Minute)
		if n := s.Readers(); n != 0 {
			t.Errorf("%d connections stay open unused", n)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
