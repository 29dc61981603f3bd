package account

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/token"
)

// maxBrowser is how many characters of a browser's name are kept.
const maxBrowser = 60

// SignIn makes a session of the person with an identity of the OIDC issuer. A new
// identity becomes an owner, with the role of the invitation if there is one.
// The secret is for the person's browser alone.
func (s *Service) SignIn(ctx context.Context, id arena.Identity, in arena.SignIn) (secret string, session arena.Session, err error) {
	var ownerID string
	if in.Invitation != "" {
		ownerID, err = s.joinAs(ctx, id, in)
	} else {
		ownerID, err = s.ownerOf(ctx, id)
	}
	if err != nil {
		return "", session, err
	}
	o, err := s.o.Store.Accounts.Owner(ctx, ownerID)
	if err != nil {
		return "", session, err
	}
	if !o.SuspendedAt.IsZero() {
		return "", session, errSuspended(o.SuspendReason)
	}
	now := s.now()
	if o.EmailConfirmedAt.IsZero() && o.Email != "" && o.Email == id.Email { // the issuer has verified it
		if err := s.o.Store.Outbox.ConfirmEmail(ctx, o.ID, o.Email, now); err != nil {
			return "", session, err
		}
		o.EmailConfirmedAt = now
	}
	secret, hash := token.NewSecret(token.SessionSecretPrefix)
	session = arena.Session{
		ID: arena.NewID(arena.SessionPrefix, now), OwnerID: o.ID, Hash: hash, Browser: plaintext.Line(in.Browser, maxBrowser), Admin: id.Admin,
		CreatedAt: now, LastUsedAt: now, Owner: o,
	}
	return secret, session, s.o.Store.People.CreateSession(ctx, session)
}

// signedIn returns the caller of a session. An unknown or expired
// secret identifies no caller.
func (s *Service) signedIn(ctx context.Context, secret string) (arena.Caller, error) {
	session, err := s.o.Store.People.SessionByHash(ctx, token.Hash(secret))
	switch {
	case arena.CodeOf(err) == arena.CodeNotFound:
		return arena.Caller{}, nil
	case err != nil:
		return arena.Caller{}, err
	case !session.Owner.SuspendedAt.IsZero():
		return arena.Caller{}, errSuspended(session.Owner.SuspendReason)
	}
	return session.Caller(), nil
}

// Sessions returns the calling owner's sessions, newest first.
func (s *Service) Sessions(ctx context.Context, caller arena.Caller) ([]arena.Session, error) {
	if err := needOwner(caller); err != nil {
		return nil, err
	}
	return s.o.Store.People.Sessions(ctx, caller.OwnerID)
}

// EndSession ends one of the calling owner's sessions.
func (s *Service) EndSession(ctx context.Context, caller arena.Caller, id string) error {
	if err := needOwner(caller); err != nil {
		return err
	}
	if id == caller.TokenID { // a sign-out changes nothing for anyone else
		return s.o.Store.People.EndSession(ctx, caller.OwnerID, id)
	}
	e, err := caller.Audit(s.now(), "end-session", id, nil, nil)
	if err != nil {
		return err
	}
	return s.o.Store.People.EndSession(ctx, caller.OwnerID, id, e)
}
