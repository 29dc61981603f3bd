package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// model is a real client of the protocol.
type model struct {
	t       *testing.T
	session *mcp.ClientSession
}

// host returns the standard input and output of `arena mcp`, as the host of a
// language model starts it.
func host(t *testing.T, url, token string, stderr io.Writer) mcp.Transport {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), buildArena(t), "mcp")
	cmd.Env = append(os.Environ(), "ARENA_URL="+url, "ARENA_TOKEN="+token)
	cmd.Stderr = stderr
	return &mcp.CommandTransport{Command: cmd}
}

func connect(t *testing.T, transport mcp.Transport) *model {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	must(t, err)
	return &model{t, session}
}

// use calls a tool and returns its result; failed reports an error.
func (m *model) use(tool string, args document) (result document, failed string) {
	m.t.Helper()
	res, err := m.session.CallTool(m.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err.Error()
	}
	var text strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	if res.IsError {
		return nil, text.String()
	}
	must(m.t, json.Unmarshal([]byte(text.String()), &result))
	return result, ""
}

func (m *model) must(tool string, args document) document {
	m.t.Helper()
	result, failed := m.use(tool, args)
	if failed != "" {
		m.t.Fatalf("%s with %v: %s", tool, args, failed)
	}
	return result
}

// A language model's host connects, registers an agent, rehearses, watches a
// whole match and reads what came of it.
func TestE2E_MCP(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	owner := p.owner("A model")
	m := connect(t, host(t, p.url, owner.Token, t.Output()))

	tools, err := m.session.ListTools(t.Context(), nil)
	must(t, err)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	want := "audit check_agent compare deliveries join_league list_leagues losses my_agents register_agent rehearse_agent standings topics watch_match"
	if strings.Join(names, " ") != want {
		t.Errorf("tools %v, want %s", names, want)
	}

	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{Capabilities: []string{"trivia"}, Play: func(r protocoltest.Request) protocoltest.Behaviour {
		return protocoltest.Answer(correct(r))
	}})
	if slug := str(first(m.must("list_leagues", nil)), "slug"); slug != "trivia" {
		t.Errorf("league %q", slug)
	}
	id := str(m.must("register_agent", document{"name": "By MCP", "endpoint": agent.Endpoint(), "leagues": []string{"trivia"}}), "agent_id")
	if status := str(m.must("check_agent", document{"agent_id": id}), "status"); status != "active" {
		t.Errorf("after the check it is %s", status)
	}
	if mine := first(m.must("my_agents", nil)); str(mine, "agent_id") != id {
		t.Errorf("my agents: %v", mine)
	}
	report := m.must("rehearse_agent", document{"agent_id": id, "league": "trivia", "faults": []string{"expired_token"}})
	if report["failed"] != 1.0 || report["passed"] != 1.0 { // it believes every token
		t.Errorf("rehearsal: %v", report)
	}

	rival := p.contestant("Rival", answers("no"), "trivia")
	match := p.schedule("trivia", &contestant{id: id}, rival)
	var types []string
	for since, over := 0.0, false; !over; {
		part := m.must("watch_match", document{"match_id": match, "since": since})
		since, over = part["next_since"].(float64), part["over"].(bool)
		for _, e := range part["events"].([]any) {
			e := e.(document)
			if types = append(types, str(e, "type")); e["seq"] != float64(len(types)) {
				t.Fatalf("event %d has seq %v", len(types), e["seq"])
			}
		}
	}
	if last := types[len(types)-1]; last != "match_finished" {
		t.Errorf("the last event is %s", last)
	}
	if part := m.must("watch_match", document{"match_id": match, "since": len(types), "wait_seconds": 1}); part["over"] != true || len(part["events"].([]any)) != 0 {
		t.Errorf("behind the end: %v", part)
	}
	if d := first(m.must("deliveries", document{"agent_id": id, "outcome": "answered", "limit": 1})); str(d, "match_id") != match {
		t.Errorf("delivery: %v", d)
	}
	if s := first(m.must("standings", document{"league": "trivia"})); str(s, "name") != "By MCP" {
		t.Errorf("standings: %v", s)
	}

	if report := m.must("audit", document{"league": "trivia"}); report["status"] != "none" {
		t.Errorf("audit: %v", report)
	}

	// A refusal of the arena is a failed tool that says why.
	for tool, tc := range map[string]struct {
		args document
		says string
	}{
		"standings":      {document{"league": "no such"}, "not_found"},
		"check_agent":    {document{"agent_id": rival.id}, "you have no agent"},
		"register_agent": {document{"name": "x", "endpoint": "ftp://x", "leagues": []string{}}, "endpoint: an endpoint begins with http"},
		"watch_match":    {document{"match_id": "m_none"}, "not_found"},
		"deliveries":     {document{}, "agent_id"},
	} {
		if _, failed := m.use(tool, tc.args); !strings.Contains(failed, tc.says) {
			t.Errorf("%s with %v: %q, want %q in it", tool, tc.args, failed, tc.says)
		}
	}
	must(t, m.session.Close())
}

// Nothing happens in a match of tomorrow: watching it waits, and says so.
func TestE2E_MCP_waits(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	ada, bob := p.contestant("Ada", answers(""), "trivia"), p.contestant("Bob", answers(""), "trivia")
	match := p.lateMatch("trivia", ada, bob)

	var errs bytes.Buffer
	m := connect(t, host(t, p.url, ada.owner.Token, &errs))
	if mine := first(m.must("my_agents", nil)); str(mine, "agent_id") != ada.id {
		t.Errorf("my agents: %v", mine)
	}
	if part := m.must("watch_match", document{"match_id": match}); len(part["events"].([]any)) != 1 || part["over"] != false {
		t.Errorf("what is there comes at once: %v", part)
	}
	part := m.must("watch_match", document{"match_id": match, "since": 1, "wait_seconds": 0.2})
	if part["over"] != false || part["next_since"] != 1.0 || len(part["events"].([]any)) != 0 {
		t.Errorf("nothing new: %v", part)
	}
	waited := make(chan document, 1)
	go func() {
		part, _ := m.use("watch_match", document{"match_id": match, "since": 1})
		waited <- part
	}()
	p.call(p.admin, http.MethodPost, "/v1/matches/"+match+"/cancel", nil, nil)
	if part := <-waited; part["over"] != true {
		t.Errorf("after the end: %v", part)
	}
	must(t, m.session.Close())
	if errs.Len() > 0 {
		t.Errorf("it wrote to standard error: %s", errs.String())
	}
}

// bearer puts a token on each request, which it sends to the next of some arenas.
type bearer struct {
	token string
	at    []*process
	sent  *atomic.Int64
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	to, err := url.Parse(b.at[int(b.sent.Add(1))%len(b.at)].url)
	if err != nil {
		return nil, err
	}
	r.URL.Host, r.Host = to.Host, to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// remote returns a connection to /mcp, each request of which goes to the next node.
func remote(token string, at ...*process) mcp.Transport {
	client := &http.Client{Transport: bearer{token, at, new(atomic.Int64)}}
	return &mcp.StreamableClientTransport{Endpoint: at[0].url + "/mcp", HTTPClient: client, DisableStandaloneSSE: true}
}

// plays fetches and answers tasks until ctx ends.
func (m *model) plays(ctx context.Context, answer func(protocoltest.Request) string) {
	for ctx.Err() == nil {
		next, failed := m.useUntil(ctx, "next_task", document{"wait_seconds": 5})
		if ctx.Err() != nil || next["task"] == nil {
			if failed != "" && ctx.Err() == nil {
				m.t.Error(failed)
				return
			}
			continue
		}
		var r protocoltest.Request
		text, _ := json.Marshal(next["task"]) //nolint:errchkjson // it was decoded from JSON
		if err := json.Unmarshal(text, &r.Task); err != nil {
			m.t.Error(err)
		}
		m.useUntil(ctx, "report", document{"task_id": next["task_id"], "type": "thinking", "message": "well"})
		if out, failed := m.useUntil(ctx, "answer", document{"task_id": next["task_id"], "answer": answer(r), "confidence": 0.9}); ctx.Err() == nil && out["outcome"] != "answered" {
			m.t.Errorf("answer: %v %s", out, failed)
		}
	}
}

// useUntil calls a tool until ctx ends and returns its structured result.
func (m *model) useUntil(ctx context.Context, tool string, args document) (result document, failed string) {
	res, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	switch {
	case err != nil:
		return nil, err.Error()
	case res.IsError:
		return nil, fmt.Sprint(res.Content[0])
	}
	result, _ = res.StructuredContent.(document)
	return result, ""
}

// duel lets two agents without endpoints join a league and play a match, and returns
// its events by type.
func duel(t *testing.T, p *process, connections ...func(key string) mcp.Transport) (ids []string, types map[string]int) {
	t.Helper()
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "time_limit_seconds": 30, "visibility": "live"})
	ctx, stop := context.WithCancel(t.Context())
	var playing sync.WaitGroup
	defer playing.Wait()
	defer stop()
	for i, connection := range connections {
		a := p.puller([]string{"Ann", "Bob"}[i])
		m := connect(t, connection(a.key))
		if out := m.must("join_league", document{"league": "trivia"}); out["agent_id"] != a.id {
			t.Errorf("joined: %v", out)
		}
		ids = append(ids, a.id)
		playing.Go(func() {
			m.plays(ctx, []func(protocoltest.Request) string{correct, func(protocoltest.Request) string { return "no idea" }}[i])
		})
	}
	for _, id := range ids {
		p.active(p.admin, id)
	}
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "trivia", "agents": ids}, &m)
	types = map[string]int{}
	p.watch(m.ID, 0).until(func(e event) bool {
		types[e.Type]++
		return e.Type == "match_finished"
	})
	return ids, types
}

// Two language models play a match, one connected to the arena and one through the
// program, and read what came of it.
func TestE2E_MCP_plays(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	var key string
	ids, types := duel(t, p, func(k string) mcp.Transport {
		key = k
		return remote(k, p)
	}, func(k string) mcp.Transport { return host(t, p.url, k, t.Output()) })
	if types["thinking"] == 0 || types["round_closed"] == 0 {
		t.Errorf("events: %v", types)
	}
	m := connect(t, remote(key, p))
	if last := m.must("watch_match", document{"wait_seconds": 0}); last["match"].(document)["status"] != "finished" {
		t.Errorf("the latest match: %v", last["match"])
	}
	if s := first(m.must("standings", document{"league": "trivia", "limit": 1})); str(s, "agent_id") != ids[0] {
		t.Errorf("standings: %v", s)
	}
	got, err := m.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "arena://deliveries"})
	must(t, err)
	if !strings.Contains(got.Contents[0].Text, `"outcome":"answered"`) {
		t.Errorf("deliveries: %s", got.Contents[0].Text)
	}
	if got, err = m.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "arena://rules"}); err != nil || !strings.Contains(got.Contents[0].Text, p.url) {
		t.Errorf("rules: %v %v", got, err)
	}
	for name, token := range map[string]string{"a wrong key": "arg_wrong", "a task token": "a.b.c"} {
		_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), remote(token, p), nil)
		if err == nil || !strings.Contains(err.Error(), "Unauthorized") {
			t.Errorf("%s: %v", name, err)
		}
	}
	code, _, stderr := call(t, "mcp", "--url", p.url, "--token", "arg_wrong")
	if code == 0 || !strings.Contains(stderr, p.url+"/mcp") || !strings.Contains(stderr, "Unauthorized") {
		t.Errorf("arena mcp with a wrong key: %d %s", code, stderr)
	}
}

func first(list document) document {
	items, _ := list["items"].([]any)
	if len(items) == 0 {
		return nil
	}
	d, _ := items[0].(document)
	return d
}
