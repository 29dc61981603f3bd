package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/arena/league/game/playout"
	"github.com/agora-arena/arena/server"
)

// TestMain makes this test binary its own script worker.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == server.ScriptWorker {
		os.Exit(run(context.Background(), os.Args[1:], nil, os.Stdin, os.Stdout, os.Stderr))
	}
	// A test server that closes closes the idle connections of the default transport
	// if it can, and one counts as idle just before its answer, if that has no body, is
	// handed over: a request of another test would fail.
	http.DefaultTransport = struct{ http.RoundTripper }{http.DefaultTransport}
	os.Exit(m.Run())
}

// Threat J8: a hostile game is refused with its position and the reason.
func TestGameCheck(t *testing.T) {
	t.Parallel()
	nim, err := os.ReadFile("../../examples/games/nim.js")
	must(t, err)
	file := func(data string) string {
		path := filepath.Join(t.TempDir(), "game.js")
		must(t, os.WriteFile(path, []byte(data), 0o600))
		return path
	}
	for _, c := range []struct {
		game string
		code int
		says []string
	}{
		{file(string(nim)), exitOK, []string{"game:              nim, version 1", "games:             3", "legal moves:", "cost of a move:    ", " µs median, "}},
		{"connect_four", exitOK, []string{"game:              connect_four, version 1"}},
		{"chequers", exitFailure, []string{`there is no such file, and "chequers" is no game; known are chess, colonel_blotto, connect_four`}},
		{file(strings.Replace(string(nim), "legal: [1, 2, 3]", "legal: [0]", 1)), exitFailure, []string{"problem:", "endless (seed ", "max_turns", "have problems"}},
		{file(strings.Replace(string(nim), "state.next = 1", "for (;;); state.next = 1", 1)), exitFailure, []string{"fault (seed 0, 2 players, turn 1): move: ", "too many steps"}},
		{file("\n  const = 1"), exitFailure, []string{"game.js: 2:9: syntax: "}},
		{file(strings.Repeat(" ", 256<<10+1)), exitFailure, []string{"game.js has more than 262144 bytes"}},
	} {
		code, out, errs := call(t, nil, "game", "check", c.game, "--games", "3")
		for _, s := range c.says {
			if !strings.Contains(out+errs, s) {
				t.Errorf("%s: no %q in\n%s%s", c.game, s, out, errs)
			}
		}
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.game, code, c.code)
		}
	}
	code, out, _ := call(t, nil, "game", "check", "tic_tac_toe", "--json", "--games", "2", "--seed", "9")
	var r playout.Report
	must(t, json.Unmarshal([]byte(out), &r))
	if code != exitOK || r.Games != 2 || r.Problems == nil || r.Cost.Mean <= 0 || r.Cost.Median <= 0 || r.Cost.Median > r.Cost.Most {
		t.Errorf("%d: %s", code, out)
	}
	if code, _, errs := call(t, nil, "game", "check", "tic_tac_toe", "--games", "0"); code != exitFailure || !strings.Contains(errs, "--games must be 1 to 1000000") {
		t.Errorf("%d: %s", code, errs)
	}
}
