package strictjson_test

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/internal/strictjson"
)

func membersOf(text string) (map[string]string, error) {
	got := map[string]string{}
	var r strictjson.Reader
	err := r.Members([]byte(text), func(name string, value []byte) error {
		got[name] = string(value)
		return nil
	})
	return got, err
}

// Threat R5: Members takes exactly the texts that UnmarshalOpen takes.
func TestReader_Members(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{
		`{"answer":"a","n":[1, {"q":2}]} `: true,
		`{}`:                               true,
		`{"\u0061nswer":"\ud83d\ude00"}`:   true,
		`{"a":"}]}]","b":"\"{[\\"}`:        true,
		`{"a":` + deep(31) + `}`:           true,
		`{"a":` + deep(32) + `}`:           false,
		`{"answer":"a","answer":"b"}`:      false,
		`{"answer":"a","\u0061nswer":"b"}`: false,
		`{"nested":{"q":1,"q":2}}`:         false,
		"{\"answer\":\"\xff\"}":            false,
		`{"answer":"\ud800"}`:              false,
		"\xef\xbb\xbf{}":                   false,
		`{"a":1}x`:                         false,
		`{"a":1}{}`:                        false,
		`{"a":1,}`:                         false,
		`{"a":01}`:                         false,
		`{"a"`:                             false,
		`{"a":1`:                           false,
		`{`:                                false,
		``:                                 false,
		`[]`:                               false,
		`null`:                             false,
		`"answer"`:                         false,
		`]`:                                false,
		`{"a":[}]}`:                        false,
	}
	for text, ok := range cases {
		got, err := membersOf(text)
		if (err == nil) != ok {
			t.Errorf("%s: got %v, error %v, want ok = %v", text, got, err, ok)
		}
		var v map[string]json.RawMessage
		if open := strictjson.UnmarshalOpen([]byte(text), &v); text != "null" && (open == nil) != ok {
			t.Errorf("%s: UnmarshalOpen says %v, want ok = %v", text, open, ok)
		}
	}
	if got, _ := membersOf(`{"\u0061":[1, {"q":2}]}`); got["a"] != `[1, {"q":2}]` {
		t.Errorf("got %v", got)
	}
	stop := errors.New("enough")
	var r strictjson.Reader
	if err := r.Members([]byte(`{"a":1,"b":2}`), func(string, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want the function's", err)
	}
	for range 2 { // the same reader, after an error
		got := ""
		err := r.Members([]byte(`{"a":1,"b":{"a":2}}`), func(name string, value []byte) error {
			got += name + string(value)
			return nil
		})
		if err != nil || got != `a1b{"a":2}` {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

func TestReader_Members_property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `"a"`, `"b"`, `:`, `,`, `1`, ` `, `null`, `"\"`, `"`, `{"a":1}`, `"x":`})
		text := ""
		for range rapid.IntRange(0, 9).Draw(t, "pieces") {
			text += piece.Draw(t, "piece")
		}
		if text = `{` + text + `}`; rapid.Bool().Draw(t, "raw") {
			text = text[1 : len(text)-1]
		}
		got, err := membersOf(text)
		var want map[string]json.RawMessage
		open := strictjson.UnmarshalOpen([]byte(text), &want)
		if want == nil && open == nil { // null
			return
		}
		if (err == nil) != (open == nil) {
			t.Fatalf("%s: error %v, and of UnmarshalOpen %v", text, err, open)
		}
		if err != nil {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%s: got %v, want %v", text, got, want)
		}
		for name := range want {
			if got[name] != string(want[name]) {
				t.Fatalf("%s: %s is %s, want %s", text, name, got[name], want[name])
			}
		}
	})
}
