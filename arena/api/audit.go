package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/agora-arena/arena/arena"
)

// auditStore stores and lists audit entries.
type auditStore interface {
	Audit(ctx context.Context, e arena.AuditEntry) error
	AuditLog(ctx context.Context, f arena.AuditFilter, p arena.Page) ([]arena.AuditEntry, string, error)
}

// auditHandlers serve the audit log.
type auditHandlers struct {
	rows auditStore
	now  func() time.Time
	log  *slog.Logger
}

// auditRoutes mounts one of the auditHandlers.
func auditRoutes[I, O any](h func(*auditHandlers, context.Context, *I) (*O, error)) func(*API, route) {
	return handleOn(func(a *API) *auditHandlers { return a.audit }, h)
}

// handleRecorded is handleOn for an operation that changes no rows: when it has
// succeeded, an audit entry about it is stored. Services store the entries of
// all other operations with what they change.
func handleRecorded[H, I, O any](of func(*API) H, h func(H, context.Context, *I) (*O, error)) func(*API, route) {
	return func(a *API, r route) {
		handleOn(of, func(handlers H, ctx context.Context, in *I) (*O, error) {
			out, err := h(handlers, ctx, in)
			if err == nil {
				a.audit.record(ctx, r.id, targetOf(in))
			}
			return out, err
		})(a, r)
	}
}

// targetOf returns the object that a request names in its path, "" when it
// names none.
func targetOf(in any) string {
	if named, ok := in.(interface{ target() string }); ok {
		return named.target()
	}
	return ""
}

func (p IDParam) target() string { return p.ID }

// record stores an entry about an operation that has succeeded. A failure is
// logged: it cannot undo the operation.
func (h *auditHandlers) record(ctx context.Context, action, target string) {
	e, err := callerOf(ctx).Audit(h.now(), action, target, nil, nil)
	if err == nil {
		err = h.rows.Audit(context.WithoutCancel(ctx), e)
	}
	if err != nil {
		h.log.ErrorContext(ctx, "audit entry lost", "action", action, "target", target, "error", err)
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

func (h *auditHandlers) list(ctx context.Context, in *listAuditInput) (*output[listOf[auditView]], error) {
	entries, next, err := h.rows.AuditLog(ctx, arena.AuditFilter{Find: in.Find}, in.page())
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
