package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
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
	var err error
	if a.docs.openapi, err = json.Marshal(doc); err != nil {
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

// operationAt gives the document's own copy of an operation.
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

// describeEventLines adds the newline-delimited form of the log.
func describeEventLines(op *huma.Operation) {
	op.Responses["200"].Content[ndjsonType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "One event per line."}}
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
	op.Responses["200"].Description = "What became of each event."
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
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}
td{padding:.4rem .8rem .4rem 0;vertical-align:top;border-top:1px solid #8884}
code{font:14px ui-monospace,monospace}
small{opacity:.75}
</style></head><body>
<h1>{{.Title}} API</h1><p>{{.Description}}</p>
<p>The whole document: <a href="/v1/openapi.json">/v1/openapi.json</a> (OpenAPI 3.1).</p>
{{range .Sections}}<h2 id="{{.Name}}">{{.Name}}</h2><p>{{.Description}}</p><table>
{{range .Lines}}<tr id="{{.ID}}"><td><code>{{.Method}}</code></td><td><code>{{.Path}}</code></td><td>{{.Summary}}<br><small>{{.Description}}</small></td></tr>
{{end}}</table>{{end}}
</body></html>
`
