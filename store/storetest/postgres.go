//go:build unix

package storetest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/agora-arena/arena/store"
)

// ErrNoServer means that the machine has no PostgreSQL server to start.
var ErrNoServer = errors.New("no PostgreSQL server found: put its initdb and pg_ctl on PATH, or apt-get install postgresql")

// Required reports whether the comma list ARENA_TEST_REQUIRE names thing:
// then a test that cannot run without it fails instead of being skipped.
func Required(thing string) bool {
	return slices.Contains(strings.Split(os.Getenv("ARENA_TEST_REQUIRE"), ","), thing)
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

// StartServer starts a server; ErrNoServer when there is none to start. As
// root it runs under the system's user postgres, since the server refuses to
// run as root.
func StartServer(ctx context.Context) (*Server, error) {
	initdb, err := find("initdb")
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if s.ctl, err = find("pg_ctl"); err != nil {
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
	if os.Geteuid() == 0 {
		uid, gid, err := postgresUser()
		if err != nil {
			return err
		}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return err
		}
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

// run runs a program of the server as the user that may.
func (s *Server) run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the server's own programs
	cmd.Dir = s.dir
	if os.Geteuid() == 0 {
		uid, gid, err := postgresUser()
		if err != nil {
			return err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}} //nolint:gosec // ids of a user
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return nil
}

func postgresUser() (uid, gid int, err error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(err1, err2)
}

// find gives the path of one of the server's programs: from PATH, else where
// Debian puts them, the newest version first.
func find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	if len(found) == 0 {
		return "", ErrNoServer
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) }), nil
}

func (s *Server) exec(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// Database makes a database with the current schema and gives its URL. It is
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
