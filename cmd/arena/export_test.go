package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// exporting is an arena whose kind answers has three lines for each of some
// settlements, and which breaks the first responses off.
type exporting struct {
	t           *testing.T
	settlements int
	breaks      []int // after so many lines
	asked       []string
}

func (e *exporting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.asked = append(e.asked, r.URL.RequestURI())
	q := r.URL.Query()
	switch {
	case r.URL.Path == "/v1/leagues/none/export":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `{"status":404,"code":"not_found","detail":"no such league"}`)
	case strings.HasSuffix(r.URL.Path, "/standings") && q.Get("cursor") == "":
		_, _ = fmt.Fprint(w, `{"items":[{"agent_id":"ag_1"}],"next_cursor":"more","league":"quiz","drift":0.010}`)
	case strings.HasSuffix(r.URL.Path, "/standings"):
		_, _ = fmt.Fprint(w, `{"items":[{"agent_id":"ag_2"}],"next_cursor":"","league":"quiz"}`)
	case q.Get("kind") == "":
		_, _ = fmt.Fprint(w, `{"name":"quiz"}`)
	default:
		since, err := strconv.Atoi(q.Get("since"))
		must(e.t, err)
		lines := 0
		for s := since + 1; s <= e.settlements; s++ {
			for n := range 3 {
				if len(e.breaks) > 0 && lines == e.breaks[0] {
					e.breaks = e.breaks[1:]
					_, _ = fmt.Fprint(w, `{"settlement":`)
					must(e.t, http.NewResponseController(w).Flush())
					panic(http.ErrAbortHandler)
				}
				lines++
				_, _ = fmt.Fprintf(w, `{"settlement":%d,"n":%d}`+"\n", s, n)
			}
		}
	}
}

func (e *exporting) lines() (text string) {
	for s := range e.settlements {
		for n := range 3 {
			text += fmt.Sprintf(`{"settlement":%d,"n":%d}`+"\n", s+1, n)
		}
	}
	return text
}

// An export that breaks off continues where it was, also in a later call, which adds
// what is new.
func TestExport(t *testing.T) {
	t.Parallel()
	e := &exporting{t: t, settlements: 4, breaks: []int{7, 5}}
	arena := httptest.NewServer(e)
	t.Cleanup(arena.Close)
	dir := filepath.Join(t.TempDir(), "data")
	export := func(says string) {
		t.Helper()
		file := filepath.Join(dir, "answers.jsonl")
		code, out, errs := call(t, nil, "export", "quiz", "--kind", "answers", "--out", dir, "--url", arena.URL)
		if code != exitOK || out != file+": "+says+"\n" || errs != "" {
			t.Errorf("exit code %d, %q, %q", code, out, errs)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != e.lines() {
			t.Errorf("%v: %s", err, got)
		}
	}
	export("12 lines, 12 of them new")
	want := []string{
		"/v1/leagues/quiz/export", "/v1/leagues/quiz/standings?cursor=", "/v1/leagues/quiz/standings?cursor=more",
		"/v1/leagues/quiz/export?kind=answers&since=0", "/v1/leagues/quiz/export?kind=answers&since=2", "/v1/leagues/quiz/export?kind=answers&since=3",
	}
	if got := strings.Join(e.asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("asked\n%s", got)
	}
	export("12 lines, 0 of them new")
	e.settlements = 5
	export("15 lines, 3 of them new")
	// A call that was interrupted in the middle of a line.
	must(t, os.WriteFile(filepath.Join(dir, "answers.jsonl"), []byte(e.lines()[:70]), 0o600))
	export("15 lines, 12 of them new")
	table, err := os.ReadFile(filepath.Join(dir, "standings.json"))
	must(t, err)
	if !strings.Contains(string(table), "ag_1") || !strings.Contains(string(table), "ag_2") || strings.Contains(string(table), "more") {
		t.Errorf("the table: %s", table)
	}
	if card, err := os.ReadFile(filepath.Join(dir, "card.json")); err != nil || !strings.Contains(string(card), `"name": "quiz"`) {
		t.Errorf("the card: %s, %v", card, err)
	}
}

func TestExport_refusals(t *testing.T) {
	t.Parallel()
	e := &exporting{t: t, settlements: 2, breaks: []int{0}}
	arena := httptest.NewServer(e)
	t.Cleanup(arena.Close)
	dir := t.TempDir()
	for args, says := range map[string]string{
		"none":               "no such league",
		"quiz --kind none":   "--kind must be one of",
		"quiz --kind rounds": "unexpected EOF", // it breaks off before the first line
	} {
		code, out, errs := call(t, nil, append([]string{"export", "--out", dir, "--url", arena.URL}, strings.Fields(args)...)...)
		if code == exitOK || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: exit code %d, %q, %q", args, code, out, errs)
		}
	}
	file := filepath.Join(dir, "answers.jsonl")
	must(t, os.WriteFile(file, []byte("a line of mine\n"), 0o600))
	if code, _, errs := call(t, nil, "export", "quiz", "--kind", "answers", "--out", dir, "--url", arena.URL); code != exitFailure || !strings.Contains(errs, "answers.jsonl: line 1 is not one of an export") {
		t.Errorf("another file: exit code %d, %q", code, errs)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "a line of mine\n" {
		t.Errorf("the file of another program is %q now, %v", got, err)
	}
}

// What is missing from a board is named.
func TestVerify_board_refusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	matches, answers, ratings := file("quiz-matches.jsonl", ""), file("quiz-answers.jsonl", ""), file("quiz-ratings.jsonl", "")
	for says, files := range map[string][]string{
		"matches.jsonl is missing":        {answers, ratings},
		"answers.jsonl is missing":        {matches, ratings},
		"ratings.jsonl is missing":        {answers, matches},
		"/record":                         {matches, answers, ratings, file("record.json", `{"record":{},"signature":{}}`)},
		"standings.json: ":                {matches, answers, ratings, file("standings.json", "[]")},
		"no such file or directory":       {matches, answers, filepath.Join(dir, "none-ratings.jsonl")},
		"no settlement could be compared": {matches, answers, ratings},
	} {
		code, out, errs := call(t, nil, append([]string{"verify", "--board"}, files...)...)
		if code != exitFailure || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: exit code %d, %q, %q", says, code, out, errs)
		}
	}
}
