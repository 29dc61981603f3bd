package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

const (
	maxTokens    = 50  // that an owner may hold at once
	maxOwnerName = 40  // characters
	maxEmail     = 254 // bytes (RFC 5321, section 4.5.3.1.3)
)

type signUpInput struct {
	Body struct {
		Name  string `json:"name" minLength:"1" maxLength:"40" doc:"Shown to everyone. Others may have the same one."`
		Email string `json:"email,omitempty" maxLength:"254" format:"email" doc:"Shown to nobody."`
	} `nameHint:"SignUpBody"`
	address string
}

// Resolve notes the caller's address, for the limit on sign-ups.
func (in *signUpInput) Resolve(ctx huma.Context) []error {
	in.address = clientIP(ctx)
	return nil
}

type signedUpView struct {
	OwnerID string `json:"owner_id"`
	Token   string `json:"token" doc:"The owner's bearer token. It is shown once."`
}

func (a *API) signUp(ctx context.Context, in *signUpInput) (*output[signedUpView], error) {
	invited := callerOf(ctx).isAdmin() // an admin's token makes the owner: an invitation
	switch {
	case a.SignupMode == SignupClosed:
		return nil, arena.Errorf(arena.CodeForbidden, "this arena takes no new owners")
	case a.SignupMode == SignupInvite && !invited:
		return nil, arena.Errorf(arena.CodeForbidden, "this arena takes no sign-ups; ask its admin for a token")
	}
	if err := plaintext.CheckLine("name", in.Body.Name); err != nil {
		return nil, err
	}
	if !invited {
		if err := a.Quotas.SignUp.Take(ctx, in.address); err != nil {
			return nil, err
		}
	}
	now := a.now()
	owner := arena.Owner{ID: arena.NewID(arena.OwnerPrefix, now), Name: in.Body.Name, Email: in.Body.Email, CreatedAt: now}
	secret, token := a.newToken(owner.ID, "first", now)
	if err := a.Store.CreateOwner(ctx, owner, token); err != nil {
		return nil, err
	}
	if invited {
		a.audit(ctx, "sign-up", &act{target: owner.ID, after: owner.Name})
	}
	return answer(signedUpView{OwnerID: owner.ID, Token: secret})
}

func (a *API) newToken(ownerID, name string, now time.Time) (secret string, t arena.Token) {
	secret, hash := a.NewSecret()
	return secret, arena.Token{
		ID: arena.NewID(arena.TokenPrefix, now), OwnerID: ownerID, Scope: arena.ScopeOwner,
		Name: name, Hash: hash, CreatedAt: now,
	}
}

type meView struct {
	Scope   arena.Scope `json:"scope" enum:"owner,admin"`
	TokenID string      `json:"token_id" doc:"oidc: and the subject for a token of the outside issuer."`
	OwnerID string      `json:"owner_id,omitempty" doc:"Absent for an admin."`
	Name    string      `json:"name,omitempty"`
	Email   string      `json:"email,omitempty"`
}

func (a *API) getMe(ctx context.Context, _ *struct{}) (*output[meView], error) {
	t := callerOf(ctx).token
	me := meView{Scope: t.Scope, TokenID: t.ID}
	if t.OwnerID != "" {
		owner, err := a.Store.Owner(ctx, t.OwnerID)
		if err != nil {
			return nil, err
		}
		me.OwnerID, me.Name, me.Email = owner.ID, owner.Name, owner.Email
	}
	return answer(me)
}

type tokenView struct {
	TokenID    string    `json:"token_id"`
	Name       string    `json:"name"`
	CreatedAt  jsonTime  `json:"created_at"`
	LastUsedAt *jsonTime `json:"last_used_at,omitempty" doc:"To the minute."`
	Current    bool      `json:"current" doc:"It is the token of this request."`
}

func (a *API) listTokens(ctx context.Context, in *PartParams) (*output[listOf[tokenView]], error) {
	me := callerOf(ctx).token
	tokens, err := a.Store.Tokens(ctx, me.OwnerID)
	if err != nil {
		return nil, err
	}
	var items []tokenView
	for _, t := range tokens {
		items = append(items, tokenView{
			TokenID: t.ID, Name: t.Name, CreatedAt: jsonTime(t.CreatedAt),
			LastUsedAt: optionalTime(t.LastUsedAt), Current: t.ID == me.ID,
		})
	}
	return answerPart(*in, items)
}

type createTokenInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"40" doc:"What it is for."`
	} `nameHint:"CreateTokenBody"`
}

type createdTokenView struct {
	TokenID string `json:"token_id"`
	Name    string `json:"name"`
	Token   string `json:"token" doc:"The bearer token. It is shown once."`
}

func (a *API) createToken(ctx context.Context, in *createTokenInput) (*output[createdTokenView], error) {
	if err := plaintext.CheckLine("name", in.Body.Name); err != nil {
		return nil, err
	}
	owner := callerOf(ctx).token.OwnerID
	live, err := a.Store.Tokens(ctx, owner)
	if err != nil {
		return nil, err
	}
	if len(live) >= maxTokens {
		return nil, arena.Errorf(arena.CodeConflict, "an owner may hold %d tokens; revoke one first", maxTokens)
	}
	secret, t := a.newToken(owner, in.Body.Name, a.now())
	if err := a.Store.CreateToken(ctx, t); err != nil {
		return nil, err
	}
	did(ctx, t.ID, nil, t.Name)
	return answer(createdTokenView{TokenID: t.ID, Name: t.Name, Token: secret})
}

func (a *API) revokeToken(ctx context.Context, in *IDParam) (*empty, error) {
	return &empty{}, a.Store.RevokeToken(ctx, callerOf(ctx).token.OwnerID, in.ID)
}

// IDParam is the path parameter {id}. Huma reads embedded parameters of
// exported types only.
type IDParam struct {
	ID string `path:"id" maxLength:"64"`
}
