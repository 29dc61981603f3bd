package strictjson_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"
	"unicode/utf8"

	"github.com/agora-arena/arena/internal/strictjson"
)

// What the decoder takes every reader takes for the same thing: it is valid to
// the standard library, both ways of reading agree, and the canonical form is
// its own canonical form. Threat R5.
func FuzzUnmarshalOpen(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `{"a":1,"b":[true,null,"x"],"c":{"d":-1.5e3}}`, `{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"\u0061":"\ud83d\ude00"}`, `{"a":"\ud800"}`,
		"{\"a\":\"\xff\"}", "\xef\xbb\xbf{}", `{"a":1e400}`, `{"a":01}`, `{"a":1}x`, `[[[[1]]]]`, "{\"a\":\"\\u0000\"}", `{"a":9007199254740993}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v map[string]json.RawMessage
		err := strictjson.UnmarshalOpen(data, &v)
		if err == nil && (!utf8.Valid(data) || !json.Valid(data)) {
			t.Fatalf("taken: %q", data)
		}
		members := map[string]json.RawMessage{}
		var r strictjson.Reader
		byMember := r.Members(data, func(name string, value []byte) error {
			members[name] = bytes.Clone(value)
			return nil
		})
		if v != nil && (err == nil) != (byMember == nil) {
			t.Fatalf("%q: UnmarshalOpen says %v, Members says %v", data, err, byMember)
		}
		if err != nil || byMember != nil {
			return
		}
		if !maps.EqualFunc(v, members, func(a, b json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(a), b) }) {
			t.Fatalf("%q: %s and %s", data, v, members)
		}
		canonical, err := strictjson.Canonical(data)
		if err != nil {
			return // a number that no float holds
		}
		again, err := strictjson.Canonical(canonical)
		if err != nil || !bytes.Equal(canonical, again) {
			t.Fatalf("%q: %q, then %q, %v", data, canonical, again, err)
		}
	})
}
