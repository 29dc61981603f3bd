package api

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"strings"
	"time"

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

	AdminTokens(ctx context.Context, caller arena.Caller) ([]arena.Token, error)
	CreateAdminToken(ctx context.Context, caller arena.Caller, in arena.AdminTokenRequest) (t arena.Token, secret string, err error)
	RevokeAny(ctx context.Context, caller arena.Caller, id string) error
	Owners(ctx context.Context, caller arena.Caller, f arena.OwnerFilter, p arena.Page) ([]arena.OwnerSummary, string, error)
	OwnerTokens(ctx context.Context, caller arena.Caller, ownerID string) ([]arena.Token, error)
	ReissueTokens(ctx context.Context, caller arena.Caller, ownerID string) (t arena.Token, secret string, revoked int, err error)
	RevokeTokens(ctx context.Context, caller arena.Caller, ownerID string) error
	Suspend(ctx context.Context, caller arena.Caller, ownerID, reason string) (arena.Owner, error)
	Restore(ctx context.Context, caller arena.Caller, ownerID string) (arena.Owner, error)

	agentKeys
	ownerData
	ownerMail
	People
}

// agentKeys are the keys of agents that fetch their tasks.
type agentKeys interface {
	AgentKeys(ctx context.Context, g arena.Agent) ([]arena.Token, error)
	CreateAgentKey(ctx context.Context, caller arena.Caller, g arena.Agent, name string) (t arena.Token, secret string, err error)
	RevokeAgentKey(ctx context.Context, caller arena.Caller, g arena.Agent, id string) error
	RotateAgentKey(ctx context.Context, caller arena.Caller, g arena.Agent, id string, grace time.Duration) (t arena.Token, secret string, err error)
}

// accountHandlers serve the routes of owners and tokens.
type accountHandlers struct {
	accounts Accounts
	url      string // of the arena: the issuer of its tokens
	now      func() time.Time
	rows     Rows
	export   func(ctx context.Context, w io.Writer, ownerID string) error
	log      *slog.Logger
}

type signUpInput struct {
	Body struct {
		Name  string `json:"name" minLength:"1" maxLength:"40" doc:"Shown to everyone. Others may have the same one."`
		Email string `json:"email,omitempty" maxLength:"254" format:"email" doc:"Stored, and never shown."`
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
	Scope   arena.Scope `json:"scope" enum:"owner,admin,organizer,moderator,agent"`
	TokenID string      `json:"token_id" doc:"oidc: and the subject for a token of the outside issuer."`
	OwnerID string      `json:"owner_id,omitempty" doc:"Absent for a token that belongs to no owner."`
	AgentID string      `json:"agent_id,omitempty" doc:"The agent of the key; only for the key of an agent."`
	Role    arena.Scope `json:"role,omitempty" enum:"admin,organizer,moderator" doc:"Of the person who the owner is."`
	Leagues []string    `json:"leagues,omitempty" doc:"That an organizer's token or role is for."`
	Session bool        `json:"session,omitempty" doc:"The request has the cookie of a session, and no token."`
	Name    string      `json:"name,omitempty"`
	Email   string      `json:"email,omitempty"`
	Issuer  string      `json:"issuer,omitempty" doc:"The iss of task tokens; only for the key of an agent."`

	EmailConfirmedAt *jsonTime `json:"email_confirmed_at,omitempty" doc:"Absent: the email is not confirmed."`
	MailPauses       *bool     `json:"mail_pauses,omitempty" doc:"The owner gets a mail when the arena pauses an agent of it, at a confirmed address. Absent for a token that belongs to no owner."`
}

func (h *accountHandlers) me(ctx context.Context, _ *struct{}) (*output[meView], error) {
	caller := callerOf(ctx)
	owner, err := h.accounts.Owner(ctx, caller)
	if err != nil {
		return nil, err
	}
	if caller.Scope == arena.ScopeAgent {
		return answer(meView{Scope: caller.Scope, TokenID: caller.TokenID, OwnerID: owner.ID, AgentID: caller.AgentID, Issuer: h.url})
	}
	return answer(viewMe(caller, owner))
}

func viewMe(caller arena.Caller, owner arena.Owner) meView {
	v := meView{
		Scope: caller.Scope, TokenID: caller.TokenID, OwnerID: owner.ID, Role: caller.Role.Scope, Leagues: caller.Runs().Leagues, Name: owner.Name, Email: owner.Email,
		Session: strings.HasPrefix(caller.TokenID, arena.SessionPrefix), EmailConfirmedAt: optionalTime(owner.EmailConfirmedAt),
	}
	if owner.ID != "" {
		pauses := !owner.NoPauseMails
		v.MailPauses = &pauses
	}
	return v
}

type tokenView struct {
	TokenID    string    `json:"token_id"`
	Name       string    `json:"name"`
	CreatedAt  jsonTime  `json:"created_at"`
	LastUsedAt *jsonTime `json:"last_used_at,omitempty" doc:"To the minute."`
	LastUsedBy string    `json:"last_used_by,omitempty" doc:"The address of that use; of IPv6 its /64."`
	ExpiresAt  *jsonTime `json:"expires_at,omitempty" doc:"Another token has replaced it. Absent: never."`
	Current    bool      `json:"current" doc:"It is the token of this request."`
}

func (h *accountHandlers) tokens(ctx context.Context, in *PartParams) (*output[listOf[tokenView]], error) {
	caller := callerOf(ctx)
	tokens, err := h.accounts.Tokens(ctx, caller)
	if err != nil {
		return nil, err
	}
	return answerPart(*in, viewTokens(tokens, caller))
}

func viewTokens(tokens []arena.Token, caller arena.Caller) (items []tokenView) {
	for _, t := range tokens {
		items = append(items, tokenView{
			TokenID: t.ID, Name: t.Name, CreatedAt: jsonTime(t.CreatedAt),
			LastUsedAt: optionalTime(t.LastUsedAt), LastUsedBy: t.LastUsedBy, ExpiresAt: optionalTime(t.ExpiresAt), Current: t.ID == caller.TokenID,
		})
	}
	return items
}

type createTokenInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"40" doc:"Its purpose."`
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

type adminTokenView struct {
	TokenID    string      `json:"token_id"`
	Name       string      `json:"name"`
	CreatedAt  jsonTime    `json:"created_at"`
	LastUsedAt *jsonTime   `json:"last_used_at,omitempty" doc:"To the minute."`
	Current    bool        `json:"current" doc:"It is the token of this request."`
	Scope      arena.Scope `json:"scope" enum:"admin,organizer,moderator"`
	Leagues    []string    `json:"leagues,omitempty" doc:"That an organizer's token is for."`
	ExpiresAt  *jsonTime   `json:"expires_at,omitempty" doc:"Absent: never."`
	Expired    bool        `json:"expired" doc:"It opens nothing any more."`
	Configured bool        `json:"configured" doc:"ARENA_ADMIN_TOKEN holds it; setting another supersedes it."`
}

func (h *accountHandlers) adminTokens(ctx context.Context, in *PartParams) (*output[listOf[adminTokenView]], error) {
	caller := callerOf(ctx)
	tokens, err := h.accounts.AdminTokens(ctx, caller)
	if err != nil {
		return nil, err
	}
	var items []adminTokenView
	for _, t := range tokens {
		items = append(items, adminTokenView{
			TokenID: t.ID, Name: t.Name, CreatedAt: jsonTime(t.CreatedAt), LastUsedAt: optionalTime(t.LastUsedAt), Current: t.ID == caller.TokenID,
			Scope: t.Scope, Leagues: t.Leagues, ExpiresAt: optionalTime(t.ExpiresAt), Expired: !t.LiveAt(h.now()), Configured: t.Configured,
		})
	}
	return answerPart(*in, items)
}

type createAdminTokenInput struct {
	Body struct {
		Name      string      `json:"name" minLength:"1" maxLength:"40" doc:"Its purpose."`
		Scope     arena.Scope `json:"scope" enum:"admin,organizer,moderator" doc:"organizer: settings, seasons, entries and matches of leagues. moderator: pause agents, cancel and void matches, read anomaly reports. admin: all of it."`
		Leagues   []string    `json:"leagues,omitempty" maxItems:"100" doc:"Slugs that an organizer's token is for; only for that scope."`
		ExpiresAt *time.Time  `json:"expires_at,omitempty" doc:"Left out: never."`
	} `nameHint:"CreateAdminTokenBody"`
}

type createdAdminTokenView struct {
	TokenID   string      `json:"token_id"`
	Name      string      `json:"name"`
	Scope     arena.Scope `json:"scope" enum:"admin,organizer,moderator"`
	Leagues   []string    `json:"leagues,omitempty"`
	ExpiresAt *jsonTime   `json:"expires_at,omitempty"`
	Token     string      `json:"token" doc:"The bearer token. It is shown once."`
}

func (h *accountHandlers) createAdminToken(ctx context.Context, in *createAdminTokenInput) (*output[createdAdminTokenView], error) {
	request := arena.AdminTokenRequest{Name: in.Body.Name, Scope: in.Body.Scope, Leagues: in.Body.Leagues}
	if in.Body.ExpiresAt != nil {
		if request.ExpiresAt = *in.Body.ExpiresAt; request.ExpiresAt.IsZero() { // which means never
			return nil, arena.Invalid("expires_at", "must be in the future")
		}
	}
	t, secret, err := h.accounts.CreateAdminToken(ctx, callerOf(ctx), request)
	if err != nil {
		return nil, err
	}
	return answer(createdAdminTokenView{TokenID: t.ID, Name: t.Name, Scope: t.Scope, Leagues: t.Leagues, ExpiresAt: optionalTime(t.ExpiresAt), Token: secret})
}

func (h *accountHandlers) revokeAny(ctx context.Context, in *IDParam) (*empty, error) {
	return &empty{}, h.accounts.RevokeAny(ctx, callerOf(ctx), in.ID)
}

type ownerView struct {
	OwnerID     string    `json:"owner_id"`
	Name        string    `json:"name"`
	Email       string    `json:"email,omitempty"`
	CreatedAt   jsonTime  `json:"created_at"`
	SuspendedAt *jsonTime `json:"suspended_at,omitempty" doc:"Absent: it is not suspended."`

	SuspendReason string            `json:"suspend_reason,omitempty" doc:"The owner reads it when its token is refused."`
	DeletedAt     *jsonTime         `json:"deleted_at,omitempty" doc:"Absent: it is not deleted."`
	Status        arena.OwnerStatus `json:"status" enum:"active,suspended,deleted"`
}

func viewOwner(o arena.Owner) ownerView {
	return ownerView{
		OwnerID: o.ID, Name: o.Name, Email: o.Email, CreatedAt: jsonTime(o.CreatedAt), SuspendedAt: optionalTime(o.SuspendedAt),
		SuspendReason: o.SuspendReason, DeletedAt: optionalTime(o.ErasedAt), Status: o.Status(),
	}
}

type ownerSummaryView struct {
	OwnerID     string    `json:"owner_id"`
	Name        string    `json:"name"`
	Email       string    `json:"email,omitempty"`
	CreatedAt   jsonTime  `json:"created_at"`
	SuspendedAt *jsonTime `json:"suspended_at,omitempty" doc:"Absent: it is not suspended."`
	Agents      int       `json:"agents" doc:"That are not retired."`
	Tokens      int       `json:"tokens" doc:"That are not revoked."`

	SuspendReason string            `json:"suspend_reason,omitempty" doc:"The owner reads it when its token is refused."`
	DeletedAt     *jsonTime         `json:"deleted_at,omitempty" doc:"Absent: it is not deleted."`
	Status        arena.OwnerStatus `json:"status" enum:"active,suspended,deleted"`
	LastUsedAt    *jsonTime         `json:"last_used_at,omitempty" doc:"Of any of its tokens and its agents' keys, to the minute."`
}

type listOwnersInput struct {
	PageParams
	Query  string `query:"q" maxLength:"200" doc:"Part of the name, the email or an agent's name, or the whole id of the owner or of an agent."`
	Find   string `query:"find" maxLength:"200" doc:"The same as q."`
	Status string `query:"status" enum:"active,suspended,deleted" doc:"Left out: all."`
}

func (h *accountHandlers) list(ctx context.Context, in *listOwnersInput) (*output[listOf[ownerSummaryView]], error) {
	owners, next, err := h.accounts.Owners(ctx, callerOf(ctx), arena.OwnerFilter{Query: cmp.Or(in.Query, in.Find), Status: arena.OwnerStatus(in.Status)}, in.page())
	if err != nil {
		return nil, err
	}
	var items []ownerSummaryView
	for _, o := range owners {
		items = append(items, ownerSummaryView{
			OwnerID: o.ID, Name: o.Name, Email: o.Email, CreatedAt: jsonTime(o.CreatedAt), SuspendedAt: optionalTime(o.SuspendedAt),
			Agents: o.Agents, Tokens: o.Tokens, SuspendReason: o.SuspendReason, DeletedAt: optionalTime(o.ErasedAt), Status: o.Status(),
			LastUsedAt: optionalTime(o.LastUsedAt),
		})
	}
	return answerList(items, next)
}

func (h *accountHandlers) ownerTokens(ctx context.Context, in *IDPartParams) (*output[listOf[tokenView]], error) {
	caller := callerOf(ctx)
	tokens, err := h.accounts.OwnerTokens(ctx, caller, in.ID)
	if err != nil {
		return nil, err
	}
	return answerPart(in.PartParams, viewTokens(tokens, caller))
}

type reissuedTokenView struct {
	TokenID string `json:"token_id"`
	Name    string `json:"name"`
	Token   string `json:"token" doc:"The owner's bearer token. It is shown once."`
	Revoked int    `json:"revoked" doc:"How many tokens of the owner ended."`
}

func (h *accountHandlers) reissue(ctx context.Context, in *IDParam) (*output[reissuedTokenView], error) {
	t, secret, revoked, err := h.accounts.ReissueTokens(ctx, callerOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return answer(reissuedTokenView{TokenID: t.ID, Name: t.Name, Token: secret, Revoked: revoked})
}

func (h *accountHandlers) revokeOwnerTokens(ctx context.Context, in *IDParam) (*empty, error) {
	return &empty{}, h.accounts.RevokeTokens(ctx, callerOf(ctx), in.ID)
}

type suspendInput struct {
	IDParam
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"200" doc:"The owner reads it when its token is refused."`
	} `nameHint:"SuspendOwnerBody"`
}

func (h *accountHandlers) suspend(ctx context.Context, in *suspendInput) (*output[ownerView], error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	o, err := h.accounts.Suspend(ctx, callerOf(ctx), in.ID, reason)
	if err != nil {
		return nil, err
	}
	return answer(viewOwner(o))
}

func (h *accountHandlers) restore(ctx context.Context, in *IDParam) (*output[ownerView], error) {
	o, err := h.accounts.Restore(ctx, callerOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return answer(viewOwner(o))
}
