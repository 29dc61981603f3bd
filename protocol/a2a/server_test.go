package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// newServer returns a server that repeats questions, and what it was asked.
func newServer(t testing.TB) *Server {
	t.Helper()
	s, err := NewServer(ServerOptions{
		URL: "https://arena.example", Version: "1.2", Logger: slog.New(slog.DiscardHandler),
		Ask: func(_ context.Context, address, text string) (string, error) {
			switch text {
			case "busy":
				return "", &arena.Error{Code: arena.CodeRateLimited, Message: "slow down", RetryAfter: 3 * time.Second}
			case "broken":
				return "", errors.New("disk full")
			}
			return address + " asks: " + text, nil
		},
		Skills: []Skill{{ID: "ask", Name: "Ask"}, {ID: "standings", Name: "Standings", Action: func(_ context.Context, _ string, params json.RawMessage) (any, error) {
			if string(params) == `{}` {
				return nil, arena.Errorf(arena.CodeMalformed, "params.league is missing")
			}
			return map[string]json.RawMessage{"asked": params}, nil
		}}},
	})
	must(t, err)
	return s
}

func post(t testing.TB, s *Server, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Root, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.7:1234"
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestServer_card(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	newServer(t).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, cardPath, nil))
	from, err := url.Parse("https://arena.example" + cardPath)
	must(t, err)
	s, err := readCard(w.Body.Bytes(), from) // the arena could play against itself
	if err != nil || s.url != "https://arena.example/a2a" || s.version != v10 || s.streaming || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("service %+v, %v, headers %v", s, err, w.Header())
	}
	var c struct {
		URL                string
		PreferredTransport string
		ProtocolVersion    string
		Skills             []struct{ ID string }
	}
	must(t, json.Unmarshal(w.Body.Bytes(), &c))
	if c.URL != s.url || c.PreferredTransport != "JSONRPC" || c.ProtocolVersion != "0.3.0" || len(c.Skills) != 2 {
		t.Errorf("members of 0.3: %+v", c)
	}
}

func TestServer_answers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ask := func(method, parts string) string {
		return `{"jsonrpc":"2.0","id":"q","method":"` + method + `","params":{"message":{"messageId":"1","contextId":"c","role":"ROLE_USER","parts":[` + parts + `]}}}`
	}
	for _, c := range []struct {
		name, body, want string
		headers          []string
	}{
		{"words", ask("SendMessage", `{"text":"Who"},{"text":" leads?"}`), `"parts":[{"text":"192.0.2.7 asks: Who\nleads?"}]`, nil},
		{"words of 0.3", ask("message/send", `{"kind":"text","text":"Who?"}`), `"kind":"message"`, nil},
		{"action", ask("SendMessage", `{"text":"x"},{"data":{"action":"standings","params":{"league":"a"}}}`), `"parts":[{"data":{"asked":{"league":"a"}}}]`, []string{"A2A-Version", "1.0"}},
		{"action of 0.3", ask("message/send", `{"kind":"data","data":{"action":"standings","params":{"league":"a"}}}`), `"parts":[{"kind":"data","data":{"asked":{"league":"a"}}}]`, []string{"A2A-Version", "0.3"}},
		{"wrong params", ask("SendMessage", `{"data":{"action":"standings","params":{}}}`), `"code":-32602,"message":"params.league is missing"`, nil},
		{"unknown action", ask("SendMessage", `{"data":{"action":"x"}}`), `action must be one of: standings`, nil},
		{"data of another kind", ask("SendMessage", `{"data":[1]}`), `"code":-32602`, nil},
		{"nothing", ask("SendMessage", ``), `"code":-32602`, nil},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`, `"id":1,"error":{"code":-32602`, nil},
		{"streaming", ask("SendStreamingMessage", `{"text":"x"}`), `"code":-32004`, nil},
		{"streaming of 0.3", ask("message/stream", `{"text":"x"}`), `"code":-32004`, nil},
		{"a task", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`, `"code":-32001`, nil},
		{"a task of 0.3", `{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"x"}}`, `"code":-32001`, nil},
		{"unknown method", ask("ListTasks", ``), `"code":-32601`, nil},
		{"unknown version", ask("SendMessage", `{"text":"x"}`), `"code":-32009`, []string{"A2A-Version", "2.0"}},
		{"not JSON", `{`, `"id":null,"error":{"code":-32700`, nil},
		{"two methods", `{"jsonrpc":"2.0","method":"a","method":"b"}`, `"code":-32700`, nil},
		{"not JSON-RPC", `{"method":"SendMessage"}`, `"code":-32600`, nil},
		{"id of a wrong kind", `{"jsonrpc":"2.0","id":{},"method":"SendMessage"}`, `"id":null,"error":{"code":-32600`, nil},
		{"long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"SendMessage"}`, `"id":null,"error":{"code":-32600`, nil},
		{"long context", strings.Replace(ask("SendMessage", `{"text":"x"}`), `"contextId":"c"`, `"contextId":"`+strings.Repeat("x", 300)+`"`, 1), `contextId has at most 256 bytes`, nil},
		{"64 KiB", strings.Repeat(" ", 65<<10), `a request has at most 65536 bytes`, nil},
		{"another type", `{}`, `"code":-32005`, []string{"Content-Type", "text/plain"}},
		{"our own fault", ask("SendMessage", `{"text":"broken"}`), `"code":-32603,"message":"something went wrong on our side"`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := post(t, s, c.body, c.headers...)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), c.want) || !json.Valid(w.Body.Bytes()) || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%d %s, want %s", w.Code, w.Body, c.want)
			}
		})
	}
	if w := post(t, s, ask("SendMessage", `{"text":"busy"}`)); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "3" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// Whatever is sent, the answer is a reply of JSON-RPC with a result or an error.
func FuzzServer(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[{"text":"x"}]}}}`, `{"jsonrpc":"2.0","id":"x","method":"message/send","params":{"message":{"parts":[{"data":{"action":"standings","params":{"a":1}}}]}}}`,
		`[`, `{"jsonrpc":"2.0","id":null,"method":"GetTask","params":{}}`, `{"jsonrpc":"2.0","id":1e400,"method":"a/b"}`,
	} {
		f.Add([]byte(s))
	}
	s := newServer(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(t, s, string(body))
		var a struct {
			JSONRPC string
			Result  json.RawMessage
			Error   *answerError
		}
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.JSONRPC != "2.0" || (a.Result == nil) == (a.Error == nil) {
			t.Fatalf("%s", w.Body)
		}
	})
}
