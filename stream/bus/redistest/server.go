//go:build unix

package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/testneed"
)

// ErrNoServer means that the machine has no Redis server to start.
var ErrNoServer = errors.New("no redis-server found: put it on PATH, or apt-get install redis-server")

// startTime is how long a server may take until it answers.
const startTime = 20 * time.Second

// Server is a Redis server that keeps nothing on disk.
type Server struct {
	Addr string // host:port
	dir  string
	args []string

	mu  sync.Mutex
	cmd *exec.Cmd // nil when it does not run
}

// Start starts a server for the test. Without redis-server the test is
// skipped, unless the comma list ARENA_TEST_REQUIRE names redis: then it
// fails. Further arguments go to the server.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s, err := Run(t.Context(), args...)
	if errors.Is(err, ErrNoServer) && !testneed.Required("redis") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stop redis: %v", err)
		}
	})
	return s
}

// StartCluster starts a cluster of one server that owns all slots.
func StartCluster(t testing.TB) *Server {
	t.Helper()
	s := Start(t, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1")
	s.Do(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	for !strings.Contains(s.Do(t, "CLUSTER", "INFO"), "cluster_state:ok") {
		if t.Context().Err() != nil {
			t.Fatal("the cluster does not come up")
		}
	}
	return s
}

// Run starts a server outside of a test; the caller closes it. It returns
// ErrNoServer if no server program is installed.
func Run(ctx context.Context, args ...string) (*Server, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, ErrNoServer
	}
	dir, err := os.MkdirTemp("", "arena-redis-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, args: args}
	for range 5 { // another process may take the free port before the server does
		if s.Addr, err = freeAddr(ctx); err != nil {
			break
		}
		if err = s.start(ctx); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("start redis: %w", err), s.Close())
}

// freeAddr returns a port below the kernel's ephemeral ports; a cluster also needs
// the port 10,000 above it.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	for range 100 {
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if err := l.Close(); err != nil {
			return "", err
		}
		n, _ := strconv.Atoi(port)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+n%20_000))
		if l, err = lc.Listen(ctx, "tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no free port")
}

// URL returns the server's URL.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Restart starts the server again after Kill, empty, at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, port, _ := net.SplitHostPort(s.Addr)
	args := append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--logfile", filepath.Join(s.dir, "log"), "--daemonize", "no",
	}, s.args...)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "redis-server", args...) //nolint:gosec // the server's own program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                           // an interrupt is for the test
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		reply, err := s.do(ctx, "PING")
		if err == nil && reply == "+PONG" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return errors.Join(fmt.Errorf("redis does not answer: %w: %s", err, text), s.kill())
		}
	}
}

// Kill ends the server as kill -9 does.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.kill(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) kill() error {
	if s.cmd == nil {
		return nil
	}
	cmd := s.cmd
	s.cmd = nil
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it says that the process was killed
	return err
}

// Freeze stops the server's work without closing a connection, until Thaw.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	Stop(t, s.cmd.Process)
}

// Stop stops a child process of the test and returns when it has stopped: the
// signal alone returns before that.
func Stop(t testing.TB, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || !status.Stopped():
			t.Fatalf("process %d has not stopped: %v, %v", p.Pid, status, err)
		default:
			return
		}
	}
}

// Thaw is the end of Freeze.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// Close ends the server and removes its folder.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.kill(), os.RemoveAll(s.dir))
}

// Do sends one command on a connection of its own and returns the reply as it
// stands on the wire, without the last line break.
func (s *Server) Do(t testing.TB, args ...string) string {
	t.Helper()
	reply, err := s.do(t.Context(), args...)
	if err != nil || strings.HasPrefix(reply, "-") {
		t.Fatalf("%v: %s %v", args, reply, err)
	}
	return reply
}

func (s *Server) do(ctx context.Context, args ...string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer c.Close() //nolint:errcheck // it was read to its end
	release := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer release()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	b.WriteString("*1\r\n$4\r\nQUIT\r\n") // the server closes, which ends the reading
	if _, err := io.WriteString(c, b.String()); err != nil {
		return "", err
	}
	all, err := io.ReadAll(bufio.NewReader(c))
	return strings.TrimSuffix(strings.TrimSuffix(string(all), "+OK\r\n"), "\r\n"), err
}
