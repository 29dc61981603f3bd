package api

import (
	_ "embed"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// EventLimits are those of the stream, which keeps them: /skill.md names them.
type EventLimits struct {
	Rate  int // per second
	Burst int
	Max   int // per seat and match
}

//go:embed pages/skill.md
var skillMarkdown string

// skillPage is the one page from which a program that reads can compete. It
// is written once, with the address and the limits of this arena.
func (a *API) skillPage() http.Handler {
	page := strings.NewReplacer(
		"{{arena}}", a.PublicURL,
		"{{rehearsals}}", limitInWords(a.Quotas.Limits.RehearsalsPerHour),
		"{{address_limit}}", limitInWords(a.Quotas.Limits.AddressPerMinute),
		"{{token_limit}}", limitInWords(a.Quotas.Limits.TokenPerMinute),
		"{{event_rate}}", strconv.Itoa(a.Events.Rate),
		"{{event_burst}}", strconv.Itoa(a.Events.Burst),
		"{{event_max}}", strconv.Itoa(a.Events.Max),
	).Replace(skillMarkdown)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, "text/markdown", page) })
}

// limitInWords writes a limit, of which zero is none.
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
