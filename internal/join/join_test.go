package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agenttest"
)

// source is a Source of a test.
type source func(ctx context.Context, task *arenaagent.Task) (string, error)

func (source) Name() string { return "stub" }

func (s source) Answer(ctx context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
	value, err := s(ctx, task)
	return arenaagent.Answer{Value: value}, err
}

func first(_ context.Context, task *arenaagent.Task) (string, error) { return task.Options[0], nil }

func duel(match string, round int) agenttest.Task {
	return agenttest.Task{MatchID: match, Round: round, Options: []string{"Canberra", "Sydney"}}
}

// From nothing: the agent is registered, kept, plays a match with a program and
// is used again by the next run. Threat M2.
func TestRun_firstMatch(t *testing.T) {
	t.Parallel()
	w, folder := newWorld(t), filepath.Join(t.TempDir(), "arena", "join")
	w.setMatch("m_1", running)
	p := w.start(folder, stubCommand(t, nil, "first option"), func(o *Options) { o.Matches, o.Model = 1, "stub-1" })
	if r := w.answered(w.arena.Offer(duel("m_1", 1))); r.Answer != "Canberra" {
		t.Errorf("answer is %s", r.Body)
	}
	if e, err := w.arena.Events(t.Context(), "m_1", 1); err != nil || e[0].Type != "thinking" || e[0].Fields["message"] != "Reading the options." {
		t.Errorf("events %v, %v", e, err)
	}
	p.await("match 1, trivia, against Bob: " + w.arena.URL() + "/m/m_1")
	w.setMatch("m_1", finished)
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"plays in trivia, math: " + w.arena.URL() + "/a/ag_test", "match 1: won 2.5:1 against Bob, rating 1512.3 (+12.3)",
		"1 match: 1 won, 0 drawn, 0 lost; rating in trivia +12.3", "is paused until you run the command again",
	} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("no %q in\n%s", want, p.out)
		}
	}
	if strings.Contains(p.out.String(), agenttest.AgentKey) || strings.Contains(p.out.String(), "owner_1") || strings.Contains(p.out.String(), "\x1b") {
		t.Errorf("a secret or an escape is printed:\n%s", p.out)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, %v", files[0], info.Mode(), err)
	}
	if got := w.pausedFor(); got != "owner" { // no seat after the last match
		t.Errorf("paused for %q", got)
	}

	again := w.start(folder, source(first), nil) // the same name: both are called stub
	again.await("waiting for a match")
	if w.count("POST /v1/agents") == 1 {
		t.Error("another program got the same agent")
	}
	w.answered(w.arena.Offer(duel("m_2", 1)))
	again.stop() // all agents of this arena have one id, and an agent runs once
	if err := again.wait(); err != nil {
		t.Error(err)
	}
	third := w.start(folder, stubCommand(t, nil, "first option"), nil)
	third.await("waiting for a match")
	if n := w.count("POST /v1/agents"); n != 2 {
		t.Errorf("%d agents were registered", n)
	}
	if n := w.count("POST /v1/owners"); n != 1 {
		t.Errorf("%d owners signed up", n)
	}
	if n := strings.Count(w.sent(), `"model":"stub-1"`); n != 1 {
		t.Errorf("the model was declared %d times in %s", n, w.sent())
	}
}

// A registration is repeated if its connection breaks.
func TestRun_repeatsRegistration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broken = true
	w.start(t.TempDir(), source(first), func(o *Options) { o.Name = "ant" }).await("waiting for a match")
	if n := w.count("POST /v1/agents"); n != 2 {
		t.Errorf("%d registrations", n)
	}
}

// A pause of the last run ends with the next one, and an interrupt shows how to
// resume.
func TestRun_resumes(t *testing.T) {
	t.Parallel()
	w, folder := newWorld(t), t.TempDir()
	p := w.start(folder, source(first), nil)
	p.await("waiting for a match")
	p.stop()
	if err := p.wait(); err != nil || !strings.Contains(p.out.String(), "no match finished") || !strings.Contains(p.out.String(), "run the same command to continue as stub-") {
		t.Errorf("%v\n%s", err, p.out)
	}
	w.mu.Lock()
	w.pause = "owner"
	w.mu.Unlock()
	w.start(folder, source(first), nil)
	w.answered(w.arena.Offer(duel("m_1", 1)))
	w.awaitPause("")
}

// A new agent belongs to the owner who is logged in. A login that the arena refuses
// is no reason to sign up.
func TestRun_loggedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owners["login"] = true
	p := w.start(t.TempDir(), source(first), func(o *Options) { o.Login = "login" })
	p.await("waiting for a match")
	p = w.start(t.TempDir(), source(first), func(o *Options) { o.Login = "revoked" })
	if err := p.wait(); err == nil || !strings.Contains(err.Error(), "not logged in to "+w.arena.URL()+": run `arena login "+w.arena.URL()+"`") {
		t.Errorf("a revoked login: %v", err)
	}
	if n := w.count("POST /v1/owners"); n != 0 {
		t.Errorf("%d sign-ups", n)
	}
}

// An agent that runs already is not started again on the same machine, with its
// stored key or with --key, until the first run has ended.
func TestRun_twice(t *testing.T) {
	t.Parallel()
	w, folder := newWorld(t), t.TempDir()
	running := w.start(folder, source(first), nil)
	running.await("waiting for a match")
	for _, key := range []string{"", agenttest.AgentKey} {
		second := w.start(folder, source(first), func(o *Options) { o.Key = key })
		if err := second.wait(); err == nil || !strings.Contains(err.Error(), "is already running on this machine") {
			t.Errorf("with key %q the second run ended with %v\n%s", key, err, second.out)
		}
	}
	running.stop()
	if err := running.wait(); err != nil {
		t.Error(err)
	}
	w.start(folder, source(first), nil).await("waiting for a match")
}

// A source that fails three times in a row pauses the agent and ends the run.
func TestRun_pausesItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var calls atomic.Int32
	p := w.start(t.TempDir(), source(func(_ context.Context, task *arenaagent.Task) (string, error) {
		if task.MatchID == "" {
			return "fine", nil // the test question
		}
		switch calls.Add(1) {
		case 3:
			return "fine", nil // the count starts again
		case 5:
			return "", fmt.Errorf("%w: not found", arenaagent.ErrUnavailable)
		}
		return "", errors.New("cannot\x1b[2J log in")
	}), nil)
	want := []int{500, 500, 200, 500, 503, 500}
	for round, status := range want {
		if r := w.answered(w.arena.Offer(duel("m_1", round+1))); r.Status != status {
			t.Errorf("round %d: %d, want %d", round+1, r.Status, status)
		}
	}
	err := p.wait()
	if err == nil || !strings.Contains(err.Error(), "3 tasks in a row") || !strings.Contains(err.Error(), "cannot log in") || w.pausedFor() != "owner" {
		t.Errorf("%v; paused for %q", err, w.pausedFor())
	}
	if !strings.Contains(p.out.String(), "task not answered, match id: m_1, round: 2, error: cannot log in") {
		t.Errorf("printed\n%s", p.out)
	}
}

// --matches pauses the agent when the last match begins; a void match is
// replaced.
func TestRun_matches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(t.TempDir(), source(first), func(o *Options) { o.Matches = 2 })
	w.setMatch("m_1", finished)
	w.answered(w.arena.Offer(duel("m_1", 1)))
	p.await("match 1: won")
	if got := w.pausedFor(); got != "" {
		t.Errorf("paused for %q after one match of two", got)
	}
	w.setMatch("m_2", running)
	w.answered(w.arena.Offer(duel("m_2", 1)))
	w.awaitPause("owner")
	w.setMatch("m_2", voided)
	p.await("match 2: void, no opponent")
	w.awaitPause("")
	w.answered(w.arena.Offer(duel("m_rehearsal", 1))) // not a match: 404
	w.setMatch("m_3", strings.Replace(finished, `"place":2`, `"place":1`, 1))
	w.answered(w.arena.Offer(duel("m_3", 1)))
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(p.out.String(), "2 matches: 1 won, 1 drawn, 0 lost; rating in trivia +24.7; 1 void") {
		t.Errorf("printed\n%s", p.out)
	}
}

// --per-day counts over runs and starts again the next day.
func TestRun_perDay(t *testing.T) {
	t.Parallel()
	w, folder := newWorld(t), t.TempDir()
	var days atomic.Int64
	limit := func(o *Options) {
		o.PerDay = 2
		o.Now = func() time.Time {
			return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC).AddDate(0, 0, int(days.Load()))
		}
	}
	for _, id := range []string{"m_1", "m_2", "m_3"} {
		w.setMatch(id, finished)
	}
	p := w.start(folder, source(first), limit)
	w.answered(w.arena.Offer(duel("m_1", 1)))
	p.await("match 1: won")
	p.stop()
	if err := p.wait(); err != nil || w.pausedFor() != "" {
		t.Errorf("%v; paused for %q", err, w.pausedFor())
	}
	p = w.start(folder, source(first), limit)
	w.answered(w.arena.Offer(duel("m_2", 1)))
	p.await("2 matches today: ")
	if w.pausedFor() != "owner" {
		t.Error("not paused after two matches")
	}
	days.Store(1)
	w.setMatch("m_3", finished)
	w.answered(w.arena.Offer(duel("m_3", 1))) // anything that happens has the limits checked
	w.awaitPause("")
}

func TestRun_key(t *testing.T) {
	t.Parallel()
	w, folder := newWorld(t), t.TempDir()
	w.leagues = []string{"math"}
	w.setMatch("m_1", finished)
	p := w.start(folder, source(first), func(o *Options) { o.Key, o.Matches, o.Leagues = agenttest.AgentKey, 1, []string{"math"} })
	w.answered(w.arena.Offer(duel("m_1", 1)))
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	if files, _ := filepath.Glob(filepath.Join(folder, "*.json")); len(files) > 0 || w.count("POST /v1/owners") > 0 {
		t.Errorf("kept %v", files)
	}
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"wrong":         {func(o *Options) { o.Key = "ak_other" }, "does not accept the agent key"},
		"per day":       {func(o *Options) { o.PerDay = 1 }, "--owner-token"},
		"other leagues": {func(o *Options) { o.Leagues = []string{"trivia"} }, "has not entered the league trivia"},
	} {
		p := w.start(folder, source(first), func(o *Options) {
			o.Key = agenttest.AgentKey
			test.change(o)
		})
		if err := p.wait(); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "ak_") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Credentials that the arena refuses are replaced, or the reason is printed.
func TestRun_refused(t *testing.T) {
	t.Parallel()
	w, folder := newWorld(t), t.TempDir()
	start := func(change func(*Options)) *player {
		t.Helper()
		p := w.start(folder, source(first), change)
		p.await("waiting for a match")
		p.stop()
		if err := p.wait(); err != nil {
			t.Error(err)
		}
		return p
	}
	change := func(f func()) {
		w.mu.Lock()
		defer w.mu.Unlock()
		f()
	}
	start(nil)
	change(func() { w.key = "ak_rotated" })
	if p := start(nil); !strings.Contains(p.out.String(), "the agent key was revoked: issued a new one") {
		t.Errorf("printed\n%s", p.out)
	}
	start(nil) // the new key was kept
	if n := w.count("POST /v1/agents/ag_test/keys"); n != 1 {
		t.Errorf("%d keys were issued", n)
	}
	change(func() { w.retired = true })
	if p := start(nil); !strings.Contains(p.out.String(), "no longer has the agent stub-abcde") {
		t.Errorf("printed\n%s", p.out)
	}
	change(func() { w.noAgents, w.owners = true, map[string]bool{} }) // another database
	start(nil)
	if agents, owners := w.count("POST /v1/agents"), w.count("POST /v1/owners"); agents != 4 || owners != 2 {
		t.Errorf("%d agents of %d owners", agents, owners) // one request with the token of the lost owner
	}

	change(func() { w.closed, w.noAgents, w.owners = true, true, map[string]bool{} })
	p := w.start(folder, source(first), nil)
	if err := p.wait(); err == nil || !strings.Contains(err.Error(), "--owner-token") {
		t.Errorf("closed sign-ups: %v", err)
	}
	start(func(o *Options) { o.Invite = "invitation" })
	change(func() { w.taken = true })
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"name":   {func(o *Options) { o.Name = "Ann" }, `the name "Ann" is taken`},
		"league": {func(o *Options) { o.Leagues = []string{"strict"} }, "enter the league strict"},
		"URL":    {func(o *Options) { o.Arena = "arena.example" }, "not an http or https URL"},
	} {
		if err := w.start(folder, source(first), test.change).wait(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The key of a model goes to its endpoint, never to the arena. Threat M3.
func TestRun_modelKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := modelAt(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-own" {
			t.Errorf("the model gets %v", r.Header)
		}
		streamed(`{"choices":[{"delta":{"reasoning_content":"Not Sydney."}}]}`, part("Canberra"),
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{\"q\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}`, usage)(rw, r)
	})
	w.setMatch("m_1", finished)
	p := w.start(t.TempDir(), m, func(o *Options) { o.Matches = 1 })
	r := w.answered(w.arena.Offer(duel("m_1", 1)))
	if !strings.Contains(string(r.Body), `"tokens":12`) || !strings.Contains(string(r.Body), `"tools_used":["search"]`) {
		t.Errorf("reply is %s", r.Body)
	}
	e, err := w.arena.Events(t.Context(), "m_1", 3)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range e {
		kinds = append(kinds, e.Type)
	}
	if got := strings.Join(kinds, " "); got != "thinking intermediate_result tool_call" || fmt.Sprint(e[2].Fields["args"]) != "map[q:1]" {
		t.Errorf("events %v", e)
	}
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	if sent := w.sent() + fmt.Sprint(e); strings.Contains(sent, "sk-own") {
		t.Errorf("the arena got the key:\n%s", sent)
	}
}

// A source that cannot answer is found before the arena hears of the agent.
func TestRun_testQuestion(t *testing.T) {
	t.Parallel()
	vanished := stubCommand(t, nil, "print", "right")
	vanished.path = filepath.Join(t.TempDir(), "gone")
	refusing := func(status int, body string) *Model {
		return modelAt(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	closed := modelAt(t, streamed())
	closed.url = "http://127.0.0.1:1/v1/chat/completions"
	for name, test := range map[string]struct {
		source Source
		want   string
	}{
		"wrong key":      {refusing(401, `{"error":{"message":"Incorrect API key provided: sk-own"}}`), "401 Unauthorized: Incorrect API key provided: … (check OPENAI_API_KEY)"},
		"no rights":      {refusing(403, ``), "403 Forbidden (check OPENAI_API_KEY)"},
		"unknown model":  {refusing(404, `{"error":"model 'small-1' not found"}`), "404 Not Found: model 'small-1' not found (check --model and --base-url)"},
		"wrong request":  {refusing(400, `{"error":{"message":"no such parameter: messages"}}`), "no such parameter"},
		"no endpoint":    {closed, "nothing listens at http://127.0.0.1:1"},
		"says nothing":   {modelAt(t, streamed()), "acme/small-1: it printed no answer"},
		"cannot start":   {vanished, "no such file"},
		"not logged in":  {stubCommand(t, nil, "die"), "exit status 7: cannot log in"},
		"prints nothing": {stubCommand(t, nil, "print", "\n"), "it printed no answer"},
		"never ends":     {source(func(context.Context, *arenaagent.Task) (string, error) { return "", context.DeadlineExceeded }), "not answered within 2m0s"},
	} {
		w, folder := newWorld(t), t.TempDir()
		p := w.start(folder, test.source, nil)
		err := p.wait()
		if err == nil || !strings.Contains(err.Error(), "the test question was not answered") || !strings.Contains(err.Error(), "(--no-test skips it)") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "sk-own") {
			t.Errorf("%s: %v", name, err)
		}
		w.mu.Lock()
		if len(w.calls) > 0 {
			t.Errorf("%s: the arena got %s", name, w.calls)
		}
		w.mu.Unlock()
	}
}

// The test question is an ordinary task, and what may pass does not end the run.
func TestRun_testQuestion_passes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"answered": {streamed(part("ANSWER: right")), "the test question was answered: right\n"},
		"busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "warning: the test question was not answered: http://"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", part("ri"))
		}, "warning: the test question was not answered: the completion was cut off\n"},
	} {
		var calls sent
		w := newWorld(t)
		p := w.start(t.TempDir(), modelAt(t, func(rw http.ResponseWriter, r *http.Request) {
			calls.add(r)
			test.serve(rw, r)
		}), nil)
		p.await(test.want)
		p.await("waiting for a match")
		if !strings.Contains(calls.all()[0], "what is the opposite of left?") || !strings.Contains(calls.all()[0], `- right\n`) {
			t.Errorf("%s: the model got %s", name, calls.all()[0])
		}
	}

	w := newWorld(t)
	f, err := NewForward("http://127.0.0.1:1/agora")
	if err != nil {
		t.Fatal(err)
	}
	w.start(t.TempDir(), f, nil).await("waiting for a match") // it answers only what the arena signed
	w.start(t.TempDir(), stubCommand(t, nil, "die"), func(o *Options) { o.NoTest = true }).await("waiting for a match")
}

// Lines, the line that changes and log records print no texts that a terminal would
// act on. Threat E4.
func TestBoard_texts(t *testing.T) {
	t.Parallel()
	const bad = "\x1b[2J\u009b1m\u009d0;owned\u009c\u061c\u200e\u202e\u2066\r\n\x7fred"
	var out bytes.Buffer
	b := &board{out: &out, live: true, now: time.Now}
	b.show("%s", bad)
	b.line("%s", bad)
	slog.New(logs{board: b}).Warn(bad, "key", bad)
	b.close()
	text := strings.ReplaceAll(out.String(), clearLine, "")
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }); i >= 0 || strings.Contains(text, "owned") {
		t.Errorf("printed %q", text)
	}
}
