package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
)

// Accounts is the service for owners and tokens.
type Accounts interface {
	Identify(ctx context.Context, c arena.Credentials) (arena.Caller, error)
	SignUp(ctx context.Context, caller arena.Caller, in arena.SignUp) (o arena.Owner, secret string, err error)
	Owner(ctx context.Context, caller arena.Caller) (arena.Owner, error)
	Tokens(ctx context.Context, caller arena.Caller) ([]arena.Token, error)
	CreateToken(ctx context.Context, caller arena.Caller, name string) (t arena.Token, secret string, err error)
	RevokeToken(ctx context.Context, caller arena.Caller, id string) error
}

// accountHandlers serve the routes of owners and tokens.
type accountHandlers struct{ accounts Accounts }

// accounts mounts one of the accountHandlers.
func accounts[I, O any](h func(*accountHandlers, context.Context, *I) (*O, error)) func(*API, route) {
	return handleOn(func(a *API) *accountHandlers { return a.owners }, h)
}

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

func (h *accountHandlers) signUp(ctx context.Context, in *signUpInput) (*output[signedUpView], error) {
	owner, secret, err := h.accounts.SignUp(ctx, callerOf(ctx), arena.SignUp{Name: in.Body.Name, Email: in.Body.Email, Address: in.address})
	if err != nil {
		return nil, err
	}
	return answer(signedUpView{OwnerID: owner.ID, Token: secret})
}

type meView struct {
	Scope   arena.Scope `json:"scope" enum:"owner,admin,organizer,moderator"`
	TokenID string      `json:"token_id" doc:"oidc: and the subject for a token of the outside issuer."`
	OwnerID string      `json:"owner_id,omitempty" doc:"Absent for a token that belongs to no owner."`
	Leagues []string    `json:"leagues,omitempty" doc:"That an organizer's token is for."`
	Name    string      `json:"name,omitempty"`
	Email   string      `json:"email,omitempty"`
}

func (h *accountHandlers) me(ctx context.Context, _ *struct{}) (*output[meView], error) {
	caller := callerOf(ctx)
	owner, err := h.accounts.Owner(ctx, caller)
	if err != nil {
		return nil, err
	}
	return answer(meView{Scope: caller.Scope, TokenID: caller.TokenID, OwnerID: owner.ID, Leagues: caller.Leagues, Name: owner.Name, Email: owner.Email})
}

type tokenView struct {
	TokenID    string    `json:"token_id"`
	Name       string    `json:"name"`
	CreatedAt  jsonTime  `json:"created_at"`
	LastUsedAt *jsonTime `json:"last_used_at,omitempty" doc:"To the minute."`
	Current    bool      `json:"current" doc:"It is the token of this request."`
}

func (h *accountHandlers) tokens(ctx context.Context, in *PartParams) (*output[listOf[tokenView]], error) {
	caller := callerOf(ctx)
	tokens, err := h.accounts.Tokens(ctx, caller)
	if err != nil {
		return nil, err
	}
	var items []tokenView
	for _, t := range tokens {
		items = append(items, tokenView{
			TokenID: t.ID, Name: t.Name, CreatedAt: jsonTime(t.CreatedAt),
			LastUsedAt: optionalTime(t.LastUsedAt), Current: t.ID == caller.TokenID,
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

func (h *accountHandlers) createToken(ctx context.Context, in *createTokenInput) (*output[createdTokenView], error) {
	t, secret, err := h.accounts.CreateToken(ctx, callerOf(ctx), in.Body.Name)
	if err != nil {
		return nil, err
	}
	return answer(createdTokenView{TokenID: t.ID, Name: t.Name, Token: secret})
}

func (h *accountHandlers) revokeToken(ctx context.Context, in *IDParam) (*empty, error) {
	return &empty{}, h.accounts.RevokeToken(ctx, callerOf(ctx), in.ID)
}

// IDParam is the path parameter {id}. Huma reads embedded parameters of
// exported types only.
type IDParam struct {
	ID string `path:"id" maxLength:"64"`
}
