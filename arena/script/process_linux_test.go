package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Threat J9: workers leave the processors to what answers agents and spectators.
func TestPool_Niceness(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	if _, err := p.Run(t.Context(), solve(`const solve = () => 1`, `[]`)); err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Pids()[0]))
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, name := range threads {
		stat, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if nice := fields[16]; nice != "10" { // field 19 of the line, proc(5)
			t.Errorf("%s has the niceness %s", name, nice)
		}
	}
}
