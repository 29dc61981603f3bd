package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/store"
)

// Limits of tokens that belong to no owner.
const (
	maxAdminTokens  = 200
	maxTokenLeagues = 100
)

// ConfiguredName is the name of tokens that the setting ARENA_ADMIN_TOKEN makes.
const ConfiguredName = "ARENA_ADMIN_TOKEN"

// EnsureAdmin stores the admin token that the operator has configured, which
// supersedes the one that was set before; an error says why a token cannot be
// used. When none is configured ("") and the arena has no live one at all, it
// makes one. It returns the secret when it is known; created reports whether it was
// made just now.
func EnsureAdmin(ctx context.Context, s *store.Store, configured string, now time.Time) (secret string, created bool, err error) {
	now = now.UTC().Truncate(time.Millisecond)
	if configured != "" {
		return configured, false, configure(ctx, s, configured, now)
	}
	known, err := s.Accounts.AdminTokens(ctx)
	if err != nil {
		return "", false, fmt.Errorf("read admin tokens: %w", err)
	}
	if slices.ContainsFunc(known, func(t arena.Token) bool { return t.Scope == arena.ScopeAdmin && t.LiveAt(now) }) {
		return "", false, nil
	}
	secret, hash := token.NewSecret(token.AdminSecretPrefix)
	t := arena.Token{ID: arena.NewID(arena.TokenPrefix, now), Scope: arena.ScopeAdmin, Name: "first start", Hash: hash, CreatedAt: now}
	if err := s.Accounts.CreateToken(ctx, t); err != nil {
		return "", false, fmt.Errorf("store the admin token: %w", err)
	}
	return secret, true, nil
}

// configure makes the operator's token the configured one.
func configure(ctx context.Context, s *store.Store, secret string, now time.Time) error {
	t := arena.Token{ID: arena.NewID(arena.TokenPrefix, now), Scope: arena.ScopeAdmin, Name: ConfiguredName, Hash: token.Hash(secret), CreatedAt: now}
	err := s.Accounts.ConfigureToken(ctx, t, func(known arena.Token) error { return usable(known, now) }, func(old arena.Token) (arena.AuditEntry, error) {
		return arena.Caller{Scope: arena.ScopeAdmin}.Audit(now, "supersede-token", old.ID, old.Name, nil)
	})
	if refused, ok := errors.AsType[*arena.Error](err); ok && refused.Code == arena.CodeConflict {
		return fmt.Errorf("%s: %s", ConfiguredName, refused.Message)
	}
	if err != nil {
		return fmt.Errorf("store the admin token: %w", err)
	}
	return nil
}

// usable returns why a known token cannot be the configured one, nil if it can.
func usable(t arena.Token, now time.Time) error {
	at := func(when time.Time) string { return when.UTC().Format(arena.TimeFormat) }
	switch {
	case t.Scope != arena.ScopeAdmin:
		return arena.Errorf(arena.CodeConflict, "this token has the scope %s, not admin", t.Scope)
	case !t.RevokedAt.IsZero() && t.Configured:
		return arena.Errorf(arena.CodeConflict, "this token was superseded or revoked at %s; set the newest one on every node, or a new one", at(t.RevokedAt))
	case !t.RevokedAt.IsZero():
		return arena.Errorf(arena.CodeConflict, "this token was revoked at %s; set a new one", at(t.RevokedAt))
	case !t.LiveAt(now):
		return arena.Errorf(arena.CodeConflict, "this token expired at %s; set a new one", at(t.ExpiresAt))
	}
	return nil
}

// AdminTokens returns the tokens that belong to no owner and are not revoked,
// oldest first, for an admin.
func (s *Service) AdminTokens(ctx context.Context, caller arena.Caller) ([]arena.Token, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return nil, err
	}
	return s.o.Store.Accounts.AdminTokens(ctx)
}

// CreateAdminToken makes a token that belongs to no owner, for an admin.
func (s *Service) CreateAdminToken(ctx context.Context, caller arena.Caller, in arena.AdminTokenRequest) (t arena.Token, secret string, err error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return t, "", err
	}
	now := s.now()
	if err := s.checkAdminToken(ctx, in, now); err != nil {
		return t, "", err
	}
	held, err := s.o.Store.Accounts.AdminTokens(ctx)
	if err != nil {
		return t, "", err
	}
	if len(held) >= maxAdminTokens {
		return t, "", arena.Errorf(arena.CodeConflict, "an arena may have %d admin tokens; revoke one first", maxAdminTokens)
	}
	secret, hash := token.NewSecret(token.AdminSecretPrefix)
	t = arena.Token{
		ID: arena.NewID(arena.TokenPrefix, now), Scope: in.Scope, Leagues: in.Leagues, Name: in.Name, Hash: hash,
		CreatedAt: now, ExpiresAt: in.ExpiresAt.UTC().Truncate(time.Millisecond),
	}
	e, err := caller.Audit(now, "create-admin-token", t.ID, nil, map[string]any{"name": t.Name, "scope": t.Scope, "leagues": t.Leagues, "expires_at": t.ExpiresAt})
	if err != nil {
		return t, "", err
	}
	return t, secret, s.o.Store.Accounts.CreateToken(ctx, t, e)
}

func (s *Service) checkAdminToken(ctx context.Context, in arena.AdminTokenRequest, now time.Time) error {
	if err := checkName(in.Name); err != nil {
		return err
	}
	if err := s.checkRole(ctx, "scope", arena.Role{Scope: in.Scope, Leagues: in.Leagues}); err != nil {
		return err
	}
	if !in.ExpiresAt.IsZero() && !in.ExpiresAt.After(now) {
		return arena.Invalid("expires_at", "must be in the future")
	}
	return nil
}

// RevokeAny ends any token, an owner's too, for an admin.
func (s *Service) RevokeAny(ctx context.Context, caller arena.Caller, id string) error {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return err
	}
	t, err := s.o.Store.Accounts.Token(ctx, id)
	if err != nil {
		return err
	}
	e, err := caller.Audit(s.now(), "revoke-admin-token", id, t.Name, nil)
	if err != nil {
		return err
	}
	return s.o.Store.Accounts.RevokeToken(ctx, t.OwnerID, id, e)
}
