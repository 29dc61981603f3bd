package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBenchRatings(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "ratings", "--results=1000", "--agents=20", "--seats=5", "--json")
	var f ratingsFigures
	if err := json.Unmarshal([]byte(out), &f); err != nil || code != exitOK || errs != "" {
		t.Fatalf("exit code %d, stdout %q, stderr %q (%v)", code, out, errs, err)
	}
	if f.Results != 1000 || f.Agents != 20 || f.Seats != 5 || f.Refit.CPU <= 0 {
		t.Errorf("figures %+v", f)
	}
	for flag, want := range map[string]string{
		"--results=999": "want 1000 to 10000000", "--agents=1": "want 2 to 2000", "--seats=129": "want 2 to 128",
	} {
		if code, _, errs := call(t, "ratings", flag); code != exitFailure || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, stderr %q", flag, code, errs)
		}
	}
}
