package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postgres is a server of its own in a folder of its own.
type postgres struct {
	dir  string
	ctl  string
	port int
}

// startPostgres makes a cluster and starts it. A commit is in the log file
// before it is confirmed, so a restart of the server loses nothing; only a
// crash of the whole machine could, and fsync is off.
func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	p := &postgres{dir: dir}
	initdb, err := serverProgram("initdb")
	if err != nil {
		return nil, err
	}
	if p.ctl, err = serverProgram("pg_ctl"); err != nil {
		return nil, err
	}
	if p.port, err = freePort(ctx); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("postgres folder: %w", err)
	}
	if os.Geteuid() == 0 {
		uid, gid, err := postgresUser()
		if err != nil {
			return nil, err
		}
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, fmt.Errorf("postgres folder: %w", err)
		}
	}
	if err := p.exec(ctx, initdb, "-D", p.data(), "-U", "arena", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"); err != nil {
		return nil, err
	}
	settings := fmt.Sprintf("\nlisten_addresses='127.0.0.1'\nport=%d\nunix_socket_directories='%s'\nfsync=off\n"+
		"max_connections=200\nlog_line_prefix='%%m [%%p] %%a '\nlog_lock_waits=on\ndeadlock_timeout=200ms\n", p.port, dir)
	f, err := os.OpenFile(filepath.Join(p.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("postgres settings: %w", err)
	}
	_, err = f.WriteString(settings)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("postgres settings: %w", err)
	}
	if err := p.exec(ctx, p.ctl, "start", "-w", "-D", p.data(), "-l", filepath.Join(dir, "log")); err != nil {
		return nil, err
	}
	createdb, err := serverProgram("createdb")
	if err != nil {
		return p, err
	}
	return p, p.exec(ctx, createdb, "-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "arena", "arena")
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *postgres) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// postgresURL is the database behind addr.
func postgresURL(addr string) string { return "postgres://arena@" + addr + "/arena?sslmode=disable" }

// restart breaks all sessions and lets the server recover, as after a crash.
func (p *postgres) restart(ctx context.Context) error {
	return p.exec(ctx, p.ctl, "restart", "-w", "-m", "immediate", "-D", p.data(), "-l", filepath.Join(p.dir, "log"))
}

func (p *postgres) stop(ctx context.Context) error {
	if _, missing := os.Stat(filepath.Join(p.data(), "postmaster.pid")); missing != nil { //nolint:gosec // G703: our own folder
		return nil //nolint:nilerr // it does not run
	}
	return p.exec(ctx, p.ctl, "stop", "-w", "-m", "immediate", "-D", p.data())
}

// exec runs one of the server's programs as the user that may.
func (p *postgres) exec(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // G204: the server's own programs
	cmd.Dir = p.dir
	// The server that pg_ctl leaves behind must not hold our pipe open.
	cmd.WaitDelay = time.Second
	if os.Geteuid() == 0 {
		uid, gid, err := postgresUser()
		if err != nil {
			return err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}} //nolint:gosec // G115: ids of a user
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out.String())
	}
	return nil
}

func postgresUser() (uid, gid int, err error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, fmt.Errorf("user of the database: %w", err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(err1, err2)
}

// serverProgram gives the path of one of PostgreSQL's programs: from PATH,
// else where Debian puts them, the newest version first.
func serverProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", fmt.Errorf("there is no %s: install the PostgreSQL server (scripts/install-test-deps.sh)", name)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) }), nil
}

// freePort gives a port that nobody listens on now.
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
