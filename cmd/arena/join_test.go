package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Mistakes are found before an agent is registered.
func TestJoin_refuses(t *testing.T) {
	t.Parallel()
	arena := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the arena got %s %s", r.Method, r.URL) }))
	t.Cleanup(arena.Close)
	dir := t.TempDir()
	empty, long := filepath.Join(dir, "empty"), filepath.Join(dir, "long")
	must(t, os.WriteFile(empty, nil, 0o600))
	must(t, os.WriteFile(long, make([]byte, maxPrompt+1), 0o600))
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(model.Close)
	for _, test := range []struct {
		args, want string
		code       int
	}{
		{"", "--exec, --model or --url", exitFailure},
		{"--exec cat --model m", "can't be used together", exitUsage},
		{"--exec no-such-program-anywhere", "no-such-program-anywhere", exitFailure},
		{"--exec 'cat", "not closed", exitFailure},
		{"--model m", "OPENAI_API_KEY", exitFailure},
		{"--exec cat --base-url http://127.0.0.1:1", "--base-url needs --model", exitFailure},
		{"--exec cat --api anthropic", "--api needs --model", exitFailure},
		{"--model m --api anthropic", "ANTHROPIC_API_KEY", exitFailure},
		{"--model m --api other", "must be one of", exitUsage},
		{"--model m --base-url 127.0.0.1:1", "--base-url", exitFailure},
		{"--url 127.0.0.1:8700", "--url", exitFailure},
		{"--url http://127.0.0.1:1 --prompt " + empty, "--prompt has no meaning", exitFailure},
		{"--exec cat --prompt " + empty, "is empty", exitFailure},
		{"--exec cat --prompt " + long, "more than 65536 bytes", exitFailure},
		{"--exec cat --prompt " + dir + "/none", "no such file", exitFailure},
		{"--exec cat --matches=-1", "at least 1", exitFailure},
		{"--model m --base-url " + model.URL + "/v1", model.URL + "/v1/chat/completions answered 401 Unauthorized (check OPENAI_API_KEY)", exitFailure},
		{"--exec false", "the test question was not answered (--no-test skips it): exit status 1", exitFailure},
		{"--exec true", "it printed no answer", exitFailure},
	} {
		code, out, errs := call(t, []string{"ARENA_CONFIG_DIR=" + dir}, append([]string{"join", arena.URL}, strings.Fields(test.args)...)...)
		if code != test.code || out != "" || !strings.Contains(errs, test.want) {
			t.Errorf("%s: code %d, %q, %q; want %q", test.args, code, out, errs, test.want)
		}
	}
}

// An arena that cannot be reached is an error at the first run, and nothing is
// kept.
func TestJoin_noArena(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	dir := t.TempDir()
	code, _, errs := call(t, []string{"ARENA_CONFIG_DIR=" + dir}, "join", gone.URL, "--exec", "cat join_test.go", "--no-test")
	if code != exitFailure || !strings.Contains(errs, "connection refused") || !strings.Contains(errs, `will not find "join_test.go" there`) {
		t.Errorf("code %d, %s", code, errs)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("kept %v, %v", files, err)
	}
}
