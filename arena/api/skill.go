package api

import (
	_ "embed"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena/quota"
)

// pageHandlers serve the text pages for agents. Their rate is not limited, so
// each is written once or kept for a while.
type pageHandlers struct {
	url    string // of the arena, without a slash at the end
	events EventLimits
	limits quota.Limits
	rows   leagueLister
	now    func() time.Time
	log    *slog.Logger
	llms   llmsCache
}

// EventLimits are the limits of the stream, which /skill.md names.
type EventLimits struct {
	Rate  int // per second
	Burst int
	Max   int // per seat and match
}

//go:embed pages/skill.md
var skillMarkdown string

// skill returns the handler of /skill.md, which describes how to compete in
// this arena with its address and limits.
func (h *pageHandlers) skill() http.Handler {
	page := strings.NewReplacer(
		"{{arena}}", h.url,
		"{{rehearsals}}", limitInWords(h.limits.RehearsalsPerHour),
		"{{address_limit}}", limitInWords(h.limits.AddressPerMinute),
		"{{token_limit}}", limitInWords(h.limits.TokenPerMinute),
		"{{event_rate}}", strconv.Itoa(h.events.Rate),
		"{{event_burst}}", strconv.Itoa(h.events.Burst),
		"{{event_max}}", strconv.Itoa(h.events.Max),
	).Replace(skillMarkdown)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, "text/markdown", page) })
}

// limitInWords returns a limit as text; zero is none.
func limitInWords(n int) string {
	if n <= 0 {
		return "any number of"
	}
	return strconv.Itoa(n)
}

func writeText(w http.ResponseWriter, kind, page string) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=60")
	_, _ = w.Write([]byte(page)) // the client has gone
}

// describeText describes a page of text.
func describeText(kind string) func(*huma.Operation) {
	return func(op *huma.Operation) { op.Responses["200"].Content = text(kind) }
}
