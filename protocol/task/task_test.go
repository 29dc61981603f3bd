package task_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/task"
)

func TestDecodeAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, format, want string }{
		{`{"answer":"Canberra"}`, "", "Canberra"},
		{`{"answer":""}`, "", ""},
		{`{"answer":"caf\u00e9 \ud83d\ude00"}`, "", "café 😀"},
		{`{"answer":42}`, "", "42"},
		{`{"answer":1.50}`, "", "1.50"},
		{`{"answer":-1e3}`, "number", "-1000"},
		{`{"answer":5.0}`, "", "5"},
		{`{"answer":1e22}`, "", "1e22"},
		{`{"answer":9223372036854775808}`, "", "9223372036854775808"},
		{`{"answer":true}`, "", "true"},
		{`{"answer":false}`, "json", "false"},
		{`{"answer": {"a": [1, 2]} }`, "json", `{"a":[1,2]}`},
		{`{"answer":[ "a" ]}`, "json", `["a"]`},
		{`{"answer":"{}"}`, "json", "{}"},
		{`{"answer":"x","confidence":null,"mood":{"a":1}}`, "", "x"},
	} {
		got, _, err := task.DecodeAnswer([]byte(c.body), c.format)
		if err != nil || got.Answer != c.want {
			t.Errorf("%s: %+v, %v; want %q", c.body, got, err, c.want)
		}
	}
	full := `{"answer":"Canberra","confidence":0.95,"reasoning":"because","subagents_used":["knowledge_retriever"],"tools_used":[],"tokens":150,"latency_ms":340}`
	for _, tokens := range []string{"150", "150.0", "1.5e2"} { // JSON has one kind of number
		got, _, err := task.DecodeAnswer([]byte(`{"answer":"x","tokens":`+tokens+`}`), "")
		if err != nil || got.Tokens == nil || *got.Tokens != 150 {
			t.Errorf("tokens %s: %+v, %v", tokens, got, err)
		}
	}
	got, _, err := task.DecodeAnswer([]byte(full), "")
	confidence, tokens, latency := 0.95, int64(150), 340.0
	want := &arena.AnswerBody{
		Answer: "Canberra", Confidence: &confidence, Reasoning: "because",
		SubagentsUsed: []string{"knowledge_retriever"}, ToolsUsed: []string{}, Tokens: &tokens, LatencyMS: &latency,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the example of AAP: %v (-want +got):\n%s", err, diff)
	}
}

// A wrong claim never costs a round.
func TestDecodeAnswer_claims(t *testing.T) {
	t.Parallel()
	for claim, named := range map[string]string{
		`"confidence":95`: "confidence", `"confidence":1.1`: "confidence", `"confidence":-0.1`: "confidence", `"confidence":"0.5"`: "confidence", `"confidence":1e400`: "confidence",
		`"tokens":{"input":1,"output":2}`: "tokens", `"tokens":"150"`: "tokens", `"tokens":-1`: "tokens", `"tokens":1.5`: "tokens", `"tokens":9223372036854775808`: "tokens",
		`"tools_used":[{"name":"search"}]`: "tools_used", `"tools_used":"none"`: "tools_used", `"subagents_used":[1]`: "subagents_used",
		`"reasoning":["a","b"]`: "reasoning", `"latency_ms":"340ms"`: "latency_ms", `"latency_ms":-1`: "latency_ms",
		`"confidence":null,"tokens":null,"tools_used":null,"subagents_used":null,"reasoning":null,"latency_ms":null`: "",
	} {
		got, note, err := task.DecodeAnswer([]byte(`{"answer":"x",`+claim+`}`), "")
		if diff := cmp.Diff(&arena.AnswerBody{Answer: "x"}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", claim, err, diff)
		}
		if named == "" && note != "" || named != "" && !strings.Contains(note, "dropped: "+named+" must be ") {
			t.Errorf("%s: the note is %q", claim, note)
		}
	}
	_, note, _ := task.DecodeAnswer([]byte(`{"answer":"x","tokens":-1,"confidence":2}`), "")
	if want := "the answer counts; dropped: confidence must be a number of 0 to 1, tokens must be a whole number of 0 or more"; note != want {
		t.Errorf("the note is %q, want %q", note, want)
	}
}

// What JSON says of a game, the text says, too.
func TestWords_refused(t *testing.T) {
	t.Parallel()
	a := arena.Attempt{
		League: "four", Round: 3, Previous: &arena.PreviousRound{Outcome: arena.OutcomeAnswered, Error: "column 3 is full"},
		Task: arena.Task{Description: "Drop a disc.", Options: []string{"1", "2"}, Observation: []byte(`{"you":"x"}`)},
	}
	want := "You play in a match of Agora Arena, league four, round 3.\n\n" +
		"Your last answer was refused: column 3 is full. Answer once more.\n\nDrop a disc.\n- 1\n- 2\n\nAnswer with one of these options, word for word."
	if diff := cmp.Diff(want, task.Words(a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	body, err := task.Encode(a)
	if want := `"observation":{"you":"x"}`; err != nil || !strings.Contains(string(body), want) || !strings.Contains(string(body), `"error":"column 3 is full"`) {
		t.Errorf("%s, %v", body, err)
	}
}
