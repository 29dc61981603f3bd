package main

import (
	"strings"
	"testing"
)

// Twice as fast is half the time.
func TestDemo_pace(t *testing.T) {
	t.Parallel()
	for speed, factor := range map[float64]float64{1: 1, 2: 0.5, 0.5: 2, 100: 0.01} {
		if got := (&DemoCmd{Speed: speed}).pace(); got != factor {
			t.Errorf("speed %g makes thinking times %g times as long, want %g", speed, got, factor)
		}
	}
}

func TestDemo_refusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--agents=7": "want 8 to 96", "--agents=97": "want 8 to 96", "--speed=0": "want more than 0", "--speed=101": "at most 100",
		"--addr=0.0.0.0:0": "listens on 127.0.0.1 only",
	} {
		if code, _, stderr := call(t, nil, "demo", args); code != exitFailure || !strings.Contains(stderr, says) {
			t.Errorf("arena demo %s: exit %d, %s", args, code, stderr)
		}
	}
}
