package league_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
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

// TestParsePack_good reads what each format allows.
func TestParsePack_good(t *testing.T) {
	t.Parallel()
	full := arena.Task{
		Description: "d", Answers: []string{"x", "y"}, Options: []string{"x", "z"}, InputFormat: "i", OutputFormat: "o",
		Topic: "t", Difficulty: "3", MaxTokens: 7, Rules: []string{"only_one_answer"},
	}
	tests := []struct {
		name, format, data string
		want               []arena.Task
	}{
		{"jsonl", league.PackJSONL, `{"description":"q","answer":"a"}`, []arena.Task{task("q", "a")}},
		{"jsonl, number", league.PackJSONL, `{"description":"q","answer":-1.50}`, []arena.Task{task("q", "-1.50")}},
		{
			"jsonl, everything", league.PackJSONL,
			`{"description":"d","answer":["x","y"],"options":["x","z"],"input_format":"i","output_format":"o",` +
				`"topic":"t","difficulty":3,"max_tokens":7,"rules":["only_one_answer"]}`,
			[]arena.Task{full},
		},
		{
			"jsonl, byte order mark, blank lines, mixed line ends", league.PackJSONL,
			"\xef\xbb\xbf\r\n{\"description\":\"q\",\"answer\":\"a\"}\r\n \n{\"description\":\"r\",\"answer\":\"b\"}\r{\"description\":\"s\",\"answer\":\"c\"}",
			[]arena.Task{task("q", "a"), task("r", "b"), task("s", "c")},
		},
		{
			"jsonl, number options", league.PackJSONL, `{"description":"q","answer":2,"options":[1,"2"]}`,
			[]arena.Task{task("q", "2", "1", "2")},
		},
		{
			"opentriviaqa", league.PackOpenTriviaQA, "\n#Q q?\n^ b\nA a\nB b\n\n#Q r?\n^ c\nA c\nB d\nC e\nD f\nE g\nF h",
			[]arena.Task{task("q?", "b", "a", "b"), task("r?", "c", "c", "d", "e", "f", "g", "h")},
		},
		{
			"opentriviaqa, mixed line ends and byte order mark", league.PackOpenTriviaQA,
			"\xef\xbb\xbf#Q q?\r\n^ b\rA a\n\r\nB b\r\n",
			[]arena.Task{task("q?", "b", "a", "b")},
		},
		{
			"opentriviaqa, a question over lines", league.PackOpenTriviaQA,
			"#Q On curves\nYou know\nA beauty show?\n^ b\nA a\nB b",
			[]arena.Task{task("On curves\nYou know\nA beauty show?", "b", "a", "b")},
		},
		{
			"opentriviaqa, a wrong option twice", league.PackOpenTriviaQA,
			"#Q q?\n^ c\nA a\nB a\nC c",
			[]arena.Task{task("q?", "c", "a", "c")},
		},
		{
			"opentriviaqa, Windows-1252", league.PackOpenTriviaQA,
			"#Q q\x85\n^ Brummb\xe4r\nA Brummb\xe4r\nB \x93x\x94",
			[]arena.Task{task("q…", "Brummbär", "Brummbär", "“x”")},
		},
		{"gsm8k", league.PackGSM8K, `{"question":" q ","answer":"1+1=2\n#### 1,234"}`, []arena.Task{numberTask("q", "1234")}},
		{"gsm8k, negative", league.PackGSM8K, `{"question":"q","answer":"a #### b #### -3"}`, []arena.Task{numberTask("q", "-3")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := league.ParsePack(tt.format, []byte(tt.data), league.DefaultLimits())
			if err != nil || skipped != nil {
				t.Fatalf("error %v, skipped %v", err, skipped)
			}
			if d := cmp.Diff(tt.want, tasks); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestParsePack_bad gives one bad entry at a time, between two good ones.
// Threat A6.
func TestParsePack_bad(t *testing.T) {
	t.Parallel()
	rules := `["` + strings.Repeat(`r","`, 20) + `r"]`
	tests := []struct{ name, format, entry, reason string }{
		{"not JSON", league.PackJSONL, `{"description":`, "EOF"},
		{"not an object", league.PackJSONL, `["q"]`, "not a JSON object"},
		{"unknown member", league.PackJSONL, `{"description":"q","answer":"a","Answer":"b"}`, "unknown"},
		{"member twice", league.PackJSONL, `{"description":"q","answer":"a","answer":"b"}`, "duplicate"},
		{"text behind", league.PackJSONL, `{"description":"q","answer":"a"} x`, "invalid"},
		{"not UTF-8", league.PackJSONL, "{\"description\":\"q\",\"answer\":\"\xff\"}", "UTF-8"},
		{"replacement character", league.PackJSONL, `{"description":"caf\ufffd","answer":"a"}`, "damaged"},
		{"control character", league.PackJSONL, `{"description":"q\u0000","answer":"a"}`, "control character U+0000"},
		{"no description", league.PackJSONL, `{"answer":"a"}`, "description is missing"},
		{"blank description", league.PackJSONL, `{"description":" ","answer":"a"}`, "description is missing"},
		{"no answer", league.PackJSONL, `{"description":"q"}`, "answer is missing"},
		{"empty list of answers", league.PackJSONL, `{"description":"q","answer":[]}`, "answer is missing"},
		{"empty answer", league.PackJSONL, `{"description":"q","answer":["a",""]}`, "answer is empty"},
		{"invisible answer", league.PackJSONL, `{"description":"q","answer":"\u200b "}`, "answer is empty"},
		{"null answer", league.PackJSONL, `{"description":"q","answer":null}`, "neither a string nor a number"},
		{"object answer", league.PackJSONL, `{"description":"q","answer":{"a":1}}`, "neither a string nor a number"},
		{"deep answer", league.PackJSONL, `{"description":"q","answer":[["a"]]}`, "neither a string nor a number"},
		{"answer is no option", league.PackJSONL, `{"description":"q","answer":"a","options":["b","c"]}`, "not among the options"},
		{"one option", league.PackJSONL, `{"description":"q","answer":"a","options":["a"]}`, "one option only"},
		{"empty option", league.PackJSONL, `{"description":"q","answer":"a","options":["a",""]}`, "option B is empty"},
		{"option twice", league.PackJSONL, `{"description":"q","answer":"a","options":["a","b","B"]}`, "options B and C are the same"},
		{"options over the limit", league.PackJSONL, `{"description":"q","answer":"1","options":[` + strings.Repeat("1,", 26) + `2]}`, "27 options, the limit is 26"},
		{"answers over the limit", league.PackJSONL, `{"description":"q","answer":[` + strings.Repeat("1,", 64) + `2]}`, "65 accepted answers, the limit is 64"},
		{"description over the limit", league.PackJSONL, `{"description":"` + strings.Repeat("q", 8193) + `","answer":"a"}`, "8193 bytes, the limit is 8192"},
		{"option over the limit", league.PackJSONL, `{"description":"q","answer":"a","options":["a","` + strings.Repeat("b", 513) + `"]}`, "513 bytes, the limit is 512"},
		{"topic over the limit", league.PackJSONL, `{"description":"q","answer":"a","topic":"` + strings.Repeat("t", 129) + `"}`, "129 bytes, the limit is 128"},
		{"rules over the limit", league.PackJSONL, `{"description":"q","answer":"a","rules":` + rules + `}`, "21 rules, the limit is 20"},
		{"max_tokens", league.PackJSONL, `{"description":"q","answer":"a","max_tokens":-1}`, "max_tokens must be 0"},
		{"max_tokens not whole", league.PackJSONL, `{"description":"q","answer":"a","max_tokens":1.5}`, "max_tokens"},
		{"a bomb of brackets", league.PackJSONL, `{"description":"q","answer":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "nested deeper"},

		{"no answer", league.PackOpenTriviaQA, "#Q q?\nA a\nB b", "no answer"},
		{"empty answer", league.PackOpenTriviaQA, "#Q q?\n^\nA a\nB b", "answer (^) is empty"},
		{"two answers", league.PackOpenTriviaQA, "#Q q?\n^ a\n^ b\nA a\nB b", "two answers"},
		{"answer is no option", league.PackOpenTriviaQA, "#Q q?\n^ c\nA a\nB b", "not among the options"},
		{"no options", league.PackOpenTriviaQA, "#Q q?\n^ c", "0 options"},
		{"one option", league.PackOpenTriviaQA, "#Q q?\n^ a\nA a", "1 options"},
		{"one option twice", league.PackOpenTriviaQA, "#Q q?\n^ a\nA a\nB A", "options A and B are the same"},
		{"only wrong options", league.PackOpenTriviaQA, "#Q q?\n^ c\nA a\nB a", "one option only"},
		{"empty option", league.PackOpenTriviaQA, "#Q q?\n^ a\nA a\nB", "option B is empty"},
		{"a gap", league.PackOpenTriviaQA, "#Q q?\n^ a\nA a\nC c", "option C is not the one that is next"},
		{"text behind the options", league.PackOpenTriviaQA, "#Q q?\n^ a\nA a\nB b\nbut why", "neither an option nor a question"},
		{"no question", league.PackOpenTriviaQA, "#Q\n^ a\nA a\nB b", "description is missing"},
		{"cut UTF-8", league.PackOpenTriviaQA, "#Q \xe2\x80\x9cBadger State\xe2\x80?\n^ a\nA a\nB b", "damaged"},
		{"cut UTF-8 before a letter", league.PackOpenTriviaQA, "#Q \xd0?n tank\n^ a\nA a\nB b", "the text is damaged"},
		{"damaged option", league.PackOpenTriviaQA, "#Q q\n^ a\nA a\nB \xc3?", "line 8: the text is damaged"},
		{"not even Windows-1252", league.PackOpenTriviaQA, "#Q q \x81\n^ a\nA a\nB b", "damaged"},
		{"control character", league.PackOpenTriviaQA, "#Q q\x1b[31m\n^ a\nA a\nB b", "control character U+001B"},

		{"no result", league.PackGSM8K, `{"question":"q","answer":"12"}`, "no ####"},
		{"no number", league.PackGSM8K, `{"question":"q","answer":"#### twelve"}`, "not a number"},
		{"no question", league.PackGSM8K, `{"answer":"#### 12"}`, "description is missing"},
		{"unknown member", league.PackGSM8K, `{"question":"q","answer":"#### 12","id":3}`, "unknown"},
	}
	good := map[string]string{
		league.PackJSONL:        `{"description":"good","answer":"a"}`,
		league.PackOpenTriviaQA: "#Q good\n^ a\nA a\nB b",
		league.PackGSM8K:        `{"question":"good","answer":"#### 1"}`,
	}
	for _, tt := range tests {
		t.Run(tt.format+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			ok := good[tt.format]
			tasks, skipped, err := league.ParsePack(tt.format, []byte(ok+"\n"+tt.entry+"\n"+ok), league.DefaultLimits())
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

func TestParsePack_textBeforeTheFirstQuestion(t *testing.T) {
	t.Parallel()
	tasks, skipped, err := league.ParsePack(league.PackOpenTriviaQA,
		[]byte("hello\nthere\n#Q q?\n^ a\nA a\nB b"), league.DefaultLimits())
	want := []arena.SkippedLine{{Line: 1, Reason: "text before the first #Q"}}
	if err != nil || len(tasks) != 1 {
		t.Errorf("%d tasks, error %v", len(tasks), err)
	}
	if d := cmp.Diff(want, skipped); d != "" {
		t.Error(d)
	}
}

// TestParsePack_refused gives files of which nothing is taken. Threat A6.
func TestParsePack_refused(t *testing.T) {
	t.Parallel()
	limits := league.DefaultLimits()
	limits.Entries = 2000
	line := `{"description":"q","answer":"a"}` + "\n"
	tests := []struct {
		name, format, data string
		code               arena.Code
		says               string
	}{
		{"unknown format", "xml", line, arena.CodeUnsupported, "jsonl, opentriviaqa, gsm8k"},
		{"a format of later", "csv", line, arena.CodeUnsupported, "jsonl, opentriviaqa, gsm8k"},
		{"too many bytes", league.PackJSONL, strings.Repeat(" ", limits.File+1), arena.CodeTooLarge, "the limit is 16777216"},
		{"too many entries", league.PackJSONL, strings.Repeat(line, limits.Entries+1), arena.CodeTooLarge, "more than 2000 entries"},
		{"too many bad entries", league.PackJSONL, strings.Repeat("x\n", limits.Entries+1), arena.CodeTooLarge, "more than 2000 entries"},
		{"empty", league.PackJSONL, "", arena.CodePackInvalid, "no entries"},
		{"blank", league.PackOpenTriviaQA, "\xef\xbb\xbf\n \r\n", arena.CodePackInvalid, "no entries"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := league.ParsePack(tt.format, []byte(tt.data), limits)
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
	want := league.Limits{
		File: 16 << 20, Entries: 100_000, Description: 8192, Option: 512, Options: 26, Answers: 64, Word: 128, Skipped: 10_000,
	}
	if d := cmp.Diff(want, league.DefaultLimits()); d != "" {
		t.Error(d)
	}
}

func TestParsePack_skippedIsCapped(t *testing.T) {
	t.Parallel()
	limits := league.DefaultLimits()
	_, skipped, err := league.ParsePack(league.PackJSONL, []byte(strings.Repeat("x\n", limits.Skipped+5)), limits)
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
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", name))
	if err != nil {
		t.Skipf("no real data here: %v", err)
	}
	return data
}

// TestParsePack_realFiles reads the questions of the wild and lets the judge
// answer them with their own answers.
func TestParsePack_realFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, format, judge string
		tasks               int
		skipped             []int // lines
	}{
		{"opentriviaqa-geography.txt", league.PackOpenTriviaQA, arena.JudgeChoice, 842, nil},
		// Both bad ones held a character of several bytes that was cut.
		{"opentriviaqa-history.txt", league.PackOpenTriviaQA, arena.JudgeChoice, 1643, []int{1698, 4268}},
		{"gsm8k-test.jsonl", league.PackGSM8K, arena.JudgeNumber, 1319, nil},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := league.ParsePack(tt.format, dataFile(t, tt.file), league.DefaultLimits())
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

func TestParsePack_historyByEye(t *testing.T) {
	t.Parallel()
	tasks, _, err := league.ParsePack(league.PackOpenTriviaQA, dataFile(t, "opentriviaqa-history.txt"), league.DefaultLimits())
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

func ExampleParsePack() {
	file := "#Q What is the capital of Australia?\n^ Canberra\nA Sydney\nB Canberra\n\n#Q What is lost?\n^ This one\nA That one\nB Another\n"
	tasks, skipped, _ := league.ParsePack(league.PackOpenTriviaQA, []byte(file), league.DefaultLimits())
	fmt.Printf("%d good: %s %q\n", len(tasks), tasks[0].Answers[0], tasks[0].Options)
	fmt.Printf("line %d: %s\n", skipped[0].Line, skipped[0].Reason)
	// Output:
	// 1 good: Canberra ["Sydney" "Canberra"]
	// line 6: the answer is not among the options
}

func fuzzPack(f *testing.F, format string) {
	f.Helper()
	limits := league.DefaultLimits()
	limits.Entries, limits.Skipped, limits.File = 1000, 10, 1<<16
	f.Fuzz(func(t *testing.T, data []byte) {
		tasks, skipped, err := league.ParsePack(format, data, limits)
		if err != nil {
			if code := arena.CodeOf(err); code == arena.CodeInternal || tasks != nil {
				t.Fatalf("error %v beside %d tasks", err, len(tasks))
			}
			return
		}
		if len(tasks)+len(skipped) == 0 || len(tasks) > limits.Entries || len(skipped) > limits.Skipped {
			t.Fatalf("%d tasks, %d skipped", len(tasks), len(skipped))
		}
		for _, task := range tasks {
			kind := arena.JudgeExact
			switch {
			case format == league.PackGSM8K:
				kind = arena.JudgeNumber
			case len(task.Options) > 0:
				kind = arena.JudgeChoice
			}
			if !scoring.Accepts(arena.JudgeSpec{Kind: kind}, task) {
				t.Fatalf("nothing answers %+v", task)
			}
		}
	})
}

func FuzzParsePack_jsonl(f *testing.F) {
	f.Add([]byte(`{"description":"q","answer":["a",1],"options":["a","b"],"difficulty":3}`))
	f.Add([]byte("\xef\xbb\xbf{\"description\":\"q\",\"answer\":2}\r\n[]\r"))
	fuzzPack(f, league.PackJSONL)
}

func FuzzParsePack_opentriviaqa(f *testing.F) {
	f.Add([]byte("#Q q\nmore\n^ b\r\nA a\rB b\n\n#Q \xd0?n\n^ a\nA a\nB \xe4"))
	f.Add([]byte("x\n#Q\n^\nA\n"))
	fuzzPack(f, league.PackOpenTriviaQA)
}

func FuzzParsePack_gsm8k(f *testing.F) {
	f.Add([]byte(`{"question":"q","answer":"#### 1,200"}`))
	f.Add([]byte(`{"question":"q","answer":"####"}`))
	fuzzPack(f, league.PackGSM8K)
}
