package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed all:dist
var built embed.FS

//go:embed placeholder.html
var placeholder []byte

// The lifetimes of what is served. A file below assets/ has the hash of its
// content in its name, so it never changes; everything else is asked for anew
// each time and mostly answered with 304.
const (
	cacheForever    = "public, max-age=31536000, immutable"
	cacheRevalidate = "no-cache"
)

const (
	indexName   = "index.html"
	framedName  = "embed.html" // for frames of other sites: smaller, and shows one match
	framePrefix = "/embed/"
	assetPrefix = "assets/"
)

// forms are the compressed forms that the build writes beside a file, the
// shortest first.
var forms = [...]struct{ coding, extension string }{{"br", ".br"}, {"gzip", ".gz"}}

// Preview is what other sites show beside a link to a page. Texts are plain:
// they are escaped where they are written.
type Preview struct {
	Title, Description string
	Image              string // an absolute address
	Width, Height      int    // of the image, in pixels
}

// Lookup returns the preview of a route of the app; its Title is empty when
// there is none. It reports whether what the route names exists.
type Lookup func(ctx context.Context, path string) (p Preview, exists bool)

// Handler serves the page as it was built into the binary. A route of the app
// gets its index.html, with status 404 when lookup does not find what it names.
// Every other path without a file extension gets the same page with status
// 404, which shows that there is no such page; a file that is not there is 404.
// A binary built without the page answers every route with a page that says
// how to build it. A route carries what api answers to its first reads, with the
// time. lookup and api may be nil; without api, now may be too.
//
// Only GET and HEAD are answered; anything else is 405. The handler sets no
// policy headers beside X-Content-Type-Options.
func Handler(lookup Lookup, api http.Handler, now func() time.Time) http.Handler {
	files, err := fs.Sub(built, "dist")
	if err != nil { // only for an invalid name, and "dist" is valid
		files = built
	}
	return newHandler(files, placeholder, lookup, api, now)
}

type handler struct {
	files       fs.FS
	placeholder []byte // shown instead of a missing index.html
	lookup      Lookup
	api         http.Handler
	now         func() time.Time
	links       map[string][]string // of each page
}

func newHandler(files fs.FS, placeholder []byte, lookup Lookup, api http.Handler, now func() time.Time) http.Handler {
	if lookup == nil {
		lookup = func(context.Context, string) (Preview, bool) { return Preview{}, true }
	}
	if api == nil {
		api = http.NotFoundHandler()
	}
	return &handler{files: files, placeholder: placeholder, lookup: lookup, api: api, now: now, links: pageLinks(files)}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = indexName
	}
	body, err := h.read(name)
	switch {
	case err == nil && name != indexName:
		h.serve(w, r, name, h.choose(w, r, name, body))
	case name != indexName && path.Ext(name) != "",
		strings.HasPrefix(name+"/", assetPrefix):
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "no such file", http.StatusNotFound)
	default:
		h.serveIndex(w, r)
	}
}

// read returns a file of the app. Names that begin with a dot are not part of it.
func (h *handler) read(name string) ([]byte, error) {
	if !fs.ValidPath(name) || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return nil, fs.ErrNotExist
	}
	for _, f := range forms {
		if path.Ext(name) == f.extension {
			return nil, fs.ErrNotExist // not a file of its own
		}
	}
	return fs.ReadFile(h.files, name)
}

// choose returns the form of a file to send: the shortest that the client
// accepts. It sets Content-Encoding and Vary. A range is always of the file
// itself.
func (h *handler) choose(w http.ResponseWriter, r *http.Request, name string, body []byte) []byte {
	header := w.Header()
	var chosen []byte
	for _, f := range forms {
		form, err := fs.ReadFile(h.files, name+f.extension)
		if err != nil {
			continue
		}
		header.Set("Vary", "Accept-Encoding")
		if chosen == nil && r.Header.Get("Range") == "" && accepts(r.Header.Values("Accept-Encoding"), f.coding) {
			header.Set("Content-Encoding", f.coding)
			chosen = form
		}
	}
	if chosen == nil {
		return body
	}
	return chosen
}

// accepts reports whether an Accept-Encoding header names a coding and does not
// refuse it with q=0. "*" is not taken for a name: those who send it alone are
// not browsers.
func accepts(header []string, coding string) bool {
	for entry := range strings.SplitSeq(strings.Join(header, ","), ",") {
		name, params, _ := strings.Cut(entry, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		key, value, weighted := strings.Cut(strings.TrimSpace(params), "=")
		if !weighted || !strings.EqualFold(strings.TrimSpace(key), "q") {
			return true
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return err == nil && q > 0
	}
	return false
}

func (h *handler) serveIndex(w http.ResponseWriter, r *http.Request) {
	name := indexName
	if strings.HasPrefix(r.URL.Path, framePrefix) {
		name = framedName
	}
	page, reads, exists := routeOf(strings.TrimSuffix(r.URL.Path, indexName))
	preview := Preview{}
	if exists {
		preview, exists = h.lookup(r.Context(), r.URL.Path)
	}
	var first map[string]json.RawMessage
	if exists {
		first = h.answers(r, reads)
	}
	body, err := h.read(name)
	switch {
	case err != nil:
		body = h.placeholder
	case preview.Title != "" || len(first) > 0:
		body = h.carry(preview.into(body), first)
	case exists:
		body = h.choose(w, r, name, body)
	}
	header := w.Header()
	if exists {
		for _, link := range h.links[page] {
			header.Add("Link", link)
		}
		if len(first) > 0 {
			// A browser that goes back shows even what it should ask for anew.
			header.Set("Cache-Control", "no-store")
		}
		h.serve(w, r, name, body)
		return
	}
	header.Set("Content-Type", contentType(name))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNotFound)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client is gone
	}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType(name))
	header.Set("X-Content-Type-Options", "nosniff")
	switch {
	case strings.HasPrefix(name, assetPrefix):
		header.Set("Cache-Control", cacheForever)
	case header.Get("Cache-Control") == "":
		sum := sha256.Sum256(body)
		tag := `"` + hex.EncodeToString(sum[:12]) + `"`
		if header.Get("Content-Encoding") == "" {
			tag = "W/" + tag // a middleware may compress it, which changes bytes and not content
		}
		header.Set("Cache-Control", cacheRevalidate)
		header.Set("ETag", tag)
	}
	if header.Get("Content-Encoding") != "" {
		header.Set("Content-Length", strconv.Itoa(len(body))) // ServeContent leaves it out then
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}

// contentType returns the type of each kind of file that the build makes. The tables of the
// operating system are not asked: they differ from machine to machine.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".json", ".map":
		return "application/json"
	case ".txt":
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}
