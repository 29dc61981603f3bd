package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
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
	spaces := regexp.MustCompile(" +")
	for _, c := range []struct {
		name, data string
		args       []string
		code       int
		says       []string
	}{
		{"mmlu.csv", "What flies?,cow,eagle,trout,dog,B\n", nil, exitOK, []string{"format: mmlu", "tasks: 1", "What flies?", "* B: eagle", "answer: eagle (the letter B in line 1)"}},
		{"map.csv", "Frage;Antwort;Thema\nq;a;art\nr;;art\n", []string{"--map", "description=Frage,answer=Antwort,topic=Thema"}, exitFailure, []string{"columns: Frage, Antwort, Thema", "question: Frage", "topic: art", "line 3: the answer is missing", "1 of 2 entries cannot be used"}},
		{"slip.csv", "description,anwser\nq,a\n", nil, exitFailure, []string{`the column "anwser" is not known; did you mean "answer"?`}},
		{"slip.jsonl", `{"description":"q","anwser":"a"}`, nil, exitFailure, []string{"line 1:", `did you mean "answer"?`}},
		{"twice.txt", "#Q q?\n^ c\nA a\nB a\nC c", nil, exitOK, []string{"format: opentriviaqa", "warnings:", "line 1: options A and B are the same"}},
		{"zero.csv", "id,passage,question,choice0,choice1,answer\n7,P.,q,x,y,1\n8,P.,r,x,y,0\n,,,,,\n", nil, exitOK, []string{
			"question: question", "context: passage", "options: choice0, choice1", "answer: answer, indexes from 0: an answer is 0", "left out: id", "empty rows: 1",
			"P. q", "* B: y", "answer: y (1 in line 2, an index from 0)",
		}},
		{"long.csv", "passage,question,answer\n" + strings.Repeat("word ", 300) + ",Who wrote it?,me\n", nil, exitOK, []string{" … ", "word Who wrote it?"}},
		{"base.csv", "question,a,b,c,answer\nq,x,y,z,1\n", nil, exitFailure, []string{"question: question", "options: a, b, c", `the column "answer" is the index`}},
		{"book.xlsx", "PK\x03\x04xl/workbook.xml", nil, exitFailure, []string{"an Excel workbook; save the sheet as CSV UTF-8"}},
		{"latin.csv", "description;answer\nAm \xdcbergang?;ja\n", nil, exitOK, []string{"note: The file is not UTF-8.", "Am Übergang?"}},
		{"hostile.jsonl", `{"description":"q\u009b31m","answer":"a"}`, nil, exitFailure, []string{"U+009B"}},
		{"empty.csv", "", nil, exitFailure, []string{"the file is empty"}},
		{"set.parquet", "PAR1\x15\x04\x15\x00PAR1", nil, exitFailure, []string{"this is a Parquet file"}},
	} {
		code, out, errs := call(t, nil, append([]string{"pack", "check", file(c.name, c.data)}, c.args...)...)
		for _, s := range c.says {
			if !strings.Contains(spaces.ReplaceAllString(out+errs, " "), s) {
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
