package envelope_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"github.com/agora-arena/arena/protocol/envelope"
)

func TestParseDID(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)
	did := envelope.DID(key)
	// Of the did:key method's text: its keys of type Ed25519 begin so.
	if !strings.HasPrefix(did, "did:key:z6Mk") {
		t.Errorf("%s", did)
	}
	if back, err := envelope.ParseDID(did); err != nil || !key.Equal(back) {
		t.Errorf("%x, %v", back, err)
	}
	if canonical, back, err := envelope.CheckKey(did); canonical != did || !key.Equal(back) || err != nil {
		t.Errorf("%s, %x, %v", canonical, back, err)
	}
}

// Appendix A, validation rules 1 to 3. Threat L1: a key is spelled in one way,
// and one signature fits one message.
func TestParseDID_refuses(t *testing.T) {
	t.Parallel()
	raw := func(parts ...string) string {
		b, err := hex.DecodeString(strings.Join(parts, ""))
		if err != nil {
			t.Fatal(err)
		}
		return "did:key:z" + base58.Encode(b)
	}
	good := envelope.DID(ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
	zeros, ones := strings.Repeat("00", 31), strings.Repeat("ff", 30)
	for name, did := range map[string]string{
		"empty": "", "no key": "did:key:z", "another method": strings.Replace(good, "did:key", "did:web", 1),
		"base64 (m)": strings.Replace(good, ":z", ":m", 1), "without z": strings.Replace(good, ":z", ":", 1),
		"upper case": strings.ToUpper(good), "not base58": good[:20] + "0" + good[21:], "space": good + " ", "line break": good + "\n",
		"fragment": good + "#" + good[8:], "leading 1": "did:key:z1" + good[9:],
		"31 bytes": raw("ed01", zeros), "33 bytes": raw("ed01", zeros, "0101"), "prefix alone": raw("ed01"), "one byte": raw("ed"),
		"secp256k1": raw("e701", "02", zeros, "01"), "x25519": raw("ec01", strings.Repeat("11", 32)),
		"long":    "did:key:z" + strings.Repeat("6", 100_000),
		"order 1": raw("ed01", "01", zeros), "order 4": raw("ed01", "00", zeros), "order 2": raw("ed01", "ec", ones, "7f"),
		"order 1 with sign": raw("ed01", "01", zeros[2:], "80"), "p": raw("ed01", "ed", ones, "7f"), "p+1": raw("ed01", "ee", ones, "7f"),
		"order 8": raw("ed01", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
		"2^255-1": raw("ed01", "ff", ones, "ff"),
	} {
		if key, err := envelope.ParseDID(did); err == nil {
			t.Errorf("%s: %.80s is %x", name, did, key)
		}
	}
}
