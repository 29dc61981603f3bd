package account

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

// AdminStore keeps admin tokens.
type AdminStore interface {
	AdminTokens(ctx context.Context) ([]arena.Token, error)
	CreateToken(ctx context.Context, t arena.Token, audit ...arena.AuditEntry) error
}

// AdminOptions are the parts of EnsureAdmin.
type AdminOptions struct {
	Store      AdminStore
	Secret     string                                // that the operator has set, "" none
	NewSecret  func() (secret string, hash [32]byte) // of an admin
	HashSecret func(secret string) [32]byte
	Now        func() time.Time
}

// EnsureAdmin stores the admin token that the operator has set, or makes one
// when none is set and the arena has none at all. It returns the secret when it
// is known; created reports whether it was made just now.
func EnsureAdmin(ctx context.Context, o AdminOptions) (secret string, created bool, err error) {
	known, err := o.Store.AdminTokens(ctx)
	if err != nil {
		return "", false, fmt.Errorf("read admin tokens: %w", err)
	}
	secret, name := o.Secret, "ARENA_ADMIN_TOKEN"
	if secret == "" {
		if len(known) > 0 {
			return "", false, nil
		}
		secret, _ = o.NewSecret()
		name, created = "first start", true
	}
	hash := o.HashSecret(secret)
	for _, t := range known {
		if t.Hash == hash {
			return secret, created, nil
		}
	}
	now := o.Now().UTC()
	t := arena.Token{ID: arena.NewID(arena.TokenPrefix, now), Scope: arena.ScopeAdmin, Name: name, Hash: hash, CreatedAt: now}
	if err := o.Store.CreateToken(ctx, t); err != nil {
		return "", false, fmt.Errorf("store the admin token: %w", err)
	}
	return secret, created, nil
}
