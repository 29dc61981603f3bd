package e2e

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
)

// Every command of the page is run, in its order and in one folder. Commands
// for a terminal stand behind a dollar sign, and what the page shows below one
// is what comes out, as far as it is the same everywhere.
func TestE2E_Docs_checking(t *testing.T) {
	t.Parallel()
	page := docText(t, "docs/checking.md")
	p := serve(t, t.TempDir())
	p.league("trivia", p.choices(), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	agent := p.register("steady", sdkAgent(t, strings.TrimPrefix(p.url, "http://"), ""))
	rival, _ := p.goAgent(func(context.Context, *arenaagent.Task) {})
	match := p.schedule("trivia", agent, rival)
	p.watch(match, 0).end(nil)
	local := freeAddr(t) // of the page's 127.0.0.1:8088
	swap := strings.NewReplacer(
		"127.0.0.1:8088", local, "http://127.0.0.1:8700/agora", sdkAgent(t, local, ""), "http://127.0.0.1:8701/agora", sdkAgent(t, local, ""),
		"arena check ", "arena check --keys-addr "+local+" ", "arena play ", "arena play --addr "+local+" ",
	)
	dir := t.TempDir()
	shell := func(ctx context.Context, command string) *exec.Cmd {
		c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
		c.Env = append(os.Environ(), "PATH="+filepath.Dir(buildArena(t))+":"+os.Getenv("PATH"),
			"A="+p.url, "AGENT="+agent.id, "TOKEN="+agent.owner.Token, "MATCH="+match)
		c.Dir = dir
		return c
	}
	commands := 0
	for _, b := range blocksOf(page) {
		if b.kind != "" { // an example of a format
			continue
		}
		text := b.text
		if !strings.HasPrefix(text, "$ ") { // one command, without its output
			text = "$ " + text
		}
		for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
			command, shown, _ := strings.Cut(part, "\n")
			commands++
			if strings.HasPrefix(command, "arena replay ") {
				replays(t, func(ctx context.Context) *exec.Cmd { return shell(ctx, "exec "+command) })
				continue
			}
			out, err := shell(t.Context(), swap.Replace(command)).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			for line := range strings.Lines(shown) {
				if want := sameEverywhere(line); want != "" && !strings.Contains(sameEverywhere(string(out)), want) {
					t.Errorf("%s: the page shows %q, which is not in\n%s", command, want, out)
				}
			}
			if command == "curl -s -X POST \"$A/v1/agents/$AGENT/check?full=true\" -H \"Authorization: Bearer $TOKEN\"" && !strings.Contains(string(out), `"passed":true`) {
				t.Errorf("%s: %s", command, out)
			}
		}
	}
	if commands != 7 {
		t.Errorf("the page has %d commands", commands)
	}
	_, report, _ := call(t, "check", sdkAgent(t, local, ""), "--keys-addr", "127.0.0.1:0", "--arena", "http://"+local)
	for _, id := range regexp.MustCompile(`(?m)^  (?:ok|FAIL|skip) +(?:MUST|SHOULD) +(\S+)`).FindAllStringSubmatch(report, -1) {
		if !strings.Contains(page, "`"+id[1]+"`") {
			t.Errorf("the page does not explain %s", id[1])
		}
	}
}

// sameEverywhere is what of some output does not depend on time and place: the
// verdicts of a check, with N for numbers.
func sameEverywhere(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		switch strings.SplitN(strings.TrimSpace(line), " ", 2)[0] {
		case "ok", "FAIL", "ready:":
			lines = append(lines, regexp.MustCompile(`\d+ ms`).ReplaceAllString(strings.TrimSpace(line), "N ms"))
		}
	}
	return strings.Join(lines, "\n")
}

// replays runs a command that serves until it is ended, and looks at the page
// that it names.
func replays(t *testing.T, command func(context.Context) *exec.Cmd) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	cmd := command(ctx)
	said, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() {
		stop()
		_ = cmd.Wait() // it was killed
	}()
	page, err := bufio.NewReader(said).ReadString('\n')
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSpace(page), nil)
	must(t, err)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	must(t, res.Body.Close())
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d", page, res.StatusCode)
	}
}
