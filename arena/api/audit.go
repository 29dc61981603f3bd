package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
)

// act is what the audit log will say of a request: its handler fills it in.
type act struct {
	target        string
	before, after any
}

// actOf gives the act of the request, for its handler to say what it did to
// what. Nothing that is secret may stand in it.
func actOf(ctx context.Context) *act {
	if a, ok := ctx.Value(actKey).(*act); ok {
		return a
	}
	return &act{} // nobody keeps it
}

// targetOf is the thing that a request names in its path, "" none.
func targetOf(in any) string {
	if named, ok := in.(interface{ target() string }); ok {
		return named.target()
	}
	return ""
}

func (p IDParam) target() string   { return p.ID }
func (p SlugParam) target() string { return p.Slug }

// did notes a change of one thing.
func did(ctx context.Context, target string, before, after any) {
	*actOf(ctx) = act{target, before, after}
}

// audited reports whether what the operation does goes into the audit log:
// every act for which a token was needed, and not mere reading.
func audited(op huma.Operation) bool {
	return op.Method != http.MethodGet && len(op.Security) > 0
}

// audit keeps an act that has been done. That it cannot be kept does not undo
// it: the failure is logged.
func (a *API) audit(ctx context.Context, operation string, done *act) {
	e, err := callerOf(ctx).Audit(a.now(), operation, done.target, done.before, done.after)
	if err != nil {
		a.Logger.ErrorContext(ctx, "audit entry does not encode", "action", operation, "error", err)
		return
	}
	if err := a.Store.Audit(context.WithoutCancel(ctx), e); err != nil {
		a.Logger.ErrorContext(ctx, "audit entry lost", "action", operation, "target", done.target, "error", err)
	}
}

type auditView struct {
	ID     string          `json:"id"`
	At     jsonTime        `json:"at"`
	Actor  string          `json:"actor" doc:"An owner's id, or admin."`
	Token  string          `json:"token,omitempty" doc:"Id of the token that was used."`
	Action string          `json:"action" doc:"The operation's id."`
	Target string          `json:"target,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

type listAuditInput struct {
	PageParams
	Find string `query:"find" maxLength:"200" doc:"Only entries whose actor, action or target is this."`
}

func (a *API) listAudit(ctx context.Context, in *listAuditInput) (*output[listOf[auditView]], error) {
	entries, next, err := a.Store.AuditLog(ctx, arena.AuditFilter{Find: in.Find}, in.page())
	if err != nil {
		return nil, err
	}
	var items []auditView
	for _, e := range entries {
		items = append(items, auditView{
			ID: e.ID, At: jsonTime(e.At), Actor: e.Actor, Token: e.Token, Action: e.Action, Target: e.Target, Before: e.Before, After: e.After,
		})
	}
	return answerList(items, next)
}
