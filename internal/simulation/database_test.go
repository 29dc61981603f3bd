package simulation

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

// database is the SQLite file that all nodes share. It uses the clock of the bubble.
// Writers take turns, since SQLite's own waiting takes real time.
type database struct {
	driver *sqlite.Driver
	turn   chan struct{} // holds a value while somebody writes
	clock  clock
}

func newDatabase() (*database, error) {
	d := &database{driver: &sqlite.Driver{}, turn: make(chan struct{}, 1)}
	return d, d.driver.RegisterScalarFunction("unixepoch", 1, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return float64(d.clock.now().UnixMilli()) / 1000, nil
	})
}

// port is the way of one node to the database.
type port struct {
	*database
	down atomic.Bool  // every operation fails
	full atomic.Bool  // no write is committed
	deaf atomic.Bool  // writes are committed, and the node gets an error
	slow atomic.Int64 // nanoseconds that a commit takes
}

// open is a store.Connect.
func (p *port) open(source string) (*sql.DB, error) {
	// Nothing here survives the process: a commit need not reach the disk.
	source = strings.Replace(source, url.QueryEscape("synchronous(FULL)"), url.QueryEscape("synchronous(OFF)"), 1)
	return sql.OpenDB(connector{p, source}), nil
}

type connector struct {
	port   *port
	source string
}

func (c connector) Driver() driver.Driver { return c.port.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	if c.port.down.Load() {
		return nil, sql.ErrConnDone
	}
	opened, err := c.port.driver.Open(c.source)
	if err != nil {
		return nil, err
	}
	return &session{opened.(sqliteConn), c.port}, nil
}

// sqliteConn is what the driver's connections implement.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	sqlite.DBStatus
}

// session is one connection of a node.
type session struct {
	sqliteConn
	port *port
}

// ResetSession is called before a connection is used again.
func (s *session) ResetSession(ctx context.Context) error {
	if s.port.down.Load() {
		return driver.ErrBadConn
	}
	return s.sqliteConn.ResetSession(ctx)
}

// BeginTx waits for the turn of a transaction that may write.
func (s *session) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if s.port.down.Load() {
		return nil, sql.ErrConnDone
	}
	if o.ReadOnly {
		return s.sqliteConn.BeginTx(ctx, o)
	}
	select {
	case s.port.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	tx, err := s.sqliteConn.BeginTx(ctx, o)
	if err != nil {
		<-s.port.turn
		return nil, err
	}
	return &transaction{tx, s.port}, nil
}

type transaction struct {
	driver.Tx
	port *port
}

// Commit commits, unless the node has a fault.
func (t *transaction) Commit() error {
	if t.port.down.Load() || t.port.full.Load() {
		_ = t.Rollback()
		return sql.ErrConnDone
	}
	pause(context.Background(), time.Duration(t.port.slow.Load()))
	err := t.Tx.Commit()
	if err != nil {
		_ = t.Tx.Rollback() // the turn ends in any case
	}
	<-t.port.turn
	if t.port.deaf.Load() {
		return sql.ErrConnDone
	}
	return err
}

func (t *transaction) Rollback() error {
	defer func() { <-t.port.turn }()
	return t.Tx.Rollback()
}
