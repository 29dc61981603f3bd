package account

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/token"
)

// Limits of invitations.
const (
	maxInvitations = 200 // that can be used, at once
	maxUses        = 100 // of one

	invitationLasts    = 7 * 24 * time.Hour // by default
	shortestInvitation = time.Minute
	longestInvitation  = 90 * 24 * time.Hour
)

// firstName is the name of the first token of an owner.
const firstName = "first"

// Invite makes an invitation, for an admin. Its secret is part of the link and
// is not stored.
func (s *Service) Invite(ctx context.Context, caller arena.Caller, in arena.InvitationRequest) (i arena.Invitation, secret string, err error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return i, "", err
	}
	if s.o.SignupMode == SignupClosed {
		return i, "", errClosed()
	}
	in.Uses, in.ExpiresIn = cmp.Or(in.Uses, 1), cmp.Or(in.ExpiresIn, invitationLasts)
	if err := s.checkInvitation(ctx, in); err != nil {
		return i, "", err
	}
	now := s.now()
	open, err := s.o.Store.People.OpenInvitations(ctx, now)
	if err != nil {
		return i, "", err
	}
	if open >= maxInvitations {
		return i, "", arena.Errorf(arena.CodeConflict, "an arena may have %d invitations that can be used; withdraw one first", maxInvitations)
	}
	secret, hash := token.NewSecret(token.InvitationSecretPrefix)
	i = arena.Invitation{
		ID: arena.NewID(arena.InvitationPrefix, now), Hash: hash, Role: in.Role, Name: in.Name, Email: in.Email, Uses: in.Uses,
		CreatedAt: now, CreatedBy: cmp.Or(caller.OwnerID, string(caller.Scope)), ExpiresAt: now.Add(in.ExpiresIn).Truncate(time.Millisecond),
	}
	e, err := caller.Audit(now, "invite", i.ID, nil, map[string]any{"name": i.Name, "role": i.Role.Scope, "leagues": i.Role.Leagues, "uses": i.Uses, "expires_at": i.ExpiresAt})
	if err != nil {
		return i, "", err
	}
	return i, secret, s.o.Store.People.CreateInvitation(ctx, i, e)
}

func (s *Service) checkInvitation(ctx context.Context, in arena.InvitationRequest) error {
	if in.Name != "" {
		if err := checkName(in.Name); err != nil {
			return err
		}
	}
	if err := checkEmail(in.Email); err != nil {
		return err
	}
	if in.Role.Scope != "" || len(in.Role.Leagues) > 0 {
		if err := s.checkRole(ctx, "role", in.Role); err != nil {
			return err
		}
		if in.Uses > 1 {
			return arena.Invalid("uses", "must be 1 in an invitation with a role")
		}
	}
	switch {
	case in.Uses < 1 || in.Uses > maxUses:
		return arena.Invalid("uses", "must be between 1 and %d", maxUses)
	case in.ExpiresIn < shortestInvitation || in.ExpiresIn > longestInvitation:
		return arena.Invalid("expires_in", "must be between %d and %d seconds", int(shortestInvitation.Seconds()), int(longestInvitation.Seconds()))
	}
	return nil
}

// Invitations returns the latest invitations, newest first, for an admin.
func (s *Service) Invitations(ctx context.Context, caller arena.Caller) ([]arena.Invitation, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return nil, err
	}
	return s.o.Store.People.Invitations(ctx, 2*maxInvitations)
}

// RevokeInvitation withdraws an invitation that can still be used, for an admin.
func (s *Service) RevokeInvitation(ctx context.Context, caller arena.Caller, id string) error {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return err
	}
	now := s.now()
	e, err := caller.Audit(now, "revoke-invitation", id, nil, nil)
	if err != nil {
		return err
	}
	return s.o.Store.People.RevokeInvitation(ctx, id, now, e)
}

// Invitation returns the invitation of a link. An error says why it cannot be
// used; a wrong one counts against the address (threat A4).
func (s *Service) Invitation(ctx context.Context, secret, address string) (arena.Invitation, error) {
	i, err := s.o.Store.People.InvitationByHash(ctx, token.Hash(secret))
	if err != nil {
		return i, s.guessed(ctx, address, err)
	}
	return i, i.Open(s.now())
}

// guessed counts a wrong invitation.
func (s *Service) guessed(ctx context.Context, address string, err error) error {
	if arena.CodeOf(err) != arena.CodeNotFound {
		return err
	}
	if limited := s.o.Quotas.Guess.Take(ctx, address); limited != nil {
		return limited
	}
	return arena.Errorf(arena.CodeNotFound, "there is no such invitation: check that the link is complete")
}

// Join uses an invitation. A new person becomes an owner and gets its first
// token; an owner, as the caller, gets the role.
func (s *Service) Join(ctx context.Context, caller arena.Caller, in arena.Joining) (o arena.Owner, secret string, err error) {
	if s.o.SignupMode == SignupClosed {
		return o, "", errClosed()
	}
	if _, err := s.Invitation(ctx, in.Secret, in.Address); err != nil { // before the limits of sign-ups
		return o, "", err
	}
	if err := checkEmail(in.Email); err != nil {
		return o, "", err
	}
	now := s.now()
	o = arena.Owner{ID: caller.OwnerID, Name: in.Name, Email: in.Email, CreatedAt: now}
	var tokens []arena.Token
	if caller.OwnerID == "" || caller.Scope != arena.ScopeOwner {
		if err := s.o.Quotas.SignUp.Take(ctx, in.Address); err != nil {
			return o, "", err
		}
		o.ID, o.Network = arena.NewID(arena.OwnerPrefix, now), s.o.Shared.Network(in.Address)
		var t arena.Token
		secret, t = s.newToken(o.ID, firstName, now)
		tokens = append(tokens, t)
	}
	o, err = s.join(ctx, in.Secret, arena.Joined{Owner: o, Tokens: tokens})
	if err != nil {
		return o, "", err
	}
	if len(tokens) > 0 {
		s.confirmLater(ctx, o)
	}
	return o, secret, nil
}

// joinAs uses an invitation for a person with an identity of the OIDC issuer.
func (s *Service) joinAs(ctx context.Context, id arena.Identity, in arena.SignIn) (ownerID string, err error) {
	if s.o.SignupMode == SignupClosed {
		return "", errClosed()
	}
	if _, err := s.Invitation(ctx, in.Invitation, in.Address); err != nil {
		return "", err
	}
	joined := arena.Joined{}
	switch joined.Owner.ID, err = s.o.Store.Accounts.OwnerOf(ctx, id.Issuer, id.Subject); {
	case arena.CodeOf(err) == arena.CodeNotFound:
		joined.Owner, joined.Identity = s.newOwner(id), id
	case err != nil:
		return "", err
	}
	return withFreeName(joined.Owner, func(o arena.Owner) (string, error) {
		joined.Owner = o
		o, err := s.join(ctx, in.Invitation, joined)
		return o.ID, err
	})
}

// join stores what a person who has joined adds to the arena.
func (s *Service) join(ctx context.Context, secret string, joined arena.Joined) (arena.Owner, error) {
	return s.o.Store.Accounts.Join(ctx, token.Hash(secret), func(i arena.Invitation) (arena.Joined, error) {
		now := s.now()
		if err := i.Open(now); err != nil {
			return arena.Joined{}, err
		}
		j := joined // the write may run again
		j.Owner.Name, j.Owner.Email, j.Owner.Role = cmp.Or(j.Owner.Name, i.Name), cmp.Or(j.Owner.Email, i.Email), i.Role
		j.Accept = func(known arena.Owner) error { return accept(i, known) }
		if len(j.Tokens) > 0 { // of a new person; an issuer's names are checked already
			if err := checkName(j.Owner.Name); err != nil {
				return arena.Joined{}, err
			}
		}
		e, err := arena.Caller{OwnerID: j.Owner.ID, Scope: arena.ScopeOwner}.Audit(now, "join", i.ID, nil, roleDoc(i.Role))
		j.Audit = []arena.AuditEntry{e}
		return j, err
	})
}

// accept returns why an owner cannot take up an invitation, nil if it can.
func accept(i arena.Invitation, known arena.Owner) error {
	switch {
	case !known.ErasedAt.IsZero():
		return arena.Errorf(arena.CodeConflict, "owner %s was deleted", known.ID)
	case !known.SuspendedAt.IsZero():
		return errSuspended(known.SuspendReason)
	case i.Role.Scope == "":
		return arena.Errorf(arena.CodeConflict, "you have an account already; this invitation is for new owners")
	case known.Role.Scope != "" && !known.Role.Equal(i.Role):
		return arena.Errorf(arena.CodeConflict, "you have the role %s already; an admin can change it", known.Role.Scope)
	}
	return nil
}

// errClosed rejects new owners.
func errClosed() error { return arena.Errorf(arena.CodeForbidden, "this arena takes no new owners") }

// newOwner returns a new owner as an identity of the OIDC issuer describes it.
func (s *Service) newOwner(id arena.Identity) arena.Owner {
	now := s.now()
	o := arena.Owner{ID: arena.NewID(arena.OwnerPrefix, now), Name: cmp.Or(plaintext.Line(id.Name, MaxName), "owner"), CreatedAt: now}
	if id.Email != "" && len(id.Email) <= maxEmail { // the issuer has verified it
		o.Email, o.EmailConfirmedAt = id.Email, now
	}
	return o
}

// lastNumber is the last number that is tried behind a name.
const lastNumber = 9

// withFreeName stores an owner whose name the issuer of its identity chose: one that
// is taken gets a number, or after all of them the end of the owner's id, because
// the person cannot choose another.
func withFreeName(o arena.Owner, create func(arena.Owner) (id string, err error)) (id string, err error) {
	name := []rune(o.Name)
	for n := 2; ; n++ {
		id, err = create(o)
		if arena.CodeOf(err) != arena.CodeNameTaken || n > lastNumber+1 {
			return id, err
		}
		number := " " + strconv.Itoa(n)
		if n > lastNumber {
			number = " " + o.ID[len(o.ID)-6:]
		}
		o.Name = string(name[:min(len(name), MaxName-len(number))]) + number
	}
}
