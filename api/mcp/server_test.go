package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// The outcome table holds for agents that play over MCP.
func TestServer_outcomes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	protocoltest.RunOutcomeTable(t, func(t *testing.T, does protocoltest.Does, limit time.Duration) arena.Reply {
		t.Helper()
		id := "ag_" + strings.ReplaceAll(string(does), " ", "_")
		c := w.client(t, id)
		polled := make(chan map[string]any, 1)
		go func() { // before the task, whose time limit may be short
			next, _ := c.use("next_task", nil)
			polled <- next
		}()
		reply := w.put(t, id, limit)
		next := <-polled
		task, _ := next["task"].(map[string]any)
		if next["task_id"] != "tk_1" || task["version"] != "1.0" || next["attempt"] != 1.0 {
			t.Fatalf("%v", next)
		}
		given := map[protocoltest.Does]object{
			protocoltest.Answers: {"answer": "Canberra"}, protocoltest.SaysLate: {"status": 408}, protocoltest.RateLimits: {"status": 429, "retry_after": 60},
			protocoltest.Fails: {"status": 500}, protocoltest.Leaves: {"status": 503}, protocoltest.Garbles: {"answers": "Canberra"},
		}[does]
		if given != nil {
			given["task_id"] = next["task_id"]
			_, failed := c.use("answer", given)
			if garbled := strings.Contains(failed, "counts as invalid"); garbled != (does == protocoltest.Garbles) || failed != "" && !garbled {
				t.Errorf("the answer got %q", failed)
			}
		}
		return <-reply
	})
}

// Each token gets the tools that it may use. Threats A1 and G8.
func TestServer_tools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	public := []string{"audit", "compare", "list_leagues", "losses", "standings", "topics", "watch_match"}
	for token, more := range map[string][]string{
		"":      nil,
		"ag_1":  {"answer", "deliveries", "join_league", "next_task", "report"},
		"owner": {"check_agent", "deliveries", "join_league", "my_agents", "register_agent", "rehearse_agent"},
		"admin": {"check_agent", "rehearse_agent"},
	} {
		c := w.client(t, token)
		list, err := c.session.ListTools(t.Context(), nil)
		must(t, err)
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.OutputSchema == nil || tool.Description == "" {
				t.Errorf("%s has no schema of its result or no description", tool.Name)
			}
		}
		if want := slices.Sorted(slices.Values(slices.Concat(public, more))); !slices.Equal(names, want) {
			t.Errorf("%q has the tools %v, want %v", token, names, want)
		}
		if token != "ag_1" {
			if _, failed := c.use("next_task", nil); !strings.Contains(failed, "unknown tool") {
				t.Errorf("%q called next_task: %s", token, failed)
			}
		}
		resources, err := c.session.ListResources(t.Context(), nil)
		must(t, err)
		if want := map[bool]int{true: 2, false: 1}[token == "ag_1"]; len(resources.Resources) != want {
			t.Errorf("%q has %d resources, want %d", token, len(resources.Resources), want)
		}
	}
}

// Bad arguments are refused with the field and its limit, and errors of the arena
// with their code, but no fault of its own. Threats R5 and G8.
func TestServer_arguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ops.err = fmt.Errorf("secret of the database")
	c, everyone := w.client(t, "ag_1"), w.client(t, "")
	for _, tc := range []struct {
		client client
		tool   string
		args   any
		says   string
	}{
		{c, "next_task", object{"wait_seconds": 31}, "wait_seconds: must be between 0 and 30"},
		{c, "next_task", object{"wait_seconds": "soon"}, "wait_seconds"},
		{c, "next_task", object{"wait": 1}, "wait"},
		{c, "answer", object{"answer": "x"}, "task_id: is required"},
		{c, "answer", object{"task_id": 7, "answer": "x"}, "task_id: must be text"},
		{c, "answer", object{"task_id": strings.Repeat("x", 65), "answer": "x"}, "task_id: must have at most 64 characters"},
		{c, "answer", object{"task_id": "tk_none", "answer": "x"}, "task_not_found"},
		{c, "report", object{"task_id": "tk_none", "type": "thinking", "message": "x"}, "task_not_found"},
		{c, "join_league", object{}, "league: is required"},
		{c, "join_league", object{"league": "quiz", "password": strings.Repeat("x", 129)}, "password: must have at most 128"},
		{c, "join_league", object{"league": "quiz", "agent_id": "ag_2", "password": "sesame"}, "forbidden"},
		{c, "deliveries", object{"agent_id": "ag_2"}, "not_found"},
		{c, "deliveries", object{"limit": 0}, "limit: must be between 1 and 100"},
		{c, "deliveries", object{"outcome": "won"}, "outcome: must be one of"},
		{c, "losses", object{"limit": 101}, "limit: must be between 1 and 100"},
		{everyone, "losses", object{}, "agent_id: is required"},
		{everyone, "topics", object{"agent_id": "ag_1", "league": strings.Repeat("x", 65)}, "league: must have at most 64"},
		{everyone, "compare", object{"league": "quiz", "a": "ag_1"}, "b: is required"},
		{c, "watch_match", object{"since": -1}, "since: must be at least 0"},
		{c, "watch_match", object{"match_id": "m_none"}, "not_found: there is no match m_none"},
		{everyone, "watch_match", object{}, "match_id: is required"},
		{everyone, "standings", object{"league": strings.Repeat("x", 65)}, "league: must have at most 64"},
		{everyone, "list_leagues", nil, "internal: something went wrong on the arena's side"},
		{w.client(t, "owner"), "rehearse_agent", object{"agent_id": "ag_1", "league": "quiz", "faults": []string{"trickle", "trickle"}}, "faults: must be different ones"},
		{w.client(t, "owner"), "deliveries", object{}, "agent_id: is required"},
	} {
		if _, failed := tc.client.use(tc.tool, tc.args); !strings.Contains(failed, tc.says) || strings.Contains(failed, "secret") {
			t.Errorf("%s %v: %q, want %q in it", tc.tool, tc.args, failed, tc.says)
		}
	}
	if out := c.must("join_league", object{"league": "quiz", "password": "sesame"}); out["agent_id"] != "ag_1" {
		t.Errorf("joined: %v", out)
	}
	if out := c.must("losses", object{"topic": "maths"}); !reflect.DeepEqual(out["items"], []any{"ag_1", "", "maths", "", 20.0}) {
		t.Errorf("losses: %v", out)
	}
	if out := everyone.must("topics", object{"agent_id": "ag_2", "league": "quiz"}); !reflect.DeepEqual(out["items"], []any{"ag_2", "quiz", ""}) {
		t.Errorf("topics: %v", out)
	}
	if out := everyone.must("audit", object{"league": "quiz"}); !reflect.DeepEqual(out["items"], []any{"quiz"}) {
		t.Errorf("audit: %v", out)
	}
	if out := everyone.must("compare", object{"league": "quiz", "a": "ag_1", "b": "ag_2"}); !reflect.DeepEqual(out["items"], []any{"quiz", "ag_1", "ag_2"}) {
		t.Errorf("compare: %v", out)
	}
	if out := everyone.must("standings", object{"league": "quiz"}); out["limit"] != 100.0 {
		t.Errorf("standings: %v", out)
	}
}

// Whole numbers arrive whole, reports reach the stream, and the first answer counts.
func TestServer_tasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client(t, "ag_1")
	if out := c.must("next_task", object{"wait_seconds": 0}); out["task"] != nil || out["message"] == "" {
		t.Errorf("%v", out)
	}
	reply := w.put(t, "ag_1", time.Minute)
	if out := c.must("next_task", nil); out["attempt"] != 1.0 {
		t.Fatalf("%v", out)
	}
	if _, failed := c.use("report", object{"task_id": "tk_1", "type": "thinking"}); !strings.Contains(failed, "event_refused: message is missing") {
		t.Errorf("report: %q", failed)
	}
	c.must("report", object{"task_id": "tk_1", "type": "thinking", "message": "hm"})
	const number = "12345678901234567890"
	answer := object{"task_id": "tk_1", "answer": json.RawMessage(number), "confidence": 0.5}
	c.must("answer", answer)
	if r := <-reply; r.Answer == nil || r.Answer.Answer != number {
		t.Errorf("%+v", r.Answer)
	}
	c.must("answer", answer)
	if _, failed := c.use("answer", object{"task_id": "tk_1", "answer": "another"}); !strings.HasPrefix(failed, "answer_repeated") {
		t.Errorf("another answer: %q", failed)
	}
}

// A call ends when its client goes away, whatever version of the protocol it uses.
// Threat G8.
func TestServer_client_gone(t *testing.T) {
	t.Parallel()
	for version, meta := range map[string]string{
		"2025-03-26": "", "2025-11-25": "",
		"2026-07-28": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"next_task"`+meta+`}}`))
			must(t, err)
			for name, value := range map[string]string{
				"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer ag_1",
				"Mcp-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "next_task",
			} {
				r.Header.Set(name, value)
			}
			answered := make(chan string, 1)
			go func() {
				resp, err := http.DefaultClient.Do(r)
				if err == nil {
					defer resp.Body.Close() //nolint:errcheck // only read from
					body, _ := io.ReadAll(resp.Body)
					answered <- string(body)
				}
			}()
			select {
			case <-w.awake:
			case body := <-answered:
				t.Fatal(body)
			}
			cancel()
			if err := <-w.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the call waited to its end: %v", err)
			}
		})
	}
}

// A call that watches ends with the first event, when the match is over, or when the
// node shuts down; an address has so many at once. Threat G8.
func TestServer_watch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client(t, "ag_1")
	w.ops.happens(false)
	if out := c.must("watch_match", nil); len(out["events"].([]any)) != 1 || out["next_since"] != 1.0 || out["over"] != false {
		t.Errorf("%v", out)
	}
	if out := c.must("watch_match", object{"since": 1, "wait_seconds": 0}); len(out["events"].([]any)) != 0 || out["next_since"] != 1.0 {
		t.Errorf("%v", out)
	}
	watch := func(since int) <-chan object {
		for len(w.ops.looked) > 0 {
			<-w.ops.looked
		}
		got := make(chan object, 1)
		go func() {
			out, _ := c.use("watch_match", object{"match_id": "m_1", "since": since})
			got <- out
		}()
		<-w.ops.looked
		return got
	}
	got := watch(1)
	if _, failed := c.use("watch_match", nil); !strings.HasPrefix(failed, "rate_limited") {
		t.Errorf("a second one: %q", failed)
	}
	w.ops.happens(false)
	if out := <-got; len(out["events"].([]any)) != 1 || out["over"] != false {
		t.Errorf("%v", out)
	}
	got = watch(2)
	w.server.Close()
	if out := <-got; out["over"] != false {
		t.Errorf("%v", out)
	}
	w.ops.happens(true)
	if out := c.must("watch_match", object{"since": 2}); out["over"] != true || out["match"].(object)["match_id"] != "m_1" {
		t.Errorf("%v", out)
	}
}

func TestServer_resources(t *testing.T) {
	t.Parallel()
	c := newWorld(t).client(t, "ag_1")
	for uri, want := range map[string]string{"arena://rules": "# Rules", "arena://deliveries": `{"items":["ag_1",20]}`} {
		r, err := c.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		must(t, err)
		if r.Contents[0].Text != want || r.Contents[0].URI != uri {
			t.Errorf("%s: %+v", uri, r.Contents[0])
		}
	}
}

// A page of another origin, what is no strict JSON, and a batch that the agreed version
// does not have are refused before the library sees them. Threat G8.
func TestServer_Serve_refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, tc := range []struct {
		name, origin, version, body string
		want                        int
	}{
		{"no origin", "", "", list, 200},
		{"the arena's own origin", "https://arena.example", "", list, 200},
		{"another origin", "https://evil.example", "", list, 400},
		{"no origin that may be named", "null", "", list, 400},
		{"a batch", "", "", "[" + list + "]", 200},
		{"a batch of 2025-06-18", "", "2025-06-18", "[" + list + "]", 400},
		{"an empty batch", "", "", "[]", 400},
		{"a long batch", "", "", "[" + strings.Repeat(list+",", 10) + list + "]", 400},
		{"a batch in a batch", "", "", "[[" + list + "]]", 400},
		{"a member twice in a batch", "", "", `[{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}]`, 400},
		{"a member twice", "", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}`, 400},
		{"too deep", "", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, 400},
		{"no JSON", "", "", "{", 400},
		{"nothing", "", "", "", 400},
	} {
		if status, body := w.post(t, tc.body, "Origin", tc.origin, "Mcp-Protocol-Version", tc.version); status != tc.want {
			t.Errorf("%s: %d %s", tc.name, status, body)
		}
	}
}

// An unknown method is an error of JSON-RPC, in a batch too, whose other messages are
// answered. A batch of notifications has no answer. Threat G8.
func TestServer_Serve_messages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const unknown = `{"jsonrpc":"2.0","id":"a","method":"tools/none"}`
	const failed = `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"there is no method \"tools/none\""}}`
	const noted = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, tc := range []struct {
		name, version, body string
		status              int
		want                string
	}{
		{"unknown", "", unknown, 200, failed},
		{"unknown in 2024-11-05", "2024-11-05", unknown, 200, failed},
		{"unknown in 2025-11-25", "2025-11-25", unknown, 200, failed},
		{"an unknown notification", "", `{"jsonrpc":"2.0","method":"notifications/none"}`, 202, ""},
		{"batch", "2025-03-26", " [" + unknown + "," + noted + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`, 200, "[" + failed + `,{"jsonrpc":"2.0","id":2,"result":{}}]`},
		{"batch of 2024-11-05", "2024-11-05", `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, 200, `[{"jsonrpc":"2.0","id":2,"result":{}}]`},
		{"batch of notifications", "", "[" + noted + "," + noted + "]", 202, ""},
		{"a message that is no call", "", `[{"jsonrpc":"2.0","id":3,"method":"tools/call"}]`, 200, `[{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"invalid request: missing required \"params\""}}]`},
	} {
		status, body := w.post(t, tc.body, "Mcp-Protocol-Version", tc.version)
		if status != tc.status || strings.TrimSpace(body) != tc.want {
			t.Errorf("%s: %d %s", tc.name, status, body)
		}
	}
	if status, body := w.post(t, `{"jsonrpc":"2.0","id":"a","method":"tools/none"}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/none"); status != 404 || !strings.Contains(body, "-32601") {
		t.Errorf("2026-07-28: %d %s", status, body)
	}
}

// A model that follows the schema always sends an answer, null where a status stands
// for it.
func TestServer_answer_required(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client(t, "ag_1")
	list, err := c.session.ListTools(t.Context(), nil)
	must(t, err)
	i := slices.IndexFunc(list.Tools, func(tool *sdk.Tool) bool { return tool.Name == "answer" })
	if required := fmt.Sprint(list.Tools[i].InputSchema.(map[string]any)["required"]); required != "[task_id answer]" {
		t.Errorf("required: %s", required)
	}
	reply := w.put(t, "ag_1", time.Minute)
	c.must("next_task", nil)
	c.must("answer", object{"task_id": "tk_1", "answer": nil, "status": 503})
	if r := <-reply; r.Outcome != arena.OutcomeUnavailable {
		t.Errorf("%+v", r)
	}
}
