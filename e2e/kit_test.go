package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// program is the real program, built once for all tests of this package.
var program struct {
	once sync.Once
	path string
	err  error
}

func TestMain(m *testing.M) {
	// A test server that closes closes the idle connections of the default transport
	// if it can, and one counts as idle just before its answer, if that has no body, is
	// handed over: a request of another test would fail.
	http.DefaultTransport = struct{ http.RoundTripper }{http.DefaultTransport}
	code := m.Run()
	if program.path != "" {
		_ = os.RemoveAll(filepath.Dir(program.path))
	}
	os.Exit(code)
}

func buildArena(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		dir, err := os.MkdirTemp("", "arena-e2e-") //nolint:usetesting // it outlives the test that happens to be first
		if err != nil {
			program.err = err
			return
		}
		program.path = filepath.Join(dir, "arena")
		program.err = goBuild(context.WithoutCancel(t.Context()), program.path, "github.com/agora-arena/arena/cmd/arena")
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

// root returns the directory of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	must(t, err)
	return dir
}

// goBuild compiles a program of this module as `make build` does: what that has
// compiled is in the build cache, and what other flags would compile is not.
func goBuild(ctx context.Context, program, source string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "nomsgpack", "-trimpath", "-ldflags", "-s -w", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// The exit codes of the program.
const (
	exitOK      = 0
	exitFailure = 1
)

// call runs the program until it ends.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execArena(t.Context(), buildArena(t), args, nil, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// execArena runs a program until it ends and returns its exit code, -1 when it
// did not run or a signal ended it.
func execArena(ctx context.Context, program string, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		_, _ = fmt.Fprintln(stderr, err)
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// document is any JSON object.
type document = map[string]any

// process is a running `arena serve`.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	url     string
	local   string // of this very node
	metrics string
	admin   *apiclient.Client
	exited  chan error
}

const e2eAdmin = "e2e-admin-token-0123456789"

// serve starts the real binary on a free port, with agents allowed on this
// machine, and waits until it answers.
func serve(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), buildArena(t), "serve", "--ready-file", ready)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ARENA_ADDR=127.0.0.1:0", "ARENA_METRICS_ADDR=127.0.0.1:0",
		"ARENA_DATABASE_URL=sqlite:" + filepath.Join(dir, "arena.db"), "ARENA_ADMIN_TOKEN=" + e2eAdmin,
		"ARENA_ALLOW_CIDRS=127.0.0.0/8", "ARENA_LOG_LEVEL=debug", // the most that can be logged
		"ARENA_AUDIT_LEAGUES=0",
	}, env...)
	logs, err := cmd.StderrPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{t: t, cmd: cmd, exited: make(chan error, 1)}
	announced := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			if bytes.Contains(lines.Bytes(), []byte(`"ERROR"`)) || bytes.HasPrefix(lines.Bytes(), []byte("arena: ")) {
				t.Errorf("the server logged: %s", lines.Text())
			}
			if kind := secretIn(lines.Text()); kind != "" {
				t.Errorf("the server logged %s: %s", kind, lines.Text())
			}
		}
	})
	readers.Go(func() {
		once := sync.OnceFunc(func() { close(announced) })
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "arena is at ") {
				once()
			}
		}
		once() // it ended: the wait below finds no ready file
	})
	go func() {
		readers.Wait()
		p.exited <- cmd.Wait()
	}()
	t.Cleanup(p.stop)
	<-announced
	p.readReady(ready)
	return p
}

// readReady reads the ready file, which is written right after the line on
// standard output.
func (p *process) readReady(path string) {
	p.t.Helper()
	var r struct {
		URL        string `json:"url"`
		LocalURL   string `json:"local_url"`
		MetricsURL string `json:"metrics_url"`
	}
	testwait.Until(p.t, "the ready file is there", func() bool {
		data, err := os.ReadFile(path)
		return err == nil && json.Unmarshal(data, &r) == nil
	})
	p.url, p.local, p.metrics = r.URL, r.LocalURL, r.MetricsURL
	p.admin = apiclient.New(p.url, e2eAdmin)
}

// stop ends the process with SIGTERM and checks that it ends well.
func (p *process) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-p.exited; err != nil {
		p.t.Errorf("arena serve ended with %v", err)
	}
}

// kill ends the process with SIGKILL, as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	if err := <-p.exited; err == nil {
		p.t.Error("a killed process ended well")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call calls the API and fails the test on any error.
func (p *process) call(c *apiclient.Client, method, path string, in, out any) {
	p.t.Helper()
	must(p.t, c.Call(p.t.Context(), method, path, in, out))
}

// active waits until an agent is active.
func (p *process) active(owner *apiclient.Client, id string) {
	p.t.Helper()
	testwait.Until(p.t, "the agent is active", func() bool {
		var now struct{ Status string }
		p.call(owner, http.MethodGet, "/v1/agents/"+id, nil, &now)
		return now.Status == "active"
	})
}

// refused calls the API and wants a problem with this status and code.
func (p *process) refused(c *apiclient.Client, method, path string, in any, status int, code string) apiclient.Problem {
	p.t.Helper()
	var refusal *apiclient.Problem
	err := c.Call(p.t.Context(), method, path, in, nil)
	if !errors.As(err, &refusal) || refusal.Status != status || refusal.Code != code {
		p.t.Errorf("%s %s with %.200s: got %.500s, want %d %s", method, path, fmt.Sprint(in), fmt.Sprint(err), status, code)
		return apiclient.Problem{}
	}
	return *refusal
}

// owner signs up.
func (p *process) owner(name string) *apiclient.Client {
	p.t.Helper()
	var o struct{ Token string }
	p.call(apiclient.New(p.url, ""), http.MethodPost, "/v1/owners", map[string]any{"name": name}, &o)
	return p.admin.As(o.Token)
}

// contestant is a fake agent, registered under an owner of its own.
type contestant struct {
	*protocoltest.Agent
	id    string
	owner *apiclient.Client
}

func (p *process) contestant(name string, play func(protocoltest.Request) protocoltest.Behaviour, leagues ...string) *contestant {
	p.t.Helper()
	c := &contestant{owner: p.owner(name + " & co"), Agent: protocoltest.NewAgent(p.t, protocoltest.AgentOptions{Play: play, Capabilities: leagues})}
	var made struct {
		ID     string `json:"agent_id"`
		Status string `json:"status"`
	}
	p.call(c.owner, http.MethodPost, "/v1/agents", map[string]any{"name": name, "endpoint": c.Endpoint(), "leagues": leagues}, &made)
	if made.Status != "active" {
		p.t.Fatalf("agent %s is %s after its check", name, made.Status)
	}
	c.id = made.ID
	return c
}

// pack uploads n questions whose answer is "right answer <n>"; the correct
// words never stand in a question.
func (p *process) pack(n int) string {
	p.t.Helper()
	var lines bytes.Buffer
	for i := range n {
		fmt.Fprintf(&lines, `{"description":"question %d","answer":"right answer %d"}`+"\n", i, i)
	}
	var made struct {
		ID    string `json:"pack_id"`
		Tasks int    `json:"tasks"`
	}
	p.call(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=questions", lines.Bytes(), &made)
	if made.Tasks != n {
		p.t.Fatalf("pack holds %d tasks, want %d", made.Tasks, n)
	}
	return made.ID
}

// correct is the right answer to a task of pack.
func correct(r protocoltest.Request) string {
	return strings.Replace(r.Task.Task.Description, "question", "right answer", 1)
}

func (p *process) league(slug, pack string, change map[string]any) {
	p.t.Helper()
	body := map[string]any{
		"slug": slug, "title": "League " + slug, "pack_id": pack, "judge": "exact", "rounds": 3, "time_limit_seconds": 30,
		"rated": true, "max_seats": 100, "format": "elimination", "min_seats": 3,
	}
	maps.Copy(body, change)
	if body["format"] == "ladder" && body["pace"] == nil { // tests do not wait
		body["pace"] = map[string]any{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true}
	}
	p.call(p.admin, http.MethodPost, "/v1/leagues", body, nil)
}

// schedule schedules a match and returns its id.
func (p *process) schedule(league string, seats ...*contestant) string {
	p.t.Helper()
	ids := make([]string, len(seats))
	for i, s := range seats {
		ids[i] = s.id
	}
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": league, "agents": ids}, &m)
	return m.ID
}

// event is one message of the stream, as it came.
type event struct {
	Seq     int64           `json:"seq"`
	Type    string          `json:"type"`
	Round   int             `json:"round"`
	AgentID string          `json:"agent_id"`
	Raw     json.RawMessage `json:"-"`
}

// spectator is a real WebSocket client.
type spectator struct {
	t    *testing.T
	conn *websocket.Conn
	seen []event
}

func (p *process) watch(match string, since int64) *spectator {
	p.t.Helper()
	url := strings.Replace(p.url, "http", "ws", 1) + fmt.Sprintf("/v1/stream?match=%s&since=%d", match, since)
	conn, _, err := websocket.Dial(p.t.Context(), url, nil)
	must(p.t, err)
	conn.SetReadLimit(32 << 20)
	p.t.Cleanup(func() { _ = conn.CloseNow() })
	s := &spectator{t: p.t, conn: conn}
	if hello := s.read(); hello.Type != "hello" {
		p.t.Fatalf("the first message is %s", hello.Raw)
	}
	s.seen = nil
	return s
}

func (s *spectator) read() event {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer cancel()
	_, data, err := s.conn.Read(ctx)
	must(s.t, err)
	e := event{Raw: data}
	must(s.t, json.Unmarshal(data, &e))
	if e.Type != "viewers" {
		s.seen = append(s.seen, e)
	}
	return e
}

// until reads up to and with the first event that fits.
func (s *spectator) until(fits func(event) bool) event {
	s.t.Helper()
	for {
		if e := s.read(); fits(e) {
			return e
		}
	}
}

// end reads to the last event of the match and decodes it into out.
func (s *spectator) end(out any) {
	s.t.Helper()
	e := s.until(func(e event) bool { return e.Type == "match_finished" || e.Type == "match_void" })
	if out != nil {
		must(s.t, json.Unmarshal(e.Raw, out))
	}
}

// gapless checks that the events seen are exactly first, first+1, ….
func (s *spectator) gapless(first int64) {
	s.t.Helper()
	for i, e := range s.seen {
		if e.Seq != first+int64(i) {
			s.t.Fatalf("event %d has seq %d, want %d", i, e.Seq, first+int64(i))
		}
	}
}

func bodyHash(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
