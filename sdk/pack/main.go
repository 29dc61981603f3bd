package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const usage = "usage: pack module DIR VERSION OUT | pack index CRATE OUT | pack python DIR OUT"

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 4 && args[0] == "module":
		err = module(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "index":
		err = index(os.Stdin, args[1], args[2])
	case len(args) == 3 && args[0] == "python":
		err = python(args[1], args[2])
	default:
		err = errors.New(usage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// epoch is the time of everything packed.
func epoch() time.Time { return time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC) }

// module writes a module version in the layout of the GOPROXY protocol
// (go.dev/ref/mod#goproxy-protocol) below out.
func module(dir, version, out string) error {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // a file that the caller names
	if err != nil {
		return err
	}
	name := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(mod)
	if name == nil {
		return fmt.Errorf("%s/go.mod has no module line", dir)
	}
	zipped, err := moduleZip(os.DirFS(dir), string(name[1])+"@"+version+"/")
	if err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, epoch()})
	if err != nil {
		return err
	}
	versions := path.Join(string(name[1]), "@v")
	for file, data := range map[string][]byte{
		path.Join(string(name[1]), "@latest"): info,
		versions + "/list":                    []byte(version + "\n"),
		versions + "/" + version + ".info":    info,
		versions + "/" + version + ".mod":     mod,
		versions + "/" + version + ".zip":     zipped,
	} {
		if err := write(filepath.Join(out, filepath.FromSlash(file)), data); err != nil {
			return err
		}
	}
	return nil
}

// moduleZip packs the files of a module, each name after prefix, without
// modules inside it and without files whose names begin with a dot.
func moduleZip(dir fs.FS, prefix string) ([]byte, error) {
	var files []file
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			if _, err := fs.Stat(dir, name+"/go.mod"); err == nil || d.Name()[0] == '.' || d.Name() == "vendor" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || d.Name()[0] == '.' {
			return nil
		}
		data, err := fs.ReadFile(dir, name)
		files = append(files, file{prefix + name, data})
		return err
	})
	if err != nil {
		return nil, err
	}
	return zipOf(files)
}

// zipOf packs files.
func zipOf(files []file) ([]byte, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, f := range files {
		to, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch()})
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// metadata is what index reads of cargo metadata.
type metadata struct {
	Packages []struct {
		Name         string
		Version      string
		RustVersion  string `json:"rust_version"`
		Features     map[string][]string
		Dependencies []struct {
			Name            string
			Source          string
			Req             string
			Kind            *string
			Optional        bool
			DefaultFeatures bool `json:"uses_default_features"`
			Features        []string
			Target          *string
		}
	}
}

// dependency is a dependency in the index of a Cargo registry.
type dependency struct {
	Name            string   `json:"name"`
	Req             string   `json:"req"`
	Features        []string `json:"features"`
	Optional        bool     `json:"optional"`
	DefaultFeatures bool     `json:"default_features"`
	Target          *string  `json:"target"`
	Kind            string   `json:"kind"`
	Registry        string   `json:"registry"`
}

// crateLine is a version of a crate in the index of a Cargo registry
// (doc.rust-lang.org/cargo/reference/registry-index.html).
type crateLine struct {
	Name        string              `json:"name"`
	Version     string              `json:"vers"`
	Deps        []dependency        `json:"deps"`
	Sum         string              `json:"cksum"`
	Features    map[string][]string `json:"features"`
	Yanked      bool                `json:"yanked"`
	RustVersion string              `json:"rust_version,omitempty"`
}

// index writes the index file of a crate below out.
func index(described io.Reader, crate, out string) error {
	var m metadata
	if err := json.NewDecoder(described).Decode(&m); err != nil {
		return err
	}
	if len(m.Packages) != 1 || len(m.Packages[0].Name) < 4 {
		return errors.New("cargo metadata describes no single package with a name of four letters or more")
	}
	packed, err := os.ReadFile(crate) //nolint:gosec // a file that the caller names
	if err != nil {
		return err
	}
	p, sum := m.Packages[0], sha256.Sum256(packed)
	line := crateLine{Name: p.Name, Version: p.Version, Sum: hex.EncodeToString(sum[:]), Features: p.Features, RustVersion: p.RustVersion, Deps: []dependency{}}
	for _, d := range p.Dependencies {
		kind := "normal"
		if d.Kind != nil {
			kind = *d.Kind
		}
		line.Deps = append(line.Deps, dependency{
			Name: d.Name, Req: d.Req, Features: d.Features, Optional: d.Optional, DefaultFeatures: d.DefaultFeatures,
			Target: d.Target, Kind: kind, Registry: strings.TrimPrefix(d.Source, "registry+"),
		})
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return write(filepath.Join(out, p.Name[:2], p.Name[2:4], p.Name), append(data, '\n'))
}

func write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // for everyone to read
		return err
	}
	return os.WriteFile(file, data, 0o644) //nolint:gosec // for everyone to read
}
