package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// The prefixes of bearer secrets. They let a person, or a scanner of leaked
// secrets, tell what a string is.
const (
	OwnerSecretPrefix = "aro_"
	AdminSecretPrefix = "ara_"
)

// NewSecret makes a bearer secret: the prefix and 256 random bits in
// base64url. Only the hash is to be stored (threat A4).
func NewSecret(prefix string) (secret string, hash [32]byte) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	secret = prefix + base64.RawURLEncoding.EncodeToString(b[:])
	return secret, Hash(secret)
}

// Hash is the SHA-256 under which a bearer secret is stored and looked up. A
// plain hash is enough: 256 random bits cannot be guessed from it.
func Hash(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }
