package agora_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agora"
)

const task = `{"version":"1.0","league":"trivia","match_id":"m_1","round":1,"total_rounds":3,"task":{"description":"2+2?","input_format":"string","output_format":"string"},` +
	`"time_limit_seconds":30,"max_tokens":null,"rules":[],"opponent_count":1,"task_id":"tk_1","attempt":1}`

// handler answers by what the question asks for.
func handler(_ context.Context, t *arenaagent.Task, e *arenaagent.Events) (arenaagent.Answer, error) {
	e.Thinking("hm")
	e.ToolCall("calculator", nil)
	switch t.Round {
	case 2:
		return arenaagent.Answer{}, fmt.Errorf("tired: %w", arenaagent.ErrRateLimited)
	case 3:
		return arenaagent.Answer{}, arenaagent.ErrUnavailable
	case 4:
		panic("broken")
	case 5:
		return arenaagent.Answer{}, context.DeadlineExceeded
	}
	return arenaagent.Answer{Value: "4", Confidence: 1}, nil
}

func round(n int) string { return strings.Replace(task, `"round":1`, fmt.Sprintf(`"round":%d`, n), 1) }

func message(hash, body string, more ...string) string {
	text, _ := json.Marshal(body)
	return fmt.Sprintf(`{"protocolHash":%q,"protocolSources":[],"body":%s%s}`, hash, text, strings.Join(more, ""))
}

type reply struct {
	HTTP    int
	Status  string
	Body    string
	Error   string
	ID      string `json:"conversationId"`
	Expires int64  `json:"conversationExpires"`
}

func ask(t *testing.T, h http.Handler, method, path, body string) (r reply) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%s %s: %s", method, path, w.Body)
	}
	r.HTTP = w.Code
	return r
}

func TestAgent(t *testing.T) {
	t.Parallel()
	a, err := agora.New(agora.Config{Capabilities: []string{"trivia"}, MaxConcurrent: 2}, handler)
	if err != nil {
		t.Fatal(err)
	}
	first := ask(t, a, "POST", "/secret", message(agora.RoundHash, task, `,"multiround":true`))
	if first.Status != "success" || !strings.Contains(first.Body, `"answer":"4"`) || !strings.Contains(first.Body, `"tools_used":["calculator"]`) || first.ID == "" || first.Expires == 0 {
		t.Fatalf("%+v", first)
	}
	at := "/secret/conversations/" + first.ID
	for n, want := range map[int]string{1: `"answer":"4"`, 2: "RATE_LIMITED", 3: "UNAVAILABLE", 4: "INTERNAL_ERROR", 5: "TIMEOUT"} {
		text, _ := json.Marshal(round(n))
		if r := ask(t, a, "POST", at, `{"status":"success","body":`+string(text)+`}`); r.Status != "success" || !strings.Contains(r.Body, want) || r.ID != first.ID {
			t.Errorf("round %d: %+v", n, r)
		}
	}
	for _, c := range []struct {
		body string
		http int
		want string
	}{
		{message(agora.JudgeHash, task), 200, ""},
		{message(agora.HealthHash, "{}"), 200, ""},
		{`{"protocolHash":"` + strings.ToUpper(agora.RoundHash) + `","body":` + task + `}`, 200, ""},
		{message(agora.RoundHash, "not a task"), 200, ""}, // reported in the body
		{message("0000000000000000000000000000000000000001", task), 200, "Unsupported protocol"},
		{`{"protocolHash":null,"body":"hello"}`, 200, "Unsupported protocol"},
		{`{"protocolHash":null}`, 200, "Missing field 'body'"},
		{`nope`, 400, "not JSON"},
	} {
		if r := ask(t, a, "POST", "/secret", c.body); r.HTTP != c.http || !strings.Contains(r.Error, c.want) || (r.Status == "success") != (c.want == "") {
			t.Errorf("%s: %+v", c.body, r)
		}
	}
	if r := ask(t, a, "POST", "/secret", message(agora.HealthHash, "{}")); r.Body != `{"capabilities":["trivia"],"max_concurrent":2,"status":"ok"}` {
		t.Errorf("%+v", r)
	}
	if r := ask(t, a, "DELETE", at, ""); r.HTTP != 200 || r.Status != "success" {
		t.Errorf("%+v", r)
	}
	if r := ask(t, a, "POST", at, message(agora.RoundHash, task)); r.HTTP != 404 {
		t.Errorf("%+v", r)
	}
	if r := ask(t, a, "GET", "/secret/wellknown", ""); r.HTTP != 404 {
		t.Errorf("%+v", r)
	}
}

func TestAgent_full(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		a, err := agora.New(agora.Config{MaxConcurrent: 1}, func(context.Context, *arenaagent.Task, *arenaagent.Events) (arenaagent.Answer, error) {
			<-release
			return arenaagent.Answer{Value: "x"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if r := ask(t, a, "POST", "/", message(agora.RoundHash, task)); !strings.Contains(r.Body, `"answer":"x"`) {
				t.Errorf("%+v", r)
			}
		})
		synctest.Wait()
		if r := ask(t, a, "POST", "/", message(agora.RoundHash, task)); r.Body != `{"error":"UNAVAILABLE"}` {
			t.Errorf("%+v", r)
		}
		close(release)
		wg.Wait()
	})
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	for _, c := range []agora.Config{{MaxConcurrent: -1}, {Base: "arena.example"}} {
		if _, err := agora.New(c, handler); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	if _, err := agora.New(agora.Config{}, nil); err == nil {
		t.Error("no handler was taken")
	}
	if err := agora.Poll(t.Context(), agora.Config{}, handler); err == nil {
		t.Error("Poll without a base")
	}
}

// desk is the arena's side for an agent that polls.
type desk struct {
	*httptest.Server
	mu      sync.Mutex
	tasks   []string // still to be given
	opened  int
	answers chan string
	events  []string
}

func newDesk(t *testing.T, tasks ...string) *desk {
	t.Helper()
	d := &desk{tasks: tasks, answers: make(chan string, 16)}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var m struct {
			Hash       *string `json:"protocolHash"`
			Body       string
			Multiround bool
		}
		_ = json.Unmarshal(data, &m)
		var op struct {
			Op     string
			After  int
			Reply  json.RawMessage
			Events []json.RawMessage
			Name   string
		}
		_ = json.Unmarshal([]byte(m.Body), &op)
		id, follows := strings.CutPrefix(r.URL.Path, "/agora/x/secret/conversations/")
		d.mu.Lock()
		defer d.mu.Unlock()
		reply := map[string]any{"status": "success"}
		switch {
		case r.URL.Path == "/agora" && *m.Hash == agora.RegistrationHash && op.Name == "taken":
			reply["body"] = `{"error":"the name is taken"}`
		case r.URL.Path == "/agora" && *m.Hash == agora.RegistrationHash:
			reply["body"] = `{"agent_id":"ag_1","base":"` + d.URL + `/agora/x/secret","owner_token":"aro_1"}`
		case follows && id != fmt.Sprint(d.opened):
			reply = map[string]any{"status": "failure", "error": "Conversation expired"}
		case !follows && r.URL.Path != "/agora/x/secret":
			w.WriteHeader(http.StatusNotFound)
		case !follows && *m.Hash != agora.AgentHash:
			reply = map[string]any{"status": "failure", "error": "Unsupported protocol"}
		case op.Op == "next" && len(d.tasks) > 0:
			reply["body"] = fmt.Sprintf(`{"task":%d,"time_left_ms":30000,"request":%s}`, 7+op.After, d.tasks[0])
			d.tasks = d.tasks[1:]
		case op.Op == "next":
			reply["body"] = `{"task":null}`
		case op.Op == "answer":
			d.answers <- string(op.Reply)
			reply["body"] = `{"accepted":true}`
		case op.Op == "event":
			for _, e := range op.Events {
				d.events = append(d.events, string(e))
			}
			reply["body"] = fmt.Sprintf(`{"accepted":%d}`, len(op.Events))
		}
		if m.Multiround {
			d.opened++
			reply["conversationId"] = fmt.Sprint(d.opened)
		}
		data, _ = json.Marshal(reply)
		_, _ = w.Write(data)
	}))
	t.Cleanup(d.Close)
	return d
}

// A polling agent answers what it is given, opens a new conversation when the
// old one is over, and shows its events before the answer.
func TestPoll(t *testing.T) {
	t.Parallel()
	d := newDesk(t, round(1), round(2), round(3), round(4), round(1))
	r, err := agora.Register(t.Context(), d.URL, agora.Registration{Name: "Ann"})
	if err != nil || r.AgentID != "ag_1" || r.OwnerToken != "aro_1" {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := agora.Register(t.Context(), d.URL, agora.Registration{Name: "taken"}); err == nil || !strings.Contains(err.Error(), "the name is taken") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agora.Poll(ctx, agora.Config{Base: r.Base + "/", MaxConcurrent: 1}, handler) }()
	var answers []string
	for range 5 {
		answers = append(answers, <-d.answers)
		d.mu.Lock()
		if len(answers) == 2 {
			d.opened += 10 // every conversation is over
		}
		d.mu.Unlock()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for i, want := range []string{`"answer":"4"`, "RATE_LIMITED", "UNAVAILABLE", "INTERNAL_ERROR", `"answer":"4"`} {
		if !strings.Contains(answers[i], want) {
			t.Errorf("answer %d: %s", i, answers[i])
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	thought := 0
	for _, e := range d.events {
		if e == `{"type":"thinking","message":"hm"}` {
			thought++
		}
	}
	if thought != 5 || d.opened < 12 {
		t.Errorf("%d thoughts in %q, %d conversations", thought, d.events, d.opened)
	}
}

func TestPoll_unknown_base(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := agora.Poll(t.Context(), agora.Config{Base: d.URL + "/agora/x/wrong"}, handler); err == nil || !strings.Contains(err.Error(), "request a new one") {
		t.Errorf("%v", err)
	}
}

// When the agent stops, what it works on is canceled and reported.
func TestPoll_stops(t *testing.T) {
	t.Parallel()
	d := newDesk(t, task)
	ctx, cancel := context.WithCancel(t.Context())
	err := agora.Poll(ctx, agora.Config{Base: d.URL + "/agora/x/secret"}, func(ctx context.Context, _ *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		cancel()
		<-ctx.Done()
		return arenaagent.Answer{}, errors.New("stopped")
	})
	if answer := <-d.answers; err != nil || answer != `{"error":"UNAVAILABLE"}` {
		t.Errorf("%s, %v", answer, err)
	}
}
