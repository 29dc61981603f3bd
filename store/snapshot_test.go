package store_test

import (
	"bytes"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

func storeOptions() store.Options { return store.Options{Logger: discard(), Now: time.Now} }

func silent(store.CopyProgress) {}

// snapshot writes a copy of an arena that a node is at work on.
func snapshot(t *testing.T, from string) (file string, state map[string]any) {
	t.Helper()
	s := storetest.Fill(t, from)
	if _, err := s.Operations.ClaimTick(t.Context(), "schedule", time.Second); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "copy.db")
	if _, err := s.Snapshot(t.Context(), file, silent); err != nil {
		t.Fatal(err)
	}
	return file, wholeState(t, s)
}

// A copy that was made beside a node is one private file, and becomes the same
// arena again in either engine.
func TestStore_Snapshot(t *testing.T) {
	t.Parallel()
	for from, source := range engines() {
		for to, target := range engines() {
			t.Run(from+"_to_"+to, func(t *testing.T) {
				t.Parallel()
				file, was := snapshot(t, source(t, false))
				files, err := os.ReadDir(filepath.Dir(file))
				if err != nil || len(files) != 1 {
					t.Errorf("the copy is %v (%v)", files, err)
				}
				// Threat O7.
				if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
					t.Errorf("the copy has mode %v (%v)", info.Mode(), err)
				}
				url := target(t, true)
				report, err := store.Restore(t.Context(), file, url, storeOptions(), silent)
				if err != nil || len(report.Tables) != len(store.Tables()) || len(report.Leagues) != 2 {
					t.Fatalf("restored %+v (%v)", report, err)
				}
				s := openPlain(t, url)
				if diff := cmp.Diff(was, wholeState(t, s)); diff != "" {
					t.Errorf("the restored arena differs (-was +is):\n%s", diff)
				}
				if last, err := s.LastBackup(t.Context()); err != nil || last.IsZero() {
					t.Errorf("its last backup was at %v (%v)", last, err)
				}
			})
		}
	}
}

// A backup is the last thing to refuse: a copy of an arena whose ratings differ from
// what its settlements give is made, reported and restored all the same.
func TestStore_Snapshot_differs(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := storetest.Fill(t, database(t, false))
			if _, err := s.Writer().ExecContext(t.Context(), "UPDATE ratings SET melo = melo + 1 WHERE agent_id = 'ag_a' AND league = 'sums'"); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "copy.db")
			was := wholeState(t, s)
			report, err := s.Snapshot(t.Context(), file, silent)
			if err != nil || len(report.Tables) != len(store.Tables()) || !strings.Contains(errText(report.Differs), "agent ag_a in league sums") {
				t.Fatalf("%+v, %v", report, err)
			}
			url := database(t, true)
			if report, err = store.Restore(t.Context(), file, url, storeOptions(), silent); err != nil || report.Differs == nil {
				t.Fatalf("restored %+v (%v)", report, err)
			}
			if diff := cmp.Diff(was, wholeState(t, openPlain(t, url))); diff != "" {
				t.Errorf("the restored arena differs (-was +is):\n%s", diff)
			}
		})
	}
}

// A copy is not logged: nothing about its schema is in the log of the arena.
func TestStore_Snapshot_log(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	url := sqliteURL(t)
	openStore(t, url)
	s, err := store.Open(t.Context(), url, store.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Snapshot(t.Context(), filepath.Join(t.TempDir(), "copy.db"), silent); err != nil || log.Len() > 0 {
		t.Errorf("%v, logged %s", err, log.String())
	}
}

func TestStore_Snapshot_existingFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, sqliteURL(t))
	if _, err := s.Snapshot(t.Context(), file, silent); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(file); string(text) != "mine" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
}

// What is no whole backup, or no empty database, is refused with a sentence.
func TestRestore_refuses(t *testing.T) {
	t.Parallel()
	good, _ := snapshot(t, sqliteURL(t))
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	execIn(t, other, "CREATE TABLE notes (text TEXT)")
	foreign, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(t.TempDir(), "newer.db")
	if err := os.WriteFile(newer, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	execIn(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	fromNewer, err := os.ReadFile(newer)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := append([]byte{}, whole...)
	for i := len(spoiled) / 2; i < len(spoiled)/2+8192; i++ {
		spoiled[i] = 0xa5
	}
	for name, c := range map[string]struct {
		file  []byte
		wants string
	}{
		"nothing":   {nil, "no backup of an arena"},
		"garbage":   {[]byte(strings.Repeat("garbage ", 999)), "no backup of an arena"},
		"truncated": {whole[:len(whole)/2], "damaged"},
		"spoiled":   {spoiled, "damaged"},
		"foreign":   {foreign, "not the one of an arena"},
		"newer":     {fromNewer, "schema 9999"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, target := filepath.Join(t.TempDir(), "x.db"), filepath.Join(t.TempDir(), "arena.db")
			if err := os.WriteFile(file, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := store.Restore(t.Context(), file, "sqlite:"+target, storeOptions(), silent)
			if arena.CodeOf(err) != arena.CodeInvalid || !strings.Contains(errText(err), c.wants) {
				t.Errorf("got %v, want %q in it", err, c.wants)
			}
			if _, err := os.Lstat(target); err == nil {
				t.Error("a database was made")
			}
		})
	}
	for _, left := range []string{"", "-wal", "-journal"} {
		target := filepath.Join(t.TempDir(), "arena.db")
		if err := os.WriteFile(target+left, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Restore(t.Context(), good, "sqlite:"+target, storeOptions(), silent); arena.CodeOf(err) != arena.CodeConflict || !strings.Contains(errText(err), target+left+" exists") {
			t.Errorf("beside %s: %v", left, err)
		}
	}
}

// A database with the tables of another program is not empty.
func TestCheckEmpty_foreignTables(t *testing.T) {
	t.Parallel()
	url := postgres.get(t).EmptyDatabase(t)
	if err := store.CheckEmpty(t.Context(), url, storeOptions()); err != nil {
		t.Fatal(err)
	}
	s := openPlain(t, url)
	if _, err := s.Writer().ExecContext(t.Context(), "CREATE TABLE notes (text TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := store.CheckEmpty(t.Context(), url, storeOptions()); arena.CodeOf(err) != arena.CodeConflict || !strings.Contains(errText(err), "a table notes") {
		t.Errorf("got %v", err)
	}
}

// Threat O4: a file that is damaged, or no database, is refused with a sentence.
func TestOpen_Damaged(t *testing.T) {
	t.Parallel()
	good, _ := snapshot(t, sqliteURL(t))
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	header := append([]byte("XQLite"), whole[6:]...)
	for name, text := range map[string][]byte{
		"header": header, "truncated": whole[:len(whole)/2], "garbage": []byte(strings.Repeat("garbage ", 999)), "short": whole[:50],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "arena.db")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := store.Open(t.Context(), "sqlite:"+file, storeOptions())
			if !strings.Contains(errText(err), "the database "+file+" is damaged, or no SQLite database") {
				t.Errorf("got %v", err)
			}
			if left, err := os.ReadFile(file); string(left) != string(text) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

// execIn runs a statement in a file of SQLite.
func execIn(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
