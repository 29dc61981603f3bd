package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agora-arena/arena/internal/apiclient"
)

// endpoint starts an agent that answers every task, and never right: any number might be.
func (o owner) endpoint() string {
	o.Helper()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"status":"ok","version":"1.0","capabilities":["sums"],"max_concurrent":4}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"answer":"no"}`)
	}))
	o.Cleanup(agent.Close)
	return agent.URL
}

func TestAgent(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	o.login()
	o.ok("agent register ada --league sums --endpoint "+o.endpoint(), "registered  ada, ag_", "status      active")
	o.ok("agent register bob --league sums --agent-version 2 --model LangGraph --mark star-teal --description Bot --endpoint "+o.endpoint(), "active")
	o.ok("agent register eve --league sums --max-concurrent 2", "key         arg_", "pending")
	o.refused("name", "agent register ada")
	if code, _, errs := o.run("", "agent", "register"); code != exitUsage {
		t.Errorf("without a name: exit code %d, %q", code, errs)
	}
	o.ok("agent list", "ada   active", "eve   pending: the agent does not poll")
	o.ok("agent list --all --league sums", "bob")
	o.ok("agent show bob", "version   2", "model     LangGraph", "mark      star-teal", "leagues   sums", "health    ok")
	o.refused(`no agent "carl"`, "agent show carl")

	// The JSON is the API's.
	var want json.RawMessage
	must(t, apiclient.New(o.arena.LocalURL(), o.token).Call(t.Context(), http.MethodGet, "/v1/agents?owner=me&limit=100", nil, &want))
	if got := o.ok("agent list --json"); got != string(want) && got != string(want)+"\n" {
		t.Errorf("--json changed the answer:\n%s\n%s", got, want)
	}

	o.ok("agent budget ada", "matches today  0\n", "30 days        0 matches, 0 tokens")
	o.ok("agent budget ada --matches 20 --hours 00:00-24:00 --days mon,tue --zone Europe/Madrid", "matches today  0 of 20", "hours          00:00-24:00 Europe/Madrid, mon, tue")
	o.ok("agent budget ada --tokens 7", "0 of 20", "0 of 7", "one match could exceed the tokens of a day")
	o.ok("agent budget ada --json", `"matches_per_day":20`, `"reason":"tokens"`)
	o.ok("agent budget ada --none", "matches today  0\n", "tokens today   0\n")
	o.refused("--hours must be like", "agent budget ada --hours 8")
	o.refused("can't be used together", "agent budget ada --none --tokens 1")
	o.refused("zone", "agent budget ada --zone Mars/Olympus")
	o.ok("agent check ada", "ada  active")
	o.ok("agent pause ada", "paused: by its owner")
	o.ok("agent rehearse ada --fault huge_task", "a very long task", "passed", "up to 1 tokens a round, about ", "2 passed, 0 failed")
	if code, out, errs := o.run("", "agent", "rehearse", "ada", "--fault", "duplicate_delivery,expired_token"); code != exitFailure || !strings.Contains(out, "expected: ") || !strings.Contains(errs, "1 of 3 rounds failed") {
		t.Errorf("a rehearsal that fails: exit code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := o.run("", "agent", "rehearse", "ada", "--fault", "flood"); code != exitUsage {
		t.Errorf("an unknown fault: exit code %d, %q", code, errs)
	}
	o.ok("agent resume ada", "ada  active")
	o.ok("agent logs ada", "no requests yet")
	o.ok("agent challenge ada bob --watch", "match   m_", "ada and bob in sums, unrated", "  finished")
	o.ok("agent logs ada", "SENT", "sums    1      answered  200")
	o.ok("agent logs ada --time absolute --outcome answered", time.Now().Format("2006-"))
	o.refused("between 1 and 100", "agent logs ada -n 0")
	o.refused("used together", "agent logs ada --follow --json")
	o.ok("agent losses ada", "QUESTION", "wrong", o.arena.URL()+"/m/m_")
	o.ok("agent losses ada --topic none", "no lost rounds")
	o.ok("agent losses ada --topics --league sums", "95 % INTERVAL", "0 %")
	o.refused("between 1 and 100", "agent losses ada -n 101")
	o.refused("used together", "agent losses ada --topics --topic maths")

	var key struct {
		ID  string `json:"key_id"`
		Key string `json:"agent_key"`
	}
	must(t, json.Unmarshal([]byte(o.ok("agent keys create eve --name laptop --json")), &key))
	o.ok("agent keys list eve", "laptop", key.ID, "never")
	if code, _, errs := o.run(key.Key, "login", o.arena.LocalURL(), "--with-token"); code != exitFailure || !strings.Contains(errs, "key of an agent") {
		t.Errorf("a login with the key of an agent: exit code %d, %q", code, errs)
	}
	o.ok("agent keys revoke eve "+key.ID, "revoked")
	if list := o.ok("agent keys list eve"); strings.Contains(list, key.ID) {
		t.Errorf("the key is still there:\n%s", list)
	}
}

// output is a buffer that several goroutines use.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // gets a value after a write
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		select {
		case o.written <- struct{}{}:
		default:
		}
	}()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// A log that is followed shows requests as they come, each once, and ends with a
// signal.
func TestAgent_follow(t *testing.T) {
	t.Parallel()
	item := func(id, reason string) string {
		return `{"delivery_id":"` + id + `","league":"sums","round":1,"outcome":"invalid","reason":"` + reason + `","sent_at":"2026-01-01T00:00:00Z"}`
	}
	var mu sync.Mutex
	reads := 0
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !strings.HasSuffix(r.URL.Path, "/deliveries") {
			_, _ = io.WriteString(w, `{"agent_id":"ag_00000000000000000000"}`)
			return
		}
		if reads++; reads == 1 {
			_, _ = io.WriteString(w, `{"items":[`+item("d2", "second")+","+item("d1", "first")+"]}")
			return
		}
		_, _ = io.WriteString(w, `{"items":[`+item("d3", "third")+","+item("d2", "second")+","+item("d1", "first")+"]}")
	}))
	t.Cleanup(arena.Close)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	out := &output{written: make(chan struct{}, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, strings.Fields("agent logs ag_00000000000000000000 -n 1 -f --token t --url "+arena.URL), nil, strings.NewReader(""), out, io.Discard)
	}()
	for !strings.Contains(out.String(), "third") {
		select {
		case <-out.written:
		case code := <-ended:
			t.Fatalf("ended with %d:\n%s", code, out)
		}
	}
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if text := out.String(); strings.Contains(text, "first") || strings.Count(text, "second") != 1 || strings.Count(text, "third") != 1 || strings.Count(text, "SENT") != 1 {
		t.Errorf("printed\n%s", text)
	}
}

// calm fails if a command has printed what a terminal would act on.
func calm(t *testing.T, command, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\U000e0041')
	}); i >= 0 {
		t.Errorf("arena %s: %q got through:\n%q", command, text[i:min(len(text), i+20)], text)
	}
	if !utf8.ValidString(text) {
		t.Errorf("arena %s: bytes got through:\n%q", command, text)
	}
}

// What an arena returns cannot write to the terminal. Threats E3 and E4.
func TestAgent_hostile(t *testing.T) {
	t.Parallel()
	const evil = evil + "\x9b1m"
	agent := `{"agent_id":"ag_00000000000000000000","name":"` + evil + `","owner_name":"` + evil + `","protocol":"` + evil + `","endpoint":"` + evil + `","version":"` + evil + `","leagues":["` + evil +
		`"],"status":"paused","agent_key":"` + evil + `","key_challenge":"` + evil + `","pause":{"reason":"` + evil + `"},"health":{"ok":false,"detail":"` + evil + `","checked_at":"2026-01-01T00:00:00Z"},"ratings":{"` + evil + `":{"rating":1500}}}`
	answers := map[string]string{
		"GET /v1/me":                                           `{"scope":"` + evil + `","name":"` + evil + `"}`,
		"GET /v1/agents":                                       `{"items":[` + agent + `]}`,
		"POST /v1/agents":                                      agent,
		"GET /v1/agents/ag_00000000000000000000":               agent,
		"POST /v1/agents/ag_00000000000000000000/pause":        agent,
		"GET /v1/agents/ag_00000000000000000000/deliveries":    `{"items":[{"delivery_id":"d","league":"` + evil + `","match_id":"` + evil + `","outcome":"` + evil + `","detail":"` + evil + `","sent_at":"2026-01-01T00:00:00Z"}]}`,
		"GET /v1/agents/ag_00000000000000000000/losses":        `{"items":[{"league":"` + evil + `","topic":"` + evil + `","description":"` + evil + `","answer":"` + evil + `","correct":"` + evil + `","outcome":"` + evil + `","url":"` + evil + `"}]}`,
		"GET /v1/agents/ag_00000000000000000000/topics":        `{"items":[{"topic":"` + evil + `"}]}`,
		"POST /v1/agents/ag_00000000000000000000/rehearse":     `{"rounds":[{"round":1,"fault":"` + evil + `","verdict":"failed","outcome":"` + evil + `","expected":"` + evil + `","explanation":"` + evil + `"}]}`,
		"POST /v1/challenges":                                  `{"match_id":"` + evil + `","status":"` + evil + `"}`,
		"GET /v1/agents/ag_00000000000000000000/keys":          `{"items":[{"key_id":"` + evil + `","name":"` + evil + `"}]}`,
		"POST /v1/agents/ag_00000000000000000000/keys":         `{"key_id":"` + evil + `","agent_key":"` + evil + `"}`,
		"GET /v1/stream":                                       `data: {"seq":1,"type":"` + evil + `","agent_id":"` + evil + `"}` + "\n\n" + `data: {"seq":2,"type":"match_void","reason":"` + evil + `"}` + "\n\n",
		"DELETE /v1/agents/ag_00000000000000000000/keys/wrong": `{"status":400,"detail":"` + evil + `","errors":[{"field":"` + evil + `","message":"` + evil + `"}]}`,
	}
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, answers[r.Method+" "+r.URL.Path])
	}))
	t.Cleanup(arena.Close)
	o := owner{T: t, environ: []string{"ARENA_URL=" + arena.URL, "ARENA_TOKEN=secret", "ARENA_CONFIG_DIR=" + t.TempDir()}}
	const id = " ag_00000000000000000000"
	for _, command := range []string{
		"login --with-token", "context list", "agent list", "agent show" + id, "agent register x", "agent pause" + id, "agent logs" + id, "agent losses" + id, "agent losses --topics" + id, "agent rehearse" + id,
		"agent challenge" + id + id, "agent keys list" + id, "agent keys create" + id, "agent keys revoke" + id + " wrong", "agent list --json", "agent show --json" + id,
		"context list --json", "admin --token x agent list", "watch m_1", "logout",
	} {
		_, out, errs := o.run("token", strings.Fields(command)...)
		text := out + errs
		calm(t, command, text)
		if strings.Contains(text, "0;owned") && !strings.Contains(command, "--json") && !strings.HasPrefix(command, "admin") || !strings.Contains(text, "red") && command != "logout" {
			t.Errorf("arena %s: printed %q", command, text)
		}
	}
}

// No command follows a redirect, with or without a token. Threat M2.
func TestAgent_redirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was called with %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	arena := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(arena.Close)
	record := filepath.Join(t.TempDir(), "record.json")
	must(t, os.WriteFile(record, []byte("{}"), 0o600))
	for _, command := range []string{
		"verify " + record + " --jwks ", "agent list --token secret --url ", "admin status --token secret --url ", "watch m_1 --url ", "watch lobby --url ", "watch --league sums --url ",
		"join --exec true --no-test ", "join --exec true --no-test --key ak_secret ", "join --exec true --no-test --owner-token secret ",
	} {
		code, _, errs := call(t, []string{"ARENA_CONFIG_DIR=" + t.TempDir()}, strings.Fields(command+arena.URL)...)
		if code != exitFailure || !strings.Contains(errs, "it redirects to "+elsewhere.URL) {
			t.Errorf("%s: exit code %d, %q", command, code, errs)
		}
	}
}

// An unreachable server is reported in one line.
func TestAgent_noServer(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	code, _, errs := call(t, []string{"ARENA_CONFIG_DIR=" + t.TempDir()}, "agent", "list", "--url", gone.URL, "--token", "x")
	if code != exitFailure || !strings.Contains(errs, "cannot reach "+gone.URL+": ") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}
