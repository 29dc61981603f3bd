package account

import (
	"context"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
)

// oidcTokenPrefix begins the token id of a caller with an OIDC token, in the
// audit log and where requests of admins are counted. The subject follows it.
const oidcTokenPrefix = "oidc:"

// Identify returns the caller of a request and counts the request against its
// owner and address, or its address alone. Without credentials the caller is anonymous; bad
// ones are unauthorized, for anonymous requests too, and count against the
// address (threat A4). A session that is over leaves its browser anonymous.
func (s *Service) Identify(ctx context.Context, c arena.Credentials) (arena.Caller, error) {
	var caller arena.Caller
	var problem error
	switch {
	case c.Given:
		caller, problem = s.holder(ctx, c)
	case c.Session != "":
		caller, problem = s.signedIn(ctx, c.Session)
	}
	if caller.Known() {
		caller.Address = c.Address
		if err := s.o.Quotas.Known.Take(ctx, caller); err != nil {
			return arena.Caller{}, err
		}
	} else if err := s.o.Quotas.Address.Take(ctx, c.Address); err != nil {
		return arena.Caller{}, err
	}
	if problem != nil {
		return arena.Caller{}, problem
	}
	if c.Given && !caller.Known() {
		// All nodes count guesses together.
		if err := s.o.Quotas.Guess.Take(ctx, c.Address); err != nil {
			return arena.Caller{}, err
		}
		return arena.Caller{}, arena.Errorf(arena.CodeUnauthorized, "the token is not valid")
	}
	return caller, nil
}

// holder returns the holder of a bearer token of the arena or else of the OIDC
// issuer. A bad token has none.
func (s *Service) holder(ctx context.Context, c arena.Credentials) (arena.Caller, error) {
	secret := c.Secret
	t, err := s.o.Store.Accounts.TokenByHash(ctx, token.Hash(secret))
	switch {
	case err == nil && !t.OwnerSuspendedAt.IsZero():
		return arena.Caller{}, errSuspended(t.OwnerSuspendReason)
	case err == nil:
		s.uses.note(t, c.Address, s.now())
		caller := arena.Caller{TokenID: t.ID, OwnerID: t.OwnerID, AgentID: t.AgentID, Scope: t.Scope, Leagues: t.Leagues}
		if t.Scope == arena.ScopeOwner { // what an agent holds never runs the arena
			caller.Role = t.OwnerRole
		}
		return caller, nil
	case arena.CodeOf(err) != arena.CodeNotFound:
		return arena.Caller{}, err
	case s.o.Issuer == nil || strings.Count(secret, ".") != 2:
		return arena.Caller{}, nil
	}
	id, err := s.o.Issuer.Verify(ctx, secret)
	switch {
	case arena.CodeOf(err) == arena.CodeUnauthorized:
		return arena.Caller{}, nil
	case err != nil:
		return arena.Caller{}, err
	}
	caller := arena.Caller{TokenID: oidcTokenPrefix + id.Subject, Scope: arena.ScopeAdmin}
	if !id.Admin {
		caller.Scope = arena.ScopeOwner
		if caller.OwnerID, err = s.ownerOf(ctx, id); err != nil {
			return arena.Caller{}, err
		}
		o, err := s.o.Store.Accounts.Owner(ctx, caller.OwnerID)
		if err != nil {
			return arena.Caller{}, err
		}
		if !o.SuspendedAt.IsZero() {
			return arena.Caller{}, errSuspended(o.SuspendReason)
		}
		caller.Role = o.Role
	}
	return caller, nil
}

// errSuspended rejects every request with a token of a suspended owner.
func errSuspended(reason string) error {
	if reason == "" {
		return arena.Errorf(arena.CodeForbidden, "the owner of this token is suspended; ask an admin of this arena")
	}
	return arena.Errorf(arena.CodeForbidden, "the owner of this token is suspended (%s); ask an admin of this arena", reason)
}

// ownerOf returns the owner that an identity is. An identity without one gets
// one, unless the arena takes no new owners and its issuer does not name it an
// admin.
func (s *Service) ownerOf(ctx context.Context, id arena.Identity) (string, error) {
	ownerID, err := s.o.Store.Accounts.OwnerOf(ctx, id.Issuer, id.Subject)
	if arena.CodeOf(err) != arena.CodeNotFound {
		return ownerID, err
	}
	if s.o.SignupMode == SignupClosed && !id.Admin {
		return "", errClosed()
	}
	return withFreeName(s.newOwner(id), func(o arena.Owner) (string, error) { return s.o.Store.Accounts.AdoptOwner(ctx, o, id) })
}
