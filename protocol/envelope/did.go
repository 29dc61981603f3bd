package envelope

import (
	"crypto/ed25519"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/mr-tron/base58"
)

// didPrefix is the prefix of a did:key in base58btc (appendix A, rule 1).
const didPrefix = "did:key:z"

// maxDID bounds a did:key: decoding base58 takes the square of its length.
// The key of an Ed25519 agent has 56 characters.
const maxDID = 80

// DID returns the did:key of a public key.
func DID(key ed25519.PublicKey) string {
	return didPrefix + base58.Encode(append([]byte{0xed, 0x01}, key...))
}

// ParseDID returns the key of a did:key (appendix A). It refuses what is not
// base58btc, not an Ed25519 key of 32 bytes, not spelled in its one way, and
// keys under which one signature fits many messages.
func ParseDID(did string) (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(did, didPrefix)
	if !ok || len(did) > maxDID {
		return nil, errors.New("must begin with did:key:z and have at most 80 characters")
	}
	raw, err := base58.Decode(text)
	switch {
	case err != nil:
		return nil, errors.New("is not base58btc")
	case len(raw) < 2 || raw[0] != 0xed || raw[1] != 0x01:
		return nil, errors.New("is not an Ed25519 key (multicodec 0xed01)")
	case len(raw) != 2+ed25519.PublicKeySize:
		return nil, errors.New("must hold a key of exactly 32 bytes")
	}
	key := ed25519.PublicKey(raw[2:])
	switch {
	case DID(key) != did:
		return nil, errors.New("is not spelled canonically")
	case weak(key):
		return nil, errors.New("is a key of small order or not a canonical one")
	}
	return key, nil
}

// CheckKey reads the public key that an agent registers: its did:key, which is
// also the form that is stored.
func CheckKey(publicKey string) (canonical string, key ed25519.PublicKey, err error) {
	key, err = ParseDID(publicKey)
	return publicKey, key, err
}

// weak reports whether the key's point has a small order, or its y stands
// above the field's prime: one identity must not have two spellings.
func weak(key ed25519.PublicKey) bool {
	y := [ed25519.PublicKeySize]byte(key)
	y[31] &= 0x7f // the sign of x
	above := y[0] >= 0xec && y[31] == 0x7f
	for _, b := range y[1:31] {
		above = above && b == 0xff
	}
	if above { // p-1 has order 2, p and more are second spellings
		return true
	}
	for _, small := range smallOrder {
		if subtle.ConstantTimeCompare(y[:], small) == 1 {
			return true
		}
	}
	return false
}

// smallOrder are the y of the points of order 1, 4 and 8.
var smallOrder = [][]byte{
	unhex("0000000000000000000000000000000000000000000000000000000000000000"),
	unhex("0100000000000000000000000000000000000000000000000000000000000000"),
	unhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
	unhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err) // a constant of this file
	}
	return b
}
