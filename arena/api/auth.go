package api

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

// scope says whose token a route needs.
type scope string

// The scopes of routes. There is no zero scope: a route without one does not
// mount.
const (
	scopePublic       scope = "public"         // none; a good token is still recognised
	scopeOwner        scope = "owner"          // an owner's
	scopeAdmin        scope = "admin"          // an admin's
	scopeOwnerOrAdmin scope = "owner or admin" // either; the handler checks whose object it is
	scopeElsewhere    scope = "elsewhere"      // the mounted handler checks for itself: the stream
)

type contextKey int

const (
	callerKey contextKey = iota
	requestKey
	actKey
)

// caller is who asks: the holder of a token, stored or of the outside issuer,
// or nobody.
type caller struct {
	token arena.Token
	known bool
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey).(caller)
	return c
}

func (c caller) isAdmin() bool { return c.known && c.token.Scope == arena.ScopeAdmin }

// owns reports whether the caller may act for the owner: it is the owner, or
// an admin.
func (c caller) owns(ownerID string) bool {
	return c.isAdmin() || (c.known && c.token.OwnerID != "" && c.token.OwnerID == ownerID)
}

// identify finds out who calls, holds it to its rate and checks the scope. A
// bad token is refused on every route, public ones too, and counts against
// the address (threat A4).
func (a *API) identify(c *gin.Context, s scope) (caller, error) {
	secret, given := bearer(c.GetHeader("Authorization"))
	var who caller
	var problem error
	if given {
		who, problem = a.holderOf(c.Request.Context(), secret)
	}
	if who.known {
		if err := a.Quotas.Token.Take(c.Request.Context(), who.token.ID); err != nil {
			return caller{}, err
		}
	} else if err := a.Quotas.Address.Take(c.Request.Context(), c.ClientIP()); err != nil {
		return caller{}, err
	}
	if problem != nil {
		return caller{}, problem
	}
	if given && !who.known {
		// Who guesses tokens may not do so on each node anew.
		if err := a.Quotas.Guess.Take(c.Request.Context(), c.ClientIP()); err != nil {
			return caller{}, err
		}
		return caller{}, unauthorized()
	}
	return who, permit(who, s)
}

// holderOf finds the holder of a bearer token: one of ours, else one of the
// outside issuer. Nobody holds a bad one.
func (a *API) holderOf(ctx context.Context, secret string) (caller, error) {
	t, err := a.Store.TokenByHash(ctx, a.HashSecret(secret))
	switch {
	case err == nil:
		return caller{token: t, known: true}, nil
	case !errors.Is(err, &arena.Error{Code: arena.CodeNotFound}):
		return caller{}, err
	case a.Outside == nil || strings.Count(secret, ".") != 2:
		return caller{}, nil
	}
	who, err := a.Outside(ctx, secret)
	switch {
	case arena.CodeOf(err) == arena.CodeUnauthorized:
		return caller{}, nil
	case err != nil:
		return caller{}, err
	}
	t = arena.Token{ID: outsideTokenPrefix + who.Subject, Scope: arena.ScopeAdmin, Name: who.Name}
	if !who.Admin {
		t.Scope = arena.ScopeOwner
		if t.OwnerID, err = a.ownerOf(ctx, who); err != nil {
			return caller{}, err
		}
	}
	return caller{token: t, known: true}, nil
}

// outsideTokenPrefix begins what stands for the id of an outside token, in
// the audit log and where requests are counted. The subject comes after it.
const outsideTokenPrefix = "oidc:"

// ownerOf gives the owner that somebody from outside is. At first sight they
// become one, unless nobody may.
func (a *API) ownerOf(ctx context.Context, who arena.Outsider) (string, error) {
	id, err := a.Store.OwnerOf(ctx, who.Issuer, who.Subject)
	if arena.CodeOf(err) != arena.CodeNotFound {
		return id, err
	}
	if a.SignupMode == SignupClosed {
		return "", arena.Errorf(arena.CodeForbidden, "this arena takes no new owners")
	}
	now := a.now()
	o := arena.Owner{ID: arena.NewID(arena.OwnerPrefix, now), Name: cmp.Or(plaintext.Line(who.Name, maxOwnerName), "owner"), CreatedAt: now}
	if len(who.Email) <= maxEmail {
		o.Email = who.Email
	}
	return a.Store.AdoptOwner(ctx, o, who.Issuer, who.Subject)
}

// permit compares a caller with a scope.
func permit(who caller, s scope) error {
	if s == scopePublic {
		return nil
	}
	if !who.known {
		return unauthorized()
	}
	allowed := false
	switch s {
	case scopeOwner:
		allowed = who.token.Scope == arena.ScopeOwner
	case scopeAdmin:
		allowed = who.token.Scope == arena.ScopeAdmin
	case scopeOwnerOrAdmin:
		allowed = who.token.Scope == arena.ScopeOwner || who.token.Scope == arena.ScopeAdmin
	case scopePublic, scopeElsewhere:
	}
	if !allowed {
		return arena.Errorf(arena.CodeForbidden, "this needs the token of an %s", s)
	}
	return nil
}

// bearer gives the secret of an Authorization header. given says that there
// was a header at all: one of another scheme is a bad token.
func bearer(header string) (secret string, given bool) {
	if header == "" {
		return "", false
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.TrimSpace(secret), true
}

// limitChecks holds a caller to its rate of endpoint checks: each one makes
// the arena call a stranger.
func (a *API) limitChecks(ctx context.Context) error {
	return a.Quotas.Check.Take(ctx, callerOf(ctx).token.ID)
}
