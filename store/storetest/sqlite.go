package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/agora-arena/arena/migrations"
	"github.com/agora-arena/arena/store"
)

// SQLite makes a SQLite database with the current schema and returns its URL.
// It copies a file that the first test of a schema leaves in the folder for
// temporary files: to run all migrations takes ten times as long.
func SQLite(t testing.TB) string {
	t.Helper()
	migrated, err := migratedFile(t)
	if err != nil {
		t.Fatalf("make a SQLite database: %v", err)
	}
	file := filepath.Join(t.TempDir(), "arena.db")
	if err := os.WriteFile(file, migrated, 0o600); err != nil {
		t.Fatalf("make a SQLite database: %v", err)
	}
	return "sqlite:" + file
}

// migratedFile returns the bytes of a database with the current schema and no
// rows.
func migratedFile(t testing.TB) ([]byte, error) {
	schema := sha256.New()
	if err := hashMigrations(schema); err != nil {
		return nil, err
	}
	template := filepath.Join(os.TempDir(), fmt.Sprintf("arena-schema-%d-%x.db", os.Getuid(), schema.Sum(nil)[:8]))
	migrated, err := os.ReadFile(template)
	if !errors.Is(err, fs.ErrNotExist) {
		return migrated, err
	}
	// Tests that come here together make one each; renaming replaces equals.
	dir, err := os.MkdirTemp(filepath.Dir(template), "arena-schema-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "arena.db")
	s, err := store.Open(t.Context(), "sqlite:"+file, store.Options{Logger: slog.New(slog.DiscardHandler), Now: (&clock{now: start}).read})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.Migrate(t.Context()), s.Close()); err != nil {
		return nil, err
	}
	if migrated, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	return migrated, os.Rename(file, template)
}

// hashMigrations writes the names and texts of the migrations to h.
func hashMigrations(h hash.Hash) error {
	files, err := migrations.For("sqlite")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		_, _ = fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
}
