package api

import (
	"context"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
)

// scope is the kind of token that a route needs.
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
)

func callerOf(ctx context.Context) arena.Caller {
	c, _ := ctx.Value(callerKey).(arena.Caller)
	return c
}

// identify returns the caller of a request if the scope admits it. A bad token
// is rejected on every route, public ones too (threat A4).
func (a *API) identify(c *gin.Context, s scope) (arena.Caller, error) {
	secret, given := bearer(c.GetHeader("Authorization"))
	caller, err := a.accounts.Identify(c.Request.Context(), arena.Credentials{Secret: secret, Given: given, Address: c.ClientIP()})
	if err != nil {
		return arena.Caller{}, err
	}
	return caller, permit(caller, s)
}

// permit rejects a caller that the scope does not admit.
func permit(caller arena.Caller, s scope) error {
	if s == scopePublic {
		return nil
	}
	if !caller.Known() {
		return arena.Errorf(arena.CodeUnauthorized, "this needs a token")
	}
	allowed := false
	switch s {
	case scopeOwner:
		allowed = caller.Scope == arena.ScopeOwner
	case scopeAdmin:
		allowed = caller.Scope == arena.ScopeAdmin
	case scopeOwnerOrAdmin:
		allowed = caller.Scope == arena.ScopeOwner || caller.Scope == arena.ScopeAdmin
	case scopePublic, scopeElsewhere:
	}
	if !allowed {
		return arena.Errorf(arena.CodeForbidden, "this needs the token of an %s", s)
	}
	return nil
}

// bearer returns the secret of an Authorization header. given reports whether
// there was a header at all: one of another scheme is a bad token.
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
