package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page, the file and nothing else are served for as long as the command
// runs.
func TestReplay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "match.jsonl")
	log := `{"match":{"match_id":"m_1","league":"quiz"}}` + "\n" + `{"seq":1,"type":"match_scheduled"}` + "\n"
	must(t, os.WriteFile(file, []byte(log), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		done <- run(ctx, []string{"replay", file}, nil, strings.NewReader(""), w, &errs)
		_ = w.Close()
	}()
	said := make([]byte, 200)
	n, err := r.Read(said)
	must(t, err)
	page := strings.TrimSpace(string(said[:n]))
	origin, rest, found := strings.Cut(page, "/replay?file=%2F")
	if !found || rest != "replay-file.jsonl" {
		t.Fatalf("the page is %q", page)
	}
	get := func(url string) (int, string, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		must(t, err)
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		defer func() { must(t, res.Body.Close()) }()
		body, err := io.ReadAll(res.Body)
		must(t, err)
		return res.StatusCode, res.Header.Get("Content-Security-Policy"), string(body)
	}
	if status, _, body := get(origin + "/replay-file.jsonl"); status != 200 || body != log {
		t.Errorf("the file: %d, %q", status, body)
	}
	if status, policy, body := get(page); status != 200 || !strings.Contains(policy, "default-src 'self'") || !strings.Contains(strings.ToLower(body), "<!doctype html>") {
		t.Errorf("the page: %d, %q, %.100q", status, policy, body)
	}
	if status, _, _ := get(origin + "/v1/matches"); status != 404 {
		t.Errorf("an API answered %d", status)
	}
	stop()
	if code := <-done; code != exitOK || errs.Len() != 0 {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}

func TestReplay_refuses_what_is_no_log(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"empty": "", "text": "hello", "list": "[1]", "other": "{}"} {
		file := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(file, []byte(content), 0o600))
		if code, out, errs := call(t, nil, "replay", file); code != exitFailure || out != "" || !strings.Contains(errs, "line 1 is neither an event nor") {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, errs)
		}
	}
	if code, _, errs := call(t, nil, "replay", filepath.Join(t.TempDir(), "none")); code == exitOK || errs == "" {
		t.Errorf("a file that is not there: exit code %d, %q", code, errs)
	}
}
