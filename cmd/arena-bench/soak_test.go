package main

import (
	"strings"
	"testing"
)

func TestBenchSoak_bounds(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--spectators=9", "--hostile=24", "--honest=5", "--duration=4s", "--duration=4h", "--settle=0s", "--settle=2h"} {
		if code, _, errs := call(t, "soak", flag); code != exitFailure || !strings.Contains(errs, "5s to 3h") {
			t.Errorf("%s: exit %d, %s", flag, code, errs)
		}
	}
}

// Memory that was not released is named; normal fluctuation is not.
func TestSoakState_left(t *testing.T) {
	t.Parallel()
	before := soakState{Resident: 100 << 20, Bytes: 40 << 20, Goroutines: 30, Files: 20}
	for _, tc := range []struct {
		name   string
		after  soakState
		memory bool
		want   string
	}{
		{"as before", before, true, ""},
		{"a little more", soakState{Resident: 117 << 20, Bytes: 50 << 20, Goroutines: 30, Files: 20}, true, ""},
		{"SQLite", soakState{Resident: 119 << 20, Outside: 80 << 20}, true, "the process, outside Go: SQLite"},
		{"not waited for", soakState{Resident: 500 << 20, Goroutines: 31, Files: 21}, false, "goroutines, files"},
	} {
		if left := strings.Join(tc.after.left(before, tc.memory), ", "); left != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, left, tc.want)
		}
	}
	if table := (&soakFigures{}).table(); !strings.Contains(table, "deadline error") {
		t.Error(table)
	}
	f := soakFigures{Before: before, After: soakState{Resident: 300 << 20}, Settled: 180, Left: []string{"the process"}}
	if table := f.memoryTable(); !strings.Contains(table, "180 s after all had left still more than before: the process") {
		t.Error(table)
	}
	f.Left = nil
	if table := f.memoryTable(); !strings.Contains(table, "back 180 s after") {
		t.Error(table)
	}
}
