package envelope

import (
	"encoding/hex"
	"testing"
)

// The examples of draft-msporny-base58-03, section 5, and edge cases.
func TestBase58(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, text string }{
		{hex.EncodeToString([]byte("Hello World!")), "2NEpo7TZRRrLZSi2U"},
		{hex.EncodeToString([]byte("The quick brown fox jumps over the lazy dog.")), "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z"},
		{"0000287fb4cd", "11233QC4"},
		{"", ""},
		{"00", "1"},
		{"39", "z"},
		{"3a", "21"},
	} {
		raw, err := hex.DecodeString(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := base58Encode(raw); got != c.text {
			t.Errorf("base58Encode(%s) = %q, want %q", c.raw, got, c.text)
		}
		if got, err := base58Decode(c.text); err != nil || hex.EncodeToString(got) != c.raw {
			t.Errorf("base58Decode(%q) = %x, %v, want %s", c.text, got, err, c.raw)
		}
	}
	for _, bad := range []string{"0", "O", "I", "l", "2 1", "é", "+"} {
		if got, err := base58Decode(bad); err == nil {
			t.Errorf("base58Decode(%q) = %x", bad, got)
		}
	}
}
