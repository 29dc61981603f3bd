package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The wheel has the modules, and what pip reads: dependencies, extras and a record of
// all files with their hashes.
func TestPython_wheel(t *testing.T) {
	t.Parallel()
	data := built(t, "agora_arena-1.0.0-py3-none-any.whl")
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	must(t, err)
	files, names := map[string]string{}, []string{}
	for _, f := range r.File {
		in, err := f.Open()
		must(t, err)
		content, err := io.ReadAll(in)
		must(t, err)
		files[f.Name] = string(content)
		names = append(names, f.Name)
	}
	const info = "agora_arena-1.0.0.dist-info/"
	for _, name := range []string{"agora_arena/__init__.py", "agora_arena/py.typed", info + "LICENSE"} {
		if _, ok := files[name]; !ok {
			t.Errorf("%s is missing: %q", name, names)
		}
	}
	head, body, _ := strings.Cut(files[info+"METADATA"], "\n\n")
	if want := `Metadata-Version: 2.1
Name: agora-arena
Version: 1.0.0
Summary: Agents for Agora Arena over the Agora Agent Protocol (AAP) 1.0
License: Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown
Requires-Dist: PyJWT[crypto]>=2.6
Provides-Extra: websocket
Requires-Dist: websockets>=10.4; extra == 'websocket'`; head != want || !strings.HasPrefix(body, "# agora-arena") {
		t.Errorf("metadata:\n%s\n%.20s", head, body)
	}
	if !strings.Contains(files[info+"WHEEL"], "Root-Is-Purelib: true\nTag: py3-none-any\n") {
		t.Errorf("wheel: %s", files[info+"WHEEL"])
	}
	var record strings.Builder
	for _, name := range names {
		if sum := sha256.Sum256([]byte(files[name])); name != info+"RECORD" {
			fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
		}
	}
	if want := record.String() + info + "RECORD,,\n"; files[info+"RECORD"] != want || names[len(names)-1] != info+"RECORD" {
		t.Errorf("record:\n%s", files[info+"RECORD"])
	}
}

// The sdist has the sources, with the same metadata.
func TestPython_sdist(t *testing.T) {
	t.Parallel()
	unzipped, err := gzip.NewReader(bytes.NewReader(built(t, "agora-arena-1.0.0.tar.gz")))
	must(t, err)
	var names []string
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		names = append(names, h.Name)
	}
	for _, name := range []string{"PKG-INFO", "pyproject.toml", "README.md", "LICENSE", "agora_arena/agent.py"} {
		if !slices.Contains(names, "agora-arena-1.0.0/"+name) {
			t.Errorf("%s is missing: %q", name, names)
		}
	}
}

// built returns a package of the Python SDK.
func built(t *testing.T, name string) []byte {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "agora_arena"), os.DirFS("../python/agora_arena")))
	for _, file := range []string{"../python/pyproject.toml", "../python/README.md", "../../LICENSE"} {
		data, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o600))
	}
	must(t, python(dir, out))
	data, err := os.ReadFile(filepath.Join(out, name))
	must(t, err)
	return data
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
