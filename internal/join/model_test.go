package join

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// streamed serves a completion as server-sent events.
func streamed(chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range chunks {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", c)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

func content(text string) string {
	data, _ := json.Marshal(text)
	return `{"choices":[{"index":0,"delta":{"content":` + string(data) + `}}]}`
}

const usage = `{"choices":[],"usage":{"prompt_tokens":90,"completion_tokens":12,"total_tokens":102}}`

func modelAt(t *testing.T, h http.HandlerFunc) *Model {
	t.Helper()
	m, err := NewModel("acme/small-1", serveHTTP(t, h)+"/v1/", "sk-own", "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModel_answers(t *testing.T) {
	t.Parallel()
	task := &arenaagent.Task{Description: "Capital of Australia?", Options: []string{"Sydney", "Canberra"}}
	number := &arenaagent.Task{Description: "6 * 7?", OutputFormat: "number"}
	object := &arenaagent.Task{Description: "A point?", OutputFormat: "json"}
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		task  *arenaagent.Task
		want  arenaagent.Answer
		raw   string
	}{
		"streamed": {serve: streamed(content("Not Sydney."), content("\nANS"), content("WER: B"), usage), task: task, want: arenaagent.Answer{Value: "Canberra", Tokens: 12}},
		"number":   {serve: streamed(content("It is **42**.")), task: number, want: arenaagent.Answer{Value: "42"}},
		"json":     {serve: streamed(content("```json\n{\"x\": 1}\n```"), usage), task: object, raw: `{"answer":{"x":1},"tokens":12}`},
		"reasoning in the text": {
			serve: streamed(content("<think>ANSWER: Sydney</think>Canberra")), task: task, want: arenaagent.Answer{Value: "Canberra"},
		},
		"whole": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"Canberra"}}],"usage":{"total_tokens":7}}`)
		}, task: task, want: arenaagent.Answer{Value: "Canberra", Tokens: 7}},
		"no DONE": {serve: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, ": a comment\n\ndata:"+content("Canberra")+"\n")
		}, task: task, want: arenaagent.Answer{Value: "Canberra"}},
	} {
		got, err := answered(t, modelAt(t, test.serve), test.task, plenty)
		if err != nil || got.Value != test.want.Value || got.Tokens != test.want.Tokens || string(got.Raw) != test.raw {
			t.Errorf("%s: %+v %s, %v", name, got, got.Raw, err)
		}
	}
}

func TestModel_request(t *testing.T) {
	t.Parallel()
	var request chatRequest
	m := modelAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-own" {
			t.Errorf("%s with %v", r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		streamed(content("42"))(w, r)
	})
	m.prompt = "Be brief."
	task := &arenaagent.Task{Description: "6 * 7?"}
	if _, err := answered(t, m, task, plenty); err != nil {
		t.Fatal(err)
	}
	if request.Model != "acme/small-1" || !request.Stream || !request.Options.IncludeUsage || len(request.Messages) != 2 ||
		request.Messages[0] != (chatMessage{"system", "Be brief."}) || request.Messages[1].Role != "user" || !strings.Contains(request.Messages[1].Content, ">\n"+textOf(task)+"</task-") {
		t.Errorf("request is %+v", request)
	}
	if m.Name() != "small-1" {
		t.Errorf("name is %q", m.Name())
	}
}

// Threat M3.
func TestModel_fails(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		is    error
		want  string
	}{
		"key refused":  {serve: status(401, `{"error":{"message":"Incorrect API key provided: sk-own"}}`), want: "401 Unauthorized: Incorrect API key provided: …"},
		"rate limited": {serve: status(429, ``), is: arenaagent.ErrRateLimited, want: "429"},
		"overloaded":   {serve: status(503, `busy`), want: "503"},
		"empty":        {serve: streamed(), is: errNoAnswer, want: "acme/small-1"},
		"only a tool":  {serve: streamed(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{}"}}]}}]}`), want: "called a tool"},
		"broken":       {serve: streamed(`{"choices":`), want: "read the completion"},
		"error inside": {serve: streamed(content("Can"), `{"error":{"message":"out of memory"}}`), want: "out of memory"},
		"a flood":      {serve: streamed(content(strings.Repeat("x", 1<<19)), content(strings.Repeat("x", 1<<19)), content("x")), want: "more than"},
		"a long line":  {serve: streamed(content(strings.Repeat("x", 1<<20))), want: "read the completion"},
	} {
		_, err := answered(t, modelAt(t, test.serve), &arenaagent.Task{}, plenty)
		if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "sk-own") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for base, key := range map[string]string{"": "", "api.example/v1": "k"} {
		if _, err := NewModel("m", base, key, ""); err == nil {
			t.Errorf("%q with key %q is accepted", base, key)
		}
	}
}

// A refusal that passes within the time limit costs no round.
func TestModel_retries(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	m := modelAt(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		streamed(content("Canberra"))(w, r)
	})
	if got, err := answered(t, m, &arenaagent.Task{}, plenty); err != nil || got.Value != "Canberra" || calls.Load() != 2 {
		t.Errorf("%+v, %v after %d calls", got, err, calls.Load())
	}
	release := make(chan struct{})
	hanging := modelAt(t, func(http.ResponseWriter, *http.Request) { <-release })
	if _, err := answered(t, hanging, &arenaagent.Task{}, 50*time.Millisecond); err == nil {
		t.Error("a model that hangs answered")
	}
	close(release)
}
