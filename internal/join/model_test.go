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
	return modelOver(t, "chat", h)
}

func modelOver(t *testing.T, api string, h http.HandlerFunc) *Model {
	t.Helper()
	m, err := NewModel("acme/small-1", api, serveHTTP(t, h)+"/v1/", env("sk-own"), "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// env is an environment in which every key has one value.
func env(key string) func(string) string { return func(string) string { return key } }

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
		if _, err := NewModel("m", "chat", base, env(key), ""); err == nil {
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
		if m, err := NewModel("m", "chat", base, env("k"), ""); err != nil || m.url != want {
			t.Errorf("%q: %+v, %v; want %s", base, m, err, want)
		}
	}
}

// The APIs of OpenAI's responses and of Anthropic's messages, streamed and whole: the
// answer, its tokens, why it ended and what failed. Threat M3.
func TestModel_apis(t *testing.T) {
	t.Parallel()
	whole := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	for _, test := range []struct {
		name, api string
		serve     http.HandlerFunc
		want      string // the answer, else in the error
		tokens    int64
	}{
		{"streamed", "anthropic", streamed(
			`{"type":"message_start","message":{"content":[],"stop_reason":null,"usage":{"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Sydney?"}}`, `{"type":"ping"}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ANSWER: Can"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"berra"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}`, `{"type":"message_stop"}`), "Canberra", 12},
		{"whole", "anthropic", whole(`{"type":"message","content":[{"type":"thinking","thinking":"Sydney?"},{"type":"text","text":"Canberra"}],"stop_reason":"end_turn","usage":{"output_tokens":7}}`), "Canberra", 7},
		{"cut off", "anthropic", streamed(`{"type":"content_block_delta","delta":{"type":"text_delta","text":"The capital is Can"}}`, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`), "cut off", 0},
		{"overloaded", "anthropic", streamed(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "the completion failed: Overloaded", 0},
		{"wrong key", "anthropic", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
		}, "invalid x-api-key (check ANTHROPIC_API_KEY)", 0},
		{"streamed", "responses", streamed(
			`{"type":"response.created","response":{"status":"in_progress","output":[],"error":null,"incomplete_details":null,"usage":null}}`,
			`{"type":"response.reasoning_summary_text.delta","delta":"Sydney?"}`,
			`{"type":"response.output_text.delta","delta":"ANSWER: Can"}`, `{"type":"response.output_text.delta","delta":"berra"}`,
			`{"type":"response.output_text.done","text":"ANSWER: Canberra"}`,
			`{"type":"response.completed","response":{"status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"ANSWER: Canberra"}]}],"usage":{"output_tokens":12}}}`), "Canberra", 12},
		{"whole", "responses", whole(`{"object":"response","status":"completed","error":null,"incomplete_details":null,"output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"Canberra"}]}],"usage":{"output_tokens":7}}`), "Canberra", 7},
		{"cut off", "responses", streamed(`{"type":"response.output_text.delta","delta":"The capital is Can"}`, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`), "cut off", 0},
		{"failed", "responses", streamed(`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"out of memory"}}}`), "the completion failed: out of memory", 0},
		{"error", "responses", streamed(`{"type":"error","code":"x","message":"no quota"}`), "the completion failed: no quota", 0},
		{"no end", "responses", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", `{"type":"response.output_text.delta","delta":"The capit"}`)
		}, "cut off", 0},
	} {
		got, err := answered(t, modelOver(t, test.api, test.serve), &arenaagent.Task{}, plenty)
		if err == nil && (got.Value != test.want || got.Tokens != test.tokens) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %+v, %v", test.api, test.name, got, err)
		}
	}

	for api, want := range map[string]struct{ path, header, value, body string }{
		"anthropic": {"/v1/messages", "X-Api-Key", "sk-own", `{"model":"acme/small-1","max_tokens":4096,"system":"Be brief.","messages":[{"role":"user","content":`},
		"responses": {"/v1/responses", "Authorization", "Bearer sk-own", `{"model":"acme/small-1","instructions":"Be brief.","input":`},
	} {
		m := modelOver(t, api, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.URL.Path != want.path || r.Header.Get(want.header) != want.value || !strings.HasPrefix(string(body), want.body) || !strings.Contains(string(body), `"stream":true`) {
				t.Errorf("%s: %s %v %s", api, r.URL, r.Header, body)
			}
			if api == "anthropic" && (r.Header.Get("Anthropic-Version") == "" || r.Header.Get("Authorization") != "") {
				t.Errorf("%v", r.Header)
			}
		})
		m.prompt = "Be brief."
		_, _ = answered(t, m, &arenaagent.Task{}, plenty)
		if same, err := NewModel("m", api, m.url, env("k"), ""); err != nil || same.url != m.url {
			t.Errorf("%s: %v", m.url, err)
		}
	}
}
