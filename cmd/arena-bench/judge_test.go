package main

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestBenchJudge_bounds(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--rounds=9", "--cases=21", "--hostile=4h"} {
		if code, _, errs := call(t, "judge", flag); code != exitFailure || !strings.Contains(errs, "10 to 200 rounds") {
			t.Errorf("%s: exit %d, %s", flag, code, errs)
		}
	}
}

// Programs differ and are small enough to be judged.
func TestHostileProgram(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	for range 1000 {
		program := hostileProgram(random)
		if program == "" || len(program) > programBytes {
			t.Fatalf("a program of %d bytes", len(program))
		}
		seen[program] = true
	}
	if len(seen) < 500 {
		t.Errorf("%d different programs of 1000", len(seen))
	}
}
