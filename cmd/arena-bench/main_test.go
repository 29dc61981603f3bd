package main

import (
	"bytes"
	"strings"
	"testing"
)

// call runs the program.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestRun_usage(t *testing.T) {
	t.Parallel()
	if code, out, errs := call(t, "--help"); code != exitOK || errs != "" || !strings.Contains(out, "bench match") {
		t.Errorf("--help: exit code %d, stderr %q, stdout %q", code, errs, out)
	}
	if code, _, errs := call(t, "match", "--seat=3"); code != exitUsage || !strings.Contains(errs, `(see "arena bench match --help")`) {
		t.Errorf("an unknown flag: exit code %d, stderr %q", code, errs)
	}
	if code, _, errs := call(t); code != exitUsage || !strings.Contains(errs, `(see "arena bench --help")`) {
		t.Errorf("no command: exit code %d, stderr %q", code, errs)
	}
}
