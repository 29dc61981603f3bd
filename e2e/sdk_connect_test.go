package e2e

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The 12-line agent of each SDK fetches its tasks from the real binary: it
// becomes active by polling, plays a rated match, and its events are in the log.
func TestE2E_SDKs_connect(t *testing.T) {
	t.Parallel()
	sdk := filepath.Join(root(t), "sdk")
	for name, agent := range map[string]struct{ command, needs []string }{
		"typescript": {[]string{"node", sdk + "/typescript/examples/connect.mjs"}, []string{sdk + "/typescript/dist/connect.js", sdk + "/typescript/node_modules/jose"}},
		"python":     {[]string{python(t), sdk + "/python/examples/connect.py"}, []string{python(t)}},
		"rust":       {[]string{sdk + "/rust/target/debug/examples/connect"}, []string{sdk + "/rust/target/debug/examples/connect"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needed(t, agent.needs)
			p := serve(t, t.TempDir())
			p.league("trivia", p.choices(), map[string]any{
				"format": "ladder", "min_seats": 2, "max_seats": 2, "time_limit_seconds": 20, "visibility": "live",
			})
			other := &contestant{owner: p.owner(name + " & co")}
			var made struct {
				ID  string `json:"agent_id"`
				Key string `json:"agent_key"`
			}
			p.call(other.owner, http.MethodPost, "/v1/agents", map[string]any{"name": name, "leagues": []string{"trivia"}}, &made)
			other.id = made.ID
			connectAgent(t, name, agent.command, "ARENA="+p.url, "AGENT_KEY="+made.Key)
			p.active(other.owner, other.id)
			rival, _ := p.goAgent(p.awaitThoughts)
			p.playsRated(other, rival, name)
		})
	}
}

// connectAgent starts an agent that fetches its tasks. It ends with the test.
func connectAgent(t *testing.T, name string, command []string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+root(t)+"/sdk/python", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, env...)
	said, err := cmd.StderrPipe()
	must(t, err)
	cmd.Stdout = cmd.Stderr // the same pipe
	must(t, cmd.Start())
	var reader sync.WaitGroup
	reader.Go(func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			t.Logf("%s: %s", name, lines.Text())
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		hangs := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // which Wait reports
		defer hangs.Stop()
		reader.Wait()
		if err := cmd.Wait(); err != nil && name != "rust" { // it leaves signals to the system
			t.Errorf("the agent ended with %v", err)
		}
	})
}
