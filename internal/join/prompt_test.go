package join

import (
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

func TestPromptFor(t *testing.T) {
	t.Parallel()
	got := promptFor(&arenaagent.Task{
		League: "trivia", Round: 2, TotalRounds: 5, Description: "What is the capital of Australia?", Options: []string{"Sydney", "Canberra"},
		TimeLimit: 30 * time.Second, MaxTokens: 500, Rules: []string{"only_one_answer"},
		Previous: &arenaagent.Previous{Outcome: "answered", Correct: "Oslo", Points: 1},
	})
	want := `<task>
League: trivia
Round: 2 of 5
Time limit: 30 seconds
Use at most 500 tokens.
Rules: only_one_answer
Your previous round: answered, 1 points; the correct answer was: Oslo

What is the capital of Australia?

Answer with the text of exactly one of these options:
- Sydney
- Canberra
</task>
`
	if got != want {
		t.Errorf("prompt is\n%s", got)
	}
	if got := promptFor(&arenaagent.Task{Round: 1, Description: "6 * 7?", OutputFormat: "number"}); !strings.Contains(got, "Format of the answer: number") {
		t.Errorf("prompt is\n%s", got)
	}
}

func TestAnswerOf(t *testing.T) {
	t.Parallel()
	cities := []string{"Sydney", "Canberra", "Melbourne", "Perth"}
	for _, test := range []struct {
		text    string
		options []string
		format  string
		want    string
	}{
		{"Canberra", cities, "", "Canberra"},
		{"canberra.", cities, "", "Canberra"},
		{"It is not Sydney.\nANSWER: Canberra", cities, "", "Canberra"},
		{"**Answer:** `Canberra`", cities, "", "Canberra"},
		{"**Final answer: Canberra**\n", cities, "", "Canberra"},
		{"ANSWER: B", cities, "", "Canberra"},
		{"(b)", cities, "", "Canberra"},
		{"2", cities, "", "Canberra"},
		{"B) Canberra", cities, "", "Canberra"},
		{"The capital is Canberra, of course.", cities, "", "Canberra"},
		{"Sydney is larger.\nSo Canberra it is.\nI am sure.", cities, "", "Canberra"},
		{"Sydney or Canberra", cities, "", "Sydney or Canberra"},
		{"Z", cities, "", "Z"},
		{"New York City", []string{"York", "New York"}, "", "New York"},
		{"1", []string{"3", "1", "2"}, "", "1"},
		{"ANSWER: -1", []string{"1", "-1"}, "", "-1"},
		{"Yorkshire", []string{"York", "Leeds"}, "", "Yorkshire"},
		{"The result is 1,234.5 in all.", nil, "number", "1234.5"},
		{"6 * 7 = 42", nil, "number", "42"},
		{"none", nil, "number", "none"},
		{"**Answer: a b**", nil, "string", "a b"},
		{strings.Repeat("Canberra ", 1<<17) + "\nPerth", cities, "", "Perth"},
		{"For:\nANSWER: First.\n\nSecond.", nil, "string", "First.\n\nSecond."},
		{"thinking\n\n  The last line. \n\n", nil, "", "The last line."},
		{"\"quoted\"", nil, "", "quoted"},
		{"say \"a\" and \"b\"", nil, "", "say \"a\" and \"b\""},
		{"", cities, "", ""},
	} {
		if got := answerOf(test.text, &arenaagent.Task{Options: test.options, OutputFormat: test.format}); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzAnswerOf(f *testing.F) {
	f.Add("ANSWER: B", "Sydney", "Canberra")
	f.Fuzz(func(_ *testing.T, text, a, b string) {
		answerOf(text, &arenaagent.Task{Options: []string{a, b}})
		answerOf(text, &arenaagent.Task{OutputFormat: "number"})
		objectOf(text)
	})
}
