package join

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// part is a part of a streamed text, and finish the end of one.
func part(text string) string {
	data, _ := json.Marshal(text)
	return `{"choices":[{"index":0,"delta":{"content":` + string(data) + `}}]}`
}

func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
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
		"streamed": {serve: streamed(part("Not Sydney."), part("\nANS"), part("WER: B"), usage), task: task, want: arenaagent.Answer{Value: "B", Tokens: 12}},
		"number":   {serve: streamed(part("It is **42**.")), task: number, want: arenaagent.Answer{Value: "It is **42**."}},
		"json":     {serve: streamed(part("```json\n{\"x\": 1}\n```"), usage), task: object, raw: `{"answer":{"x":1},"tokens":12}`},
		"reasoning in the text": {
			serve: streamed(part("<think>ANSWER: Sydney</think>Canberra")), task: task, want: arenaagent.Answer{Value: "Canberra"},
		},
		"whole": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"Canberra"}}],"usage":{"total_tokens":7}}`)
		}, task: task, want: arenaagent.Answer{Value: "Canberra", Tokens: 7}},
		"no DONE": {serve: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, ": a comment\n\ndata:"+part("Canberra")+"\ndata:"+finish("stop")+"\n")
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
		streamed(part("42"))(w, r)
	})
	m.prompt = "Be brief."
	task := &arenaagent.Task{Description: "6 * 7?"}
	if _, err := answered(t, m, task, plenty); err != nil {
		t.Fatal(err)
	}
	if request.Model != "acme/small-1" || !request.Stream || request.Options == nil || !request.Options.IncludeUsage || len(request.Messages) != 2 ||
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
		"key refused":   {serve: status(401, `{"error":{"message":"Incorrect API key provided: sk-own"}}`), want: "401 Unauthorized: Incorrect API key provided: … (check OPENAI_API_KEY)"},
		"rate limited":  {serve: status(429, ``), is: arenaagent.ErrRateLimited, want: "429"},
		"overloaded":    {serve: status(503, `busy`), want: "503"},
		"empty":         {serve: streamed(), is: errNoAnswer, want: "acme/small-1"},
		"only a tool":   {serve: streamed(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{}"}}]}}]}`), want: "called a tool"},
		"broken":        {serve: streamed(`{"choices":`), is: errCutOff, want: "end of JSON"},
		"wrong kind":    {serve: streamed(`{"choices":1}`), want: "read the completion"},
		"a web page":    {serve: status(200, "\n<!DOCTYPE html><title>Welcome</title>"), want: "no completion (check --base-url)"},
		"no model":      {serve: status(404, `{"error":"model 'acme/small-1' not found"}`), want: "404 Not Found: model 'acme/small-1' not found (check --model"},
		"error as text": {serve: streamed(`{"error":"the model crashed"}`), want: "the completion failed: the model crashed"},
		"error inside":  {serve: streamed(part("Can"), `{"error":{"message":"out of memory"}}`), want: "out of memory"},
		"a flood":       {serve: streamed(part(strings.Repeat("x", 1<<19)), part(strings.Repeat("x", 1<<19)), part("x")), want: "more than"},
		"a long line":   {serve: streamed(part(strings.Repeat("x", 1<<20))), want: "read the completion"},
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
		streamed(part("Canberra"))(w, r)
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

// sent returns the bodies of the requests that an endpoint gets.
type sent struct {
	mu     sync.Mutex
	bodies []string
}

func (s *sent) add(r *http.Request) (number int) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, string(body))
	return len(s.bodies)
}

// all returns the bodies so far.
func (s *sent) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// Half a completion is asked for again and never played: Paris is not "Par", and
// a2a4 is not a2a3.
func TestModel_cutOff(t *testing.T) {
	t.Parallel()
	abort := func(w http.ResponseWriter) {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // resets the connection
	}
	for name, half := range map[string]http.HandlerFunc{
		"without an end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", part("The capit"))
		},
		"after the mark": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", part("ANSWER: Can"))
		},
		"within a chunk": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "data: %s\n\ndata: {\"choi", part("The capit"))
		},
		"connection lost": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", part("The capit"))
			abort(w)
		},
		"connection lost at once": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a whole one": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"The capit`)
		},
		"a whole one that was lost": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"The capit"}}]}`)
			abort(w)
		},
		"empty":                      func(http.ResponseWriter, *http.Request) {},
		"too many tokens":            streamed(part("The capital of Australia is Can"), finish("length")),
		"too many tokens, no answer": streamed(part("I think.\nANSWER:"), finish("length")),
		"too many thoughts":          streamed(part("<think>\nMaybe it is\nANSWER: Sydney"), finish("length")),
		"filtered":                   streamed(part("The capital"), finish("content_filter")),
	} {
		for _, good := range []int{modelAttempts, modelAttempts + 1} {
			var calls sent
			m := modelAt(t, func(w http.ResponseWriter, r *http.Request) {
				if calls.add(r) == good {
					streamed(part("Canberra"))(w, r)
					return
				}
				half(w, r)
			})
			got, err := answered(t, m, &arenaagent.Task{}, plenty)
			if good == modelAttempts && (err != nil || got.Value != "Canberra") {
				t.Errorf("%s: %+v, %v after %d requests", name, got, err, len(calls.all()))
			}
			if good > modelAttempts && (err == nil || got.Value != "" || got.Raw != nil || len(calls.all()) != modelAttempts) {
				t.Errorf("%s: %+v, %v after %d requests", name, got, err, len(calls.all()))
			}
		}
	}
}

// What follows an answer may be cut off.
func TestModel_cutOffLater(t *testing.T) {
	t.Parallel()
	m := modelAt(t, streamed(part("ANSWER: Canberra\n\nNote that it was founded in"), finish("length")))
	if got, err := answered(t, m, &arenaagent.Task{}, plenty); err != nil || got.Value != "Canberra" {
		t.Errorf("%+v, %v", got, err)
	}
}

// An endpoint that refuses a member of the request gets it without, and from then on.
func TestModel_forms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refused []string
		status  int
		want    int // requests for two tasks
	}{
		"knows all":         {nil, 400, 2},
		"no stream_options": {[]string{`"stream_options"`}, 400, 3},
		"strict members":    {[]string{`"stream_options"`}, 422, 3},
		"no streams":        {[]string{`"stream_options"`, `"stream"`}, 400, 4},
	} {
		var calls sent
		m := modelAt(t, func(w http.ResponseWriter, r *http.Request) {
			n := calls.add(r)
			body := calls.all()[n-1]
			for _, member := range test.refused {
				if strings.Contains(body, member+":") {
					w.WriteHeader(test.status)
					_, _ = fmt.Fprintf(w, `{"error":{"message":"unknown parameter: %s"}}`, strings.Trim(member, `"`))
					return
				}
			}
			if !strings.Contains(body, `"stream":true`) {
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Canberra"},"finish_reason":"stop"}]}`)
				return
			}
			streamed(part("Canberra"))(w, r)
		})
		for range 2 {
			if got, err := answered(t, m, &arenaagent.Task{}, plenty); err != nil || got.Value != "Canberra" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		if len(calls.all()) != test.want {
			t.Errorf("%s: %d requests, want %d: %s", name, len(calls.all()), test.want, calls.all())
		}
	}

	// A refusal for another reason changes nothing.
	var calls sent
	tooLong := true
	m := modelAt(t, func(w http.ResponseWriter, r *http.Request) {
		calls.add(r)
		if tooLong {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"message":"the prompt is too long"}}`)
			return
		}
		streamed(part("Canberra"))(w, r)
	})
	if _, err := answered(t, m, &arenaagent.Task{}, plenty); err == nil || !strings.Contains(err.Error(), "the prompt is too long") {
		t.Error(err)
	}
	tooLong = false
	if _, err := answered(t, m, &arenaagent.Task{}, plenty); err != nil || !strings.Contains(calls.all()[len(calls.all())-1], "include_usage") {
		t.Errorf("%v after %s", err, calls.all())
	}
}

// Content is a string, null, or a list of parts, streamed and whole.
func TestModel_contentParts(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"Canberra"`:                          "Canberra",
		`[{"type":"text","text":"Canberra"}]`: "Canberra",
		`[{"type":"text","text":"Can"},{"type":"text","text":"berra"}]`: "Canberra",
		`null`: "",
	} {
		for name, serve := range map[string]http.HandlerFunc{
			"streamed": streamed(`{"choices":[{"delta":{"role":"assistant","content":null}}]}`, `{"choices":[{"delta":{"content":`+value+`},"finish_reason":null}]}`, finish("stop")),
			"whole": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream") // the header does not matter
				_, _ = io.WriteString(w, "\n"+`{"choices":[{"message":{"content":`+value+`},"finish_reason":"stop"}]}`)
			},
		} {
			got, err := answered(t, modelAt(t, serve), &arenaagent.Task{}, plenty)
			if got.Value != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, errNoAnswer) {
				t.Errorf("%s, %s: %+v, %v", value, name, got, err)
			}
		}
	}
}

func TestNewModel_url(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                               "https://api.openai.com/v1/chat/completions",
		"http://h:1/v1":                  "http://h:1/v1/chat/completions",
		"http://h:1/v1/":                 "http://h:1/v1/chat/completions",
		"http://h:1":                     "http://h:1/chat/completions",
		"http://h:1/chat":                "http://h:1/chat/chat/completions",
		"http://h/chat/completions":      "http://h/chat/completions",
		"https://h/v1/chat/completions/": "https://h/v1/chat/completions/",
		"https://h/openai/deployments/d?api-version=1":        "https://h/openai/deployments/d/chat/completions?api-version=1",
		"https://h/d/chat/completions?api-version=2026-01-01": "https://h/d/chat/completions?api-version=2026-01-01",
	} {
		if m, err := NewModel("m", base, "k", ""); err != nil || m.url != want {
			t.Errorf("%q: %+v, %v; want %s", base, m, err, want)
		}
	}
}
