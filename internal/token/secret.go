package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/agora-arena/arena/arena"
)

// The prefixes of bearer secrets, by which people and scanners for leaked
// secrets recognize them.
const (
	OwnerSecretPrefix = "aro_"
	AdminSecretPrefix = "ara_"
	AgentSecretPrefix = "arg_"

	SessionSecretPrefix    = "ars_" // in a cookie
	InvitationSecretPrefix = "ari_" // in a link
	MailSecretPrefix       = "arm_" // in a link of a mail
)

// NewSecret returns a new bearer secret, which is the prefix and 256 random bits
// in base64url, and its hash. Store only the hash (threat A4).
func NewSecret(prefix string) (secret string, hash [32]byte) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	secret = prefix + base64.RawURLEncoding.EncodeToString(b[:])
	return secret, Hash(secret)
}

// DerivedSecret returns the bearer secret that belongs to a text under a key, and
// its hash.
func DerivedSecret(prefix string, key []byte, text string) (secret string, hash [32]byte) {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	secret = prefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	return secret, Hash(secret)
}

// NewAgentKey returns a new key of an agent, which is a token of the scope agent,
// and its secret.
func NewAgentKey(g arena.Agent, name string, now time.Time) (t arena.Token, secret string) {
	secret, hash := NewSecret(AgentSecretPrefix)
	return arena.Token{
		ID: arena.NewID(arena.TokenPrefix, now), OwnerID: g.OwnerID, AgentID: g.ID, Scope: arena.ScopeAgent, Name: name, Hash: hash, CreatedAt: now,
	}, secret
}

// Hash returns the SHA-256 under which a bearer secret is stored and looked up.
// A plain hash is enough, because 256 random bits cannot be guessed.
func Hash(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }
