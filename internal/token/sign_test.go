package token

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math/big"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// RFC 6979, appendix A.2.5: the key, and its signature of "sample" with
// SHA-256.
func TestKey_sign_RFC6979(t *testing.T) {
	t.Parallel()
	d, _ := hex.DecodeString("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721")
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&key{signer: private}).sign([]byte("sample"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716" +
		"f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
	if hex.EncodeToString(got) != want {
		t.Errorf("got %x, want %s", got, want)
	}
}

// Signatures with short numbers, one of 256, come out at their full length:
// what another library makes of the same text verifies.
func TestKey_sign_Verifies(t *testing.T) {
	t.Parallel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	k := &key{signer: private}
	short := 0
	for i := range 2000 {
		text := fmt.Sprint(i)
		signature, err := k.sign([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := jwt.SigningMethodES256.Verify(text, signature, &private.PublicKey); err != nil {
			t.Fatalf("text %s: %v", text, err)
		}
		if signature[0] == 0 || signature[32] == 0 {
			short++
		}
	}
	if short == 0 {
		t.Error("no signature had a short number")
	}
}

func TestJoined(t *testing.T) {
	t.Parallel()
	one := append(make([]byte, 31), 1)
	for name, c := range map[string]struct {
		der  string
		want []byte // nil: refused
	}{
		"two small numbers":        {"3006020101020101", append(bytes.Clone(one), one...)},
		"nothing":                  {"", nil},
		"another kind":             {"3106020101020101", nil},
		"a length that is wrong":   {"3007020101020101", nil},
		"one number":               {"3003020101", nil},
		"three numbers":            {"3009020101020101020101", nil},
		"a text for a number":      {"3006040101020101", nil},
		"a number beyond the end":  {"3006020101020201", nil},
		"a number of 33 bytes":     {"3026022101" + fmt.Sprintf("%064x", 0) + "020101", nil},
		"a number with a zero":     {"3026022100" + fmt.Sprintf("%064x", big.NewInt(1)) + "020101", append(bytes.Clone(one), one...)},
		"a number with many zeros": {"302702220000" + fmt.Sprintf("%064x", big.NewInt(1)) + "020101", nil},
	} {
		der, _ := hex.DecodeString(c.der)
		got, err := joined(der)
		if (err == nil) != (c.want != nil) || !bytes.Equal(got, c.want) {
			t.Errorf("%s: got %x, %v", name, got, err)
		}
	}
}
