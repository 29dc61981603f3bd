package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// compiled builds the first Go snippet of a page, with what replace changes.
func compiled(t *testing.T, page string, replace *strings.Replacer) (program string) {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "agent")
	must(t, os.WriteFile(source, []byte(replace.Replace(ofKind(blocksOf(docText(t, page)), "go")[0])), 0o600))
	if err := goBuild(t.Context(), program, source); err != nil {
		t.Fatalf("the snippet of %s does not compile: %v", page, err)
	}
	return program
}

// The agent of the README is registered, built and connected with its commands.
// The page for organizers creates a league in three calls.
func TestE2E_Docs_readme(t *testing.T) {
	t.Parallel()
	compiled(t, "sdk/go/README.md", strings.NewReplacer())
	p := serve(t, t.TempDir())
	swap := strings.NewReplacer("http://127.0.0.1:8080", p.url)
	docsLeague(t, p)
	wrong := func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("wrong") }
	rivals := []*contestant{p.contestant("rival", wrong, "trivia"), p.contestant("another", wrong, "trivia"), p.contestant("third", wrong)}
	program := compiled(t, "README.md", swap)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "geography.txt"), []byte("#Q What is the capital of Australia?\n^ Canberra\nA Sydney\nB Canberra\nC Perth\nD Hobart\n\n"), 0o600))
	run := func(script, want string) string {
		shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		shell.Env = append(os.Environ(), "A="+p.url, "ADMIN="+e2eAdmin)
		shell.Dir = dir
		out, err := shell.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, no %s in\n%s", script, err, want, out)
		}
		return string(out)
	}
	pack, parts := "", 0
	match := p.schedule("trivia", rivals[:2]...)
	blocks := slices.Concat(blocksOf(docText(t, "README.md")), blocksOf(docText(t, "docs/leagues.md")), blocksOf(docText(t, "docs/watching.md")))
	for _, b := range ofKind(blocks, "") {
		switch {
		case strings.HasPrefix(b, "A=http://127.0.0.1:8080"):
			made := run(swap.Replace(b), `"agent_key":"`)
			var agent struct {
				ID  string `json:"agent_id"`
				Key string `json:"agent_key"`
			}
			must(t, json.Unmarshal([]byte(made), &agent))
			beside(t, "env", "ARENA="+p.url, "AGENT_KEY="+agent.Key, program)
			testwait.Until(t, "the agent of the README plays", func() bool {
				var seen struct{ Status string }
				p.call(p.admin, http.MethodGet, "/v1/agents/"+agent.ID, nil, &seen)
				return seen.Status == "active"
			})
			parts++
		case strings.Contains(b, "/v1/packs?format=opentriviaqa"):
			first, rest, _ := strings.Cut(b, "\n")
			_, id, _ := strings.Cut(run(first, `"tasks":1`), `"pack_id":"`)
			pack, _, _ = strings.Cut(id, `"`)
			run(strings.ReplaceAll(rest, "pk_…", pack), `"status":"running"`)
			parts++
		case strings.HasPrefix(b, "websocat "): // watch does the same over a WebSocket
			_, events, _ := strings.Cut(b, "\n")
			run(strings.ReplaceAll(events, "m_…", match), "match_finished")
			parts++
		}
	}
	for _, b := range ofKind(blocks, "json") {
		if !strings.HasPrefix(b, `{"slug"`) {
			continue
		}
		for _, r := range rivals {
			b = strings.Replace(b, "ag_…", r.id, 1)
		}
		leagues := json.NewDecoder(strings.NewReader(strings.ReplaceAll(b, "pk_…", pack)))
		for leagues.More() {
			var league map[string]any
			must(t, leagues.Decode(&league))
			p.call(p.admin, http.MethodPost, "/v1/leagues", league, nil)
			parts++
		}
	}
	if parts != 8 {
		t.Errorf("%d of 8 parts were found", parts)
	}
}
