package account

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
)

// maxReason is the most characters that the reason of a suspension has.
const maxReason = 200

// reissuedName is the name of the token that replaces an owner's tokens.
const reissuedName = "re-issued"

// administer returns an error unless the caller may administer an owner. Nobody may
// administer the owner of the built-in opponents, which has no account.
func administer(caller arena.Caller, ownerID string) error {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return err
	}
	if ownerID == arena.BuiltInOwnerID() {
		return arena.Errorf(arena.CodeForbidden, "owner %s has the opponents that come with the program, and no account", ownerID)
	}
	return nil
}

// Owners lists owners, newest first, for an admin.
func (s *Service) Owners(ctx context.Context, caller arena.Caller, f arena.OwnerFilter, p arena.Page) ([]arena.OwnerSummary, string, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return nil, "", err
	}
	return s.o.Store.Accounts.Owners(ctx, f, p)
}

// OwnerTokens returns an owner's tokens that are not revoked, for an admin.
func (s *Service) OwnerTokens(ctx context.Context, caller arena.Caller, ownerID string) ([]arena.Token, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return nil, err
	}
	if _, err := s.o.Store.Accounts.Owner(ctx, ownerID); err != nil {
		return nil, err
	}
	return s.live(s.o.Store.Accounts.Tokens(ctx, ownerID))
}

// ReissueTokens revokes all tokens of an owner and makes a new one, for an
// admin. It returns how many it revoked.
func (s *Service) ReissueTokens(ctx context.Context, caller arena.Caller, ownerID string) (t arena.Token, secret string, revoked int, err error) {
	secret, t = s.newToken(ownerID, reissuedName, s.now())
	revoked, err = s.replaceTokens(ctx, caller, ownerID, "reissue-owner-token", t)
	return t, secret, revoked, err
}

// RevokeTokens revokes all tokens of an owner, for an admin.
func (s *Service) RevokeTokens(ctx context.Context, caller arena.Caller, ownerID string) error {
	_, err := s.replaceTokens(ctx, caller, ownerID, "revoke-owner-tokens")
	return err
}

func (s *Service) replaceTokens(ctx context.Context, caller arena.Caller, ownerID, action string, fresh ...arena.Token) (int, error) {
	if err := administer(caller, ownerID); err != nil {
		return 0, err
	}
	var after any
	for _, t := range fresh {
		after = t.ID
	}
	e, err := caller.Audit(s.now(), action, ownerID, nil, after)
	if err != nil {
		return 0, err
	}
	return s.o.Store.Accounts.ReplaceTokens(ctx, ownerID, fresh, e)
}

// Suspend suspends an owner, for an admin: its tokens are rejected with the
// reason and its agents take no seats. Suspending it again changes nothing but
// pauses those of its agents that are not paused yet.
func (s *Service) Suspend(ctx context.Context, caller arena.Caller, ownerID, reason string) (arena.Owner, error) {
	if err := checkReason(reason); err != nil {
		return arena.Owner{}, err
	}
	return s.suspend(ctx, caller, ownerID, "suspend-owner", s.now(), reason)
}

// Restore ends the suspension of an owner, for an admin. Agents that an admin
// paused one by one stay paused.
func (s *Service) Restore(ctx context.Context, caller arena.Caller, ownerID string) (arena.Owner, error) {
	return s.suspend(ctx, caller, ownerID, "restore-owner", time.Time{}, "")
}

// checkReason checks the reason of a suspension, which may be left out.
func checkReason(reason string) error {
	if err := plaintext.CheckLength("reason", reason, 0, maxReason); err != nil {
		return err
	}
	return plaintext.CheckLine("reason", reason)
}

func (s *Service) suspend(ctx context.Context, caller arena.Caller, ownerID, action string, at time.Time, reason string) (arena.Owner, error) {
	if err := administer(caller, ownerID); err != nil {
		return arena.Owner{}, err
	}
	var after any
	if reason != "" {
		after = map[string]string{"reason": reason}
	}
	e, err := caller.Audit(s.now(), action, ownerID, nil, after)
	if err != nil {
		return arena.Owner{}, err
	}
	before, err := s.o.Store.Accounts.SuspendOwner(ctx, ownerID, at, reason, e)
	if err != nil {
		return arena.Owner{}, err
	}
	// The owner is suspended, or restored, whatever happens to the caller now.
	ctx = context.WithoutCancel(ctx)
	if err := s.o.Agents.FollowOwner(ctx, ownerID, before.SuspendedAt); err != nil {
		return arena.Owner{}, fmt.Errorf("%s: %w", action, err)
	}
	return s.o.Store.Accounts.Owner(ctx, ownerID)
}
