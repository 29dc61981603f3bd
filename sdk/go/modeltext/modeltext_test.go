package modeltext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/modeltext"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	speech := "Ladies and gentlemen,\n\n" + strings.Repeat("The motion stands. ", 40)
	for _, tt := range []struct {
		name, text, want string
		marked           bool
	}{
		{"plain", "Canberra", "Canberra", false},
		{"last line", "I think about it.\n\nCanberra\n", "Canberra", false},
		{"answer line", "Let me see. e4 is popular.\nANSWER: d2d4", "d2d4", true},
		{"answer line in bold", "**ANSWER: d2d4**", "d2d4", true},
		{"bold marker", "**Answer:** d2d4", "d2d4", true},
		{"final answer", "### Final answer: 42", "42", true},
		{"below the marker", "ANSWER:\n42", "42", true},
		{"the answer is", "The answer is B. Note that A is a distractor.", "B. Note that A is a distractor.", true},
		{"the correct answer is", "So the correct answer is: **B**", "B", true},
		{"last of two lines", "ANSWER: A\nNo.\nANSWER: B", "B", true},
		{"empty marker", "ANSWER: A\nANSWER:", "A", true},
		{"closing words", "ANSWER: Canberra\n\nHope this helps!", "Canberra", true},
		{"closing words on the next line", "ANSWER: Canberra\nLet me know if you need more.", "Canberra", true},
		{"comment", "ANSWER: Canberra\n\nNote: it became the capital in 1913.", "Canberra", true},
		{"speech", "ANSWER: " + speech + "\n\nThank you.", strings.TrimSpace(speech), true},
		{"code below the marker", "ANSWER:\n```js\nfunction solve(a) {\n\n  return a;\n}\n```", "```js\nfunction solve(a) {\n\n  return a;\n}\n```", true},
		{"marker of GSM8K", "3 + 4 = 7\n#### 7", "7", true},
		{"boxed", `so $x = \boxed{\text{B}}$.`, "B", true},
		{"boxed twice", `\boxed{42} and again \boxed{42}`, "42", true},
		{"two boxed answers", `\boxed{42} or \boxed{43}`, `\boxed{42} or \boxed{43}`, false},
		{"boxed fraction", `\boxed{\frac{3}{4}}`, `\frac{3}{4}`, true},
		{"reasoning", "<think>\nANSWER: A\n</think>\n\nB", "B", false},
		{"reasoning whose opening tag is missing", "hm\n</think>B", "B", false},
		{"colors", "\x1b[32mCanberra\x1b[0m\n\x1b[0m", "Canberra", false},
		{"link", "\x1b]8;;https://example.org\x1b\\Canberra\x1b]8;;\x1b\\", "Canberra", false},
		{"JSON in a fence", "```json\n{\n  \"answer\": \"Canberra\"\n}\n```", "Canberra", true},
		{"JSON number", `{"answer": 42, "confidence": 1}`, "42", true},
		{"JSON without an answer", `{"a": 1}`, `{"a": 1}`, false},
		{"fence", "```\nCanberra\n```", "Canberra", false},
		{"block at the end", "Here it is:\n```\nCanberra\n```", "Canberra", false},
		{"CRLF", "a\r\n\r\nANSWER: b\r\n", "b", true},
		{"byte order mark", "\ufeffCanberra", "Canberra", false},
		{"a word that begins like a marker", "Answers vary", "Answers vary", false},
		{"empty", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, marked := modeltext.Answer(tt.text); got != tt.want || marked != tt.marked {
				t.Errorf("Answer(%q) = %q, %t; want %q, %t", tt.text, got, marked, tt.want, tt.marked)
			}
		})
	}
}

func TestUnwrap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"**B**": "B", "`B`": "B", `"B"`: "B", "“B”": "B", "« B »": "B", "$42$": "42", `\(42\)`: "42", `\boxed{\text{B}}`: "B", "***B***": "B",
		"**`B`**": "B", "<answer>B</answer>": "B",
		// These are a part of the answer.
		"(B)": "(B)", "[B]": "[B]", "{2, 2}": "{2, 2}", "$5": "$5", "**": "**", `""`: `""`, "__init__": "__init__", "2**3": "2**3",
		`"a" or "b"`: `"a" or "b"`, "**A** or **B**": "**A** or **B**", "*p": "*p", "x'": "x'", `\boxed{`: `\boxed{`, `\text{`: `\text{`, `\boxed{}`: `\boxed{}`, `\boxed{4`: `\boxed{4`, `\text{a} \text{b}`: `\text{a} \text{b}`,
	} {
		if got := modeltext.Unwrap(text); got != want {
			t.Errorf("Unwrap(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"winner": "A"}`: `{"winner": "A"}`, "```json\n{\"winner\": \"A\"}\n```": `{"winner": "A"}`,
		"Here it is:\n{\"winner\": \"A\"}\n\nGood luck.": `{"winner": "A"}`, "<think>{}</think>{\"a\": 1}": `{"a": 1}`,
		"no": "", `{"a": 1} {"b": 2}`: "", `{"a": `: "",
	} {
		if got, ok := modeltext.Object(text); string(got) != want || ok != (want != "") {
			t.Errorf("Object(%q) = %q, %t", text, got, ok)
		}
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"Canberra"`: "Canberra",
		`[{"type":"text","text":"Can"},{"type":"text","text":"berra"}]`:                                         "Canberra",
		`[{"type":"thinking","thinking":[{"type":"text","text":"Sydney?"}]},{"type":"text","text":"Canberra"}]`: "Canberra",
		`[{"type":"image_url","image_url":{"url":"data:"}},"Canberra",null]`:                                    "Canberra",
		`[{"type":"output_text","text":"Canberra"}]`:                                                            "Canberra",
		`{"type":"text","text":"Canberra"}`:                                                                     "Canberra",
		`[{"type":"refusal","refusal":"no"}]`:                                                                   "",
		`null`:                                                                                                  "",
		`[]`:                                                                                                    "",
		`7`:                                                                                                     "",
	} {
		c := modeltext.Content("before")
		if err := json.Unmarshal([]byte(value), &c); err != nil || string(c) != want {
			t.Errorf("%s: %q, %v, want %q", value, c, err, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("**ANSWER: \\boxed{42}**\n\nHope this helps!")
	f.Fuzz(func(t *testing.T, text string) {
		answer, _ := modeltext.Answer(text)
		if modeltext.Unwrap(answer) != answer && answer != "" && !strings.HasPrefix(answer, "{") {
			t.Errorf("%q is not unwrapped", answer)
		}
	})
}
