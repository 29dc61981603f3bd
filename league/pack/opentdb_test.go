package pack_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
)

// result is one of the database's, encoded in the given way.
func result(encode func(string) string, kind, question, right string, wrong ...string) string {
	for i := range wrong {
		wrong[i] = encode(wrong[i])
	}
	data, err := json.Marshal(map[string]any{
		"type": encode(kind), "difficulty": encode("easy"), "category": encode("Science & Nature"),
		"question": encode(question), "correct_answer": encode(right), "incorrect_answers": wrong,
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func inBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// inHTML is the API's default: its words for the kind of a question hold
// nothing to encode.
func inHTML(s string) string { return html.EscapeString(s) }

func TestParse_opentdb(t *testing.T) {
	t.Parallel()
	encodings := map[string]func(string) string{"html": inHTML, "url3986": url.PathEscape, "base64": inBase64}
	// What PathEscape leaves as it is and the API does not.
	encodings["url3986"] = func(s string) string {
		return strings.NewReplacer("&", "%26", "'", "%27", ":", "%3A", "=", "%3D", "@", "%40", "$", "%24", "+", "%2B").Replace(url.PathEscape(s))
	}
	for name, encode := range encodings {
		for _, frame := range []string{`{"response_code":0,"results":[%s,%s]}`, " [%s ,\n %s]\n", "{\"results\":[\n%s,%s\n]}"} {
			t.Run(name+" "+frame[:4], func(t *testing.T) {
				t.Parallel()
				data := fmt.Sprintf(frame,
					result(encode, "multiple", `Who said "¡50 % of π's 'fun' <b>!"?`, "Señor & Co", "A+B", "C/D", "E=F"),
					result(encode, "boolean", "Is it so?", "False", "True"))
				tasks, skipped, err := pack.Parse(pack.OpenTDB, []byte(data), pack.DefaultLimits())
				if err != nil || skipped != nil || len(tasks) != 2 {
					t.Fatalf("%d tasks, skipped %v, error %v", len(tasks), skipped, err)
				}
				options := slices.Sorted(slices.Values(tasks[0].Options))
				tasks[0].Options = nil
				want := task(`Who said "¡50 % of π's 'fun' <b>!"?`, "Señor & Co")
				second := task("Is it so?", "False", "True", "False")
				want.Topic, want.Difficulty, second.Topic, second.Difficulty = "Science & Nature", "easy", "Science & Nature", "easy"
				if d := cmp.Diff([]arena.Task{want, second}, tasks); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff([]string{"A+B", "C/D", "E=F", "Señor & Co"}, options); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// Words that happen to be base64 or hold a percent sign stay as they are when
// the file as a whole is not encoded so.
func TestParse_opentdbPlainStaysPlain(t *testing.T) {
	t.Parallel()
	data := "[" + result(inHTML, "multiple", "abcd", "cats", "100%25", "dogs", "mice") + "]"
	tasks, skipped, err := pack.Parse(pack.OpenTDB, []byte(strings.ReplaceAll(data, "Science \\u0026amp; Nature", "Science Nature")), pack.DefaultLimits())
	if err != nil || skipped != nil || len(tasks) != 1 {
		t.Fatalf("%v, skipped %v, error %v", tasks, skipped, err)
	}
	if tasks[0].Description != "abcd" || !slices.Contains(tasks[0].Options, "100%25") {
		t.Errorf("%+v", tasks[0])
	}
}

// The order of options follows from the question, and favours no place.
func TestParse_opentdbOrder(t *testing.T) {
	t.Parallel()
	var results []string
	const n = 400
	for i := range n {
		results = append(results, result(inHTML, "multiple", fmt.Sprintf("Question %d?", i), "right", "x", "y", "z"))
	}
	data := []byte("[" + strings.Join(results, ",") + "]")
	tasks, _, err := pack.Parse(pack.OpenTDB, data, pack.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := pack.Parse(pack.OpenTDB, data, pack.DefaultLimits())
	if d := cmp.Diff(tasks, again); d != "" {
		t.Errorf("a second time it is another: %s", d)
	}
	places := make([]int, 4)
	for _, task := range tasks {
		places[slices.Index(task.Options, "right")]++
	}
	for place, times := range places {
		if times < n/4-n/10 || times > n/4+n/10 {
			t.Errorf("the right option is %d times at place %d of %d", times, place, n)
		}
	}
}

// TestParse_opentdbBad parses one bad result at a time, on line 4, between two
// good ones of which the first takes two lines. Threat A6.
func TestParse_opentdbBad(t *testing.T) {
	t.Parallel()
	good := result(inHTML, "multiple", "good?", "a", "b", "c")
	tests := []struct{ name, result, reason string }{
		{"not an object", `7`, "not a JSON object"},
		{"a list", ` [ "]" ] `, "not a JSON object"},
		{"nothing", `{}`, `the type "" is neither`},
		{"unknown member", `{"type":"boolean","id":7}`, "unknown"},
		{"member twice", `{"type":"boolean","type":"multiple"}`, ""},
		{"unknown type", result(inHTML, "essay", "q?", "a", "b"), `the type "essay" is neither multiple nor boolean`},
		{"no question", result(inHTML, "multiple", " ", "a", "b"), "description is missing"},
		{"no right answer", result(inHTML, "multiple", "q?", "", "b", "c"), "accepted answer is empty"},
		{"no wrong answers", result(inHTML, "multiple", "q?", "a"), "one option only"},
		{"right answer among the wrong", result(inHTML, "multiple", "q?", "a", "b", "A"), "are the same"},
		{"boolean with other answers", result(inHTML, "boolean", "q?", "Yes", "No"), "must be True and False"},
		{"boolean twice true", result(inHTML, "boolean", "q?", "True", "True"), "must be True and False"},
		{"boolean without the other", result(inHTML, "boolean", "q?", "True"), "must be True and False"},
		{"encoded differently than the rest", result(inBase64, "multiple", "q?", "a", "b"), "neither multiple nor boolean"},
		{"control character", result(inHTML, "multiple", "q\x00?", "a", "b"), "control character"},
		{"control character as an entity", `{"type":"multiple","question":"q&#27;[31m","correct_answer":"a","incorrect_answers":["b"]}`, "control character U+001B"},
		{"too many options", result(inHTML, "multiple", "q?", "a", strings.Split(strings.Repeat("w ", 25)+"w", " ")...), "27 options, the limit is 26"},
		{"question over the limit", result(inHTML, "multiple", strings.Repeat("q", 8193), "a", "b"), "8193 bytes"},
		{"deep", `{"type":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := fmt.Sprintf("[\n%s,\n%s\n,%s]", strings.Replace(good, ",", ",\n", 1), tt.result, good)
			tasks, skipped, err := pack.Parse(pack.OpenTDB, []byte(file), pack.DefaultLimits())
			if tt.reason == "" { // the frame itself is refused
				if arena.CodeOf(err) != arena.CodePackInvalid {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(tasks) != 2 {
				t.Errorf("%d good results, want the 2 around the bad one", len(tasks))
			}
			if len(skipped) != 1 || skipped[0].Line != 4 || !strings.Contains(skipped[0].Reason, tt.reason) {
				t.Errorf("skipped %v, want line 4 with %q", skipped, tt.reason)
			}
		})
	}
}

func TestParse_opentdbRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, data, says string }{
		{"nothing", " \n", "the file is empty"},
		{"no results", `{"response_code":0,"results":[]}`, "no entries"},
		{"the database had none", `{"response_code":1,"results":[]}`, "response_code 1"},
		{"too many requests", `{"response_code":5,"results":[]}`, "response_code 5"},
		{"another JSON", `{"questions":[]}`, "unknown"},
		{"not JSON", `#Q q?`, "cannot be read"},
		{"cut", `[{"type":"mul`, "EOF"},
		{"text behind", `[] []`, "cannot be read"},
		{"results are no list", `{"results":{}}`, "results must be a list"},
		{"no results at all", `{"response_code":0}`, "results must be a list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := pack.Parse(pack.OpenTDB, []byte(tt.data), pack.DefaultLimits())
			if arena.CodeOf(err) != arena.CodePackInvalid || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want pack_invalid with %q", err, tt.says)
			}
		})
	}
	t.Run("too many", func(t *testing.T) {
		t.Parallel()
		_, _, err := pack.Parse(pack.OpenTDB, []byte("["+strings.Repeat("{},", 100_000)+"{}]"), pack.DefaultLimits())
		if arena.CodeOf(err) != arena.CodeTooLarge {
			t.Errorf("error %v", err)
		}
	})
}

// Any text comes through any of the three encodings.
func TestParse_opentdbEncodings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~¡-ſ]{0,40}\?`).Draw(t, "question")
		question := "Why? " + text
		for name, encode := range map[string]func(string) string{"html": inHTML, "base64": inBase64, "url3986": func(s string) string {
			return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
		}} {
			tasks, skipped, err := pack.Parse(pack.OpenTDB, []byte("["+result(encode, "boolean", question, "True", "False")+"]"), pack.DefaultLimits())
			if err != nil || len(tasks) != 1 || tasks[0].Description != strings.TrimSpace(question) {
				t.Fatalf("%s: %q became %+v, skipped %v, error %v", name, question, tasks, skipped, err)
			}
		}
	})
}

// Brackets, commas and quotes within texts part nothing.
func TestParse_opentdbTextsAreWhole(t *testing.T) {
	t.Parallel()
	question := `What prints "],[{" and \ and \"?`
	data := "[" + strings.Repeat(result(func(s string) string { return s }, "multiple", question, `\`, `"]`, `{"`, `,`)+" , ", 2) +
		result(inHTML, "boolean", "Is this the third?", "True", "False") + "]"
	tasks, skipped, err := pack.Parse(pack.OpenTDB, []byte(data), pack.DefaultLimits())
	if err != nil || skipped != nil || len(tasks) != 3 {
		t.Fatalf("%d tasks, skipped %v, error %v", len(tasks), skipped, err)
	}
	if tasks[1].Description != question || tasks[2].Description != "Is this the third?" {
		t.Errorf("%+v", tasks)
	}
}
