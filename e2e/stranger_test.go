//go:build linux

package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// From a Debian system without anything to a rated match within a minute, by the lines
// of the README, which the console prints with a key. The program that they start,
// claude, is one of the test.
func TestSlow_Stranger(t *testing.T) {
	t.Parallel()
	slow(t)
	h, p := newDebianHost(t), serve(t, t.TempDir())
	docsLeague(t, p)
	p.contestant("rival", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("wrong") }, "trivia")
	h.write("/usr/local/bin/claude", "#!/bin/sh\ncat >/dev/null\necho ANSWER: right\n", 0o755)
	h.run("root:root", "useradd --create-home stranger")
	var lines string
	for _, b := range ofKind(blocksOf(docText(t, "README.md")), "") {
		if strings.Contains(b, "/install.sh") {
			lines = strings.ReplaceAll(b, "http://127.0.0.1:8080", p.url)
		}
	}
	var out bytes.Buffer
	began := time.Now()
	cmd := h.command("stranger:stranger", "cd && "+lines, "HOME=/home/stranger")
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s\nwrote:\n%s", lines, out.String())
		}
	})
	h.wait("the stranger has won a rated match", time.Minute, func() bool {
		var table struct {
			Items []struct {
				Name  string
				Rated int `json:"rated_matches"`
				Won   int `json:"wins"`
			}
		}
		p.call(p.admin, http.MethodGet, "/v1/leagues/trivia/standings", nil, &table)
		for _, line := range table.Items {
			if strings.HasPrefix(line.Name, "claude-") && line.Rated > 0 && line.Won > 0 {
				return true
			}
		}
		return false
	})
	t.Logf("a rated match after %.1f s", time.Since(began).Seconds())
}
