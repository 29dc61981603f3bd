package sdk

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agora-arena/arena/arena"
)

func fixture(t *testing.T) *Site {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{
		".gitkeep", "agora-arena-sdk-1.2.3.tgz", "agora_arena-1.2.3-py3-none-any.whl", "agora-arena-1.2.3.tar.gz",
		"agora-rust-1.2.3.crate", "cargo/ag/or/agora-rust", "go/github.com/agora-arena/agora-go/@latest",
		"go/github.com/agora-arena/agora-go/@v/list", "go/github.com/agora-arena/agora-go/@v/v1.2.3.info",
		"go/github.com/agora-arena/agora-go/@v/v1.2.3.mod", "go/github.com/agora-arena/agora-go/@v/v1.2.3.zip",
	} {
		files[name] = &fstest.MapFile{Data: []byte("bytes of " + name)}
	}
	s, err := newSite(files, "https://arena.example/")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func get(t *testing.T, s *Site, path string, header ...string) (*httptest.ResponseRecorder, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.URL.Path = path
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	return w, s.Serve(w, r)
}

func TestSite_files(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	for path, kind := range map[string]string{
		"agora-arena-sdk-1.2.3.tgz":                         "application/gzip",
		"agora_arena-1.2.3-py3-none-any.whl":                "application/zip",
		"agora-rust-1.2.3.crate":                            "application/gzip",
		"cargo/ag/or/agora-rust":                            "text/plain; charset=utf-8",
		"go/github.com/agora-arena/agora-go/@latest":        "application/json",
		"go/github.com/agora-arena/agora-go/@v/list":        "text/plain; charset=utf-8",
		"go/github.com/agora-arena/agora-go/@v/v1.2.3.info": "application/json",
		"go/github.com/agora-arena/agora-go/@v/v1.2.3.mod":  "text/plain; charset=utf-8",
		"go/github.com/agora-arena/agora-go/@v/v1.2.3.zip":  "application/zip",
	} {
		w, err := get(t, s, "/sdk/"+path)
		if err != nil || w.Body.String() != "bytes of "+path || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %v, %q, %v", path, err, w.Body, w.Header())
		}
		if w, err := get(t, s, "/sdk/"+path, "If-None-Match", w.Header().Get("ETag")); err != nil || w.Code != http.StatusNotModified {
			t.Errorf("%s again: %v, status %d", path, err, w.Code)
		}
	}
	if w, err := get(t, s, "/sdk/cargo/config.json"); err != nil || w.Body.String() != `{"dl":"https://arena.example/sdk/{crate}-{version}.crate"}` {
		t.Errorf("config.json: %v, %s", err, w.Body)
	}
	if w, err := get(t, s, "/sdk"); err != nil || w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "/sdk/" {
		t.Errorf("/sdk: %v, status %d, %v", err, w.Code, w.Header())
	}
	for _, path := range []string{"/sdk/.gitkeep", "/sdk/cargo", "/sdk/cargo/", "/sdk/../go.mod", "/sdk//x", "/sdk/agora-rust-9.crate", "/sdk/go/example.com/@v/list"} {
		w, err := get(t, s, path)
		if e := new(arena.Error); !errors.As(err, &e) || e.Code != arena.CodeNotFound || w.Body.Len() != 0 {
			t.Errorf("%s: %v, %q", path, err, w.Body)
		}
	}
}

func TestSite_list(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	w, err := get(t, s, "/sdk/", "Accept", "application/json")
	var list struct{ Artifacts []Artifact }
	if err != nil || json.Unmarshal(w.Body.Bytes(), &list) != nil || len(list.Artifacts) != 5 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	page, err := get(t, s, "/sdk/", "Accept", "text/html,*/*")
	if err != nil || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("%v: %v", err, page.Header())
	}
	for i, want := range []string{
		"npm install https://arena.example/sdk/agora-arena-sdk-1.2.3.tgz",
		"pip install https://arena.example/sdk/agora_arena-1.2.3-py3-none-any.whl",
		"pip install https://arena.example/sdk/agora-arena-1.2.3.tar.gz",
		"cargo add agora-rust@1.2.3 --registry arena",
		"GOPROXY=https://arena.example/sdk/go,https://proxy.golang.org,direct GONOSUMDB=github.com/agora-arena go get github.com/agora-arena/agora-go/arenaagent@v1.2.3",
	} {
		install := list.Artifacts[i].Install
		if last := install[len(install)-1]; last != want {
			t.Errorf("install line is %s, want %s", last, want)
		}
		if !strings.Contains(page.Body.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestSite_empty(t *testing.T) {
	t.Parallel()
	s, err := newSite(fstest.MapFS{".gitkeep": {}}, "https://arena.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/sdk/", "/sdk/agora-rust-1.2.3.crate", "/sdk/cargo/config.json"} {
		_, err := get(t, s, path)
		if e := new(arena.Error); !errors.As(err, &e) || e.Code != arena.CodeNotFound || !strings.Contains(e.Message, "contains no SDK packages") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The SDKs have one version, and what is built is served.
func TestNew(t *testing.T) {
	t.Parallel()
	s, err := New("https://arena.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range s.artifacts {
		if a.Bytes == 0 || strings.TrimPrefix(a.Version, "v") != strings.TrimPrefix(s.artifacts[0].Version, "v") {
			t.Errorf("%+v", a)
		}
	}
}

// docs/sdks.md shows the lines that an arena on this machine shows.
func TestDocs_install(t *testing.T) {
	t.Parallel()
	manifest, err := os.ReadFile("rust/Cargo.toml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/sdks.md")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^version = "(.*)"$`).FindSubmatch(manifest)[1]
	files := fstest.MapFS{}
	for _, name := range []string{"agora-arena-sdk-V.tgz", "agora_arena-V-py3-none-any.whl", "agora-rust-V.crate", "go/github.com/agora-arena/agora-go/@v/vV.zip"} {
		files[strings.Replace(name, "V", string(version), 1)] = &fstest.MapFile{}
	}
	s, err := newSite(files, "http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range s.artifacts {
		for _, line := range a.Install {
			if !strings.Contains(string(page), "`"+line+"`") {
				t.Errorf("docs/sdks.md lacks %s", line)
			}
		}
	}
}
