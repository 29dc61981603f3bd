package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
)

// arenaProcess is an arena in a process and a folder of its own.
type arenaProcess struct {
	cmd   *exec.Cmd
	dir   string
	url   string
	admin *apiclient.Client

	metrics string // URL of the listener for metrics
}

// startArena starts the program arena, which is beside this one or in PATH.
func startArena(app *App) (_ *arenaProcess, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	program, err := exec.LookPath(filepath.Join(filepath.Dir(self), "arena"))
	if err != nil {
		if program, err = exec.LookPath("arena"); err != nil {
			return nil, fmt.Errorf("find the program arena: %w", err)
		}
	}
	s := &arenaProcess{}
	if s.dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
		return nil, fmt.Errorf("folder for the database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	address, err := freeAddress(app.Ctx)
	if err != nil {
		return nil, err
	}
	metrics, err := freeAddress(app.Ctx)
	if err != nil {
		return nil, err
	}
	const token = "bench-admin-token-of-this-run"
	s.cmd = exec.CommandContext(app.Ctx, program, "serve") //nolint:gosec // the program under test
	s.cmd.Dir, s.cmd.Stderr = s.dir, io.Discard
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.Env = append(os.Environ(),
		"ARENA_ADDR="+address, "ARENA_DATABASE_URL=sqlite:arena.db", "ARENA_ALLOW_CIDRS=127.0.0.0/8",
		"ARENA_ADMIN_TOKEN="+token, "ARENA_METRICS_ADDR="+metrics, "ARENA_LOG_LEVEL=error")
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	s.url, s.metrics = "http://"+address, "http://"+metrics+"/metrics"
	s.admin = apiclient.New(s.url, token)
	return s, s.ready(app.Ctx)
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	return l.Addr().String(), nil
}

// ready waits until the arena accepts requests, at most half a minute.
func (s *arenaProcess) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.admin.As("").Call(ctx, http.MethodGet, "/readyz", nil, nil)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the arena does not start: %w", err)
		}
	}
}

// stop ends the process and removes its folder.
func (s *arenaProcess) stop() error {
	var err error
	if s.cmd != nil && s.cmd.Process != nil {
		err = errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// peakMemory returns the most memory that the process has had, in bytes,
// without its workers.
func (s *arenaProcess) peakMemory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("memory of the arena: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	var kib int64
	_, err = fmt.Sscan(rest, &kib)
	return kib << 10, err
}

// killedWorkers returns how many workers were killed, by the limit that they
// exceeded.
func (s *arenaProcess) killedWorkers(ctx context.Context) (map[string]int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.metrics, nil)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	killed := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		labels, ok := strings.CutPrefix(line, `arena_scripts_killed_total{limit="`)
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(labels, `"} `)
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
		killed[name] = n
	}
	return killed, nil
}
