package arena

import "time"

// Scope is what a bearer token may do.
type Scope string

// The scopes of stored tokens. Task tokens are not stored: see TaskClaims.
const (
	ScopeOwner Scope = "owner"
	ScopeAdmin Scope = "admin"
)

// Token is a stored bearer token. Only the SHA-256 of its secret is kept.
type Token struct {
	ID         string
	OwnerID    string // "" for an admin token
	Scope      Scope
	Name       string
	Hash       [32]byte
	CreatedAt  time.Time
	LastUsedAt time.Time
	RevokedAt  time.Time
}

// Outsider is somebody as an outside issuer of tokens knows them (OpenID
// Connect). Issuer and Subject together are one person for ever.
type Outsider struct {
	Issuer  string
	Subject string // 1 to 255 bytes
	Name    string // "" unknown; theirs to choose
	Email   string // "" unless the issuer has verified it
	Admin   bool
}

// SigningKey is a key pair for task tokens. A new key is published before it
// signs and an old one stays published while its tokens live.
type SigningKey struct {
	KID       string
	Alg       string // "ES256", "EdDSA", "RS256"
	Private   []byte // PKCS #8
	CreatedAt time.Time
	SignsFrom time.Time // the newest key with SignsFrom <= now signs
	ExpiresAt time.Time // no longer published from then on; zero: current
}

// TaskClaims are the claims of a task token (AAP, "Authentication"; rulebook,
// section 2). The token of a task also opens the agent's side of the stream.
type TaskClaims struct {
	ID        string // jti
	AgentID   string // agent_id, sub and aud
	MatchID   string
	Round     int
	BodyHash  string // bh: base64url SHA-256 of the request's body
	IssuedAt  time.Time
	ExpiresAt time.Time // exp and expires_at
}
