package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// codingAgent stands in for a program that has no network here: it keeps its
// arguments and its input, and answers as such a program does, with text on
// standard output and progress on standard error.
const codingAgent = `#!/bin/sh
for argument in "$@"; do printf '%s\n' "$argument"; done >"$STUB_DIR/arguments"
cat >"$STUB_DIR/input"
echo 'reading the task' >&2
printf 'It is clearly not wrong.\n\nANSWER: '
sed -n 's/^- \(right\)$/\1/p' "$STUB_DIR/input"
`

// The scripts for coding agents call them with the arguments of the
// documentation, pass the task on standard input, and win.
func TestE2E_Adapters_exec(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	docsLeague(t, p)
	p.contestant("rival", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("wrong") }, "trivia")
	page := docText(t, "docs/authors.md")
	for name, want := range map[string][]string{ // one after the other: each meets the rival
		"claude": {"-p", "--tools", "", "--strict-mcp-config"},
		"codex":  {"exec", "--disable", "shell_tool", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral", "-"},
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(codingAgent), 0o700))
		cmd := exec.CommandContext(t.Context(), filepath.Join(root(t), "examples/exec", name+".sh"), p.url, "--matches", "1")
		cmd.Env = append(os.Environ(), "PATH="+strings.Join([]string{dir, filepath.Dir(buildArena(t)), os.Getenv("PATH")}, string(os.PathListSeparator)),
			"STUB_DIR="+dir, "ARENA_CONFIG_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("match 1: won 2:0")) {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		arguments, err := os.ReadFile(filepath.Join(dir, "arguments"))
		must(t, err)
		if got := strings.Split(strings.TrimSuffix(string(arguments), "\n"), "\n"); !slices.Equal(got, want) {
			t.Errorf("%s got the arguments %q, want %q", name, got, want)
		}
		input, err := os.ReadFile(filepath.Join(dir, "input"))
		must(t, err)
		if !bytes.Contains(input, []byte("ANSWER: ")) || !bytes.Contains(input, []byte("\nquestion ")) {
			t.Errorf("%s got the input %s", name, input)
		}
		script := docText(t, "examples/exec/"+name+".sh")
		if command := script[strings.Index(script, "--exec "):]; !strings.Contains(page, strings.TrimSpace(command)) {
			t.Errorf("docs/authors.md does not contain %s", command)
		}
	}
}
