package record_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/record"
)

// Whatever is in the file, only what the arena signed passes, and every fault
// has a place. A record may lack texts.
func FuzzVerify(f *testing.F) {
	keys, jwks := newKeys(f, token.ES256)
	good, debate := played(f).record(f, keys, nil), talkative(f).record(f, keys, nil)
	texts := map[string][]any{}
	for _, file := range [][]byte{good, debate} {
		textsOf(f, file, func(pointer string, text map[string]any) { texts[pointer] = append(texts[pointer], text["text"]) })
	}
	erased, err := record.Erase(signedPart(f, debate), "ag_a")
	if err != nil {
		f.Fatal(err)
	}
	without, err := strictjson.CanonicalOf(erased)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range [][]byte{good, debate, without} {
		f.Add(file)
	}
	f.Add([]byte(`{"record":{"format":"arena-record-1"},"signature":{"alg":"ES256","kid":"k","value":"e30..e30"}}`))
	f.Add([]byte(`{"record":{"format":"arena-record-2","log":[{"body":{"commitment":"","salt":"","text":0}}]},"signature":{"alg":"ES256","kid":"k","value":"e30..e30"}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		fault := verify(file, jwks) // panics at an error without a place
		if fault == nil {
			textsOf(t, file, func(pointer string, text map[string]any) {
				if !slices.ContainsFunc(texts[pointer], func(want any) bool { return reflect.DeepEqual(text["text"], want) }) {
					t.Fatalf("taken: %q", file)
				}
			})
		}
		if _, err := record.Verify(file, func([]byte, record.Signature) error { return nil }); err == nil && fault != nil && fault.Pointer != "/signature" {
			t.Fatalf("%v without a fault in its parts: %q", fault, file)
		}
	})
}
