package account

import (
	"context"
	"fmt"
	"log/slog"
	"net/mail"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/store"
)

// Limits of accounts.
const (
	MaxName  = 40  // characters of an owner's or a token's name
	maxEmail = 254 // bytes (RFC 5321, section 4.5.3.1.3)

	maxTokens = 50 // that an owner may hold at once
)

// The sign-up modes.
const (
	SignupOpen   = "open"
	SignupInvite = "invite" // only admins make owners
	SignupClosed = "closed"
)

// Agents pauses and resumes the agents of owners.
type Agents interface {
	// FollowOwner pauses the agents of an owner that is suspended, and resumes
	// those of one that was suspended since a time and is not any more.
	FollowOwner(ctx context.Context, ownerID string, since time.Time) error
}

// Issuer checks a token of the OIDC issuer. Its errors have the codes
// unauthorized and unavailable.
type Issuer interface {
	Verify(ctx context.Context, token string) (arena.Identity, error)
}

// Quota is how often each caller may do one thing.
type Quota interface {
	Take(ctx context.Context, caller string) error
}

// Known is how often known callers may send requests.
type Known interface {
	Take(ctx context.Context, caller arena.Caller) error
}

// Quotas are those of accounts.
type Quotas struct {
	Address Quota // requests without a good token, by address
	Known   Known // requests with a good token or session
	Guess   Quota // bad tokens, by address
	SignUp  Quota // by address
}

// Options are the parts of a Service. All but Issuer and Mail are needed.
type Options struct {
	Store      *store.Store
	Agents     Agents
	Texts      Texts
	Issuer     Issuer // nil: no OIDC tokens are accepted
	Mail       Mail   // nil: the arena sends none
	SignupMode string // SignupOpen, SignupInvite or SignupClosed
	Quotas     Quotas
	Shared     arena.SharedNetworks // owners who sign up there have nothing in common
	Now        func() time.Time
	Logger     *slog.Logger
}

// Service is the service for owners and tokens.
type Service struct {
	o    Options
	uses uses
}

// New makes a Service.
func New(o Options) (*Service, error) {
	switch o.SignupMode {
	case SignupOpen, SignupInvite, SignupClosed:
		return &Service{o: o}, nil
	default:
		return nil, fmt.Errorf("account: SignupMode is %q, want open, invite or closed", o.SignupMode)
	}
}

// now returns the current time in UTC, truncated to milliseconds.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

// SignUp makes an owner and its first token. An admin invites: the owner is
// made whatever the address did before, and the invitation is audited.
func (s *Service) SignUp(ctx context.Context, caller arena.Caller, in arena.SignUp) (o arena.Owner, secret string, err error) {
	invited := caller.IsAdmin()
	switch {
	case s.o.SignupMode == SignupClosed:
		return o, "", errClosed()
	case s.o.SignupMode == SignupInvite && !invited:
		return o, "", arena.Errorf(arena.CodeForbidden, "sign-ups are closed; ask the admin for an invite")
	}
	if err := checkName(in.Name); err != nil {
		return o, "", err
	}
	if err := checkEmail(in.Email); err != nil {
		return o, "", err
	}
	if !invited {
		if err := s.o.Quotas.SignUp.Take(ctx, in.Address); err != nil {
			return o, "", err
		}
	}
	now := s.now()
	o = arena.Owner{ID: arena.NewID(arena.OwnerPrefix, now), Name: in.Name, Email: in.Email, CreatedAt: now}
	if !invited {
		o.Network = s.o.Shared.Network(in.Address)
	}
	secret, token := s.newToken(o.ID, firstName, now)
	var audit []arena.AuditEntry
	if invited {
		e, err := caller.Audit(now, "sign-up", o.ID, nil, o.Name)
		if err != nil {
			return o, "", err
		}
		audit = append(audit, e)
	}
	if err := s.o.Store.Accounts.CreateOwner(ctx, o, token, audit...); err != nil {
		return o, "", err
	}
	s.confirmLater(ctx, o)
	return o, secret, nil
}

func checkName(name string) error {
	if err := plaintext.CheckLength("name", name, 1, MaxName); err != nil {
		return err
	}
	return plaintext.CheckLine("name", name)
}

func checkEmail(email string) error {
	if email == "" {
		return nil
	}
	if len(email) > maxEmail {
		return arena.Invalid("email", "must have at most %d bytes", maxEmail)
	}
	if _, err := mail.ParseAddress(email); err != nil {
		return arena.Invalid("email", "must be an email address")
	}
	return nil
}

func (s *Service) newToken(ownerID, name string, now time.Time) (secret string, t arena.Token) {
	secret, hash := token.NewSecret(token.OwnerSecretPrefix)
	return secret, arena.Token{
		ID: arena.NewID(arena.TokenPrefix, now), OwnerID: ownerID, Scope: arena.ScopeOwner,
		Name: name, Hash: hash, CreatedAt: now,
	}
}

// Owner returns the owner that the caller is; the zero Owner for an admin.
func (s *Service) Owner(ctx context.Context, caller arena.Caller) (arena.Owner, error) {
	if caller.OwnerID == "" {
		return arena.Owner{}, nil
	}
	return s.o.Store.Accounts.Owner(ctx, caller.OwnerID)
}

// Tokens returns the caller's tokens that are valid, oldest first.
func (s *Service) Tokens(ctx context.Context, caller arena.Caller) ([]arena.Token, error) {
	return s.live(s.o.Store.Accounts.Tokens(ctx, caller.OwnerID))
}

// CreateToken makes another token of the calling owner.
func (s *Service) CreateToken(ctx context.Context, caller arena.Caller, name string) (t arena.Token, secret string, err error) {
	if err := needOwner(caller); err != nil {
		return t, "", err
	}
	if err := checkName(name); err != nil {
		return t, "", err
	}
	held, err := s.Tokens(ctx, caller)
	if err != nil {
		return t, "", err
	}
	if len(held) >= maxTokens {
		return t, "", arena.Errorf(arena.CodeConflict, "token limit reached (%d): revoke one first", maxTokens)
	}
	now := s.now()
	secret, t = s.newToken(caller.OwnerID, name, now)
	e, err := caller.Audit(now, "create-token", t.ID, nil, t.Name)
	if err != nil {
		return t, "", err
	}
	return t, secret, s.o.Store.Accounts.CreateToken(ctx, t, e)
}

// RevokeToken ends one of the calling owner's tokens.
func (s *Service) RevokeToken(ctx context.Context, caller arena.Caller, id string) error {
	if err := needOwner(caller); err != nil {
		return err
	}
	e, err := caller.Audit(s.now(), "revoke-token", id, nil, nil)
	if err != nil {
		return err
	}
	return s.o.Store.Accounts.RevokeToken(ctx, caller.OwnerID, id, e)
}

// needOwner rejects callers that are not owners: "" would name admin tokens.
func needOwner(caller arena.Caller) error {
	if caller.Scope != arena.ScopeOwner || caller.OwnerID == "" {
		return arena.Errorf(arena.CodeForbidden, "an owner token is required")
	}
	return nil
}
