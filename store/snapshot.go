package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// sqliteFiles are the endings of the files that SQLite keeps beside a database.
func sqliteFiles() []string { return []string{"-wal", "-shm", "-journal"} }

// Snapshot writes the whole arena, as it is at one moment, to a new SQLite file
// with mode 0600, since it holds signing keys (threat O7). Nodes go on meanwhile.
// The copy has been compared with the arena, checked by SQLite and flushed to the
// disk. Ratings that settlements do not give are in the report alone. The file must not exist; none is left behind after an error.
func (s *Store) Snapshot(ctx context.Context, file string, progress func(CopyProgress)) (report CopyReport, err error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return report, cmp.Or(err, error(arena.Errorf(arena.CodeConflict, "%s exists", file)))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeSQLite(file))
		}
		if _, ok := errors.AsType[targetError](err); ok && ctx.Err() == nil {
			// It is not the arena's storage that fails.
			err = &arena.Error{Code: arena.CodeInternal, Message: "the copy could not be written", Err: err}
		}
	}()
	began := s.now()
	// The migrations of the copy are not logged as those of the arena.
	to, err := Open(ctx, "sqlite:"+file, Options{Logger: slog.New(slog.DiscardHandler), Now: s.now})
	if err != nil {
		return report, targetError{err}
	}
	if report, err = Copy(ctx, s, to, progress); err != nil {
		return report, errors.Join(err, to.Close())
	}
	if err := to.checkFile(ctx); err != nil {
		return report, targetError{errors.Join(err, to.Close())}
	}
	// An arena that is restored from the copy has this as its last backup.
	if err := to.RecordBackup(ctx, began); err != nil {
		return report, targetError{errors.Join(err, to.Close())}
	}
	if err := to.seal(ctx); err != nil {
		return report, targetError{err}
	}
	return report, nil
}

// RecordBackup stores when the newest good backup of the arena was begun.
func (s *Store) RecordBackup(ctx context.Context, at time.Time) error {
	err := s.write(ctx, "backup", func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `INSERT INTO counters (name, value) VALUES ('backup', $1)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE counters.value < excluded.value`, db.Millis(at))
		return err
	})
	return s.wrap(err, "record the backup")
}

// LastBackup returns when the newest good backup was begun, zero without one.
func (s *Store) LastBackup(ctx context.Context) (time.Time, error) {
	found, err := db.All(ctx, s.reader, func(r db.Row) (at time.Time, err error) { return at, r.Scan(db.IntoTime(&at)) },
		`SELECT value FROM counters WHERE name = 'backup'`)
	if err != nil || len(found) == 0 {
		return time.Time{}, s.wrap(err, "read the time of the last backup")
	}
	return found[0], nil
}

// CheckEmpty returns conflict unless a database is empty: an SQLite file that does
// not exist, or a database of PostgreSQL without rows and without the tables of
// others.
func CheckEmpty(ctx context.Context, databaseURL string, o Options) (err error) {
	if file, ok := sqliteFile(databaseURL); ok {
		for _, name := range append([]string{""}, sqliteFiles()...) {
			if _, err := os.Lstat(file + name); err == nil {
				return arena.Errorf(arena.CodeConflict, "%s exists: move it away first, so that nothing is overwritten", file+name)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	s, err := Open(ctx, databaseURL, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	_, err = s.checkEmpty(ctx)
	return err
}

// Check returns nil if a server can start on a database: it answers, its schema is not
// newer than this program's, and tables can be made in it, as migrations do.
func Check(ctx context.Context, databaseURL string, o Options) (err error) {
	s, err := Open(ctx, databaseURL, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.writeAlone(ctx, "check", func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Exec(ctx, tx, `CREATE TABLE arena_check (n INTEGER)`); err != nil {
			return err
		}
		return ErrPreview
	})
	if !errors.Is(err, ErrPreview) {
		return s.wrap(err, "write")
	}
	current, wanted, err := s.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	return checkNotNewer(current, wanted)
}

// Restore fills an empty database with the arena in a file that Snapshot wrote, of
// this or an older version of the program, and takes the file: it becomes the
// database, or remains to be removed by the caller. It has been checked by SQLite,
// and all its settlements replayed; ratings that differ are in the report. invalid: the file is no such copy. After
// another error an SQLite file does not exist, and a database of PostgreSQL must
// be made anew.
func Restore(ctx context.Context, file, databaseURL string, o Options, progress func(CopyProgress)) (report CopyReport, err error) {
	if err := CheckEmpty(ctx, databaseURL, o); err != nil {
		return report, err
	}
	from, err := openCopy(ctx, file, o)
	if err != nil {
		return report, err
	}
	if target, ok := sqliteFile(databaseURL); ok {
		report, err = from.report(ctx)
		if err != nil {
			return report, errors.Join(err, from.Close())
		}
		if err := from.seal(ctx); err != nil {
			return report, err
		}
		return report, os.Rename(file, target)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := Open(ctx, databaseURL, o)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return Copy(ctx, from, to, progress)
}

// openCopy opens a file that Snapshot wrote, checks it and brings it to the schema
// of this program.
func openCopy(ctx context.Context, file string, o Options) (_ *Store, err error) {
	if err := checkHeader(file); err != nil {
		return nil, err
	}
	s, err := Open(ctx, "sqlite:"+file, o)
	if err != nil {
		return nil, arena.Errorf(arena.CodeInvalid, "the backup is damaged: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.checkFile(ctx); err != nil {
		return nil, err
	}
	has, wanted, err := s.SchemaVersion(ctx)
	switch {
	case err != nil:
		return nil, err
	case has == 0:
		return nil, arena.Errorf(arena.CodeInvalid, "the SQLite database is not the one of an arena")
	case has > wanted:
		return nil, arena.Errorf(arena.CodeInvalid, "the backup has schema %d and this program knows %d: use the newer version that made it", has, wanted)
	case has < wanted:
		if err := s.Migrate(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// checkHeader refuses a file that is no SQLite database.
func checkHeader(file string) error {
	f, err := os.Open(file) //nolint:gosec // G304: the operator names the file
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	const magic = "SQLite format 3\x00"
	header := make([]byte, len(magic))
	if _, err := io.ReadFull(f, header); err != nil || !bytes.Equal(header, []byte(magic)) {
		return arena.Errorf(arena.CodeInvalid, "it is no backup of an arena: it holds no SQLite database")
	}
	return nil
}

// checkFile has SQLite check every page and index of the file.
func (s *Store) checkFile(ctx context.Context) error {
	found, err := db.All(ctx, s.writer, db.ScanText, "PRAGMA integrity_check(1)")
	if err != nil {
		return arena.Errorf(arena.CodeInvalid, "the copy is damaged: %w", err)
	}
	if len(found) != 1 || found[0] != "ok" {
		return arena.Errorf(arena.CodeInvalid, "the copy is damaged: %s", strings.Join(found, "; "))
	}
	return nil
}

// report counts all rows and replays all settlements.
func (s *Store) report(ctx context.Context) (report CopyReport, err error) {
	for _, t := range tables {
		rows, err := db.One(ctx, s.reader, db.ScanInt, `SELECT count(*) FROM `+t.name)
		if err != nil {
			return report, s.wrap(err, "count rows of %s", t.name)
		}
		report.Tables = append(report.Tables, CopiedTable{t.name, rows})
	}
	return report, report.replay(ctx, s)
}

// seal closes an SQLite database so that it is one file, and flushes it to the
// disk.
func (s *Store) seal(ctx context.Context) (err error) {
	file := s.db.File()
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.reader.Close(); err != nil { // SQLite removes the log for its last connection only
		return err
	}
	// Unlike the end of a connection, this reports a full disk.
	mode, err := db.One(ctx, s.writer, db.ScanText, "PRAGMA journal_mode = DELETE")
	if err != nil {
		return err
	}
	if mode != "delete" {
		return fmt.Errorf("the log of %s could not be merged: its mode is %s", file, mode)
	}
	if err := s.Close(); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0) //nolint:gosec // G304: our own
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// sqliteFile returns the file that a database URL names, and reports whether it
// names one.
func sqliteFile(databaseURL string) (file string, ok bool) {
	file, ok = strings.CutPrefix(databaseURL, "sqlite:")
	return strings.TrimPrefix(file, "//"), ok
}

// removeSQLite removes a database file and what SQLite keeps beside it.
func removeSQLite(file string) error {
	var problems []error
	for _, name := range append([]string{""}, sqliteFiles()...) {
		if err := os.Remove(file + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
