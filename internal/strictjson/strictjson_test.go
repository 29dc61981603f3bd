package strictjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/strictjson"
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

// What is wrong is said in words of JSON: authors of packs and agents read it.
func TestUnmarshal_says(t *testing.T) {
	t.Parallel()
	type inner struct {
		Yes   bool           `json:"yes"`
		Names []string       `json:"names"`
		Own   upper          `json:"own"`
		Map   map[string]int `json:"map"`
	}
	var v struct {
		reply

		Inner inner `json:"inner"`
	}
	for text, want := range map[string]string{
		`{"extra":1}`:                      `unknown member "/extra"`,
		`{"inner":{"a~b/c":1}}`:            `unknown member "/inner/a~0b~1c"`,
		`{"answer":5}`:                     `"/answer" must be text, not a number`,
		`{"tokens":"5"}`:                   `"/tokens" must be a whole number, not text`,
		`{"tokens":1.5}`:                   `"/tokens" must be a whole number in range, not 1.5`,
		`{"tokens":9223372036854775808}`:   `"/tokens" must be a whole number in range, not 9223372036854775808`,
		`{"share":true}`:                   `"/share" must be a number, not true`,
		`{"share":1e400}`:                  `"/share" must be a number in range, not 1e400`,
		`{"inner":{"yes":{}}}`:             `"/inner/yes" must be true or false, not an object`,
		`{"inner":{"names":"x"}}`:          `"/inner/names" must be a list, not text`,
		`{"inner":{"names":["x",null,3]}}`: `"/inner/names/2" must be text, not a number`,
		`{"inner":{"map":[]}}`:             `"/inner/map" must be an object, not a list`,
		`{"inner":{"own":"x"}}`:            `"/inner/own": only upper case`,
		`{"inner":{"own":2.5}}`:            `"/inner/own": must be a whole number, not number 2.5`,
		`[]`:                               `must be an object, not a list`,
	} {
		if err := strictjson.Unmarshal([]byte(text), &v); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// upper reads itself.
type upper string

func (*upper) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return errors.New("only upper case")
	}
	var n int
	return json.Unmarshal(b, &n)
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
