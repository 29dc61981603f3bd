package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/agora-arena/arena/store/pgserver"
)

// postgres is a server of its own in a folder of its own.
type postgres struct {
	dir  string // its log and socket
	data string
	ctl  string
	port int
}

// startPostgres makes a cluster and starts it. A commit is in the log file
// before it is confirmed, so a restart of the server loses nothing; only a
// crash of the whole machine could, and fsync is off. Log files are small, so
// that a full disk is felt at once; pages have checksums, so that none can be
// read broken.
func startPostgres(ctx context.Context, dir, data string) (*postgres, error) {
	p := &postgres{dir: dir, data: data}
	initdb, err := pgserver.Program("initdb")
	if err != nil {
		return nil, err
	}
	if p.ctl, err = pgserver.Program("pg_ctl"); err != nil {
		return nil, err
	}
	if p.port, err = freePort(ctx); err != nil {
		return nil, err
	}
	for _, folder := range []string{dir, data} {
		if err := ownFolder(folder); err != nil {
			return nil, fmt.Errorf("postgres folder: %w", err)
		}
	}
	if err := p.exec(ctx, initdb, "-D", p.data, "-U", "arena", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
		"--wal-segsize=1", "--data-checksums"); err != nil {
		return nil, err
	}
	settings := fmt.Sprintf("\nlisten_addresses='127.0.0.1'\nport=%d\nunix_socket_directories='%s'\nfsync=off\n"+
		"max_connections=200\nmin_wal_size=2MB\nmax_wal_size=32MB\nlog_line_prefix='%%m [%%p] %%a '\nlog_lock_waits=on\ndeadlock_timeout=200ms\n", p.port, dir)
	f, err := os.OpenFile(filepath.Join(p.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // G703: our own folder
	if err != nil {
		return nil, fmt.Errorf("postgres settings: %w", err)
	}
	_, err = f.WriteString(settings)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("postgres settings: %w", err)
	}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	createdb, err := pgserver.Program("createdb")
	if err != nil {
		return p, err
	}
	return p, p.exec(ctx, createdb, "-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "arena", "arena")
}

// ownFolder makes a folder that the server's user owns.
func ownFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil { //nolint:gosec // G703: our own folder
		return err //nolint:wrapcheck // the caller reports it
	}
	return pgserver.Own(folder)
}

func (p *postgres) start(ctx context.Context) error {
	return p.exec(ctx, p.ctl, "start", "-w", "-D", p.data, "-l", filepath.Join(p.dir, "log"))
}

// revive waits until the server answers, and starts it when it has died.
func (p *postgres) revive(ctx context.Context) (died bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ready, err := pgserver.Program("pg_isready")
	if err != nil {
		return false, err
	}
	for {
		if err = p.exec(ctx, ready, "-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "arena", "-d", "arena"); err == nil {
			return died, nil
		}
		if p.exec(ctx, p.ctl, "status", "-D", p.data) != nil {
			died = true
			err = p.start(ctx)
		}
		if !wait(ctx, 100*time.Millisecond) {
			return died, err
		}
	}
}

func (p *postgres) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// postgresURL is the database behind addr.
func postgresURL(addr string) string { return "postgres://arena@" + addr + "/arena?sslmode=disable" }

// restart breaks all sessions and lets the server recover, as after a crash.
func (p *postgres) restart(ctx context.Context) error {
	return p.exec(ctx, p.ctl, "restart", "-w", "-m", "immediate", "-D", p.data, "-l", filepath.Join(p.dir, "log"))
}

func (p *postgres) stop(ctx context.Context) error {
	if _, missing := os.Stat(filepath.Join(p.data, "postmaster.pid")); missing != nil { //nolint:gosec // G703: our own folder
		return nil //nolint:nilerr // it does not run
	}
	return p.exec(ctx, p.ctl, "stop", "-w", "-m", "immediate", "-D", p.data)
}

// exec runs one of the server's programs as the user that may.
func (p *postgres) exec(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return pgserver.Run(ctx, p.dir, name, args...)
}

// freePort returns a port that is free now.
func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	addr, err := net.ResolveTCPAddr("tcp", l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return addr.Port, nil
}
