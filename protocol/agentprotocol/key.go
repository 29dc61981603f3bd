package agentprotocol

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// The three forms of an agent id. The text names the key itself
// ("<Ed25519-public-key-base64>"); programs in the wild also send the key as
// SPKI, or a name made from it.
const (
	rawForm  = 44 // standard base64 of the 32 bytes: the form that the arena sends
	spkiForm = 60 // standard base64 of the key as DER SubjectPublicKeyInfo
	nameForm = 22 // base64url of half a SHA-256 over the SPKI text
)

// spkiHead is what DER puts before the 32 bytes of an Ed25519 key (RFC 8410).
const spkiHead = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"

// CheckKey reads an agent's public key as its owner gives it: 44 characters
// of standard base64 (the raw key) or 60 (SPKI). canonical is the raw form. The
// error is an *arena.Error about public_key.
func CheckKey(publicKey string) (canonical string, key ed25519.PublicKey, err error) {
	key, err = parseKey(publicKey)
	if err != nil {
		return "", nil, arena.Invalid("public_key", "%v", err)
	}
	return rawID(key), key, nil
}

// parseKey reads a key in one of the two forms that hold it.
func parseKey(text string) (ed25519.PublicKey, error) {
	if len(text) != rawForm && len(text) != spkiForm {
		return nil, errors.New("an Ed25519 key is 44 characters of standard base64, or 60 with the SPKI head")
	}
	b, err := decode64(base64.StdEncoding, text)
	if err != nil {
		return nil, err
	}
	if len(text) == spkiForm {
		tail, ok := bytes.CutPrefix(b, []byte(spkiHead))
		if !ok {
			return nil, errors.New("this is not the SPKI form of an Ed25519 key")
		}
		b = tail
	}
	if len(b) != ed25519.PublicKeySize {
		return nil, errors.New("an Ed25519 key has 32 bytes")
	}
	if weak(b) {
		return nil, errors.New("this key is one of small order, under which anyone can sign, or not in its canonical form")
	}
	return ed25519.PublicKey(b), nil
}

// decode64 reads base64 in its only spelling: without line breaks, which Go ignores,
// and without unused bits.
func decode64(e *base64.Encoding, text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("base64 with a line break")
	}
	b, err := e.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("not canonical base64")
	}
	return b, nil
}

// weak reports whether a point has an order of 8 or less, or a y that is not
// below the field's prime 2^255-19. The sign bit does not matter to either.
func weak(key []byte) bool {
	y := slices.Clone(key)
	y[31] &= 0x7f
	middle := y[1:31]
	switch {
	case y[31] == 0x7f && allOf(middle, 0xff):
		return y[0] >= 0xec // -1, of order 2, and everything from the prime on
	case y[31] == 0 && allOf(middle, 0):
		return y[0] <= 1 // 0, of order 4, and 1, of order 1
	}
	return string(y) == order8 || string(y) == order8Minus
}

func allOf(b []byte, v byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c != v })
}

// The y of the four points of order 8, little endian.
const (
	order8      = "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05"
	order8Minus = "\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a"
)

// rawID is the agent id of a key in the form that the arena sends.
func rawID(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// spkiOf is the SPKI form of a key.
func spkiOf(key ed25519.PublicKey) string {
	return base64.StdEncoding.EncodeToString(append([]byte(spkiHead), key...))
}

// nameOf is the 22 character name of a key: base64url of the first 16 bytes of
// SHA-256 over the text of its SPKI form.
func nameOf(key ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(spkiOf(key)))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// names reports whether id is any form of the key's id.
func names(id string, key ed25519.PublicKey) bool {
	return id == rawID(key) || id == spkiOf(key) || id == nameOf(key)
}
