package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

// The signature algorithms, by their names in a token's header (RFC 7518, RFC
// 8037). Every JWT library verifies ES256; RS256 signs about 20 times slower.
const (
	ES256 = "ES256"
	EdDSA = "EdDSA"
	RS256 = "RS256"
)

// methodOf returns the signing method of an algorithm, or nil if it is not
// supported.
func methodOf(alg string) jwt.SigningMethod {
	switch alg {
	case ES256:
		return jwt.SigningMethodES256
	case EdDSA:
		return jwt.SigningMethodEdDSA
	case RS256:
		return jwt.SigningMethodRS256
	default:
		return nil
	}
}

// generate returns a new private key for alg in PKCS #8.
func generate(alg string) ([]byte, error) {
	var private any
	var err error
	switch alg {
	case ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case RS256:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		return nil, fmt.Errorf("algorithm %q is not one of %s, %s, %s", alg, ES256, EdDSA, RS256)
	}
	if err != nil {
		return nil, fmt.Errorf("make a %s key: %w", alg, err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode a %s key: %w", alg, err)
	}
	return der, nil
}

// parse reads a stored private key and checks that it is one for alg.
func parse(alg string, der []byte) (crypto.Signer, error) {
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read the private key: %w", err)
	}
	switch key := private.(type) {
	case *ecdsa.PrivateKey:
		if alg == ES256 && key.Curve == elliptic.P256() {
			return key, nil
		}
	case ed25519.PrivateKey:
		if alg == EdDSA {
			return key, nil
		}
	case *rsa.PrivateKey:
		if alg == RS256 {
			return key, nil
		}
	}
	return nil, fmt.Errorf("a key of type %T is not for %s", private, alg)
}
