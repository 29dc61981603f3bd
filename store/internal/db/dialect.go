package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"

	"github.com/agora-arena/arena/arena"
)

// Dialect holds the differences between the two engines. Both read $1, $2 … as
// placeholders.
type Dialect struct {
	Name string // of the folder in migrations
	// Clock is the SQL expression for the database's own time when a statement begins:
	// one value for all of its rows, so that indexes serve it.
	Clock string
	// RowLocks reports whether the engine locks rows one by one. Without it a
	// write transaction has the whole database to itself.
	RowLocks bool
	// Writers is the number of transactions that may write at the same time.
	Writers int
	// Timeout bounds one write transaction; 0: the engine's own limits suffice.
	Timeout time.Duration
	// Shrink is the statement that releases the unused cached pages of every
	// connection of this process; "" when the engine is another process.
	Shrink string
	// Snapshot makes all statements of a read transaction see one state.
	Snapshot *sql.TxOptions
	// KeepSnapshot is the statement that lets such a transaction pause for minutes
	// between two statements; "" when it may in any case.
	KeepSnapshot string
	// Tables is the query for the names of all tables.
	Tables string
	// Indexes is the query for the names and definitions of all indexes that belong to
	// no constraint.
	Indexes string
	// Unbounded is the statement that lets the statements of a transaction take as
	// long as they need; "" when they may in any case.
	Unbounded string

	// compiles reports whether the driver compiles a text at every call unless
	// it is prepared.
	compiles bool
	classify func(error) Fault
}

// Fault is the meaning of a driver's error.
type Fault int

// The faults.
const (
	FaultOther       Fault = iota
	FaultUnique            // a unique constraint or primary key
	FaultReference         // a foreign key
	FaultText              // text that the engine cannot store
	FaultRetry             // lost against another transaction: run it again
	FaultUnavailable       // the storage is not available now
)

func sqliteDialect() Dialect {
	return Dialect{
		Name:    "sqlite",
		Clock:   "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
		Writers: 1, Shrink: "PRAGMA shrink_memory",
		// The driver begins deferred transactions for readers, and WAL gives
		// such a transaction one state.
		Snapshot: &sql.TxOptions{ReadOnly: true},
		Tables:   `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`,
		Indexes:  `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT LIKE 'CREATE UNIQUE %' ORDER BY name`,
		compiles: true, classify: classifySQLite,
	}
}

func postgresDialect() Dialect {
	return Dialect{
		Name:     "postgres",
		Clock:    "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT)",
		RowLocks: true, Writers: 4, Timeout: 30 * time.Second,
		Snapshot:     &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		KeepSnapshot: "SET LOCAL idle_in_transaction_session_timeout = '5min'",
		Tables:       `SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1`,
		Indexes: `SELECT CAST(indexname AS TEXT), indexdef FROM pg_indexes
			WHERE schemaname = current_schema() AND indexdef NOT LIKE 'CREATE UNIQUE %' ORDER BY 1`,
		Unbounded: "SET LOCAL statement_timeout = 0",
		classify:  classifyPostgres,
	}
}

// Lock returns the end of a SELECT that locks the rows of the table alias in
// order to change them. The weaker of PostgreSQL's two row locks is enough,
// since keys never change, and it does not block foreign key checks.
func (d Dialect) Lock(alias string) string {
	if !d.RowLocks {
		return ""
	}
	return " FOR NO KEY UPDATE OF " + alias
}

// LockFree is Lock for matches m that skips rows locked by another
// transaction.
func (d Dialect) LockFree() string {
	if !d.RowLocks {
		return ""
	}
	return d.Lock("m") + " SKIP LOCKED"
}

// LockInCluster makes transactions that name the same thing wait for each
// other, on every node. A transaction that uses it must run by itself.
func (d Dialect) LockInCluster(ctx context.Context, tx *Tx, thing string) error {
	if !d.RowLocks {
		return nil
	}
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", "agora-arena "+thing)
	return err
}

// TryLockInCluster tries to acquire the lock of LockInCluster and reports whether
// it did. It never waits, so other writes may share its transaction.
func (d Dialect) TryLockInCluster(ctx context.Context, tx *Tx, thing string) (bool, error) {
	if !d.RowLocks {
		return true, nil
	}
	return One(ctx, tx, func(r Row) (taken bool, err error) { return taken, r.Scan(&taken) },
		"SELECT pg_try_advisory_xact_lock(hashtext($1))", "agora-arena "+thing)
}

// LeaseOver is the condition that a claim which was granted for length, and ends at
// until, is over by the database's clock. Both are SQL expressions, in milliseconds.
// A claim that ends later than a whole length from now is over too: it was granted
// before the clock was set back, and would otherwise hold for as long as the clock had
// been ahead (threat C7).
func (d Dialect) LeaseOver(until, length string) string {
	return "(" + until + " <= " + d.Clock + " OR " + until + " > " + d.Clock + " + " + length + ")"
}

// Explain turns a driver's error into the domain's. Domain errors and the
// errors of a done context stay as they are.
func (d Dialect) Explain(err error) error {
	var known *arena.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	// A deadline that ended an attempt to connect is the driver's own.
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return Unavailable(err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch d.classify(err) {
	case FaultUnavailable, FaultRetry:
		return Unavailable(err)
	case FaultText:
		return &arena.Error{Code: arena.CodeInvalid, Message: "a text holds characters that cannot be stored", Err: err}
	case FaultUnique:
		return &arena.Error{Code: arena.CodeConflict, Message: "it exists already", Err: err}
	case FaultReference:
		return &arena.Error{Code: arena.CodeNotFound, Message: "something that it refers to does not exist", Err: err}
	case FaultOther:
		return err
	}
	return err
}

// Is reports whether err is a driver's error that means f.
func (d Dialect) Is(err error, f Fault) bool { return err != nil && d.classify(err) == f }

// Unavailable returns the error of a storage that is not available.
func Unavailable(cause error) error {
	return &arena.Error{Code: arena.CodeUnavailable, Message: "the arena's storage is not available now", Err: cause}
}

// classifySQLite reads result codes: https://www.sqlite.org/rescode.html.
func classifySQLite(err error) Fault {
	if gone(err) {
		return FaultUnavailable
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return FaultOther
	}
	switch e.Code() {
	case sqlitecode.SQLITE_CONSTRAINT_UNIQUE, sqlitecode.SQLITE_CONSTRAINT_PRIMARYKEY, sqlitecode.SQLITE_CONSTRAINT_ROWID:
		return FaultUnique
	case sqlitecode.SQLITE_CONSTRAINT_FOREIGNKEY:
		return FaultReference
	}
	switch e.Code() & 0xff { // the primary code
	case sqlitecode.SQLITE_BUSY, sqlitecode.SQLITE_LOCKED, sqlitecode.SQLITE_NOMEM, sqlitecode.SQLITE_READONLY,
		sqlitecode.SQLITE_INTERRUPT, sqlitecode.SQLITE_IOERR, sqlitecode.SQLITE_CORRUPT, sqlitecode.SQLITE_FULL,
		sqlitecode.SQLITE_CANTOPEN, sqlitecode.SQLITE_PROTOCOL, sqlitecode.SQLITE_NOTADB:
		return FaultUnavailable
	}
	return FaultOther
}

// classifyPostgres reads SQLSTATE codes (PostgreSQL manual, appendix A).
func classifyPostgres(err error) Fault {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var refused *pgconn.ConnectError
		var network net.Error
		if gone(err) || pgconn.SafeToRetry(err) || errors.As(err, &refused) || errors.As(err, &network) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return FaultUnavailable
		}
		return FaultOther
	}
	switch e.Code {
	case "23505":
		return FaultUnique
	case "23503":
		return FaultReference
	case "22021", "22P05":
		return FaultText
	case "40001", "40P01", "55P03": // serialization, deadlock, lock not available
		return FaultRetry
	case "25006", "25P03": // read-only: a standby; the session was idle in a transaction for too long
		return FaultUnavailable
	}
	for _, class := range []string{"08", "53", "57", "58"} { // connection, resources, operator, system
		if strings.HasPrefix(e.Code, class) {
			return FaultUnavailable
		}
	}
	return FaultOther
}

// gone reports whether err is that of a closed handle or connection.
func gone(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, sql.ErrTxDone) || errors.Is(err, net.ErrClosed)
}
