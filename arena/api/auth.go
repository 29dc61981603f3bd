package api

import (
	"context"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
)

// scope is the kind of token that a route needs. routes lists it for every
// route, and admits implements it. Services check the rest: the owner of an
// object and the leagues of an organizer's token.
type scope string

// The scopes of routes. There is no zero scope: a route without one does not
// mount.
const (
	scopePublic       scope = "public"                           // none; a good token is still recognized
	scopeOwner        scope = "owner"                            // an owner's
	scopeAdmin        scope = "admin"                            // an admin's
	scopeOwnerOrAdmin scope = "owner or admin"                   // of its own agents
	scopeOrganize     scope = "admin or organizer"               // of its leagues
	scopeOwnLog       scope = "agent, owner or admin"            // of what was sent to an agent
	scopeEnter        scope = "agent, owner, admin or organizer" // an agent into a league
	scopeEnd          scope = "admin, organizer or moderator"    // a match
	scopePause        scope = "owner, admin or moderator"        // an agent
	scopeTasks        scope = "agent or owner"                   // of an agent's tasks
	scopeAnyToken     scope = "agent, owner, admin, organizer or moderator"
	scopeElsewhere    scope = "elsewhere" // the mounted handler checks for itself: the stream
)

// admits returns the scopes of the tokens that a route of scope s lets in.
func (s scope) admits() []arena.Scope {
	switch s {
	case scopeOwner:
		return []arena.Scope{arena.ScopeOwner}
	case scopeAdmin:
		return []arena.Scope{arena.ScopeAdmin}
	case scopeOwnerOrAdmin:
		return []arena.Scope{arena.ScopeOwner, arena.ScopeAdmin}
	case scopeOrganize:
		return []arena.Scope{arena.ScopeAdmin, arena.ScopeOrganizer}
	case scopeOwnLog:
		return []arena.Scope{arena.ScopeAgent, arena.ScopeOwner, arena.ScopeAdmin}
	case scopeEnter:
		return []arena.Scope{arena.ScopeAgent, arena.ScopeOwner, arena.ScopeAdmin, arena.ScopeOrganizer}
	case scopeEnd:
		return arena.AdminScopes()
	case scopePause:
		return []arena.Scope{arena.ScopeOwner, arena.ScopeAdmin, arena.ScopeModerator}
	case scopeTasks:
		return []arena.Scope{arena.ScopeAgent, arena.ScopeOwner}
	case scopeAnyToken:
		return append(arena.AdminScopes(), arena.ScopeOwner, arena.ScopeAgent)
	case scopePublic, scopeElsewhere:
	}
	return nil
}

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
	if !slices.Contains(s.admits(), caller.Scope) {
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
