package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

func TestPackCheck(t *testing.T) {
	t.Parallel()
	file := func(name, data string) string {
		path := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(path, []byte(data), 0o600))
		return path
	}
	for _, c := range []struct {
		name, data string
		args       []string
		code       int
		says       []string
	}{
		{"mmlu.csv", "What flies?,cow,eagle,trout,dog,B\n", nil, exitOK, []string{"format:  mmlu", "tasks:   1", "What flies?", "B:       eagle", "answer:  eagle"}},
		{"map.csv", "Frage;Antwort;Thema\nq;a;art\nr;;art\n", []string{"--map", "description=Frage,answer=Antwort,topic=Thema"}, exitFailure, []string{"columns:  Frage, Antwort, Thema", "topic:   art", "line 3:  the answer is missing", "1 of 2 entries cannot be used"}},
		{"slip.csv", "description,anwser\nq,a\n", nil, exitFailure, []string{`the column "anwser" is not known; did you mean "answer"?`}},
		{"slip.jsonl", `{"description":"q","anwser":"a"}`, nil, exitFailure, []string{"line 1:", `did you mean "answer"?`}},
		{"twice.txt", "#Q q?\n^ c\nA a\nB a\nC c", nil, exitOK, []string{"format:  opentriviaqa", "mended:", "line 1:  options A and B are the same"}},
		{"hostile.jsonl", `{"description":"q\u009b31m","answer":"a"}`, nil, exitFailure, []string{"U+009B"}},
		{"empty.csv", "", nil, exitFailure, []string{"the file is empty"}},
	} {
		code, out, errs := call(t, nil, append([]string{"pack", "check", file(c.name, c.data)}, c.args...)...)
		for _, s := range c.says {
			if !strings.Contains(out+errs, s) {
				t.Errorf("%s: no %q in\n%s%s", c.name, s, out, errs)
			}
		}
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.code)
		}
	}
	code, out, _ := call(t, nil, "pack", "check", "--json", file("x.jsonl", `{"question":"q","answer":"#### 5"}`))
	var r arena.PackReport
	must(t, json.Unmarshal([]byte(out), &r))
	if code != exitOK || r.Format != "gsm8k" || len(r.Samples) != 1 || r.Samples[0].Answer[0] != "5" || r.Skipped == nil {
		t.Errorf("%d: %s", code, out)
	}
}
