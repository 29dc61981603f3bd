package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/store/pgserver"
)

// ownPostgres are the flags of a benchmark that may start its own server.
type ownPostgres struct {
	Server bool `name:"postgres" help:"Start a PostgreSQL server in a temporary folder, with the settings that Debian gives a new one."`
	PID    int  `name:"postgres-pid" help:"Process of the PostgreSQL server when it is on this machine: its processor time is measured too."`
}

// start starts a server when one is asked for, and sets its URL and process.
func (p *ownPostgres) start(ctx context.Context, database *string) (stop func() error, err error) {
	if !p.Server {
		return func() error { return nil }, nil
	}
	*database, p.PID, stop, err = benchPostgres(ctx)
	return stop, err
}

// benchPostgres starts a PostgreSQL server in a temporary folder, with the
// settings that Debian gives a new one, and returns its URL and process. As root
// it runs under the system's user postgres, since it refuses to run as root.
func benchPostgres(ctx context.Context) (address string, pid int, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "arena-bench-postgres-")
	if err != nil {
		return "", 0, nil, fmt.Errorf("folder for PostgreSQL: %w", err)
	}
	run := func(ctx context.Context, name string, args ...string) error {
		program, err := pgserver.Program(name)
		if err != nil {
			return err
		}
		return pgserver.Run(ctx, dir, program, args...)
	}
	data := filepath.Join(dir, "data")
	stop = func() error {
		return errors.Join(run(context.WithoutCancel(ctx), "pg_ctl", "stop", "-D", data, "-m", "immediate"), os.RemoveAll(dir))
	}
	if err = pgserver.Own(dir); err == nil {
		err = run(ctx, "initdb", "-D", data, "-U", "arena", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
	}
	if err != nil {
		return "", 0, nil, errors.Join(fmt.Errorf("make a PostgreSQL server: %w", err), os.RemoveAll(dir))
	}
	options := "-c listen_addresses='' -c unix_socket_directories='" + dir + "'"
	if err = run(ctx, "pg_ctl", "start", "-w", "-D", data, "-l", filepath.Join(dir, "log"), "-o", options); err != nil {
		return "", 0, nil, errors.Join(err, os.RemoveAll(dir))
	}
	file, err := os.ReadFile(filepath.Join(data, "postmaster.pid")) //nolint:gosec // our own folder
	if err == nil {
		first, _, _ := strings.Cut(string(file), "\n")
		pid, err = strconv.Atoi(first)
	}
	if err != nil {
		return "", 0, nil, errors.Join(fmt.Errorf("find the server's process: %w", err), stop())
	}
	return "postgres:///postgres?host=" + dir + "&user=arena&sslmode=disable", pid, stop, nil
}

// openDatabase opens a database beside the store, with the drivers that the
// store has registered.
func openDatabase(databaseURL string) (*sql.DB, error) {
	driver, name := "pgx", databaseURL
	if file, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok {
		driver, name = "sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-65536)"
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// temporaryDatabase makes an empty database on the PostgreSQL server of
// databaseURL and returns its URL. drop removes it, open connections included.
func temporaryDatabase(ctx context.Context, databaseURL string) (temporary string, drop func(context.Context) error, err error) {
	u, err := url.Parse(databaseURL)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return "", nil, errors.New("make a temporary database: the URL does not begin with postgres://")
	}
	db, err := openDatabase(databaseURL)
	if err != nil {
		return "", nil, err
	}
	name := "arena_bench_" + strings.ToLower(rand.Text()[:12])
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, errors.Join(fmt.Errorf("make a temporary database: %w", err), db.Close())
	}
	u.Path = "/" + name
	return u.String(), func(ctx context.Context) error {
		if _, err := db.ExecContext(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			return errors.Join(fmt.Errorf("drop the temporary database: %w", err), db.Close())
		}
		return db.Close()
	}, nil
}

// clockTick is the unit of Linux for the times of processes: USER_HZ is 100 on
// every architecture that Go knows.
const clockTick = time.Second / 100

// familyCPU returns the processor time of a process and its children, those that
// have ended too, to 10 ms; 0 when there is none or no /proc. A PostgreSQL
// server has one child for each connection.
func familyCPU(pid int) (total time.Duration) {
	if pid == 0 {
		return 0
	}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // none where there is no /proc
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of the system
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …; utime, stime, cutime and cstime are the fields 14 to 17: proc(5)
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			continue
		}
		self := filepath.Base(filepath.Dir(file)) == strconv.Itoa(pid)
		if !self && fields[1] != strconv.Itoa(pid) {
			continue
		}
		for _, field := range fields[11:15] {
			ticks, _ := strconv.ParseInt(field, 10, 64) // a number
			total += time.Duration(ticks) * clockTick
		}
	}
	return total
}
