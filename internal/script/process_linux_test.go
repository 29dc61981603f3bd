package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Threat J9: workers that judge answers leave the processors to what answers agents
// and spectators, and to the games that matches wait for.
func TestPool_Niceness(t *testing.T) {
	t.Parallel()
	answers, games := newPool(t), newPool(t)
	script := solve(`const solve = () => 1`, `[]`)
	if _, err := answers.Run(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	script.Game = true // its function is not a game's, which the worker reports
	if _, err := games.Run(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	hasNiceness(t, answers.Pids()[0], "10")
	hasNiceness(t, games.Pids()[0], "0")
}

// hasNiceness compares the niceness of all threads of a process.
func hasNiceness(t *testing.T, pid int, want string) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, name := range threads {
		stat, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if nice := fields[16]; nice != want { // field 19 of the line, proc(5)
			t.Errorf("%s has the niceness %s", name, nice)
		}
	}
}
