package web

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const (
	testIndex  = "<!doctype html><title>the page</title>"
	testScript = "console.log('hello')"
	testHolder = "build me with make ui"

	testManifest = `{
		"index.html": {"file": "assets/index.js", "css": ["assets/index.css"], "imports": ["_first.js"]},
		"_first.js": {"file": "assets/first.js"},
		"_shared.js": {"file": "assets/shared.js", "css": ["assets/shared.css"], "imports": ["_first.js"]},
		"src/pages/LeaguePage.svelte": {"file": "assets/league.js", "css": ["assets/league.css"], "imports": ["_first.js", "_shared.js"]}
	}`
)

func builtFiles() fstest.MapFS {
	return fstest.MapFS{
		".gitkeep":                 {Data: []byte("keep")},
		".vite/manifest.json":      {Data: []byte(testManifest)},
		"index.html":               {Data: []byte(testIndex)},
		"theme.js":                 {Data: []byte("theme()")},
		"favicon.svg":              {Data: []byte("<svg/>")},
		"assets/index-a1b2c3.js":   {Data: []byte(testScript)},
		"assets/index-a1b2c3.css":  {Data: []byte("body{}")},
		"assets/font-a1b2c3.woff2": {Data: []byte("wOF2")},
	}
}

func get(t *testing.T, h http.Handler, method, target string, header http.Header) *http.Response {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	maps.Copy(req.Header, header)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	res := rec.Result()
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func TestHandler_Serves(t *testing.T) {
	t.Parallel()
	const html = "text/html; charset=utf-8"
	tests := map[string]struct {
		target, contentType, cache, body string
		status                           int
	}{
		"root":                   {"/", html, cacheRevalidate, testIndex, 200},
		"index by name":          {"/index.html", html, cacheRevalidate, testIndex, 200},
		"route":                  {"/m/m_01abc", html, cacheRevalidate, testIndex, 200},
		"route with query":       {"/m/m_01abc?seq=4", html, cacheRevalidate, testIndex, 200},
		"route with slash":       {"/leagues/", html, cacheRevalidate, testIndex, 200},
		"script":                 {"/assets/index-a1b2c3.js", "text/javascript; charset=utf-8", cacheForever, testScript, 200},
		"style":                  {"/assets/index-a1b2c3.css", "text/css; charset=utf-8", cacheForever, "body{}", 200},
		"font":                   {"/assets/font-a1b2c3.woff2", "font/woff2", cacheForever, "wOF2", 200},
		"file without hash":      {"/theme.js", "text/javascript; charset=utf-8", cacheRevalidate, "theme()", 200},
		"picture":                {"/favicon.svg", "image/svg+xml", cacheRevalidate, "<svg/>", 200},
		"old script":             {"/assets/index-000000.js", "", "no-store", "", 404},
		"missing, no extension":  {"/assets/index", "", "no-store", "", 404},
		"folder":                 {"/assets/", "", "no-store", "", 404},
		"missing file":           {"/robots.txt", "", "no-store", "", 404},
		"list of chunks":         {"/.vite/manifest.json", "", "no-store", "", 404},
		"dot file":               {"/.gitkeep", "", "no-store", "", 404},
		"climbs out of the tree": {"/../embed.go", "", "no-store", "", 404},
	}
	h := newHandler(builtFiles(), []byte(testHolder), nil, nil, nil)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := get(t, h, http.MethodGet, tt.target, nil)
			if res.StatusCode != tt.status {
				t.Fatalf("status = %d, want %d", res.StatusCode, tt.status)
			}
			if got := res.Header.Get("Cache-Control"); got != tt.cache {
				t.Errorf("Cache-Control = %q, want %q", got, tt.cache)
			}
			if tt.status != http.StatusOK {
				return
			}
			if got := res.Header.Get("Content-Type"); got != tt.contentType {
				t.Errorf("Content-Type = %q, want %q", got, tt.contentType)
			}
			if diff := cmp.Diff(tt.body, readAll(t, res)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// Addresses that are no page, and pages of things that do not exist, are 404
// with the page, which says so.
func TestHandler_NoSuchPage(t *testing.T) {
	t.Parallel()
	h := newHandler(builtFiles(), nil, func(_ context.Context, path string) (Preview, bool) {
		return Preview{}, path != "/a/ag_none"
	}, nil, nil)
	for target, want := range map[string]int{
		"/": 200, "/m/m_1": 200, "/a/ag_1": 200, "/a/ag_1/": 200, "/compare?agents=ag_1,ag_2": 200, "/console/agents/ag_1": 200,
		"/nonsense": 404, "/m": 404, "/m/m_1/x": 404, "/leaguesx": 404, "/a/ag_none": 404,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			res := get(t, h, method, target, nil)
			body := readAll(t, res)
			if res.StatusCode != want || method == http.MethodGet && body != testIndex || method == http.MethodHead && body != "" {
				t.Errorf("%s %s = %d with body %q, want %d", method, target, res.StatusCode, body, want)
			}
			if kept := res.Header.Get("Cache-Control"); want == 404 && kept != "no-store" {
				t.Errorf("%s: Cache-Control %q", target, kept)
			}
		}
	}
}

// The app and its server know the same addresses.
func TestRoutes_App(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("src/lib/routes.ts")
	if err != nil {
		t.Fatal(err)
	}
	var app, server []string
	for _, m := range regexp.MustCompile(`(?m)^  \[/(.+)/, '\w+'\],$`).FindAllStringSubmatch(string(source), -1) {
		app = append(app, strings.ReplaceAll(m[1], `\/`, `/`))
	}
	for _, r := range routes {
		server = append(server, r.pattern.String())
	}
	if diff := cmp.Diff(app, server); diff != "" {
		t.Errorf("routes (-routes.ts +routes.go):\n%s", diff)
	}
}

// A page's own chunks are asked for before the app runs.
func TestHandler_Preloads(t *testing.T) {
	t.Parallel()
	h := newHandler(builtFiles(), nil, func(_ context.Context, path string) (Preview, bool) { return Preview{}, path != "/a/ag_none" }, nil, nil)
	for target, want := range map[string][]string{
		"/l/trivia/seasons/2?view=ratings": {
			"</assets/league.js>; rel=modulepreload; crossorigin",
			"</assets/league.css>; rel=preload; as=style; crossorigin",
			"</assets/shared.js>; rel=modulepreload; crossorigin",
			"</assets/shared.css>; rel=preload; as=style; crossorigin",
		},
		"/": nil, "/m/m_1": nil, "/console/agents/ag_1": nil, "/a/ag_none": nil, "/nonsense": nil, "/assets/index-a1b2c3.js": nil,
	} {
		if diff := cmp.Diff(want, get(t, h, http.MethodGet, target, nil).Header.Values("Link")); diff != "" {
			t.Errorf("Link of %s (-want +got):\n%s", target, diff)
		}
	}
	files := builtFiles()
	files[manifestName].Data = []byte("{")
	if links := pageLinks(files); links != nil {
		t.Errorf("links of a broken manifest: %v", links)
	}
}

func TestHandler_Compressed(t *testing.T) {
	t.Parallel()
	files := builtFiles()
	const script = "assets/index-a1b2c3.js"
	for name, body := range map[string]string{
		script + ".br": "script in br", script + ".gz": "script in gzip", "index.html.br": "index in br", "index.html.gz": "index in gzip",
		"embed.html": "<title>a frame</title>", "embed.html.br": "frame in br",
	} {
		files[name] = &fstest.MapFile{Data: []byte(body)}
	}
	h := newHandler(files, nil, func(_ context.Context, path string) (Preview, bool) {
		if path == "/m/m_1" {
			return Preview{Title: "A match"}, true
		}
		return Preview{}, true
	}, nil, nil)
	for name, tt := range map[string]struct {
		target, accept, ranged string
		coding, body, vary     string
	}{
		"Brotli first":         {"/" + script, "gzip, deflate, br", "", "br", "script in br", "Accept-Encoding"},
		"gzip alone":           {"/" + script, "gzip;q=0.5", "", "gzip", "script in gzip", "Accept-Encoding"},
		"Brotli refused":       {"/" + script, "br;q=0, GZIP", "", "gzip", "script in gzip", "Accept-Encoding"},
		"neither":              {"/" + script, "identity", "", "", testScript, "Accept-Encoding"},
		"similar name":         {"/" + script, "brx, xgzip", "", "", testScript, "Accept-Encoding"},
		"range":                {"/" + script, "br", "bytes=0-2", "", testScript[:3], "Accept-Encoding"},
		"no compressed form":   {"/favicon.svg", "br", "", "", "<svg/>", ""},
		"route":                {"/leagues", "br", "", "br", "index in br", "Accept-Encoding"},
		"frame":                {"/embed/matches/m_2", "br", "", "br", "frame in br", "Accept-Encoding"},
		"preview in the index": {"/m/m_1", "br", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Accept-Encoding": {tt.accept}}
			if tt.ranged != "" {
				header.Set("Range", tt.ranged)
			}
			res := get(t, h, http.MethodGet, tt.target, header)
			if got := res.Header.Get("Content-Encoding"); got != tt.coding {
				t.Errorf("Content-Encoding = %q, want %q", got, tt.coding)
			}
			if got := res.Header.Get("Vary"); got != tt.vary {
				t.Errorf("Vary = %q, want %q", got, tt.vary)
			}
			body := readAll(t, res)
			if tt.body != "" && body != tt.body {
				t.Errorf("body = %q, want %q", body, tt.body)
			}
			if got := res.Header.Get("Content-Length"); got != strconv.Itoa(len(body)) {
				t.Errorf("Content-Length = %q of %d bytes", got, len(body))
			}
			if tag := res.Header.Get("ETag"); tag != "" {
				header.Set("If-None-Match", tag)
				if again := get(t, h, http.MethodGet, tt.target, header); again.StatusCode != http.StatusNotModified {
					t.Errorf("status of an unchanged file = %d, want 304", again.StatusCode)
				}
			}
		})
	}
	if res := get(t, h, http.MethodGet, "/"+script+".br", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("status of a compressed form by its name = %d, want 404", res.StatusCode)
	}
}

func TestHandler_AsksAgain(t *testing.T) {
	t.Parallel()
	h := newHandler(builtFiles(), nil, nil, nil, nil)
	first := get(t, h, http.MethodGet, "/m/m_1", nil)
	tag := first.Header.Get("ETag")
	if tag == "" {
		t.Fatal("the index has no ETag")
	}
	again := get(t, h, http.MethodGet, "/m/m_2", http.Header{"If-None-Match": {tag}})
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("status of an unchanged index = %d, want 304", again.StatusCode)
	}
}

func TestHandler_Methods(t *testing.T) {
	t.Parallel()
	h := newHandler(builtFiles(), nil, nil, nil, nil)
	if res := get(t, h, http.MethodPost, "/", nil); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST = %d, Allow %q", res.StatusCode, res.Header.Get("Allow"))
	}
	res := get(t, h, http.MethodHead, "/", nil)
	if body := readAll(t, res); res.StatusCode != http.StatusOK || body != "" {
		t.Errorf("HEAD = %d with body %q", res.StatusCode, body)
	}
}

func TestHandler_NotBuilt(t *testing.T) {
	t.Parallel()
	h := newHandler(fstest.MapFS{".gitkeep": {}}, []byte(testHolder), nil, nil, nil)
	for _, target := range []string{"/", "/m/m_1", "/index.html"} {
		res := get(t, h, http.MethodGet, target, nil)
		if body := readAll(t, res); res.StatusCode != http.StatusOK || body != testHolder {
			t.Errorf("%s = %d with body %q", target, res.StatusCode, body)
		}
	}
}

func TestHandler_Embedded(t *testing.T) {
	t.Parallel()
	// Whether the page was built or not, the root answers with HTML that
	// names the arena.
	res := get(t, Handler(nil, nil, nil), http.MethodGet, "/", nil)
	if body := readAll(t, res); res.StatusCode != http.StatusOK || !strings.Contains(body, "Agora Arena") {
		t.Errorf("root = %d with body %q", res.StatusCode, body)
	}
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
