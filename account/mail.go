package account

import (
	"context"
	"net/mail"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
)

// Mail writes to owners. Its errors have the codes rate_limited and unavailable.
type Mail interface {
	// Confirm sends a link that confirms the owner's address.
	Confirm(ctx context.Context, o arena.Owner) error
	// Reset sends links to the owners that have confirmed the address, if any. It
	// takes as long whether there are any or not.
	Reset(ctx context.Context, address string) error
}

// errNoMail rejects what needs a mail.
func errNoMail() error { return arena.Errorf(arena.CodeConflict, "this arena sends no mail") }

// confirmLater sends an owner a link that confirms its address, if it has one that is
// not confirmed. A failure is logged: the owner can ask for another mail.
func (s *Service) confirmLater(ctx context.Context, o arena.Owner) {
	if s.o.Mail == nil || o.Email == "" || !o.EmailConfirmedAt.IsZero() {
		return
	}
	if err := s.o.Mail.Confirm(context.WithoutCancel(ctx), o); err != nil {
		s.o.Logger.WarnContext(ctx, "no mail to confirm an address", "owner_id", o.ID, "error", err)
	}
}

// SetMailSettings changes where and whether the calling owner gets mails. Another
// address is to be confirmed again.
func (s *Service) SetMailSettings(ctx context.Context, caller arena.Caller, in arena.MailSettings) (arena.Owner, error) {
	if err := needOwner(caller); err != nil {
		return arena.Owner{}, err
	}
	if in.Email != nil {
		if err := checkEmail(*in.Email); err != nil {
			return arena.Owner{}, err
		}
		if a, err := mail.ParseAddress(*in.Email); *in.Email != "" && (err != nil || a.Address != *in.Email) {
			return arena.Owner{}, arena.Invalid("email", "must be an address without a name")
		}
	}
	before, err := s.Owner(ctx, caller)
	if err != nil {
		return arena.Owner{}, err
	}
	e, err := caller.Audit(s.now(), "set-mail", caller.OwnerID, nil, nil) // without the address, which is private
	if err != nil {
		return arena.Owner{}, err
	}
	if err := s.o.Store.Outbox.SetMailSettings(ctx, caller.OwnerID, in, e); err != nil {
		return arena.Owner{}, err
	}
	after, err := s.Owner(ctx, caller)
	if err == nil && after.Email != before.Email {
		s.confirmLater(ctx, after)
	}
	return after, err
}

// SendConfirmation sends the calling owner another link to confirm its address.
// conflict: it has none, it is confirmed, or the arena sends no mail.
func (s *Service) SendConfirmation(ctx context.Context, caller arena.Caller) error {
	if err := needOwner(caller); err != nil {
		return err
	}
	o, err := s.Owner(ctx, caller)
	switch {
	case err != nil:
		return err
	case s.o.Mail == nil:
		return errNoMail()
	case o.Email == "":
		return arena.Errorf(arena.CodeConflict, "you have no email address")
	case !o.EmailConfirmedAt.IsZero():
		return arena.Errorf(arena.CodeConflict, "your email address is confirmed")
	}
	return s.o.Mail.Confirm(ctx, o)
}

// ConfirmEmail confirms the address of the owner that got the link with a secret. A
// wrong one counts against the address of the caller (threat A4).
func (s *Service) ConfirmEmail(ctx context.Context, secret, address string) error {
	_, err := s.o.Store.Outbox.ConfirmWithLink(ctx, token.Hash(secret), s.now())
	return s.guessedLink(ctx, address, err)
}

// guessedLink counts a wrong link of a mail.
func (s *Service) guessedLink(ctx context.Context, address string, err error) error {
	if arena.CodeOf(err) != arena.CodeNotFound {
		return err
	}
	if limited := s.o.Quotas.Guess.Take(ctx, address); limited != nil {
		return limited
	}
	return arena.Errorf(arena.CodeNotFound, "this link was used, has expired, or is not complete; ask for another mail")
}

// RequestReset sends a link with which the tokens are re-issued to each owner that
// has confirmed an email address. The answer does not show whether there is one.
func (s *Service) RequestReset(ctx context.Context, email, address string) error {
	if s.o.Mail == nil {
		return errNoMail()
	}
	if err := checkEmail(email); err != nil {
		return err
	}
	if email == "" {
		return arena.Invalid("email", "is missing")
	}
	if err := s.o.Quotas.SignUp.Take(ctx, address); err != nil {
		return err
	}
	if err := s.o.Mail.Reset(ctx, email); err != nil {
		s.o.Logger.WarnContext(ctx, "no mail with links to re-issue tokens", "error", err)
	}
	return nil
}

// Reset revokes all tokens of the owner that got the link with a secret, and makes a
// new one. It returns how many it revoked. A wrong link counts against the address of
// the caller (threat A4).
func (s *Service) Reset(ctx context.Context, secret, address string) (o arena.Owner, fresh string, revoked int, err error) {
	o, revoked, err = s.o.Store.Accounts.ResetTokens(ctx, token.Hash(secret), func(o arena.Owner) (arena.Token, arena.AuditEntry, error) {
		if !o.SuspendedAt.IsZero() {
			return arena.Token{}, arena.AuditEntry{}, errSuspended(o.SuspendReason)
		}
		var t arena.Token
		fresh, t = s.newToken(o.ID, reissuedName, s.now())
		e, err := arena.Caller{OwnerID: o.ID, Scope: arena.ScopeOwner}.Audit(t.CreatedAt, "reset-token", o.ID, nil, t.ID)
		return t, e, err
	})
	if err != nil {
		return arena.Owner{}, "", 0, s.guessedLink(ctx, address, err)
	}
	return o, fresh, revoked, nil
}
