package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
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

// use calls a tool and gives its result; failed says that it was an error.
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
	want := "check_agent deliveries list_leagues my_agents register_agent rehearse_agent standings watch_match"
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

	// A refusal of the arena is a failed tool that says why.
	for tool, tc := range map[string]struct {
		args document
		says string
	}{
		"standings":      {document{"league": "no such"}, "404 not_found"},
		"check_agent":    {document{"agent_id": rival.id}, "you have no agent"},
		"register_agent": {document{"name": "x", "endpoint": "ftp://x", "leagues": []string{}}, "endpoint: an endpoint begins with http"},
		"watch_match":    {document{"match_id": "m_none"}, "404 not_found"},
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

func first(list document) document {
	items, _ := list["items"].([]any)
	if len(items) == 0 {
		return nil
	}
	d, _ := items[0].(document)
	return d
}
