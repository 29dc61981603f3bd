package record_test

import (
	"bytes"
	"testing"

	"github.com/agora-arena/arena/arena/record"
	"github.com/agora-arena/arena/arena/token"
)

// Whatever is in the file, only what the arena signed passes, and every fault
// has a place.
func FuzzVerify(f *testing.F) {
	keys, jwks := newKeys(f, token.ES256)
	good := played(f).record(f, keys, nil)
	f.Add(good)
	f.Add([]byte(`{"record":{"format":"arena-record-1"},"signature":{"alg":"ES256","kid":"k","value":"e30..e30"}}`))
	f.Add([]byte(`{}`))
	signed := bytes.TrimSuffix(good, []byte("\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		fault := verify(file, jwks) // panics at an error without a place
		if fault == nil && !bytes.Equal(bytes.TrimSuffix(file, []byte("\n")), signed) {
			t.Fatalf("taken: %q", file)
		}
		if _, err := record.Verify(file, func([]byte, record.Signature) error { return nil }); err == nil && fault != nil && fault.Pointer != "/signature" {
			t.Fatalf("%v without a fault in its parts: %q", fault, file)
		}
	})
}
