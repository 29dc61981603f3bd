package strictjson_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena/strictjson"
)

type reply struct {
	Answer string   `json:"answer"`
	Tokens *int64   `json:"tokens"`
	Share  *float64 `json:"share"`
}

// Threat R5: what a lenient decoder lets through.
func TestUnmarshal_Refuses(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"duplicate member":     `{"answer":"a","answer":"b"}`,
		"duplicate, escaped":   `{"answer":"a","\u0061nswer":"b"}`,
		"case alias":           `{"Answer":"a"}`,
		"unknown member":       `{"answer":"a","extra":1}`,
		"invalid UTF-8":        "{\"answer\":\"\xff\"}",
		"lone surrogate":       `{"answer":"\ud800"}`,
		"not a number":         `{"share":NaN}`,
		"number out of range":  `{"share":1e400}`,
		"integer out of range": `{"tokens":9223372036854775808}`,
		"trailing text":        `{"answer":"a"} x`,
		"two values":           `{"answer":"a"}{"answer":"b"}`,
		"byte order mark":      "\xef\xbb\xbf{\"answer\":\"a\"}",
		"empty":                ``,
		"leading zero":         `{"tokens":01}`,
		"comment":              `{"answer":"a"/*x*/}`,
		"deep":                 strings.Repeat(`[`, 33) + strings.Repeat(`]`, 33),
		"very deep":            strings.Repeat(`[`, 1_000_000),
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v reply
			if err := strictjson.Unmarshal([]byte(text), &v); err == nil {
				t.Errorf("accepted as %+v", v)
			} else if strings.Contains(err.Error(), "jsontext") {
				t.Errorf("the error names the library: %v", err)
			}
		})
	}
}

func TestUnmarshal_Accepts(t *testing.T) {
	t.Parallel()
	var v reply
	if err := strictjson.Unmarshal([]byte(` {"answer":"\ud83d\ude00","tokens":1} `), &v); err != nil || v.Answer != "😀" {
		t.Fatalf("got %+v, %v", v, err)
	}
}

func TestUnmarshalOpen(t *testing.T) {
	t.Parallel()
	names := []string{"answer", "tokens", "share"}
	cases := map[string]bool{
		`{"answer":"a","model":"x"}`:              true,
		`{"answer":"a","nested":{"Answer":"b"}}`:  true,
		`{"answer":"a","ANSWER":"b"}`:             false,
		`{"answer":"a","model":"x","model":"y"}`:  false,
		`{"answer":"a","x":` + deep(40) + `}`:     false,
		`[]`:                                      false,
		`"answer"`:                                false,
		`{"answer":"a","nested":{"q":1,"q":2}}  `: false,
	}
	for text, ok := range cases {
		var v reply
		if err := strictjson.UnmarshalOpen([]byte(text), &v, names...); (err == nil) != ok {
			t.Errorf("%s: error is %v, want ok = %v", text, err, ok)
		}
	}
}

// Threat R5: a text of 32 levels is the deepest, whatever takes it.
func TestUnmarshal_Refuses_depth(t *testing.T) {
	t.Parallel()
	for levels, ok := range map[int]bool{strictjson.MaxDepth: true, strictjson.MaxDepth + 1: false} {
		var v any
		if err := strictjson.Unmarshal([]byte(deep(levels)), &v); (err == nil) != ok {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// The rows are from RFC 8785, section 3.2 and appendix B.
func TestCanonical(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		`{ "b": 1, "a": [ true, null ] }`:                 `{"a":[true,null],"b":1}`,
		`[333333333.33333329, 1E30, 4.50, 2e-3, 1e-27]`:   `[333333333.3333333,1e+30,4.5,0.002,1e-27]`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\u0080":5}`: "{\"\\r\":2,\"1\":4,\"\u0080\":5,\"€\":1,\"\ufb33\":3}",
		`"\u000f\u000aA'\u0042\"\\\""`:                    `"\u000f\nA'B\"\\\""`,
		`"<a&b>"`:                                         `"<a&b>"`,
	}
	for in, want := range cases {
		got, err := strictjson.Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
	if _, err := strictjson.Canonical([]byte(`{"a":1,"a":2}`)); err == nil {
		t.Error("a duplicate member has no canonical form")
	}
}
