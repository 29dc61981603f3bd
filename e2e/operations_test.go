package e2e

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// runBeside runs a command with the settings of a server on the database in dir.
func runBeside(t *testing.T, dir string, environ []string, args ...string) (code int, output string) {
	t.Helper()
	var out bytes.Buffer
	environ = append([]string{"HOME=" + dir, "ARENA_DATABASE_URL=sqlite:" + filepath.Join(dir, "arena.db"), "ARENA_LOG_LEVEL=warn"}, environ...)
	program := buildArena(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a server that should refuse to start would run forever
	defer cancel()
	code = execArena(ctx, program, args, environ, strings.NewReader(""), &out, &out)
	return code, out.String()
}

// Threat O3: a second server on one SQLite file ends with a sentence, commands
// beside the server work, and a crash leaves no lock.
func TestE2E_SecondServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	code, out := runBeside(t, dir, []string{"ARENA_ADDR=127.0.0.1:0", "ARENA_METRICS_ADDR="}, "serve")
	if code != exitFailure || !strings.Contains(out, "another server uses the database "+filepath.Join(dir, "arena.db")) {
		t.Errorf("the second server: exit code %d, %s", code, out)
	}
	for _, args := range [][]string{{"migrate", "--status"}, {"migrate"}, {"keys", "list"}, {"keys", "rotate"}} {
		if code, out := runBeside(t, dir, nil, args...); code != exitOK {
			t.Errorf("arena %s: exit code %d, %s", strings.Join(args, " "), code, out)
		}
	}
	p.kill()
	serve(t, dir)
}
