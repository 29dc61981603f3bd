package pack_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/scoring"
)

// one task of each kind, with the defaults of AAP.
func task(description, answer string, options ...string) arena.Task {
	return arena.Task{
		Description: description, Answers: []string{answer}, Options: options,
		InputFormat: "string", OutputFormat: "string",
	}
}

func numberTask(description, answer string) arena.Task {
	t := task(description, answer)
	t.OutputFormat = "number"
	return t
}

// TestParse_good reads what each format allows.
func TestParse_good(t *testing.T) {
	t.Parallel()
	full := arena.Task{
		Description: "d", Answers: []string{"x", "y"}, Options: []string{"x", "z"}, InputFormat: "i", OutputFormat: "o",
		Topic: "t", Difficulty: "3", MaxTokens: 7, Rules: []string{"only_one_answer"},
	}
	tests := []struct {
		name, format, data string
		want               []arena.Task
	}{
		{"jsonl", pack.JSONL, `{"description":"q","answer":"a"}`, []arena.Task{task("q", "a")}},
		{"jsonl, number", pack.JSONL, `{"description":"q","answer":-1.50}`, []arena.Task{task("q", "-1.50")}},
		{
			"jsonl, everything", pack.JSONL,
			`{"description":"d","answer":["x","y"],"options":["x","z"],"input_format":"i","output_format":"o",` +
				`"topic":"t","difficulty":3,"max_tokens":7,"rules":["only_one_answer"]}`,
			[]arena.Task{full},
		},
		{
			"jsonl, byte order mark, blank lines, mixed line ends", pack.JSONL,
			"\xef\xbb\xbf\r\n{\"description\":\"q\",\"answer\":\"a\"}\r\n \n{\"description\":\"r\",\"answer\":\"b\"}\r{\"description\":\"s\",\"answer\":\"c\"}",
			[]arena.Task{task("q", "a"), task("r", "b"), task("s", "c")},
		},
		{
			"jsonl, number options", pack.JSONL, `{"description":"q","answer":2,"options":[1,"2"]}`,
			[]arena.Task{task("q", "2", "1", "2")},
		},
		{
			"jsonl, an open question", pack.JSONL, `{"description":"q","answer":[]}`,
			[]arena.Task{{Description: "q", InputFormat: "string", OutputFormat: "string"}},
		},
		{
			"jsonl, cases", pack.JSONL, `{"description":"q","cases":[{"args":[1,"x",[]],"want":null},{"args":[],"want":{"a":1}}]}`,
			[]arena.Task{{
				Description: "q", InputFormat: "string", OutputFormat: "string",
				Cases: []arena.Case{
					{Args: json.RawMessage(`[1,"x",[]]`), Want: json.RawMessage(`null`)},
					{Args: json.RawMessage(`[]`), Want: json.RawMessage(`{"a":1}`)},
				},
			}},
		},
		{
			"opentriviaqa", pack.OpenTriviaQA, "\n#Q q?\n^ b\nA a\nB b\n\n#Q r?\n^ c\nA c\nB d\nC e\nD f\nE g\nF h",
			[]arena.Task{task("q?", "b", "a", "b"), task("r?", "c", "c", "d", "e", "f", "g", "h")},
		},
		{
			"opentriviaqa, mixed line ends and byte order mark", pack.OpenTriviaQA,
			"\xef\xbb\xbf#Q q?\r\n^ b\rA a\n\r\nB b\r\n",
			[]arena.Task{task("q?", "b", "a", "b")},
		},
		{
			"opentriviaqa, a question over lines", pack.OpenTriviaQA,
			"#Q On curves\nYou know\nA beauty show?\n^ b\nA a\nB b",
			[]arena.Task{task("On curves\nYou know\nA beauty show?", "b", "a", "b")},
		},
		{
			"opentriviaqa, a wrong option twice", pack.OpenTriviaQA,
			"#Q q?\n^ c\nA a\nB a\nC c",
			[]arena.Task{task("q?", "c", "a", "c")},
		},
		{
			"opentriviaqa, Windows-1252", pack.OpenTriviaQA,
			"#Q q\x85\n^ Brummb\xe4r\nA Brummb\xe4r\nB \x93x\x94",
			[]arena.Task{task("q…", "Brummbär", "Brummbär", "“x”")},
		},
		{"gsm8k", pack.GSM8K, `{"question":" q ","answer":"1+1=2\n#### 1,234"}`, []arena.Task{numberTask("q", "1234")}},
		{"gsm8k, negative", pack.GSM8K, `{"question":"q","answer":"a #### b #### -3"}`, []arena.Task{numberTask("q", "-3")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := pack.Parse(tt.format, []byte(tt.data), pack.DefaultLimits())
			if err != nil || skipped != nil {
				t.Fatalf("error %v, skipped %v", err, skipped)
			}
			if d := cmp.Diff(tt.want, tasks); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestParse_bad parses one bad entry at a time, between two good ones.
// Threat A6.
func TestParse_bad(t *testing.T) {
	t.Parallel()
	rules := `["` + strings.Repeat(`r","`, 20) + `r"]`
	tests := []struct{ name, format, entry, reason string }{
		{"not JSON", pack.JSONL, `{"description":`, "EOF"},
		{"not an object", pack.JSONL, `["q"]`, "not a JSON object"},
		{"unknown member", pack.JSONL, `{"description":"q","answer":"a","Answer":"b"}`, `the member "Answer" is not known; did you mean "answer"? choose from description, answer`},
		{"member twice", pack.JSONL, `{"description":"q","answer":"a","answer":"b"}`, "duplicate"},
		{"text behind", pack.JSONL, `{"description":"q","answer":"a"} x`, "invalid"},
		{"not UTF-8", pack.JSONL, "{\"description\":\"q\",\"answer\":\"é\xff\"}", "UTF-8"},
		{"replacement character", pack.JSONL, `{"description":"caf\ufffd","answer":"a"}`, "damaged"},
		{"control character", pack.JSONL, `{"description":"q\u0000","answer":"a"}`, "control character U+0000"},
		{"no description", pack.JSONL, `{"answer":"a"}`, "description is missing"},
		{"blank description", pack.JSONL, `{"description":" ","answer":"a"}`, "description is missing"},
		{"no answer", pack.JSONL, `{"description":"q"}`, "answer is missing"},
		{"an open question with options", pack.JSONL, `{"description":"q","answer":[],"options":["a","b"]}`, "not among the options"},
		{"empty list of cases", pack.JSONL, `{"description":"q","cases":[]}`, "answer is missing"},
		{"arguments are no list", pack.JSONL, `{"description":"q","cases":[{"args":[],"want":1},{"args":{},"want":1}]}`, "case 2: args must be the list"},
		{"no arguments", pack.JSONL, `{"description":"q","cases":[{"want":1}]}`, "case 1: args must be the list"},
		{"nothing wanted", pack.JSONL, `{"description":"q","cases":[{"args":[]}]}`, "case 1: want is missing"},
		{"unknown member of a case", pack.JSONL, `{"description":"q","cases":[{"args":[],"want":1,"got":1}]}`, "unknown"},
		{"cases over the limit", pack.JSONL, `{"description":"q","cases":[` + strings.Repeat(`{"args":[],"want":1},`, 50) + `{"args":[],"want":1}]}`, "51 cases, the limit is 50"},
		{"case over the limit", pack.JSONL, `{"description":"q","cases":[{"args":["` + strings.Repeat("x", 8187) + `"],"want":12}]}`, "case 1 has 8193 bytes, the limit is 8192"},
		{"empty answer", pack.JSONL, `{"description":"q","answer":["a",""]}`, "answer is empty"},
		{"invisible answer", pack.JSONL, `{"description":"q","answer":"\u200b "}`, "answer is empty"},
		{"null answer", pack.JSONL, `{"description":"q","answer":null}`, "neither a string nor a number"},
		{"object answer", pack.JSONL, `{"description":"q","answer":{"a":1}}`, "neither a string nor a number"},
		{"deep answer", pack.JSONL, `{"description":"q","answer":[["a"]]}`, "neither a string nor a number"},
		{"answer is no option", pack.JSONL, `{"description":"q","answer":"aa","options":["b","c"]}`, "not among the options"},
		{"letter behind the last option", pack.JSONL, `{"description":"q","answer":"d","options":["b","c"]}`, "the answer is option D, and there are 2 options"},
		{"one option", pack.JSONL, `{"description":"q","answer":"a","options":["a"]}`, "one option only"},
		{"empty option", pack.JSONL, `{"description":"q","answer":"a","options":["a",""]}`, "option B is empty"},
		{"option twice", pack.JSONL, `{"description":"q","answer":"a","options":["a","b","B"]}`, "options B and C are the same"},
		{"options over the limit", pack.JSONL, `{"description":"q","answer":"1","options":[` + strings.Repeat("1,", 26) + `2]}`, "27 options, the limit is 26"},
		{"answers over the limit", pack.JSONL, `{"description":"q","answer":[` + strings.Repeat("1,", 64) + `2]}`, "65 accepted answers, the limit is 64"},
		{"description over the limit", pack.JSONL, `{"description":"` + strings.Repeat("q", 8193) + `","answer":"a"}`, "8193 bytes, the limit is 8192"},
		{"option over the limit", pack.JSONL, `{"description":"q","answer":"a","options":["a","` + strings.Repeat("b", 513) + `"]}`, "513 bytes, the limit is 512"},
		{"topic over the limit", pack.JSONL, `{"description":"q","answer":"a","topic":"` + strings.Repeat("t", 129) + `"}`, "129 bytes, the limit is 128"},
		{"rules over the limit", pack.JSONL, `{"description":"q","answer":"a","rules":` + rules + `}`, "21 rules, the limit is 20"},
		{"max_tokens", pack.JSONL, `{"description":"q","answer":"a","max_tokens":-1}`, "max_tokens must be 0"},
		{"rule over the limit", pack.JSONL, `{"description":"q","answer":"a","rules":["` + strings.Repeat("r", 65) + `"]}`, "rules[0]: must have 1 to 64 characters"},
		{"empty rule", pack.JSONL, `{"description":"q","answer":"a","rules":["r",""]}`, "rules[1]: must have 1 to 64 characters"},
		{"control character in a rule", pack.JSONL, `{"description":"q","answer":"a","rules":["r\u001b[31m"]}`, "rules[0]: must be plain text"},
		{"answer over the limit", pack.JSONL, `{"description":"q","answer":"` + strings.Repeat("a", 513) + `"}`, "the answer has 513 bytes, the limit is 512"},
		{"max_tokens over the limit", pack.JSONL, `{"description":"q","answer":"a","max_tokens":1000001}`, "max_tokens must be 0"},
		{"max_tokens not whole", pack.JSONL, `{"description":"q","answer":"a","max_tokens":1.5}`, "max_tokens"},
		{"a bomb of brackets", pack.JSONL, `{"description":"q","answer":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "nested deeper"},

		{"no answer", pack.OpenTriviaQA, "#Q q?\nA a\nB b", "no answer"},
		{"empty answer", pack.OpenTriviaQA, "#Q q?\n^\nA a\nB b", "answer (^) is empty"},
		{"two answers", pack.OpenTriviaQA, "#Q q?\n^ a\n^ b\nA a\nB b", "two answers"},
		{"answer is no option", pack.OpenTriviaQA, "#Q q?\n^ cc\nA a\nB b", "not among the options"},
		{"no options", pack.OpenTriviaQA, "#Q q?\n^ c", "0 options"},
		{"one option", pack.OpenTriviaQA, "#Q q?\n^ a\nA a", "1 options"},
		{"one option twice", pack.OpenTriviaQA, "#Q q?\n^ a\nA a\nB A", "options A and B are the same"},
		{"only wrong options", pack.OpenTriviaQA, "#Q q?\n^ cc\nA a\nB a", "one option only"},
		{"empty option", pack.OpenTriviaQA, "#Q q?\n^ a\nA a\nB", "option B is empty"},
		{"a gap", pack.OpenTriviaQA, "#Q q?\n^ a\nA a\nC c", "option C is not the one that is next"},
		{"text behind the options", pack.OpenTriviaQA, "#Q q?\n^ a\nA a\nB b\nbut why", "neither an option nor a question"},
		{"no question", pack.OpenTriviaQA, "#Q\n^ a\nA a\nB b", "description is missing"},
		{"cut UTF-8", pack.OpenTriviaQA, "#Q \xe2\x80\x9cBadger State\xe2\x80?\n^ a\nA a\nB b", "damaged"},
		{"cut UTF-8 before a letter", pack.OpenTriviaQA, "#Q \xd0?n tank\n^ a\nA a\nB b", "the text is damaged"},
		{"damaged option", pack.OpenTriviaQA, "#Q q\n^ a\nA a\nB \xc3?", "line 8: the text is damaged"},
		{"not even Windows-1252", pack.OpenTriviaQA, "#Q q \x81\n^ a\nA a\nB b", "damaged"},
		{"control character", pack.OpenTriviaQA, "#Q q\x1b[31m\n^ a\nA a\nB b", "control character U+001B"},

		{"no result", pack.GSM8K, `{"question":"q","answer":"12"}`, "no ####"},
		{"no number", pack.GSM8K, `{"question":"q","answer":"#### twelve"}`, "not a number"},
		{"no question", pack.GSM8K, `{"answer":"#### 12"}`, "description is missing"},
		{"unknown member", pack.GSM8K, `{"question":"q","answer":"#### 12","id":3}`, `the member "id" is not known`},
	}
	good := map[string]string{
		pack.JSONL:        `{"description":"good","answer":"a"}`,
		pack.OpenTriviaQA: "#Q good\n^ a\nA a\nB b",
		pack.GSM8K:        `{"question":"good","answer":"#### 1"}`,
	}
	for _, tt := range tests {
		t.Run(tt.format+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			ok := good[tt.format]
			tasks, skipped, err := pack.Parse(tt.format, []byte(ok+"\n"+tt.entry+"\n"+ok), pack.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if len(tasks) != 2 {
				t.Errorf("%d good entries, want the 2 around the bad one", len(tasks))
			}
			if len(skipped) != 1 {
				t.Fatalf("skipped %v, want one", skipped)
			}
			if want := strings.Count(ok, "\n") + 2; skipped[0].Line != want {
				t.Errorf("line %d, want %d", skipped[0].Line, want)
			}
			if !strings.Contains(skipped[0].Reason, tt.reason) {
				t.Errorf("reason %q, want %q in it", skipped[0].Reason, tt.reason)
			}
		})
	}
}

func TestParse_textBeforeTheFirstQuestion(t *testing.T) {
	t.Parallel()
	tasks, skipped, err := pack.Parse(pack.OpenTriviaQA,
		[]byte("hello\nthere\n#Q q?\n^ a\nA a\nB b"), pack.DefaultLimits())
	want := []arena.SkippedLine{{Line: 1, Reason: "text before the first #Q"}}
	if err != nil || len(tasks) != 1 {
		t.Errorf("%d tasks, error %v", len(tasks), err)
	}
	if d := cmp.Diff(want, skipped); d != "" {
		t.Error(d)
	}
}

// TestParse_refused parses files that are refused as a whole. Threat A6.
func TestParse_refused(t *testing.T) {
	t.Parallel()
	limits := pack.DefaultLimits()
	limits.Entries = 2000
	line := `{"description":"q","answer":"a"}` + "\n"
	tests := []struct {
		name, format, data string
		code               arena.Code
		says               string
	}{
		{"unknown format", "xml", line, arena.CodeUnsupported, "jsonl, csv, opentriviaqa, opentdb, gsm8k"},
		{"parquet", pack.Auto, "PAR1\x00", arena.CodePackInvalid, "the page for packs"},
		{"too many bytes", pack.JSONL, strings.Repeat(" ", limits.File+1), arena.CodeTooLarge, "the limit is 16777216"},
		{"too many entries", pack.JSONL, strings.Repeat(line, limits.Entries+1), arena.CodeTooLarge, "more than 2000 entries"},
		{"too many bad entries", pack.JSONL, strings.Repeat("x\n", limits.Entries+1), arena.CodeTooLarge, "more than 2000 entries"},
		{"empty", pack.JSONL, "", arena.CodePackInvalid, "the file is empty"},
		{"blank", pack.OpenTriviaQA, "\xef\xbb\xbf\n \r\n", arena.CodePackInvalid, "the file is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := pack.Parse(tt.format, []byte(tt.data), limits)
			if arena.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want code %s and %q in it", err, tt.code, tt.says)
			}
			if tasks != nil || skipped != nil {
				t.Errorf("%d tasks and %d skipped beside the error", len(tasks), len(skipped))
			}
		})
	}
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	want := pack.Limits{
		File: 16 << 20, Entries: 100_000, Description: 8192, Option: 512, Options: 26, Answers: 64, Word: 128,
		Cases: 50, Case: 8192, Skipped: 10_000,
	}
	if d := cmp.Diff(want, pack.DefaultLimits()); d != "" {
		t.Error(d)
	}
}

// A file of bad lines makes no endless report. Threat A6.
func TestParse_skippedIsCapped(t *testing.T) {
	t.Parallel()
	limits := pack.DefaultLimits()
	_, skipped, err := pack.Parse(pack.JSONL, []byte(strings.Repeat("x\n", limits.Skipped+5)), limits)
	if err != nil || len(skipped) != limits.Skipped {
		t.Fatalf("%d skipped, error %v", len(skipped), err)
	}
	if last := skipped[len(skipped)-1].Reason; !strings.Contains(last, "5 more entries") {
		t.Errorf("the last one says %q", last)
	}
}

// dataFile reads a real file, or skips.
func dataFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", name))
	if err != nil {
		t.Skipf("no real data here: %v", err)
	}
	return data
}

// TestParse_realFiles reads the questions of the wild and lets the judge
// answer them with their own answers.
func TestParse_realFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, format, judge string
		tasks               int
		skipped             []int // lines
	}{
		{"opentriviaqa-geography.txt", pack.OpenTriviaQA, arena.JudgeChoice, 842, nil},
		// Both bad ones held a character of several bytes that was cut.
		{"opentriviaqa-history.txt", pack.OpenTriviaQA, arena.JudgeChoice, 1643, []int{1698, 4268}},
		{"gsm8k-test.jsonl", pack.GSM8K, arena.JudgeNumber, 1319, nil},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := pack.Parse(tt.format, dataFile(t, tt.file), pack.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			var at []int
			for _, s := range skipped {
				t.Logf("line %d: %s", s.Line, s.Reason)
				at = append(at, s.Line)
			}
			if len(tasks) != tt.tasks {
				t.Errorf("%d tasks, want %d", len(tasks), tt.tasks)
			}
			if d := cmp.Diff(tt.skipped, at); d != "" {
				t.Errorf("skipped lines: %s", d)
			}
			spec := arena.JudgeSpec{Kind: tt.judge}
			for i, task := range tasks {
				right := 0
				for option, o := range task.Options {
					letter := scoring.Judge(spec, task, string(rune('A'+option)))
					if text := scoring.Judge(spec, task, o); text > 0 {
						right++
					} else if letter > 0 {
						t.Errorf("task %d: the letter of %q is right, its text is not", i, o)
					}
				}
				if len(task.Options) > 0 && right != 1 {
					t.Errorf("task %d: %d right options in %q", i, right, task.Options)
				}
				if scoring.Judge(spec, task, task.Answers[0]) != arena.OnePoint {
					t.Errorf("task %d: its own answer %q is wrong", i, task.Answers[0])
				}
			}
		})
	}
}

func TestParse_historyByEye(t *testing.T) {
	t.Parallel()
	tasks, _, err := pack.Parse(pack.OpenTriviaQA, dataFile(t, "opentriviaqa-history.txt"), pack.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	var seen int
	for _, task := range tasks {
		switch {
		case strings.HasPrefix(task.Description, "This tank was built"): // Windows-1252
			seen++
			if task.Options[1] != "Sturmpanzer IV Brummbär" {
				t.Errorf("options %q", task.Options)
			}
		case strings.HasPrefix(task.Description, "What American product from the 50s"): // "A beauty show?" is no option
			seen++
			if len(task.Options) != 4 || !strings.HasSuffix(task.Description, "\nA beauty show?") {
				t.Errorf("%q with options %q", task.Description, task.Options)
			}
		}
	}
	if seen != 3 {
		t.Errorf("met %d of the 3 entries", seen)
	}
}

func ExampleParse() {
	file := "#Q What is the capital of Australia?\n^ Canberra\nA Sydney\nB Canberra\n\n#Q What is lost?\n^ This one\nA That one\nB Another\n"
	tasks, skipped, _ := pack.Parse(pack.OpenTriviaQA, []byte(file), pack.DefaultLimits())
	fmt.Printf("%d good: %s %q\n", len(tasks), tasks[0].Answers[0], tasks[0].Options)
	fmt.Printf("line %d: %s\n", skipped[0].Line, skipped[0].Reason)
	// Output:
	// 1 good: Canberra ["Sydney" "Canberra"]
	// line 6: the answer is not among the options
}
