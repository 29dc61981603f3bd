package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

const pngType = "image/png"

// How long a card may be kept: one that changes about a round, one that does
// not change any more a day.
const (
	cardLive  = 30 * time.Second
	cardFinal = 24 * time.Hour
)

type cardOutput struct {
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

// card draws what other sites show beside a link to a match: names, points
// and round, as in the list of matches, and nothing that is sealed.
func (h *matchHandlers) card(ctx context.Context, in *IDParam) (*cardOutput, error) {
	m, err := h.visible.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	l, err := h.leagues.League(ctx, m.League)
	if err != nil {
		return nil, err
	}
	picture, err := h.draw(m, l.Title)
	if err != nil {
		return nil, err
	}
	keep := cardLive
	if m.Status.Over() {
		keep = cardFinal
	}
	return &cardOutput{ContentType: pngType, CacheControl: fmt.Sprintf("public, max-age=%d", int(keep.Seconds())), Body: picture}, nil
}

// describePNG says that the answer is a picture.
func describePNG(op *huma.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{pngType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
	}
}
