//go:build unix

package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/agora-arena/arena/internal/testneed"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/pgserver"
)

// Missing reports whether err is that the machine has no PostgreSQL server to
// start, and the tests may do without.
func Missing(err error) bool {
	return errors.Is(err, pgserver.ErrMissing) && !testneed.Required("postgres")
}

// Server is a PostgreSQL server in a temporary folder. It listens on a socket
// in that folder only and gives up durability for speed.
type Server struct {
	dir  string
	ctl  string
	made atomic.Int64
}

// template is the database with the current schema that others copy.
const template = "arena"

// StartServer starts a server; pgserver.ErrMissing when there is none to start. As
// root it runs under the system's user postgres, since the server refuses to
// run as root.
func StartServer(ctx context.Context) (*Server, error) {
	initdb, err := pgserver.Program("initdb")
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if s.ctl, err = pgserver.Program("pg_ctl"); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "arena-postgres-"); err != nil {
		return nil, err
	}
	if err := s.start(ctx, initdb); err != nil {
		return nil, errors.Join(fmt.Errorf("start postgres: %w", err), s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, initdb string) error {
	if err := pgserver.Own(s.dir); err != nil {
		return err
	}
	if err := s.run(ctx, initdb, "-D", s.data(), "-U", "arena", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"); err != nil {
		return err
	}
	options := "-c listen_addresses='' -c unix_socket_directories='" + s.dir + "' -c fsync=off -c synchronous_commit=off" +
		" -c full_page_writes=off -c max_connections=300 -c deadlock_timeout=50ms"
	if err := s.run(ctx, s.ctl, "start", "-w", "-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-o", options); err != nil {
		return err
	}
	if err := s.exec(ctx, "CREATE DATABASE "+template); err != nil {
		return err
	}
	st, err := store.Open(ctx, s.url(template), store.Options{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return start }})
	if err != nil {
		return err
	}
	return errors.Join(st.Migrate(ctx), st.Close())
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) url(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {s.dir}, "user": {"arena"}, "sslmode": {"disable"}}.Encode()
}

func (s *Server) run(ctx context.Context, program string, args ...string) error {
	return pgserver.Run(ctx, s.dir, program, args...)
}

func (s *Server) exec(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// Database makes a database with the current schema and returns its URL. It is
// dropped when the test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return s.database(t, " TEMPLATE "+template)
}

// EmptyDatabase is Database without the schema.
func (s *Server) EmptyDatabase(t testing.TB) string {
	t.Helper()
	return s.database(t, "")
}

func (s *Server) database(t testing.TB, options string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", s.made.Add(1))
	if err := s.exec(t.Context(), "CREATE DATABASE "+name+options); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		if err := s.exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return s.url(name)
}

// Stop stops the server and removes its folder.
func (s *Server) Stop() error {
	var err error
	if _, missing := os.Stat(filepath.Join(s.data(), "postmaster.pid")); missing == nil {
		err = s.run(context.Background(), s.ctl, "stop", "-w", "-m", "immediate", "-D", s.data())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
