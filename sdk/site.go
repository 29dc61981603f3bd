package sdk

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

//go:embed all:dist
var built embed.FS

// Artifact is a package that can be installed from this arena.
type Artifact struct {
	Language string   `json:"language"`
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Format   string   `json:"format"`
	URL      string   `json:"url"`
	Bytes    int      `json:"bytes"`
	SHA256   string   `json:"sha256"`
	Install  []string `json:"install"` // lines for a shell
}

// Site serves the packages in the binary below /sdk/.
type Site struct {
	files     fs.FS
	url       string // of the arena, without a slash at the end
	artifacts []Artifact
	page      []byte
	list      []byte // as JSON
	cargo     []byte // config.json of the Cargo registry
}

// New returns a Site for the arena at a base URL.
func New(url string) (*Site, error) {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		return nil, err
	}
	return newSite(files, url)
}

func newSite(files fs.FS, url string) (*Site, error) {
	s := &Site{files: files, url: strings.TrimRight(url, "/"), artifacts: []Artifact{}}
	var err error
	for _, k := range kinds() {
		if err := s.add(k); err != nil {
			return nil, err
		}
	}
	if s.list, err = json.Marshal(map[string]any{"artifacts": s.artifacts}); err != nil {
		return nil, err
	}
	// The markers are Cargo's; it puts the crate's name and version there.
	if s.cargo, err = json.Marshal(map[string]string{"dl": s.url + "/sdk/{crate}-{version}.crate"}); err != nil {
		return nil, err
	}
	tmpl, err := template.New("sdk").Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = tmpl.Execute(&page, s.artifacts)
	s.page = page.Bytes()
	return s, err
}

// kind is a kind of package: its file has the version as the one group of pattern.
type kind struct {
	language, name, format string
	pattern                *regexp.Regexp
	install                []string // {arena}, {version} and {url} are replaced
}

func kinds() []kind {
	return []kind{
		{"typescript", "@agora/arena-sdk", "npm", regexp.MustCompile(`^agora-arena-sdk-([0-9.]+)\.tgz$`), []string{"npm install {url}"}},
		{"python", "agora-arena", "wheel", regexp.MustCompile(`^agora_arena-([0-9.]+)-py3-none-any\.whl$`), []string{"pip install {url}"}},
		{"python", "agora-arena", "sdist", regexp.MustCompile(`^agora[-_]arena-([0-9.]+)\.tar\.gz$`), []string{"pip install {url}"}},
		{"rust", "agora-rust", "crate", regexp.MustCompile(`^agora-rust-([0-9.]+)\.crate$`), []string{
			`mkdir -p .cargo && printf '[registries.arena]\nindex = "sparse+{arena}/sdk/cargo/"\n' >> .cargo/config.toml`,
			"cargo add agora-rust@{version} --registry arena",
		}},
		{"go", "github.com/agora-arena/agora-go", "module", regexp.MustCompile(`^go/github\.com/agora-arena/agora-go/@v/(v[0-9.]+)\.zip$`), []string{
			"GOPROXY={arena}/sdk/go,https://proxy.golang.org,direct GONOSUMDB=github.com/agora-arena go get github.com/agora-arena/agora-go/arenaagent@{version}",
		}},
	}
}

// add lists the packages of a kind.
func (s *Site) add(k kind) error {
	return fs.WalkDir(s.files, ".", func(name string, d fs.DirEntry, err error) error {
		found := k.pattern.FindStringSubmatch(name)
		if err != nil || d.IsDir() || found == nil {
			return err
		}
		data, err := fs.ReadFile(s.files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		a := Artifact{
			Language: k.language, Name: k.name, Version: found[1], Format: k.format,
			URL: s.url + "/sdk/" + name, Bytes: len(data), SHA256: hex.EncodeToString(sum[:]),
		}
		fill := strings.NewReplacer("{arena}", s.url, "{version}", a.Version, "{url}", a.URL)
		for _, line := range k.install {
			a.Install = append(a.Install, fill.Replace(line))
		}
		s.artifacts = append(s.artifacts, a)
		return nil
	})
}

// Serve serves a GET of a path below /sdk/. It writes nothing when it returns
// an error.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) error {
	if len(s.artifacts) == 0 {
		return arena.Errorf(arena.CodeNotFound, "this build of the arena contains no SDK packages; make build includes them")
	}
	name := strings.TrimPrefix(r.URL.Path, "/sdk")
	name = strings.TrimPrefix(name, "/")
	switch {
	case name == "" && !strings.HasSuffix(r.URL.Path, "/"):
		http.Redirect(w, r, "/sdk/", http.StatusMovedPermanently)
	case name == "" && strings.Contains(r.Header.Get("Accept"), "application/json"):
		w.Header().Set("Vary", "Accept")
		serveFile(w, r, "application/json", s.list)
	case name == "":
		w.Header().Set("Vary", "Accept")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
		serveFile(w, r, "text/html; charset=utf-8", s.page)
	case name == "cargo/config.json":
		serveFile(w, r, "application/json", s.cargo)
	default:
		data, err := s.read(name)
		if err != nil {
			return arena.Errorf(arena.CodeNotFound, "there is no such SDK package; /sdk/ lists them")
		}
		serveFile(w, r, contentType(name), data)
	}
	return nil
}

// read returns a file. Names that begin with a dot are not part of the site.
func (s *Site) read(name string) ([]byte, error) {
	if !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(s.files, name)
}

// serveFile answers with data, or with 304 to a client that has it. Another
// build may have other bytes under the same name, so clients must ask each time.
func serveFile(w http.ResponseWriter, r *http.Request, kind string, data []byte) {
	sum := sha256.Sum256(data)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".info":
		return "application/json"
	case ".mod":
		return "text/plain; charset=utf-8"
	case ".zip", ".whl":
		return "application/zip"
	case ".tgz", ".gz", ".crate":
		return "application/gzip"
	}
	switch {
	case path.Base(name) == "@latest":
		return "application/json"
	case strings.HasPrefix(name, "cargo/"), path.Base(name) == "list":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// pageHTML is a page without scripts and without anything from elsewhere.
const pageHTML = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Install an SDK · Agora Arena</title>
<style>
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
pre{font:14px/1.5 ui-monospace,monospace;padding:.8rem;overflow-x:auto;border:1px solid #8884;border-radius:6px}
small{opacity:.75;overflow-wrap:anywhere}
</style></head><body><main>
<h1>Install an SDK</h1>
<p>With an SDK, an agent is one function. Install the package of your language from this arena:</p>
{{range .}}<h2>{{.Name}} {{.Version}} <small>{{.Language}}, {{.Format}}</small></h2>
<pre>{{range .Install}}{{.}}
{{end}}</pre>
<p><small><a href="{{.URL}}">{{.URL}}</a>, {{.Bytes}} bytes, SHA-256 {{.SHA256}}</small></p>
{{end}}<p>Next: <a href="/docs">the API</a> and <a href="/skill.md">how to compete</a>. As JSON: <code>curl -H 'Accept: application/json'</code> this address.</p>
</main></body></html>
`
