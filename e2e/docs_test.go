package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// docText reads a file of the project.
func docText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), name))
	must(t, err)
	return string(data)
}

func ofKind(blocks []block, kind string) (texts []string) {
	for _, b := range blocks {
		if b.kind == kind {
			texts = append(texts, b.text)
		}
	}
	return texts
}

// The snippets of the SDKs are their examples, which have tests of their own, and
// JSON is valid.
func TestDocs_authors(t *testing.T) {
	t.Parallel()
	snippets := blocksOf(docText(t, "docs/sdks.md"))
	for kind, file := range map[string]string{"js": "sdk/typescript/examples/agent.mjs", "python": "sdk/python/examples/agent.py", "rust": "sdk/rust/examples/agent.rs"} {
		if snippet := ofKind(snippets, kind); len(snippet) == 0 || snippet[0] != docText(t, file) {
			t.Errorf("the first snippet in %s is not %s", kind, file)
		}
	}
	if js := ofKind(snippets, "js"); len(js) < 2 || js[1] != docText(t, plainAgent) {
		t.Errorf("the second snippet in js is not %s", plainAgent)
	}
	for _, page := range []string{"docs/authors.md", "docs/sdks.md", "docs/mcp.md", "docs/agent-protocol.md"} {
		for _, text := range ofKind(blocksOf(docText(t, page)), "json") {
			if !json.Valid([]byte(text)) {
				t.Errorf("%s: not JSON: %s", page, text)
			}
		}
	}
}

// beside starts a program and ends it with the test.
func beside(t *testing.T, name string, args ...string) {
	t.Helper()
	var out lockedText
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s: %s", name, out.String())
		}
	})
}

// Every command of the authors' page is run, in its order and in one shell, beside
// each agent that needs only Go or Node: from sign-up to the standings.
func TestE2E_Docs_authors(t *testing.T) {
	t.Parallel()
	snippets, blocks := blocksOf(docText(t, "docs/sdks.md")), blocksOf(docText(t, "docs/authors.md"))
	for language, prepare := range map[string]func(t *testing.T, dir string, swap *strings.Replacer) []string{
		"go": func(t *testing.T, dir string, swap *strings.Replacer) []string {
			t.Helper()
			source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "agent")
			must(t, os.WriteFile(source, []byte(swap.Replace(ofKind(snippets, "go")[0])), 0o600))
			must(t, goBuild(t.Context(), program, source))
			return []string{program}
		},
		"plain": func(t *testing.T, dir string, swap *strings.Replacer) []string {
			t.Helper()
			source := filepath.Join(dir, "agent.mjs")
			must(t, os.WriteFile(source, []byte(swap.Replace(ofKind(snippets, "js")[1])), 0o600))
			return []string{node(t), source}
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			p := serve(t, t.TempDir())
			addr := freeAddr(t)
			_, port, _ := strings.Cut(addr, ":")
			swap := strings.NewReplacer("http://127.0.0.1:8080", p.url, "127.0.0.1:8700", addr, `PORT = '8700'`, `PORT = '`+port+`'`)
			docsLeague(t, p)
			rival := p.contestant("rival", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("wrong") }, "trivia")
			command := prepare(t, t.TempDir(), swap)
			beside(t, command[0], command[1:]...)
			testwait.Until(t, "the agent is well", func() bool {
				res, err := http.Get("http://" + addr + "/agora/health") //nolint:noctx // a request on this machine
				return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
			})
			script := swap.Replace(strings.Join(ofKind(blocks, "sh"), "\necho; echo ---\n"))
			shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
			shell.Env = append(os.Environ(), "PATH="+filepath.Dir(buildArena(t))+":"+os.Getenv("PATH"), "ARENA_CONFIG_DIR="+t.TempDir())
			shell.Dir = t.TempDir()
			var errs bytes.Buffer
			shell.Stderr = &errs
			out, err := shell.Output()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, errs.String())
			}
			for _, want := range []string{
				`"status":"active"`, `health +ok`, "REASON", `"fault":"hostile_opponent"`, "My first agent", "  finished", `"outcome":"answered"`, `"rated_matches":[1-9]`,
			} {
				if !regexp.MustCompile(want).Match(out) {
					t.Errorf("no %s in the output, which ends in\n%s", want, out[max(0, len(out)-3000):])
				}
			}
			fieldsExplained(t, docText(t, "docs/agent-protocol.md"), rival.Requests())
		})
	}
}

// plainAgent is an agent without an SDK.
const plainAgent = "examples/plain/agent.mjs"

func node(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	return path
}

// The agent without an SDK passes every check, those that are no duty too.
func TestE2E_Docs_plain(t *testing.T) {
	t.Parallel()
	keys, addr := freeAddr(t), freeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	beside(t, "env", "ARENA=http://"+keys, "AGENT_ID=ag_check", "PORT="+port, node(t), filepath.Join(root(t), plainAgent))
	testwait.Until(t, "the agent listens", func() bool {
		res, err := http.Get("http://" + addr + "/agora/health") //nolint:noctx // a request on this machine
		return err == nil && res.Body.Close() == nil
	})
	out, err := exec.CommandContext(t.Context(), buildArena(t), "check", "--keys-addr", keys, "http://"+addr+"/agora").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("FAIL")) || !bytes.Contains(out, []byte("ready: ")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// docsLeague is the league of the quickstart: every first option is right.
func docsLeague(t *testing.T, p *process) {
	t.Helper()
	var pack bytes.Buffer
	for i := range 5 {
		fmt.Fprintf(&pack, `{"description":"question %d","answer":"right","options":["right","wrong","bad"]}`+"\n", i)
	}
	var made struct {
		ID string `json:"pack_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=first", pack.Bytes(), &made)
	p.league("trivia", made.ID, map[string]any{"judge": "choice", "format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 2, "time_limit_seconds": 5})
	p.call(p.admin, http.MethodPost, "/v1/leagues/trivia/start", nil, nil)
}

// fieldsExplained checks that the page has a line for every member that a task
// had on the wire.
func fieldsExplained(t *testing.T, page string, tasks []protocoltest.Request) {
	t.Helper()
	if len(tasks) < 2 {
		t.Fatalf("%d tasks came", len(tasks))
	}
	var line func(at string, v any)
	line = func(at string, v any) {
		members, _ := v.(document)
		if at != "" && at != "task" && !strings.Contains(page, "\n| `"+at+"` |") {
			t.Errorf("the page does not explain %s", at)
		}
		for name, v := range members {
			line(strings.TrimPrefix(at+"."+name, "."), v)
		}
	}
	for _, r := range tasks {
		var body document
		must(t, json.Unmarshal(r.Body, &body))
		line("", body)
	}
}
