package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

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

func (a *API) getBanner(ctx context.Context, _ *struct{}) (*output[bannerView], error) {
	b, err := a.Store.Banner(ctx)
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

func (a *API) setBanner(ctx context.Context, in *setBannerInput) (*output[bannerView], error) {
	if err := plaintext.CheckLine("text", in.Body.Text); err != nil {
		return nil, err
	}
	before, err := a.Store.Banner(ctx)
	if err != nil {
		return nil, err
	}
	b := arena.Banner{Text: in.Body.Text, Since: a.now()}
	if err := a.Store.SetBanner(ctx, b); err != nil {
		return nil, err
	}
	did(ctx, "banner", before.Text, b.Text)
	return answer(viewBanner(b))
}
