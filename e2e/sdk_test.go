package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agenttest"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testneed"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/conformance"
)

// sdkAgents are the small agents of the four SDKs: how each is started, and
// the files that must be there first; make test-sdk makes them.
func sdkAgents(t *testing.T) map[string]struct {
	command []string
	needs   []string
} {
	t.Helper()
	sdk := filepath.Join(root(t), "sdk")
	return map[string]struct{ command, needs []string }{
		"typescript": {[]string{"node", sdk + "/typescript/examples/agent.mjs"}, []string{sdk + "/typescript/dist/index.js", sdk + "/typescript/node_modules/jose"}},
		"python":     {[]string{python(t), sdk + "/python/examples/agent.py"}, []string{python(t)}},
		"rust":       {[]string{sdk + "/rust/target/debug/examples/agent"}, []string{sdk + "/rust/target/debug/examples/agent"}},
		"go":         {[]string{filepath.Join(t.TempDir(), "minimal")}, nil},
	}
}

// needed skips a test that lacks what make test-sdk makes, unless it must run.
func needed(t *testing.T, files []string) {
	t.Helper()
	for _, file := range files {
		if _, err := os.Stat(file); err != nil && testneed.Required("sdk") {
			t.Fatalf("make test-sdk comes first: %v", err)
		} else if err != nil {
			t.Skipf("make test-sdk comes first: %v", err)
		}
	}
}

// python returns an interpreter that has what the SDK needs, or where it would be.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.CommandContext(t.Context(), path, "-c", "import jwt, cryptography").Run() == nil {
			return path
		}
	}
	return "/no/python3/with/jwt"
}

// The smallest agent of each SDK, as a real process beside the real binary: it
// registers, passes the conformance kit, plays a rated match, its events are in
// the log, and it refuses what the arena did not sign. Threats E7 and F2, on the agent's side.
func TestE2E_SDKs(t *testing.T) {
	t.Parallel()
	for name, agent := range sdkAgents(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needed(t, agent.needs)
			p := serve(t, t.TempDir())
			p.league("trivia", p.choices(), map[string]any{
				"format": "ladder", "min_seats": 2, "max_seats": 2, "time_limit_seconds": 20, "visibility": "live",
			})
			endpoint := startAgent(t, p.url, name, agent.command)
			other := p.register(name, endpoint)
			p.conforms(other)
			rival, overheard := p.goAgent(p.awaitThoughts)
			p.playsRated(other, rival, name)
			checkRefuses(t, endpoint, overheard())
		})
	}
}

// startAgent starts the agent of an SDK and returns its endpoint, which it prints
// when it listens. It ends with the test.
func startAgent(t *testing.T, arena, name string, command []string, env ...string) (endpoint string) {
	t.Helper()
	if name == "go" {
		must(t, goBuild(t.Context(), command[0], root(t)+"/examples/minimal"))
		command = append(command, "-arena", arena, "-addr", "127.0.0.1:0")
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "ARENA="+arena, "ADDR=127.0.0.1:0", "PYTHONPATH="+root(t)+"/sdk/python", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, env...)
	said, err := cmd.StderrPipe()
	must(t, err)
	cmd.Stdout = cmd.Stderr // the same pipe
	must(t, cmd.Start())
	listens, found := make(chan string, 1), false
	var reader sync.WaitGroup
	reader.Go(func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			t.Logf("%s: %s", name, lines.Text())
			if at := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(lines.Text()); at != "" && !found {
				found = true
				listens <- "http://" + at + "/agora"
			}
		}
		close(listens)
	})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		hangs := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // which Wait then reports
		defer hangs.Stop()
		reader.Wait()
		if err := cmd.Wait(); err != nil && name != "rust" { // it leaves signals to the system
			t.Errorf("the agent ended with %v", err)
		}
	})
	select {
	case endpoint = <-listens:
	case <-time.After(time.Minute):
	}
	if endpoint == "" {
		t.Fatal("the agent does not listen")
	}
	return endpoint
}

// register registers an endpoint in the league trivia, under an owner of its own.
func (p *process) register(name, endpoint string) *contestant {
	p.t.Helper()
	c := &contestant{owner: p.owner(name + " & co")}
	var made struct {
		ID     string `json:"agent_id"`
		Status string `json:"status"`
	}
	p.call(c.owner, http.MethodPost, "/v1/agents", map[string]any{"name": name, "endpoint": endpoint, "leagues": []string{"trivia"}}, &made)
	if made.Status != "active" {
		p.t.Fatalf("agent %s is %s after its check", name, made.Status)
	}
	c.id = made.ID
	return c
}

// conforms runs the conformance kit through the API. Only what an agent cannot
// know before it has its id may be missing.
func (p *process) conforms(c *contestant) {
	p.t.Helper()
	var got struct {
		Report conformance.Report `json:"report"`
	}
	p.call(c.owner, http.MethodPost, "/v1/agents/"+c.id+"/check?full=true", nil, &got)
	r := got.Report
	if !r.Passed || r.Must.Pass < 12 || r.Must.Fail+r.Must.Skip+r.Should.Skip != 0 {
		p.t.Errorf("passed is %t, MUST %+v, SHOULD %+v", r.Passed, r.Must, r.Should)
	}
	for _, f := range r.Checks {
		if f.Result != conformance.Pass && f.ID != "token.other_agent" {
			p.t.Errorf("%s %s: %s; got %s", f.Result, f.ID, f.Title, f.Got)
		}
	}
}

// overheard is a request of the arena as it came to an agent.
type overheard struct {
	authorization string
	body          []byte
}

// goAgent registers an agent on the Go SDK that takes the last option, after
// it has waited for before. The
// function returns the last request that it received.
func (p *process) goAgent(before func(context.Context, *arenaagent.Task)) (*contestant, func() overheard) {
	p.t.Helper()
	agent, err := arenaagent.New(arenaagent.Config{Arena: p.url, AnyAgent: true, Capabilities: []string{"trivia"}},
		func(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
			events.Thinking("The last one.")
			before(ctx, task)
			return arenaagent.Answer{Value: task.Options[len(task.Options)-1]}, nil
		})
	must(p.t, err)
	var mu sync.Mutex
	var last overheard
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller hung up
		}
		if r.Method == http.MethodPost {
			mu.Lock()
			last = overheard{r.Header.Get("Authorization"), body}
			mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		agent.ServeHTTP(w, r)
	}))
	p.t.Cleanup(func() {
		must(p.t, agent.Close())
		server.Close()
	})
	return p.register("Gopher", server.URL+"/agora"), func() overheard {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

// awaitThoughts waits until spectators see a thought of both seats in the task's round.
func (p *process) awaitThoughts(ctx context.Context, task *arenaagent.Task) {
	p.awaitThoughtsOf(ctx, task, 2)
}

// awaitThoughtsOf waits until spectators see a thought of so many seats in the task's
// round, or ctx ends. An event that is still on its way when the last answer
// comes is of a round that is over (threat E5).
func (p *process) awaitThoughtsOf(ctx context.Context, task *arenaagent.Task, seats int) {
	conn, _, err := websocket.Dial(ctx, strings.Replace(p.url, "http", "ws", 1)+"/v1/stream?since=0&match="+task.MatchID, nil)
	if err != nil {
		if ctx.Err() == nil {
			p.t.Error(err)
		}
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(32 << 20)
	for thinkers := map[string]bool{}; len(thinkers) < seats; {
		_, data, err := conn.Read(ctx)
		var e event
		if err == nil {
			err = json.Unmarshal(data, &e)
		}
		if err != nil {
			if ctx.Err() == nil {
				p.t.Error(err)
			}
			return
		}
		if e.Type == "thinking" && e.Round == task.Round {
			thinkers[e.AgentID] = true
		}
	}
}

// choices uploads three questions with options.
func (p *process) choices() string {
	p.t.Helper()
	var lines bytes.Buffer
	for i := range 3 {
		fmt.Fprintf(&lines, `{"description":"question %d","answer":"a","options":["a","b","c","d"]}`+"\n", i)
	}
	var made struct {
		ID string `json:"pack_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=choices", lines.Bytes(), &made)
	return made.ID
}

// playsRated has an agent play a rated duel, and checks its log, its result and
// what the agent did in it.
func (p *process) playsRated(c, rival *contestant, name string) {
	p.t.Helper()
	s := p.watch(p.schedule("trivia", c, rival), 0)
	var result finished
	s.end(&result)
	s.gapless(1)
	if !result.Rated || len(result.RatingChanges) != 2 || result.RatingChanges[0].AgentID == "" {
		p.t.Errorf("result is %+v", result)
	}
	checkPlayed(p.t, s.seen, c.id, name)
}

// checkPlayed checks that an agent answered all three rounds, and reported a
// thought in each.
func checkPlayed(t *testing.T, seen []event, id, name string) {
	t.Helper()
	outcomes, thoughts := map[int]string{}, map[int]string{}
	for _, e := range seen {
		var m struct{ Outcome, Message string }
		must(t, json.Unmarshal(e.Raw, &m))
		switch {
		case e.AgentID == id && e.Type == "seat_outcome":
			outcomes[e.Round] = m.Outcome
		case e.AgentID == id && e.Type == "thinking":
			thoughts[e.Round] = m.Message
		}
	}
	for round := 1; round <= 3; round++ {
		if outcomes[round] != "answered" {
			t.Errorf("%s: outcome of round %d is %q", name, round, outcomes[round])
		}
		if said := thoughts[round]; said == "" || name != "go" && !strings.HasPrefix(said, "4 options, ") {
			t.Errorf("%s: thought of round %d is %q", name, round, said)
		}
	}
}

// checkRefuses posts tasks that the arena did not sign, or not for this body.
func checkRefuses(t *testing.T, endpoint string, genuine overheard) {
	t.Helper()
	other := agenttest.New(t)
	body, token, err := other.Make(agenttest.Task{})
	must(t, err)
	for name, r := range map[string]overheard{
		"no token": {"", body}, "another arena's token": {"Bearer " + token, body},
		"a genuine token for another body": {genuine.authorization, append(genuine.body, ' ')},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, bytes.NewReader(r.body))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		if r.authorization != "" {
			req.Header.Set("Authorization", r.authorization)
		}
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		must(t, resp.Body.Close())
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
}

// The arena takes the replies that the vectors call valid, and no other.
func TestVectors_Replies(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root(t), "sdk/vectors/replies.json"))
	must(t, err)
	var vectors struct {
		Replies []struct {
			Name         string
			OutputFormat string `json:"output_format"`
			Body         any
			Valid        bool
		}
	}
	must(t, json.Unmarshal(data, &vectors))
	guard, err := protocol.NewGuard(protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	must(t, err)
	client, err := protocol.NewClient(guard, protocol.ClientOptions{Now: time.Now})
	must(t, err)
	driver := aap.New(aap.Options{Client: client, Now: time.Now, Sign: func(arena.TaskClaims) (string, error) { return "token", nil }})
	for _, v := range vectors.Replies {
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, vectorText(v.Body))
		}))
		send, err := driver.Prepare(t.Context(), arena.Attempt{
			MatchID: "m_1", Round: 1, Number: 1, TimeLimit: 10 * time.Second, Deadline: time.Now().Add(10 * time.Second),
			Task: arena.Task{ID: "tk_1", Description: "?", OutputFormat: v.OutputFormat}, Seat: arena.Seat{AgentID: "ag_1", Endpoint: agent.URL},
		})
		must(t, err)
		if reply := send(t.Context()); (reply.Outcome == arena.OutcomeAnswered) != v.Valid {
			t.Errorf("%s: outcome %s", v.Name, reply.Outcome)
		}
		agent.Close()
	}
}

// vectorText is a text of the vectors, or what stands for a long one.
func vectorText(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(v)
	}
	if part, ok := m["repeat"].(string); ok {
		return strings.Repeat(part, int(m["times"].(float64)))
	}
	var all strings.Builder
	for _, part := range m["parts"].([]any) {
		all.WriteString(vectorText(part))
	}
	return all.String()
}
