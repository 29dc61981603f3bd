package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"

	"github.com/agora-arena/arena/arena"
)

// readerIdle is how long an unused connection that reads SQLite stays open.
// Many spectators open all of them, and each keeps up to 16 MiB of pages. It is
// shorter than the interval of the jobs that start at the same second and use
// all connections for a moment.
const readerIdle = 10 * time.Second

// DB is an open database.
type DB struct {
	Dialect Dialect
	Reader  *Handle // several connections that cannot write
	Writer  *Handle

	path   string  // of the SQLite file, "" on PostgreSQL
	shared bool    // by several servers, which take turns
	lock   *sql.DB // holds the lock, nil without one
}

// Connect opens a handle on a data source of SQLite.
type Connect func(source string) (*sql.DB, error)

// Open connects to the database that databaseURL names: "sqlite:FILE" (created
// with mode 0600 when missing; its folder must exist) or "postgres://…". An
// empty SQLite file is rejected, since no arena leaves one behind. Databases in
// memory are rejected, since a restart would lose their rows. With connect, which
// may be nil, the handles on an SQLite file are its own, and Lock does nothing.
func Open(ctx context.Context, databaseURL string, connect Connect) (*DB, error) {
	var d *DB
	var err error
	switch scheme, rest, _ := strings.Cut(databaseURL, ":"); scheme {
	case "sqlite":
		d, err = openSQLite(rest, connect)
	case "postgres", "postgresql":
		d, err = openPostgres(databaseURL)
	default:
		err = errors.New(`the database URL begins with neither "sqlite:" nor "postgres:"`)
	}
	if err != nil {
		return nil, err
	}
	if err := d.Ping(ctx); err != nil {
		if damaged(err) {
			err = &arena.Error{Code: arena.CodeConflict, Err: err, Message: "the database " + d.path +
				" is damaged, or no SQLite database: move it away and restore a backup (arena restore)"}
		}
		return nil, errors.Join(fmt.Errorf("ping database: %w", d.Dialect.Explain(err)), d.Close())
	}
	return d, nil
}

// damaged reports whether err means that a file is no SQLite database, or not
// a whole one.
func damaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlitecode.SQLITE_NOTADB || e.Code()&0xff == sqlitecode.SQLITE_CORRUPT)
}

// Ping checks that the database responds, to readers and writers.
func (d *DB) Ping(ctx context.Context) error {
	// The writer first: it gives a new SQLite file the form that readers expect.
	for _, h := range []*Handle{d.Writer, d.Reader} {
		if _, err := One(ctx, h, ScanInt, "SELECT 1"); err != nil {
			return err
		}
	}
	return nil
}

// File returns the path of an SQLite file, "" on PostgreSQL.
func (d *DB) File() string { return d.path }

// Close closes the connections and releases the lock.
func (d *DB) Close() error {
	err := errors.Join(d.Reader.Close(), d.Writer.Close())
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// Lock makes sure that no other server uses a SQLite file until Close, or until
// this process ends, in whatever way. Programs that do not ask for the lock can
// still read and write the file. On PostgreSQL, which several servers share, it
// does nothing.
//
// The lock is that of an exclusive transaction on an empty database beside the
// file. The system releases it with the process, on every system that SQLite
// supports.
func (d *DB) Lock(ctx context.Context) error {
	if d.path == "" || d.shared || d.lock != nil {
		return nil
	}
	path := d.path + "-lock"
	// To close a file releases the locks that this process has on it, so one
	// that exists is not opened here.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // beside the file that the operator names
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	lock, err := sql.Open("sqlite", fileURI(path)+"?"+url.Values{"_pragma": {"busy_timeout(0)"}}.Encode())
	if err != nil {
		return err
	}
	lock.SetMaxOpenConns(1) // it keeps the transaction open
	if _, err := lock.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		if busy(err) {
			err = &arena.Error{Code: arena.CodeConflict, Message: "another server uses the database " + d.path + "; stop it first", Err: err}
		}
		return errors.Join(err, lock.Close())
	}
	d.lock = lock
	return nil
}

// Locked reports whether this handle holds the lock.
func (d *DB) Locked() bool { return d.lock != nil }

// TruncateLog moves what was written from the write-ahead log of an SQLite file to the
// file, and empties the log. It waits neither for readers nor for a writer, which would
// stop all writes meanwhile: a later call continues.
func (d *DB) TruncateLog(ctx context.Context) error {
	if d.path == "" || d.shared {
		return nil
	}
	c, err := sql.Open("sqlite", fileURI(d.path)+"?"+url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(0)"}}.Encode())
	if err != nil {
		return err
	}
	// The first call copies beside the writer, which leaves little to the second.
	for _, mode := range []string{"PASSIVE", "TRUNCATE"} {
		if _, err = c.ExecContext(ctx, "PRAGMA wal_checkpoint("+mode+")"); err != nil {
			break
		}
	}
	if busy(err) {
		err = nil
	}
	return errors.Join(err, c.Close())
}

// busy reports whether another connection holds a lock that err waited for.
func busy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlitecode.SQLITE_BUSY
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}).String()
}

func openSQLite(name string, connect Connect) (*DB, error) {
	name = strings.TrimPrefix(name, "//")
	if name == "" || strings.ContainsAny(name, "?") || strings.HasPrefix(name, ":") || strings.HasPrefix(name, "file:") {
		return nil, fmt.Errorf("sqlite:%s: want sqlite:FILE, a plain file name without settings, and not in memory", name)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, fmt.Errorf("the database %s is an empty file: restore it from a backup, or remove it to start a new arena", path)
	}
	// SQLite would make the file readable to others. Its -wal and -shm files
	// get the mode of this one.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}

	uri := fileURI(path)
	write := url.Values{"_txlock": {"immediate"}, "_dqs": {"0"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		// What is deleted is overwritten with zeros, in free pages too (see TruncateLog).
		"secure_delete(1)",
		// The undo data of savepoints and the pages of a large transaction stay in
		// memory. A longer log is copied back less often, and a page that many
		// matches write to is copied once.
		"temp_store(MEMORY)", "cache_size(-65536)", "wal_autocheckpoint(16000)",
	}}
	read := url.Values{"_dqs": {"0"}, "_pragma": {"busy_timeout(5000)", "query_only(1)", "cache_size(-16384)"}}
	shared := connect != nil
	if !shared {
		connect = func(source string) (*sql.DB, error) { return sql.Open("sqlite", source) }
	}
	writer, err := connect(uri + "?" + write.Encode())
	if err != nil {
		return nil, err
	}
	reader, err := connect(uri + "?" + read.Encode())
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	writer.SetMaxOpenConns(1)
	writer.SetMaxIdleConns(1)
	readers := max(4, runtime.NumCPU())
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	reader.SetConnMaxIdleTime(readerIdle) // this frees its page cache
	d := sqliteDialect()
	return &DB{Dialect: d, Reader: newHandle(reader, d), Writer: newHandle(writer, d), path: path, shared: shared}, nil
}

func openPostgres(databaseURL string) (*DB, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, err // pgx omits the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	for name, value := range map[string]string{
		"application_name": "arena", "statement_timeout": "30000",
		// A node that freezes or loses its network inside a transaction must not
		// hold its locks, such as that of claims, against the others (threat C2).
		// The timeout is shorter than a lease, so take-over need not wait for it.
		"idle_in_transaction_session_timeout": "3000",
		// The default of 4 suits spinning disks. It makes PostgreSQL scan the whole table
		// of agents instead of looking up the few on a page.
		"random_page_cost": "1.1",
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	d := postgresDialect()
	writer := stdlib.OpenDB(*config)
	writer.SetMaxOpenConns(d.Writers + 1) // one more for migrations and pings
	writer.SetMaxIdleConns(d.Writers)

	readOnly := config.Copy()
	// Queries of pages finish before parallel workers or compiled code could
	// start.
	for _, name := range []string{"max_parallel_workers_per_gather", "jit"} {
		if _, set := readOnly.RuntimeParams[name]; !set {
			readOnly.RuntimeParams[name] = "0"
		}
	}
	// As a parameter of the connection it would make the server look like a standby to
	// target_session_attrs=read-write.
	reader := stdlib.OpenDB(*readOnly, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET default_transaction_read_only = on")
		return err
	}))
	reader.SetMaxOpenConns(16)
	reader.SetMaxIdleConns(16)
	return &DB{Dialect: d, Reader: newHandle(reader, d), Writer: newHandle(writer, d)}, nil
}

// PageBytes returns the bytes of the pages that the handle's connections to
// SQLite keep. It waits until each connection is free.
func (h *Handle) PageBytes(ctx context.Context) (sum int, err error) {
	for range max(1, h.Stats().OpenConnections) {
		c, err := h.Conn(ctx)
		if err != nil {
			return 0, err
		}
		defer c.Close() //nolint:errcheck // returns it; not before the end, or the next one would be the same
		if err := c.Raw(func(conn any) error {
			bytes, _, err := conn.(sqlite.DBStatus).Status(sqlite.DBStatusCacheUsed, false)
			sum += bytes
			return err
		}); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
