package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
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

// caller is who asks: the holder of a stored token, or nobody.
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
	if given {
		t, err := a.Store.TokenByHash(c.Request.Context(), a.HashSecret(secret))
		switch {
		case err == nil:
			who = caller{token: t, known: true}
		case !errors.Is(err, &arena.Error{Code: arena.CodeNotFound}):
			return caller{}, err
		}
	}
	if who.known {
		if wait, ok := a.limiters.token.take(who.token.ID, a.Now()); !ok {
			return caller{}, tooMany(wait, "too many requests with this token")
		}
	} else if wait, ok := a.limiters.address.take(addressKey(c.ClientIP()), a.Now()); !ok {
		return caller{}, tooMany(wait, "too many requests from this address")
	}
	if given && !who.known {
		// Who guesses tokens may not do so on each node anew.
		wait, ok := a.takeShared(c.Request.Context(), "login", addressKey(c.ClientIP()), a.Limits.AddressPerMinute, time.Minute)
		if !ok {
			return caller{}, tooMany(wait, "too many requests from this address")
		}
		return caller{}, unauthorized()
	}
	return who, permit(who, s)
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
	if wait, ok := a.limiters.check.take(callerOf(ctx).token.ID, a.Now()); !ok {
		return tooMany(wait, "too many endpoint checks")
	}
	return nil
}
