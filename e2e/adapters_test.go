package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// serveModel starts an OpenAI-compatible model without arithmetic: it
// calls the tool calculate if the request offers one, and answers with its
// result. Without tools it reads the product off the question.
func serveModel(t *testing.T) (baseURL string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var chat chatRequest
		err := json.NewDecoder(r.Body).Decode(&chat)
		reply, refusal := chat.reply()
		if err != nil || refusal != "" || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-own" {
			t.Errorf("%s %s with %v, %v: %s", r.Method, r.URL, r.Header, err, refusal)
			http.Error(w, refusal, http.StatusBadRequest)
			return
		}
		if chat.Stream {
			writeChunks(w, reply)
			return
		}
		writeJSON(w, completion("message", reply.message(reply.arguments), reply.finish()))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// chatRequest is what the examples send to a model.
type chatRequest struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content any
	}
	Tools []struct {
		Function struct{ Name string }
	}
}

// chatReply is either the text of an answer or the arguments of a tool call.
type chatReply struct{ text, arguments string }

// product matches the questions of products.
var product = regexp.MustCompile(`^What is (\d+) times (\d+)\?`)

func (c chatRequest) reply() (reply chatReply, refusal string) {
	if c.Model != "small" || len(c.Messages) < 2 || c.Messages[0].Role != "system" {
		return chatReply{}, fmt.Sprintf("unexpected request %+v", c)
	}
	if last := c.Messages[len(c.Messages)-1]; last.Role == "tool" {
		return chatReply{text: fmt.Sprintf(" %v\n", last.Content)}, ""
	}
	question := product.FindStringSubmatch(fmt.Sprint(c.Messages[1].Content))
	switch {
	case question == nil || len(c.Messages) != 2 || c.Messages[1].Role != "user":
		return chatReply{}, fmt.Sprintf("no question in %+v", c)
	case len(c.Tools) == 0:
		return chatReply{text: multiply(question[1], question[2])}, ""
	case len(c.Tools) > 1 || c.Tools[0].Function.Name != "calculate":
		return chatReply{}, fmt.Sprintf("unexpected tools in %+v", c)
	}
	return chatReply{arguments: fmt.Sprintf(`{"operation":"multiply","a":%s,"b":%s}`, question[1], question[2])}, ""
}

func multiply(a, b string) string {
	var x, y int
	_, _ = fmt.Sscan(a+" "+b, &x, &y) // digits
	return fmt.Sprint(x * y)
}

// message returns the message of a reply with this part of the arguments.
func (r chatReply) message(arguments string) document {
	if r.arguments == "" {
		return document{"role": "assistant", "content": r.text}
	}
	call := document{"index": 0, "id": "call_1", "type": "function", "function": document{"name": "calculate", "arguments": arguments}}
	return document{"role": "assistant", "content": nil, "tool_calls": []any{call}}
}

func (r chatReply) finish() any {
	if r.arguments == "" {
		return "stop"
	}
	return "tool_calls"
}

// completion returns a completion, or a chunk of one if member is "delta".
func completion(member string, message document, finish any) document {
	object := "chat.completion"
	if member == "delta" {
		object += ".chunk"
	}
	return document{
		"id": "chatcmpl-1", "object": object, "created": 1, "model": "small",
		"choices": []any{document{"index": 0, member: message, "finish_reason": finish}},
		"usage":   document{"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16},
	}
}

// writeChunks streams a reply, with its arguments in two parts.
func writeChunks(w http.ResponseWriter, r chatReply) {
	half := len(r.arguments) / 2
	chunks := []document{completion("delta", r.message(r.arguments[:half]), nil)}
	if r.arguments != "" {
		rest := document{"index": 0, "function": document{"arguments": r.arguments[half:]}}
		chunks = append(chunks, completion("delta", document{"tool_calls": []any{rest}}, nil))
	}
	chunks = append(chunks, completion("delta", document{}, r.finish()))
	w.Header().Set("Content-Type", "text/event-stream")
	for i, c := range chunks {
		if i < len(chunks)-1 {
			delete(c, "usage") // only the last chunk has it
		}
		data, _ := json.Marshal(c) //nolint:errchkjson // texts and numbers
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// products uploads multiplications.
func (p *process) products() string {
	p.t.Helper()
	var lines bytes.Buffer
	for i := range 5 {
		fmt.Fprintf(&lines, `{"description":"What is %d times 23?","answer":"%d"}`+"\n", 17+i, (17+i)*23)
	}
	var made struct {
		ID string `json:"pack_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=products", lines.Bytes(), &made)
	return made.ID
}

// adapted is what the answers of an example declare.
type adapted struct {
	tools  []string
	tokens int64
}

// playsAdapter starts the agent in dir, which fetches its tasks from a new
// arena, and checks that it answers every round of a match right.
func playsAdapter(t *testing.T, p *process, name, dir string, declared adapted) {
	t.Helper()
	p.league("trivia", p.products(), map[string]any{
		"format": "ladder", "min_seats": 2, "max_seats": 2, "time_limit_seconds": 30, "visibility": "live",
	})
	a := p.puller(name, "trivia")
	connectAgent(t, name, []string{"node", filepath.Join(dir, "agent.mjs")},
		"ARENA_URL="+p.url, "AGENT_KEY="+a.key, "OPENAI_BASE_URL="+serveModel(t), "OPENAI_API_KEY=sk-own", "MODEL=small")
	p.active(a.owner, a.id)
	rival := p.contestant("rival", answers("no idea"), "trivia")
	s := p.watch(p.schedule("trivia", &contestant{id: a.id, owner: a.owner}, rival), 0)
	var result finished
	s.end(&result)
	for _, seat := range result.Seats {
		if want := map[string]float64{a.id: 3}[seat.AgentID]; seat.Points != want {
			t.Errorf("%s: %+v", name, seat)
		}
	}
	rounds := 0
	for _, e := range s.seen {
		if e.Type != "seat_outcome" || e.AgentID != a.id {
			continue
		}
		rounds++
		var m struct {
			ToolsUsed []string `json:"tools_used"`
			Tokens    int64
		}
		must(t, json.Unmarshal(e.Raw, &m))
		if !slices.Equal(m.ToolsUsed, declared.tools) || m.Tokens != declared.tokens {
			t.Errorf("%s: the answer is %s", name, e.Raw)
		}
	}
	if rounds != 3 {
		t.Errorf("%s: answered %d rounds", name, rounds)
	}
}

// The example that needs no package but the SDK calls a tool in each round.
func TestE2E_Adapters(t *testing.T) {
	t.Parallel()
	sdk := filepath.Join(root(t), "sdk/typescript")
	needed(t, []string{sdk + "/dist/connect.js", sdk + "/node_modules/jose"})
	dir := t.TempDir()
	example(t, "examples/openai-tools/agent.mjs", dir+"/agent.mjs")
	must(t, os.MkdirAll(dir+"/node_modules/@agora", 0o755))
	must(t, os.Symlink(sdk, dir+"/node_modules/@agora/arena-sdk"))
	playsAdapter(t, serve(t, t.TempDir()), "openai-tools", dir, adapted{tools: []string{"calculate"}, tokens: 14})
}

// Node.js can parse every example, also those that only make test-all runs.
func TestExamples_syntax(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	files, err := filepath.Glob(filepath.Join(root(t), "examples/*/*.mjs"))
	must(t, err)
	if len(files) < 2 {
		t.Fatalf("found %v", files)
	}
	for _, file := range files {
		if out, err := exec.CommandContext(t.Context(), node, "--check", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// runLine matches the line of an example that installs and starts it.
var runLine = regexp.MustCompile(`(?m)^// Run: (npm .+) && AGENT_KEY=… OPENAI_API_KEY=… node agent\.mjs$`)

// The examples on npm packages, installed in an empty folder by the line in
// their first comments.
func TestSlow_Adapters(t *testing.T) {
	t.Parallel()
	slow(t)
	for name, declared := range map[string]adapted{
		"ai-sdk":    {tools: []string{"calculate"}, tokens: 14},
		"langgraph": {tools: []string{"calculate"}, tokens: 14},
		"mcp":       {}, // the example declares neither
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := serve(t, t.TempDir()), t.TempDir()
			for _, file := range []string{"agent.mjs", "package.json", "package-lock.json"} {
				example(t, filepath.Join("examples", name, file), filepath.Join(dir, file))
			}
			install := runLine.FindStringSubmatch(docText(t, "examples/"+name+"/agent.mjs"))
			if install == nil {
				t.Fatalf("the comment of %s does not say how to run it", name)
			}
			shell(t, dir, nil, strings.ReplaceAll(install[1], "http://127.0.0.1:8080", p.url))
			playsAdapter(t, p, name, dir, declared)
		})
	}
}
