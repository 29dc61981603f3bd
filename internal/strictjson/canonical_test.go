package strictjson

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// The fast path returns the same form as the library. Canonical returns what the
// library returns, or fails where it fails.
func sameAsLibrary(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte,
) {
	t.Helper()
	v := jsontext.Value(bytes.Clone(data))
	failed := v.Canonicalize()
	if got, err := Canonical(data); (err == nil) != (failed == nil) || err == nil && !bytes.Equal(got, v) {
		t.Fatalf("%q: gives %q, %v, the library %q, %v", data, got, err, v, failed)
	}
	p := plainReader{data: data}
	if !p.value(0) || p.space() != len(data) {
		return
	}
	if failed != nil || !bytes.Equal(v, p.out) {
		t.Fatalf("%q: the quick way gives %q, the library %q, %v", data, p.out, v, failed)
	}
}

// The quick way takes what is plain, and leaves the rest to the library.
func TestCanonical_quick(t *testing.T) {
	t.Parallel()
	for text, plain := range map[string]bool{
		`{"answer":"42","confidence":0.9,"tokens":12}`:               true,
		`{"tokens":-12,"answer":"ä😀 "}`:                              true,
		` { "b" : [ true , null , false , [ ] , { } ] , "a" : "" } `: true,
		`0`: true, `-1`: true, `0.000001`: true, `123456789012345`: true, `1.7976931348623157`: true,
		`-0`: false, `-0.0`: false, `0.0`: false, `1.0`: false, `01`: false, `0001`: false, `1e5`: false, `1E5`: false, `0.0000001`: false,
		`1000000000000000000000`: false, `9007199254740993`: false, `--1`: false, `-`: false, `.5`: false, `5.`: false, `1.2.3`: false,
		`"\u0061"`: false, `"a\nb"`: false, "\"\t\"": false, "\"\xff\"": false, "\"\xed\xa0\x80\"": false, `"`: false,
		`{"ä":1}`: false, `{"a":1,"a":2}`: false, `{"b":1,"a":1,"b":2}`: false,
		`[1,]`: false, `[,1]`: false, `[1 2]`: false, `[`: false, `{"a":1,}`: false, `{"a"}`: false, `{"a":}`: false, `{,"a":1}`: false, `{`: false,
		`{} {}`: false, `1 1`: false, `nul`: false, `trueX`: false, ``: false, ` `: false,
	} {
		p := plainReader{data: []byte(text)}
		if got := p.value(0) && p.space() == len(text); got != plain {
			t.Errorf("%s: quick %t, want %t", text, got, plain)
		}
		sameAsLibrary(t, []byte(text))
	}
}

func TestCanonical_quick_property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{
			`{`, `}`, `[`, `]`, `"a":`, `"b":`, `"B":`, `"c":`, `,`, `1`, `-`, `0`, `.`, `25`, `e`, ` `, `null`, `true`, `"x"`, `"é"`, `"`, `\`, `{"a":1}`, `,"b":[1,2]`,
		})
		text := ""
		for range rapid.IntRange(0, 9).Draw(t, "pieces") {
			text += piece.Draw(t, "piece")
		}
		sameAsLibrary(t, []byte(text))
		sameAsLibrary(t, []byte(`{"z":`+text+`}`))
		sameAsLibrary(t, []byte(`[`+text+`]`))
	})
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[0.5,"x",null]}`, `-0`, `1e21`, `{"a":{"a":1}}`, `["\u0041"]`, `123456789012345678`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsLibrary(t, data) })
}

func BenchmarkCanonical(b *testing.B) {
	reply := []byte(`{"tokens":12,"answer":"42","confidence":0.9,"nonce":"AAAAAAAAAAAAAAAAAAAAAA"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical(reply); err != nil {
			b.Fatal(err)
		}
	}
}
