package store

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
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"

	"github.com/agora-arena/arena/arena"
)

// dialect is everything in which the two engines differ. Both read $1, $2 …
// as placeholders.
type dialect struct {
	name  string // of the folder in migrations
	goose goose.Dialect
	// clock is the SQL expression for the database's own time.
	clock string
	// rowLocks says that rows are locked one by one. Without it a write
	// transaction has the whole database to itself.
	rowLocks bool
	// lanes is the number of committers that may write at the same time.
	lanes int
	// patience bounds one transaction of a committer; 0: the engine's own
	// limits suffice.
	patience time.Duration
	// compiles says that the driver compiles a text at every call unless it is
	// prepared.
	compiles bool
	// shrink makes every connection of the process give back the pages that it
	// keeps and does not use now; "" where the engine is another process.
	shrink string
	// snapshot makes all statements of a read transaction see one state.
	snapshot *sql.TxOptions
	// classify tells what a driver's error means, by its code.
	classify func(error) fault
}

// fault is what an error of a driver means to us.
type fault int

const (
	faultOther       fault = iota
	faultUnique            // a unique constraint or primary key
	faultReference         // a foreign key
	faultText              // text that the engine cannot hold
	faultRetry             // lost against another transaction: run it again
	faultUnavailable       // the storage is not there now
)

func sqliteDialect() dialect {
	return dialect{
		name: "sqlite", goose: goose.DialectSQLite3,
		clock: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
		lanes: 1, compiles: true, shrink: "PRAGMA shrink_memory",
		// The driver begins deferred transactions for readers, and WAL gives
		// such a transaction one state.
		snapshot: &sql.TxOptions{ReadOnly: true},
		classify: classifySQLite,
	}
}

func postgresDialect() dialect {
	return dialect{
		name: "postgres", goose: goose.DialectPostgres,
		clock:    "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
		rowLocks: true, lanes: 4, patience: 30 * time.Second,
		snapshot: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		classify: classifyPostgres,
	}
}

// lock ends a SELECT that reads rows of the table alias in order to change
// them. The weaker of PostgreSQL's two row locks is enough, since keys never
// change, and it does not stand in the way of foreign key checks.
func (d dialect) lock(alias string) string {
	if !d.rowLocks {
		return ""
	}
	return " FOR NO KEY UPDATE OF " + alias
}

// lockFree is lock for matches m, but passes over rows that another
// transaction has locked.
func (d dialect) lockFree() string {
	if !d.rowLocks {
		return ""
	}
	return d.lock("m") + " SKIP LOCKED"
}

// oneInCluster makes transactions that name the same thing wait for each
// other, on every node. A transaction that uses it must be queued alone.
func (d dialect) oneInCluster(ctx context.Context, tx *transaction, thing string) error {
	if !d.rowLocks {
		return nil
	}
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", "agora-arena "+thing)
	return err
}

// tryOneInCluster takes the lock of oneInCluster unless another transaction
// has it. It never waits, so its transaction may be shared.
func (d dialect) tryOneInCluster(ctx context.Context, tx *transaction, thing string) (bool, error) {
	if !d.rowLocks {
		return true, nil
	}
	return one(ctx, tx, func(r scanner) (taken bool, err error) { return taken, r.Scan(&taken) },
		"SELECT pg_try_advisory_xact_lock(hashtext($1))", "agora-arena "+thing)
}

// explain turns a driver's error into the domain's. Domain errors and the
// errors of a done context stay as they are.
func (d dialect) explain(err error) error {
	var known *arena.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	// A deadline that ended an attempt to connect is the driver's own.
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unavailable(err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch d.classify(err) {
	case faultUnavailable, faultRetry:
		return unavailable(err)
	case faultText:
		return &arena.Error{Code: arena.CodeInvalid, Message: "a text holds characters that cannot be stored", Err: err}
	case faultUnique:
		return &arena.Error{Code: arena.CodeConflict, Message: "it exists already", Err: err}
	case faultReference:
		return &arena.Error{Code: arena.CodeNotFound, Message: "something that it refers to does not exist", Err: err}
	case faultOther:
		return err
	}
	return err
}

func (d dialect) is(err error, f fault) bool { return err != nil && d.classify(err) == f }

func unavailable(cause error) error {
	return &arena.Error{Code: arena.CodeUnavailable, Message: "the arena's storage is not available now", Err: cause}
}

// classifySQLite reads result codes: https://www.sqlite.org/rescode.html.
func classifySQLite(err error) fault {
	if gone(err) {
		return faultUnavailable
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return faultOther
	}
	switch e.Code() {
	case sqlitecode.SQLITE_CONSTRAINT_UNIQUE, sqlitecode.SQLITE_CONSTRAINT_PRIMARYKEY, sqlitecode.SQLITE_CONSTRAINT_ROWID:
		return faultUnique
	case sqlitecode.SQLITE_CONSTRAINT_FOREIGNKEY:
		return faultReference
	}
	switch e.Code() & 0xff { // the primary code
	case sqlitecode.SQLITE_BUSY, sqlitecode.SQLITE_LOCKED, sqlitecode.SQLITE_NOMEM, sqlitecode.SQLITE_READONLY,
		sqlitecode.SQLITE_INTERRUPT, sqlitecode.SQLITE_IOERR, sqlitecode.SQLITE_CORRUPT, sqlitecode.SQLITE_FULL,
		sqlitecode.SQLITE_CANTOPEN, sqlitecode.SQLITE_PROTOCOL, sqlitecode.SQLITE_NOTADB:
		return faultUnavailable
	}
	return faultOther
}

// classifyPostgres reads SQLSTATE codes (PostgreSQL manual, appendix A).
func classifyPostgres(err error) fault {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var refused *pgconn.ConnectError
		var network net.Error
		if gone(err) || pgconn.SafeToRetry(err) || errors.As(err, &refused) || errors.As(err, &network) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return faultUnavailable
		}
		return faultOther
	}
	switch e.Code {
	case "23505":
		return faultUnique
	case "23503":
		return faultReference
	case "22021", "22P05":
		return faultText
	case "40001", "40P01", "55P03": // serialization, deadlock, lock not available
		return faultRetry
	case "25006", "25P03": // read-only: a standby; the session was idle in a transaction for too long
		return faultUnavailable
	}
	for _, class := range []string{"08", "53", "57", "58"} { // connection, resources, operator, system
		if strings.HasPrefix(e.Code, class) {
			return faultUnavailable
		}
	}
	return faultOther
}

// gone recognises a handle or connection that was closed under us.
func gone(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, sql.ErrTxDone) || errors.Is(err, net.ErrClosed)
}
