package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// joinRun runs `arena join` until it ends and returns its output.
func joinRun(t *testing.T, arena string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), buildArena(t), append([]string{"join", arena, "--matches", "1"}, args...)...)
	config := t.TempDir()
	cmd.Env = append(os.Environ(), "ARENA_CONFIG_DIR="+config, "OPENAI_API_KEY=sk-own")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("arena join %s: %v\n%s", args, err, out.String())
	}
	return out.String()
}

// From nothing to a finished match with one command, for each source of
// answers.
func TestE2E_Join(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	docsLeague(t, p)
	p.contestant("rival", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("wrong") }, "trivia")
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || r.Header.Get("Authorization") != "Bearer sk-own" || !strings.Contains(string(body), "question ") {
			t.Errorf("the model got %s", body)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{"Not wrong.\\n", "ANSWER: ", "right"} {
			_, _ = fmt.Fprintf(w, `data: {"choices":[{"delta":{"content":"%s"}}]}`+"\n\n", text)
		}
		_, _ = io.WriteString(w, `data: {"choices":[],"usage":{"completion_tokens":9}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	endpoint := protocoltest.NewAgent(t, protocoltest.AgentOptions{Play: func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("right") }})
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\necho reading >&2\ngrep -m1 '^- right'\n"), 0o700))
	local := strings.Replace(p.url, "127.0.0.1", "localhost", 1) // not the issuer of the tokens
	for name, args := range map[string][]string{
		"exec":  {local, "--exec", program, "--name", "By program"},
		"model": {p.url, "--model", "small", "--base-url", model.URL + "/v1"},
		"url":   {p.url, "--url", endpoint.Endpoint(), "--league", "trivia"},
	} {
		out := joinRun(t, args[0], args[1:]...) // one after the other: each meets the rival
		if !strings.Contains(out, "against rival") || !strings.Contains(out, "match 1: won 2:0") || !strings.Contains(out, ", rating 15") {
			t.Errorf("%s printed\n%s", name, out)
		}
	}
}

// An agent of the Go SDK fetches its tasks, two at once, and its events are in
// the log.
func TestE2E_Join_sdk(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	docsLeague(t, p)
	p.contestant("rival", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("wrong") }, "trivia")
	var made struct {
		ID  string `json:"agent_id"`
		Key string `json:"agent_key"`
	}
	owner := p.owner("Ann")
	p.call(owner, http.MethodPost, "/v1/agents", map[string]any{"name": "Connected", "leagues": []string{"trivia"}, "max_concurrent": 2}, &made)
	thoughts := func(match string) (n int) {
		var log struct{ Items []map[string]any }
		p.call(owner, http.MethodGet, "/v1/matches/"+match+"/events?limit=100", nil, &log)
		for _, e := range log.Items {
			if e["type"] == "thinking" && e["agent_id"] == made.ID {
				n++
			}
		}
		return n
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, matches := make(chan error, 1), make(chan string, 100)
	go func() {
		ended <- arenaagent.Connect(ctx, arenaagent.Config{Arena: p.url, AgentKey: made.Key},
			func(_ context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
				matches <- task.MatchID
				events.Thinking("I know this one.")
				// An answer does not wait for events longer than a moment.
				testwait.Until(t, "the event is in the log", func() bool { return thoughts(task.MatchID) == task.Round })
				return arenaagent.Answer{Value: "right"}, nil
			})
	}()
	match := <-matches
	testwait.Until(t, "the match is over", func() bool {
		var m struct{ Status string }
		p.call(owner, http.MethodGet, "/v1/matches/"+match, nil, &m)
		return m.Status == "finished"
	})
	if n := thoughts(match); n != 2 {
		t.Errorf("%d events of two rounds", n)
	}
	stop()
	must(t, <-ended)
}

// A model that answers with a full column gets the reason with its second prompt. What
// it names is played, whatever else it mentions.
func TestE2E_Join_refusedMove(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.call(p.admin, http.MethodPost, "/v1/leagues", map[string]any{
		"slug": "four", "title": "Four", "game": map[string]any{"name": "connect_four", "games_per_match": 1}, "format": "ladder",
		"rated": true, "min_seats": 2, "max_seats": 2, "time_limit_seconds": 20, "pace": map[string]any{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true},
	}, nil)
	p.call(p.admin, http.MethodPost, "/v1/leagues/four/start", nil, nil)
	p.contestant("rival", func(r protocoltest.Request) protocoltest.Behaviour {
		if options := r.Task.Task.Options; options[0] != "1" {
			return protocoltest.Answer(options[len(options)-1])
		}
		return protocoltest.Answer("1") // the column is full before anyone has four in it
	}, "four")
	var mu sync.Mutex
	var prompts []string
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) != 2 {
			t.Errorf("the model got %+v, %v", request, err)
			return
		}
		prompt := request.Messages[1].Content
		mu.Lock()
		prompts = append(prompts, prompt)
		mu.Unlock()
		answer := "1"
		if strings.Contains(prompt, "was refused: ") {
			_, options, _ := strings.Cut(prompt, "options:\n- ")
			answer, _, _ = strings.Cut(options, "\n")
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"content": "7 or 6 would do.\nANSWER: " + answer}}}})
	}))
	t.Cleanup(model.Close)
	joinRun(t, p.url, "--model", "small", "--base-url", model.URL+"/v1/chat/completions", "--league", "four")
	mu.Lock()
	defer mu.Unlock()
	refused := 0
	for _, prompt := range prompts {
		if strings.Contains(prompt, "was refused: column 1 is full") {
			refused++
		}
		if strings.Contains(prompt, "0 points") {
			t.Errorf("a move has points:\n%s", prompt)
		}
	}
	if refused == 0 {
		t.Errorf("no prompt has the reason:\n%s", strings.Join(prompts, "\n"))
	}
}
