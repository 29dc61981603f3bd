package api

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

// bannerStore reads and replaces the banner.
type bannerStore interface {
	Banner(ctx context.Context) (arena.Banner, error)
	SetBanner(ctx context.Context, b arena.Banner, audit ...arena.BannerAudit) error
}

// bannerHandlers serve the routes of the banner.
type bannerHandlers struct {
	rows bannerStore
	now  func() time.Time
}

// bannerRoutes mounts one of the bannerHandlers.
func bannerRoutes[I, O any](h func(*bannerHandlers, context.Context, *I) (*O, error)) func(*API, route) {
	return handleOn(func(a *API) *bannerHandlers { return a.banner }, h)
}

type bannerView struct {
	Text  string    `json:"text" doc:"Empty: there is none."`
	Since *jsonTime `json:"since,omitempty"`
}

func viewBanner(b arena.Banner) bannerView {
	if b.Text == "" {
		return bannerView{}
	}
	return bannerView{Text: b.Text, Since: optionalTime(b.Since)}
}

func (h *bannerHandlers) get(ctx context.Context, _ *struct{}) (*output[bannerView], error) {
	b, err := h.rows.Banner(ctx)
	if err != nil {
		return nil, err
	}
	return answer(viewBanner(b))
}

type setBannerInput struct {
	Body struct {
		Text string `json:"text" maxLength:"200" doc:"One line, shown to everyone; empty removes it."`
	} `nameHint:"BannerBody"`
}

func (h *bannerHandlers) set(ctx context.Context, in *setBannerInput) (*output[bannerView], error) {
	if err := plaintext.CheckLine("text", in.Body.Text); err != nil {
		return nil, err
	}
	caller, b := callerOf(ctx), arena.Banner{Text: in.Body.Text, Since: h.now()}
	if err := h.rows.SetBanner(ctx, b, func(before, after arena.Banner) (arena.AuditEntry, error) {
		return caller.Audit(b.Since, "set-banner", "banner", before.Text, after.Text)
	}); err != nil {
		return nil, err
	}
	return answer(viewBanner(b))
}
