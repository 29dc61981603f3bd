package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// localAgent plays in one league and always returns the same answer.
func localAgent(t *testing.T, league string, play func(protocoltest.Request) protocoltest.Behaviour) (endpoint string) {
	t.Helper()
	return protocoltest.NewAgent(t, protocoltest.AgentOptions{Play: play, Capabilities: []string{league}}).Endpoint()
}

// questions writes a pack as correct answers it.
func questions(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pack.jsonl")
	must(t, os.WriteFile(file, []byte(`{"description":"question 0","answer":"right answer 0"}
{"description":"question 1","answer":"right answer 1"}
{"description":"question 2","answer":"right answer 2"}
`), 0o600))
	return file
}

func TestPlay_duel(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "match.jsonl")
	code, out, errs := call(t, "play", "--league", "quiz", "--pack", questions(t), "--rounds", "3", "--addr", "127.0.0.1:0", "--out", log,
		"ada="+localAgent(t, "quiz", answers("")), "bob="+localAgent(t, "quiz", answers("no idea")))
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d, stderr %q\n%s", code, errs, out)
	}
	for _, want := range []string{"keys at http://127.0.0.1:", "ada · bob", "3 rounds, unrated", "round 3 closed", "1. ada 3   2. bob 0", "no idea", "finished"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	data, err := os.ReadFile(log)
	must(t, err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var head struct {
		Match struct {
			ID     string `json:"match_id"`
			League string
		}
	}
	must(t, json.Unmarshal([]byte(lines[0]), &head))
	if head.Match.ID == "" || head.Match.League != "quiz" || !strings.Contains(out, "arena replay --open "+log) {
		t.Errorf("the log begins with %s; the command ends with\n%s", lines[0], out[max(0, len(out)-200):])
	}
	lines = lines[1:]
	last := ""
	for i, line := range lines {
		var e struct {
			Seq  int    `json:"seq"`
			Type string `json:"type"`
		}
		must(t, json.Unmarshal([]byte(line), &e))
		if e.Seq != i+1 {
			t.Errorf("line %d is event %d", i+1, e.Seq)
		}
		last = e.Type
	}
	if last != "match_finished" || len(lines) < 12 {
		t.Errorf("%d events, the last is %s", len(lines), last)
	}
}

func TestPlay_elimination_of_generated_tasks(t *testing.T) {
	t.Parallel()
	args := []string{"play", "--league", "sums", "--generator", "arithmetic", "--difficulty", "1", "--rounds", "2", "--addr", "127.0.0.1:0"}
	for range 3 {
		args = append(args, localAgent(t, "sums", answers("7")))
	}
	code, out, errs := call(t, args...)
	if code != exitOK || !strings.Contains(out, "3 127.0.0.1:") || !strings.Contains(out, "finished") {
		t.Errorf("exit code %d, stderr %q\n%s", code, errs, out)
	}
}

// Whatever the arena can make or import can be played, under the judge that
// fits it.
func TestPlay_tasks_of_every_form(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ format, text, answer, generator string }{
		"csv":             {"csv", "description,answer\nWhat is larger?,Mile\n", "the mile", ""},
		"csv, options":    {"csv", "description,a,b,answer\nWhat is larger?,kilometre,mile,B\n", "B", ""},
		"opentdb":         {"opentdb", `[{"type":"boolean","difficulty":"easy","category":"x","question":"Flat?","correct_answer":"False","incorrect_answers":["True"]}]`, "false", ""},
		"jsonl, options":  {"jsonl", `{"description":"What is larger?","answer":"mile","options":["kilometre","mile"]}`, "B", ""},
		"of dates":        {generator: "dates"},
		"of units":        {generator: "units"},
		"of stories told": {generator: "word_problems"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"play", "--league", "quiz", "--rounds", "1", "--addr", "127.0.0.1:0"}
			if tt.generator != "" {
				args = append(args, "--generator", tt.generator)
			} else {
				file := filepath.Join(t.TempDir(), "pack")
				must(t, os.WriteFile(file, []byte(tt.text), 0o600))
				args = append(args, "--pack", file, "--pack-format", tt.format)
			}
			code, out, errs := call(t, append(args, "ada="+localAgent(t, "quiz", answers(tt.answer)), "bob="+localAgent(t, "quiz", answers("no idea")))...)
			if code != exitOK || tt.answer != "" && !strings.Contains(out, "1. ada 1   2. bob 0") {
				t.Errorf("exit code %d, stderr %q\n%s", code, errs, out)
			}
		})
	}
}

// The agents of the SDK find keys and stream at the configured address.
func TestPlay_sdk_agents(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	p := &process{t: t, url: "http://" + addr}
	seen := func(ctx context.Context, task *arenaagent.Task) { p.awaitThoughtsOf(ctx, task, 1) }
	code, out, errs := call(t, "play", "--league", "trivia", "--rounds", "1", "--addr", addr,
		"new="+sdkAgentThat(t, addr, "", seen), "old="+sdkAgent(t, addr, "ag_elsewhere"))
	if code != exitOK || !strings.Contains(out, "the first that comes to mind") || !strings.Contains(out, "status_401") {
		t.Errorf("exit code %d, stderr %q\n%s", code, errs, out)
	}
}

func TestPlay_void(t *testing.T) {
	t.Parallel()
	away := localAgent(t, "quiz", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Status(503) })
	code, out, errs := call(t, "play", "--league", "quiz", "--pack", questions(t), "--rounds", "1", "--addr", "127.0.0.1:0",
		localAgent(t, "quiz", answers("")), away)
	if code != exitFailure || !strings.Contains(errs, "the match is void") {
		t.Errorf("exit code %d, stderr %q\n%s", code, errs, out)
	}
}

func TestPlay_refuses(t *testing.T) {
	t.Parallel()
	good := localAgent(t, "quiz", answers(""))
	for want, args := range map[string][]string{
		"two agents or more":           {good},
		"among the capabilities":       {"--league", "debate", good, "other=" + good},
		"its health check is not good": {good, "http://" + freeAddr(t) + "/agora"},
		"--pack":                       {"--pack", "/no/such/pack.jsonl", good, "other=" + good},
		"time_limit_seconds":           {"--time-limit", "1h", good, "other=" + good},
		`"chess" is not a generator`:   {"--generator", "chess", good, "other=" + good},
		"is not a public address":      {good, "http://10.0.0.1/agora"},
	} {
		t.Run(strings.ReplaceAll(want, " ", "_"), func(t *testing.T) {
			t.Parallel()
			code, _, errs := call(t, append([]string{"play", "--league", "quiz", "--addr", "127.0.0.1:0"}, args...)...)
			if code != exitFailure || !strings.Contains(errs, want) {
				t.Errorf("exit code %d, stderr %q", code, errs)
			}
		})
	}
}
