package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// span is a stretch of time.
type span struct{ from, to time.Time }

func (s span) overlaps(from, to time.Time) bool { return !s.to.Before(from) && !s.from.After(to) }

// life is one process of a node, from start to end.
type life struct {
	node int // 1-based
	no   int // 1-based
	log  string
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
	exit error         // set before gone is closed

	mu     sync.Mutex
	asked  bool   // its end is the nemesis's doing
	killed span   // kill -9: when it was sent, when the process was gone
	frozen []span // SIGSTOP to SIGCONT
}

func (l *life) freeze(s span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = append(l.frozen, s)
}

func (l *life) expectEnd() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = true
}

// node is one of the cluster's places; its processes come and go.
type node struct {
	no  int
	env []string
	op  sync.Mutex // held while it is disturbed

	mu   sync.Mutex
	life *life  // nil: down
	url  string // "": does not answer
}

func (n *node) now() (*life, string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life, n.url
}

func (n *node) set(l *life, url string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.life, n.url = l, url
}

// cluster runs the nodes.
type cluster struct {
	bin, dir string
	problems *problems
	nodes    []*node
	wg       sync.WaitGroup // watchers of processes

	mu    sync.Mutex
	lives []*life
	over  bool // nodes that end are not started again
}

const (
	adminToken = "chaos-admin-token-0123456789abcdef"
	leaseTTL   = 5 * time.Second // the product's own
	startLimit = time.Minute     // for a node to answer, the database being there
	drainLimit = 20 * time.Second
	grace      = 5 * time.Second // ARENA_SHUTDOWN_GRACE
)

// newCluster describes nodes; env has the settings of one that differ.
func newCluster(bin, dir string, n int, p *problems, publicURL string, env func(no int) []string) *cluster {
	c := &cluster{bin: bin, dir: dir, problems: p}
	for i := range n {
		c.nodes = append(c.nodes, &node{no: i + 1, env: append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ARENA_ADDR=127.0.0.1:0", "ARENA_METRICS_ADDR=",
			"ARENA_PUBLIC_URL=" + publicURL, "ARENA_ADMIN_TOKEN=" + adminToken, "ARENA_ALLOW_CIDRS=127.0.0.0/8",
			"ARENA_HEALTH_INTERVAL=5s", "ARENA_SPECTATORS_PER_ADDRESS=100000", "ARENA_REQUESTS_PER_ADDRESS=10000000", "ARENA_MIB_PER_ADDRESS=1048576", "ARENA_SHUTDOWN_GRACE=" + grace.String(),
			"ARENA_AUDIT_LEAGUES=0", "ARENA_LOG_FORMAT=json", "ARENA_LOG_LEVEL=debug", "ARENA_ARCHIVE_AFTER=3s",
		}, env(i+1)...)})
	}
	return c
}

// url returns a node that answers, "" when none does.
func (c *cluster) url(r *rand.Rand) string {
	for _, i := range r.Perm(len(c.nodes)) {
		if _, url := c.nodes[i].now(); url != "" {
			return url
		}
	}
	return ""
}

// up starts a node and waits until it answers. Starts that fail because the
// database is unavailable are repeated.
func (c *cluster) up(ctx context.Context, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		l, err := c.spawn(ctx, n)
		if err != nil {
			return err
		}
		url, err := c.ready(ctx, l)
		if err == nil {
			n.set(l, url)
			return nil
		}
		l.expectEnd()
		_ = l.cmd.Process.Kill()
		<-l.gone
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("node %d does not start: %w; the end of %s: %s", n.no, err, l.log, tail(l.log))
		}
	}
}

func (c *cluster) spawn(ctx context.Context, n *node) (*life, error) {
	c.mu.Lock()
	no := 1
	for _, l := range c.lives {
		if l.node == n.no {
			no++
		}
	}
	name := fmt.Sprintf("node-%d.%d", n.no, no)
	l := &life{node: n.no, no: no, log: filepath.Join(c.dir, name+".log"), gone: make(chan struct{})}
	c.lives = append(c.lives, l)
	c.mu.Unlock()

	// The log is the process's own file: what it wrote survives its kill -9.
	log, err := os.Create(l.log)
	if err != nil {
		return nil, fmt.Errorf("log of node: %w", err)
	}
	defer func() { _ = log.Close() }()                                                                     // the child has its own handle
	l.cmd = exec.CommandContext(context.WithoutCancel(ctx), c.bin, "serve", "--ready-file", l.readyFile()) //nolint:gosec // G204: the binary under test
	l.cmd.Env, l.cmd.Stdout, l.cmd.Stderr = n.env, log, log
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start node %d: %w", n.no, err)
	}
	c.wg.Go(func() {
		l.exit = l.cmd.Wait()
		close(l.gone)
		c.ended(ctx, n, l)
	})
	return l, nil
}

func (l *life) readyFile() string { return strings.TrimSuffix(l.log, ".log") + ".ready" }

// ready waits until the process answers, and returns its URL.
func (c *cluster) ready(ctx context.Context, l *life) (string, error) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		var ready struct {
			LocalURL string `json:"local_url"` // all nodes share the public one
		}
		if data, err := os.ReadFile(l.readyFile()); err == nil && json.Unmarshal(data, &ready) == nil { //nolint:gosec // G703: our own folder
			return ready.LocalURL, nil
		}
		select {
		case <-look.C:
		case <-l.gone:
			return "", fmt.Errorf("it ended: %w", errors.Join(l.exit))
		case <-ctx.Done():
			return "", fmt.Errorf("it does not answer: %w", ctx.Err())
		}
	}
}

// ended notes a process that ended unexpectedly, and starts the node again.
func (c *cluster) ended(ctx context.Context, n *node, l *life) {
	l.mu.Lock()
	asked := l.asked
	l.mu.Unlock()
	current, _ := n.now()
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	if asked || over || current != l || ctx.Err() != nil {
		return
	}
	c.problems.add("crash", "node %d exited unexpectedly: %v; the end of %s: %s", n.no, l.exit, l.log, tail(l.log))
	n.op.Lock()
	defer n.op.Unlock()
	n.set(nil, "")
	if err := c.up(context.WithoutCancel(ctx), n); err != nil {
		c.problems.add("crash", "%v", err)
	}
}

// kill ends a node as a crash would. The caller holds n.op.
func (c *cluster) kill(n *node) {
	l, _ := n.now()
	if l == nil {
		return
	}
	l.expectEnd()
	n.set(nil, "")
	from := time.Now()
	_ = l.cmd.Process.Kill()
	<-l.gone
	l.mu.Lock()
	l.killed = span{from, time.Now()}
	l.mu.Unlock()
}

// freeze stops a node's clockwork for d. The caller holds n.op.
func (c *cluster) freeze(ctx context.Context, n *node, d time.Duration) {
	l, _ := n.now()
	if l == nil {
		return
	}
	from := time.Now()
	_ = l.cmd.Process.Signal(syscall.SIGSTOP)
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	_ = l.cmd.Process.Signal(syscall.SIGCONT)
	l.freeze(span{from, time.Now()})
}

// term ends a node with SIGTERM and wants it to end well and in time. The
// caller holds n.op.
func (c *cluster) term(n *node, limit time.Duration) {
	l, _ := n.now()
	if l == nil {
		return
	}
	l.expectEnd()
	n.set(nil, "")
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-l.gone:
		if l.exit != nil {
			c.problems.add("drain", "node %d ended with %v after SIGTERM; the end of %s: %s", n.no, l.exit, l.log, tail(l.log))
		}
	case <-time.After(limit):
		// What it waits for is in its own stacks, which SIGQUIT prints.
		_ = l.cmd.Process.Signal(syscall.SIGQUIT)
		select {
		case <-l.gone:
		case <-time.After(5 * time.Second):
			_ = l.cmd.Process.Kill()
			<-l.gone
		}
		c.problems.add("drain", "node %d did not end within %v of SIGTERM; its stacks are in %s", n.no, limit, l.log)
	}
}

// close ends whatever runs.
func (c *cluster) close() {
	c.mu.Lock()
	c.over = true
	lives := append([]*life(nil), c.lives...)
	c.mu.Unlock()
	for _, l := range lives {
		if l.cmd != nil && l.cmd.Process != nil {
			l.expectEnd()
			_ = l.cmd.Process.Kill() // those that ended already take no notice
		}
	}
	c.wg.Wait()
}

func (c *cluster) allLives() []*life {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*life(nil), c.lives...)
}

// tail returns the last lines of a file, for a message.
func tail(path string) string {
	data, err := os.ReadFile(path) //nolint:gosec // G304: our own log
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// problems collects what goes wrong while a run is on.
type problems struct {
	mu   sync.Mutex
	list []violation
}

// violation is a broken promise: the invariant's name and what was seen.
type violation struct{ rule, text string }

func (p *problems) add(rule, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, violation{rule, fmt.Sprintf(format, args...)})
}

func (p *problems) all() []violation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]violation(nil), p.list...)
}
