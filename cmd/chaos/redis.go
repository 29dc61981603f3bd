package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// redisServer is a server of its own that keeps nothing on disk.
type redisServer struct {
	dir  string
	port int

	mu   sync.Mutex
	cmd  *exec.Cmd
	gone chan struct{} // closed when cmd has ended
}

func startRedis(ctx context.Context, dir string) (*redisServer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("redis folder: %w", err)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	r := &redisServer{dir: dir, port: port}
	return r, r.start(ctx)
}

func (r *redisServer) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)) }

func (r *redisServer) start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(r.port), //nolint:gosec // G204: our own port and folder
		"--dir", r.dir, "--save", "", "--appendonly", "no", "--logfile", filepath.Join(r.dir, "log"))
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start redis: %w (scripts/install-test-deps.sh installs it)", err)
	}
	r.cmd, r.gone = cmd, make(chan struct{})
	go func(gone chan struct{}) {
		_ = cmd.Wait() // killed or stopped: never a success
		close(gone)
	}(r.gone)
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	for {
		err := r.command(ctx, "PING")
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.gone:
			return errors.New("redis ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("redis does not answer: %w", err)
		}
	}
}

// kill ends the server as a crash would.
func (r *redisServer) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		<-r.gone
		r.cmd = nil
	}
}

// flush forgets everything that the server holds.
func (r *redisServer) flush(ctx context.Context) error { return r.command(ctx, "FLUSHALL") }

// command sends one word in Redis's inline form and wants a simple string.
func (r *redisServer) command(ctx context.Context, word string) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", r.addr())
	if err != nil {
		return fmt.Errorf("redis %s: %w", word, err)
	}
	defer func() { _ = conn.Close() }() // nothing is buffered in it
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write([]byte(word + "\r\n")); err != nil {
		return fmt.Errorf("redis %s: %w", word, err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("redis %s: %w", word, err)
	}
	if !strings.HasPrefix(line, "+") {
		return fmt.Errorf("redis %s: %s", word, strings.TrimSpace(line))
	}
	return nil
}
