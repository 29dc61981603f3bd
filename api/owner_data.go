package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
)

const (
	exportPath      = "/v1/me/export"
	exportOwnerPath = "/v1/admin/owners/{id}/export"

	// exportTimeout is for everything about one owner, or a part of a league's data.
	exportTimeout = 10 * time.Minute

	zipType = "application/zip"
)

// ownerData is the service for the data and the tokens of owners.
type ownerData interface {
	RotateToken(ctx context.Context, caller arena.Caller, id string, grace time.Duration) (t arena.Token, secret string, err error)
	Delete(ctx context.Context, caller arena.Caller, confirm string) (arena.OwnerErasure, error)
	DeleteOwner(ctx context.Context, caller arena.Caller, ownerID, confirm string) (arena.OwnerErasure, error)
	Erasures(ctx context.Context, caller arena.Caller) ([]arena.OwnerErasure, error)
	ReapplyErasures(ctx context.Context, caller arena.Caller, list []arena.OwnerErasure) (deleted int, err error)
}

// rotateBody is how long the old token stays valid.
type rotateBody struct {
	GraceSeconds int `json:"grace_seconds,omitempty" enum:"0,3600,86400" doc:"How long the old one stays valid. Left out: it ends now."`
}

func (b *rotateBody) grace() time.Duration {
	if b == nil {
		return 0
	}
	return time.Duration(b.GraceSeconds) * time.Second
}

type rotateTokenInput struct {
	IDParam
	Body *rotateBody `nameHint:"RotateBody"`
}

func (h *accountHandlers) rotateToken(ctx context.Context, in *rotateTokenInput) (*output[createdTokenView], error) {
	t, secret, err := h.accounts.RotateToken(ctx, callerOf(ctx), in.ID, in.Body.grace())
	if err != nil {
		return nil, err
	}
	return answer(createdTokenView{TokenID: t.ID, Name: t.Name, Token: secret})
}

type rotateKeyInput struct {
	IDParam
	KeyID string      `path:"key_id" maxLength:"64"`
	Body  *rotateBody `nameHint:"RotateBody"`
}

func (h *agentHandlers) rotateKey(ctx context.Context, in *rotateKeyInput) (*output[createdKeyView], error) {
	caller := callerOf(ctx)
	g, err := h.agents.Own(ctx, caller, in.ID)
	if err != nil {
		return nil, err
	}
	t, secret, err := h.keys.RotateAgentKey(ctx, caller, g, in.KeyID, in.Body.grace())
	if err != nil {
		return nil, err
	}
	return answer(createdKeyView{KeyID: t.ID, Name: t.Name, Key: secret})
}

// ownerDetailView has the members of ownerView, which the description of the API
// would lack if it were embedded.
type ownerDetailView struct {
	OwnerID     string    `json:"owner_id"`
	Name        string    `json:"name"`
	Email       string    `json:"email,omitempty"`
	CreatedAt   jsonTime  `json:"created_at"`
	SuspendedAt *jsonTime `json:"suspended_at,omitempty" doc:"Absent: it is not suspended."`

	SuspendReason string            `json:"suspend_reason,omitempty" doc:"The owner reads it when its token is refused."`
	DeletedAt     *jsonTime         `json:"deleted_at,omitempty" doc:"Absent: it is not deleted."`
	Status        arena.OwnerStatus `json:"status" enum:"active,suspended,deleted"`

	Network string           `json:"sign_up_network,omitempty" doc:"The public network that it signed up from; of IPv6 its /64."`
	Agents  []ownerAgentView `json:"agents" doc:"Newest first, retired ones too, at most 100."`
}

type ownerAgentView struct {
	AgentID   string            `json:"agent_id"`
	Name      string            `json:"name"`
	Protocol  string            `json:"protocol"`
	Status    arena.AgentStatus `json:"status" enum:"pending,active,paused,retired"`
	Leagues   []string          `json:"leagues"`
	CreatedAt jsonTime          `json:"created_at"`
	CheckedAt *jsonTime         `json:"checked_at,omitempty" doc:"Its last health check."`
}

// get answers with one owner. The scope of the route admits admins alone.
func (h *accountHandlers) get(ctx context.Context, in *IDParam) (*output[ownerDetailView], error) {
	o, err := h.rows.Accounts.Owner(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	agents, _, err := h.rows.Agents.Agents(ctx, arena.AgentFilter{OwnerID: o.ID, Retired: true}, arena.Page{Limit: 100})
	if err != nil {
		return nil, err
	}
	owner := viewOwner(o)
	v := ownerDetailView{
		OwnerID: owner.OwnerID, Name: owner.Name, Email: owner.Email, CreatedAt: owner.CreatedAt, SuspendedAt: owner.SuspendedAt,
		SuspendReason: owner.SuspendReason, DeletedAt: owner.DeletedAt, Status: owner.Status, Network: o.Network, Agents: []ownerAgentView{},
	}
	for _, g := range agents {
		v.Agents = append(v.Agents, ownerAgentView{
			AgentID: g.ID, Name: g.Name, Protocol: g.Protocol, Status: g.StatusAt(h.now()), Leagues: append([]string{}, g.Leagues...),
			CreatedAt: jsonTime(g.CreatedAt), CheckedAt: optionalTime(g.Health.CheckedAt),
		})
	}
	return answer(v)
}

// ConfirmParam repeats a name, so that nothing is deleted by mistake.
type ConfirmParam struct {
	Confirm string `query:"confirm" maxLength:"200" doc:"The owner's name, exactly."`
}

type erasureView struct {
	OwnerID string   `json:"owner_id"`
	At      jsonTime `json:"at"`
}

func viewErasure(e arena.OwnerErasure) erasureView {
	return erasureView{OwnerID: e.OwnerID, At: jsonTime(e.At)}
}

func (h *accountHandlers) deleteMe(ctx context.Context, in *ConfirmParam) (*output[erasureView], error) {
	e, err := h.accounts.Delete(ctx, callerOf(ctx), in.Confirm)
	if err != nil {
		return nil, err
	}
	return answer(viewErasure(e))
}

type deleteOwnerInput struct {
	IDParam
	ConfirmParam
}

func (h *accountHandlers) deleteOwner(ctx context.Context, in *deleteOwnerInput) (*output[erasureView], error) {
	e, err := h.accounts.DeleteOwner(ctx, callerOf(ctx), in.ID, in.Confirm)
	if err != nil {
		return nil, err
	}
	return answer(viewErasure(e))
}

func (h *accountHandlers) erasures(ctx context.Context, in *PartParams) (*output[listOf[erasureView]], error) {
	erasures, err := h.accounts.Erasures(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	var items []erasureView
	for _, e := range erasures {
		items = append(items, viewErasure(e))
	}
	return answerPart(*in, items)
}

type reapplyInput struct {
	Body struct {
		Items []struct {
			OwnerID string    `json:"owner_id" maxLength:"64"`
			At      time.Time `json:"at"`
		} `json:"items" maxItems:"1000"`
	} `nameHint:"ReapplyErasuresBody"`
}

type reappliedView struct {
	Deleted int `json:"deleted" doc:"How many owners of the list were deleted now. The others were deleted already or never came back."`
}

func (h *accountHandlers) reapply(ctx context.Context, in *reapplyInput) (*output[reappliedView], error) {
	var list []arena.OwnerErasure
	for _, e := range in.Body.Items {
		list = append(list, arena.OwnerErasure{OwnerID: e.OwnerID, At: e.At})
	}
	n, err := h.accounts.ReapplyErasures(ctx, callerOf(ctx), list)
	if err != nil {
		return nil, err
	}
	return answer(reappliedView{Deleted: n})
}

type exportOutput struct {
	ContentType  string `header:"Content-Type"`
	Disposition  string `header:"Content-Disposition"`
	CacheControl string `header:"Cache-Control"`
	Body         func(huma.Context)
}

func (h *accountHandlers) exportMe(ctx context.Context, _ *struct{}) (*exportOutput, error) {
	return h.exported(ctx, callerOf(ctx).OwnerID)
}

func (h *accountHandlers) exportOwner(ctx context.Context, in *IDParam) (*exportOutput, error) {
	return h.exported(ctx, in.ID)
}

// exported streams everything about an owner. A failure after the first bytes cuts
// the file off, which is then no ZIP file.
func (h *accountHandlers) exported(ctx context.Context, ownerID string) (*exportOutput, error) {
	if _, err := h.rows.Accounts.Owner(ctx, ownerID); err != nil {
		return nil, err
	}
	return &exportOutput{
		ContentType: zipType, Disposition: `attachment; filename="` + ownerID + `.zip"`, CacheControl: "no-store",
		Body: func(c huma.Context) {
			if err := h.export(ctx, c.BodyWriter(), ownerID); err != nil {
				h.log.WarnContext(ctx, "export cut off", "owner_id", ownerID, "error", err)
			}
		},
	}, nil
}

func describeZIP(op *huma.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{zipType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
	}
}

// ownerMail is the service for the addresses of owners, and for lost tokens.
type ownerMail interface {
	SetMailSettings(ctx context.Context, caller arena.Caller, in arena.MailSettings) (arena.Owner, error)
	SendConfirmation(ctx context.Context, caller arena.Caller) error
	ConfirmEmail(ctx context.Context, secret, address string) error
	RequestReset(ctx context.Context, email, address string) error
	Reset(ctx context.Context, secret, address string) (o arena.Owner, token string, revoked int, err error)
}

type updateMeInput struct {
	Body struct {
		Email      *string `json:"email,omitempty" maxLength:"254" doc:"Left out: as before. Another one is to be confirmed; empty: none."`
		MailPauses *bool   `json:"mail_pauses,omitempty" doc:"Whether to get a mail when the arena pauses an agent. Left out: as before."`
	} `nameHint:"UpdateMeBody"`
}

func (h *accountHandlers) updateMe(ctx context.Context, in *updateMeInput) (*output[meView], error) {
	caller := callerOf(ctx)
	o, err := h.accounts.SetMailSettings(ctx, caller, arena.MailSettings{Email: in.Body.Email, Pauses: in.Body.MailPauses})
	if err != nil {
		return nil, err
	}
	return answer(viewMe(caller, o))
}

func (h *accountHandlers) sendConfirmation(ctx context.Context, _ *struct{}) (*empty, error) {
	return &empty{}, h.accounts.SendConfirmation(ctx, callerOf(ctx))
}

type mailLinkInput struct {
	FromAddress
	Body struct {
		Secret string `json:"secret" minLength:"1" maxLength:"100" doc:"The part of the link behind its #."`
	} `nameHint:"MailLinkBody"`
}

func (h *accountHandlers) confirmEmail(ctx context.Context, in *mailLinkInput) (*empty, error) {
	return &empty{}, h.accounts.ConfirmEmail(ctx, in.Body.Secret, in.address)
}

type requestResetInput struct {
	FromAddress
	Body struct {
		Email string `json:"email" minLength:"1" maxLength:"254" format:"email" doc:"A confirmed address of the owner. The answer is the same if no owner has it."`
	} `nameHint:"RequestResetBody"`
}

func (h *accountHandlers) requestReset(ctx context.Context, in *requestResetInput) (*empty, error) {
	return &empty{}, h.accounts.RequestReset(ctx, in.Body.Email, in.address)
}

type resetView struct {
	OwnerID string `json:"owner_id"`
	Name    string `json:"name" doc:"Of the owner."`
	Token   string `json:"token" doc:"The owner's bearer token. It is shown once."`
	Revoked int    `json:"revoked" doc:"How many tokens of the owner ended, keys of its agents too."`
}

func (h *accountHandlers) reset(ctx context.Context, in *mailLinkInput) (*output[resetView], error) {
	o, token, revoked, err := h.accounts.Reset(ctx, in.Body.Secret, in.address)
	if err != nil {
		return nil, err
	}
	return answer(resetView{OwnerID: o.ID, Name: o.Name, Token: token, Revoked: revoked})
}
