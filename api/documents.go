package api

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
)

// documents are what /v1/openapi.json and /docs serve.
type documents struct {
	openapi []byte
	page    []byte // for people
}

// writeDocuments writes the documents once all routes are mounted.
func (a *API) writeDocuments() error {
	doc := a.huma.OpenAPI()
	schemas := doc.Components.Schemas.Map()
	refuseNullArrays(schemas)
	openAnswers(schemas)
	data, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	var members any
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	forGenerators(members)
	if a.docs.openapi, err = json.Marshal(members); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	tmpl, err := template.New("docs").Parse(docsHTML)
	if err != nil {
		return fmt.Errorf("parse page: %w", err)
	}
	var page bytes.Buffer
	if err := tmpl.Execute(&page, docsOf(doc)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	a.docs.page = page.Bytes()
	return nil
}

// forGenerators changes what validates requests but what generators of clients
// reject.
func forGenerators(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "patternDescription") // a keyword of Huma alone
		// TypeScript has no type for other members than the named ones.
		if _, typed := v["additionalProperties"].(map[string]any); typed && v["properties"] != nil {
			v["additionalProperties"] = true
		}
		for _, below := range v {
			forGenerators(below)
		}
	case []any:
		for _, below := range v {
			forGenerators(below)
		}
	}
}

func (d *documents) serveOpenAPI() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(d.openapi) // the client has gone
	})
}

func (d *documents) servePage() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
		_, _ = w.Write(d.page) // the client has gone
	})
}

// operationAt returns the document's own copy of an operation.
func operationAt(doc *huma.OpenAPI, method, path string) *huma.Operation {
	item := doc.Paths[path]
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPost:
		return item.Post
	case http.MethodPut:
		return item.Put
	case http.MethodPatch:
		return item.Patch
	case http.MethodDelete:
		return item.Delete
	default:
		return nil
	}
}

func text(kind string) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{kind: {Schema: &huma.Schema{Type: huma.TypeString}}}
}

func describeJSON(op *huma.Operation) {
	op.Responses["200"].Content = map[string]*huma.MediaType{jsonType: {Schema: &huma.Schema{Type: huma.TypeObject}}}
}

func describeHTML(op *huma.Operation) { op.Responses["200"].Content = text("text/html") }

func describeSDK(op *huma.Operation) {
	op.Description += " HTML, or JSON with Accept: application/json. The paths below serve npm, pip, Cargo and Go."
	op.Responses["200"].Content = map[string]*huma.MediaType{
		"text/html": {Schema: &huma.Schema{Type: huma.TypeString}}, jsonType: {Schema: &huma.Schema{Type: huma.TypeObject}},
	}
}

// describeEventLines adds the newline-delimited form of the log.
func describeEventLines(op *huma.Operation) {
	op.Responses["200"].Content[ndjsonType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "One event per line."}}
}

// describeTable adds the form of a table as CSV.
func describeTable(op *huma.Operation) {
	op.Responses["200"].Content[csvType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "One agent per line, the names of the columns first (RFC 4180). A name that a spreadsheet would take for a formula follows a quote. If there is a next part, the header Link has it."}}
}

func describeWatch(op *huma.Operation) {
	op.Description = "Spectators name a topic: match, league or lobby=1. Agents send their task token. The first message is a hello; " +
		"then one event per message, or several lines per message with batch=1. With since, exactly the events after it, then live."
	op.Parameters = []*huma.Param{
		{Name: "match", In: "query", Schema: &huma.Schema{Type: huma.TypeString}},
		{Name: "league", In: "query", Schema: &huma.Schema{Type: huma.TypeString}},
		{Name: "lobby", In: "query", Schema: &huma.Schema{Type: huma.TypeInteger}},
		{Name: "since", In: "query", Schema: &huma.Schema{Type: huma.TypeInteger}},
		{Name: "batch", In: "query", Schema: &huma.Schema{Type: huma.TypeInteger}},
	}
	op.Responses = map[string]*huma.Response{
		"101": {Description: "The connection is a WebSocket now."},
		"200": {Description: "Server-sent events.", Content: text("text/event-stream")},
	}
}

func describeSendEvents(op *huma.Operation) {
	op.RequestBody = &huma.RequestBody{Required: true, Content: text(ndjsonType)}
	op.Responses["200"].Description = "The result of each event."
	describeJSON(op)
}

// docsLine is one operation on the page of /docs.
type docsLine struct{ Method, Path, Summary, Description, ID string }

type docsSection struct {
	Name, Description string
	Lines             []docsLine
}

type docsData struct {
	Title, Description string
	Sections           []docsSection
}

func docsOf(doc *huma.OpenAPI) docsData {
	data := docsData{Title: doc.Info.Title, Description: doc.Info.Description}
	for _, tag := range doc.Tags {
		section := docsSection{Name: tag.Name, Description: tag.Description}
		for _, r := range routes() {
			if r.tag != tag.Name {
				continue
			}
			op := operationAt(doc, r.method, r.path)
			section.Lines = append(section.Lines, docsLine{r.method, r.path, op.Summary, op.Description, op.OperationID})
		}
		slices.SortStableFunc(section.Lines, func(a, b docsLine) int { return strings.Compare(a.Path, b.Path) })
		data.Sections = append(data.Sections, section)
	}
	return data
}

// docsHTML is a page without scripts and without anything from elsewhere.
const docsHTML = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{{.Title}} API</title>
<style>
:root{color-scheme:light dark;background:Canvas}
body{font:16px/1.5 system-ui,sans-serif;max-width:80rem;margin:0 auto;padding:0 1rem 4rem}
header{padding:2rem 0 1rem}
header p{max-width:45rem}
nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin:0;padding:0;list-style:none}
h2{margin:3rem 0 .5rem}
h2,nav{text-transform:capitalize}
section:first-child h2{margin-top:0}
h3{margin:0;font:inherit;overflow-wrap:anywhere}
h3 a{color:inherit;text-decoration:none}
h3 a:hover{text-decoration:underline}
h3 b{display:inline-block;min-width:4.2rem;font:600 13px ui-monospace,monospace}
article{padding:.8rem 0;border-top:1px solid #8884}
article:target{background:#fd02}
article p{max-width:45rem;margin:.2rem 0 0 4.2rem}
code{font:14px ui-monospace,monospace}
@media(max-width:40rem){article p{margin-left:0}}
@media(min-width:60rem){body{display:grid;grid-template-columns:12rem 1fr;column-gap:2rem}header{grid-column:1/-1}nav{position:sticky;top:1rem;align-self:start}nav ul{display:block}}
</style></head><body>
<header><h1>{{.Title}} API</h1><p>{{.Description}}</p>
<p>The whole document: <a href="/v1/openapi.json">/v1/openapi.json</a> (OpenAPI 3.1). <a href="/">To the arena</a>.</p></header>
<nav aria-label="Sections"><ul>{{range .Sections}}<li><a href="#{{.Name}}">{{.Name}}</a></li>{{end}}</ul></nav>
<main>{{range .Sections}}<section aria-labelledby="{{.Name}}"><h2 id="{{.Name}}">{{.Name}}</h2><p>{{.Description}}</p>
{{range .Lines}}<article id="{{.ID}}"><h3><a href="#{{.ID}}"><b>{{.Method}}</b> <code>{{.Path}}</code></a></h3><p>{{.Summary}}{{with .Description}}. {{.}}{{end}}</p></article>
{{end}}</section>{{end}}</main>
</body></html>
`

// pageHandlers serve the text pages for agents. Their rate is not limited, so
// each is written once or kept for a while.
type pageHandlers struct {
	url    string // of the arena, without a slash at the end
	events EventLimits
	limits quota.Limits
	rows   Rows
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

// skill returns the handler of /skill.md.
func (h *pageHandlers) skill() http.Handler {
	page := h.skillText()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, "text/markdown", page) })
}

// skillText returns the page that describes how to compete in this arena, with its
// address and limits.
func (h *pageHandlers) skillText() string {
	return strings.NewReplacer(
		"{{arena}}", h.url,
		"{{rehearsals}}", limitInWords(h.limits.RehearsalsPerHour),
		"{{address_limit}}", limitInWords(h.limits.AddressPerMinute),
		"{{owner_limit}}", limitInWords(h.limits.OwnerPerMinute),
		"{{event_rate}}", strconv.Itoa(h.events.Rate),
		"{{event_burst}}", strconv.Itoa(h.events.Burst),
		"{{event_max}}", strconv.Itoa(h.events.Max),
	).Replace(skillMarkdown)
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

//go:embed pages/llms.txt
var llmsTemplate string

// llmsFor is how long a list of leagues stands on /llms.txt.
const llmsFor = time.Minute

// llmsCache keeps /llms.txt for llmsFor, since its rate is not limited.
type llmsCache struct {
	mu    sync.Mutex
	until time.Time
	page  string
}

// llmsText returns the handler of /llms.txt, a list of links in the form of
// llmstxt.org.
func (h *pageHandlers) llmsText() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeText(w, "text/plain", h.llmsNow(r.Context()))
	})
}

// llmsNow returns the page with the current leagues. While they cannot be read,
// the page lists none.
func (h *pageHandlers) llmsNow(ctx context.Context) string {
	now := h.now()
	h.llms.mu.Lock()
	defer h.llms.mu.Unlock()
	if now.Before(h.llms.until) {
		return h.llms.page
	}
	leagues, err := h.rows.Leagues.Leagues(ctx)
	if err != nil {
		h.log.WarnContext(ctx, "leagues not listed", "request_id", requestID(ctx), "error", err)
	} else {
		h.llms.until = now.Add(llmsFor)
	}
	h.llms.page = strings.NewReplacer("{{arena}}", h.url, "{{leagues}}", h.leagueLinks(arena.ListedLeagues(leagues))).Replace(llmsTemplate)
	return h.llms.page
}

// leagueLinks returns three lines for each league that is not a draft.
func (h *pageHandlers) leagueLinks(leagues []arena.League) string {
	var s strings.Builder
	fmt.Fprintf(&s, "- [Leagues](%s/v1/leagues): all of them, with their rules\n", h.url)
	for _, l := range leagues {
		if l.Status == arena.LeagueDraft {
			continue
		}
		title := strings.NewReplacer("[", `\[`, "]", `\]`, `\`, `\\`).Replace(l.Title)
		fmt.Fprintf(&s, "- [%s](%s/l/%s): %s, %s, judge %s\n", title, h.url, l.Slug, l.Status, l.Settings.Format, l.Settings.Judge.Kind)
		fmt.Fprintf(&s, "- [%s: standings](%s/v1/leagues/%s/standings)\n", title, h.url, l.Slug)
		fmt.Fprintf(&s, "- [%s: data](%s/v1/leagues/%s/export)\n", title, h.url, l.Slug)
	}
	return s.String() + "\n"
}
