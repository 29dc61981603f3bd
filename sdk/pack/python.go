package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// file is a file of a package.
type file struct {
	name string
	data []byte
}

// python writes the wheel and the sdist of the project in dir to out. The project is
// pure Python, so that the wheel is a ZIP file of its sources and their metadata
// (packaging.python.org/specifications/binary-distribution-format), which no tool of
// Python is needed for.
func python(dir, out string) error {
	sources := os.DirFS(dir)
	project, err := fs.ReadFile(sources, "pyproject.toml")
	if err != nil {
		return err
	}
	readme, err := fs.ReadFile(sources, "README.md")
	if err != nil {
		return err
	}
	metadata := append(coreMetadata(string(project)), readme...)
	name, version := field(string(project), "name"), field(string(project), "version")
	if name == "" || version == "" {
		return errors.New("pyproject.toml has no name or no version")
	}
	importName := strings.ReplaceAll(name, "-", "_")
	info := importName + "-" + version + ".dist-info/"

	var wheel, sdist []file
	err = fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(sources, path)
		sdist = append(sdist, file{path, data})
		if strings.HasPrefix(path, importName+"/") {
			wheel = append(wheel, file{path, data})
		}
		return err
	})
	if err != nil {
		return err
	}
	license, err := fs.ReadFile(sources, "LICENSE")
	if err != nil {
		return err
	}
	wheel = append(wheel,
		file{info + "LICENSE", license}, file{info + "METADATA", metadata},
		file{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: agora-arena\nRoot-Is-Purelib: true\nTag: py3-none-any\n")})
	var record bytes.Buffer
	for _, f := range wheel {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	zipped, err := zipOf(append(wheel, file{info + "RECORD", record.Bytes()}))
	if err != nil {
		return err
	}
	tarred, err := tarOf(name+"-"+version+"/", append(sdist, file{"PKG-INFO", metadata}))
	if err != nil {
		return err
	}
	if err := write(filepath.Join(out, importName+"-"+version+"-py3-none-any.whl"), zipped); err != nil {
		return err
	}
	return write(filepath.Join(out, name+"-"+version+".tar.gz"), tarred)
}

// field returns the text of a line of pyproject.toml.
func field(project, name string) string {
	found := regexp.MustCompile(`(?m)^` + name + ` = .*?"(.*?)"`).FindStringSubmatch(project)
	if found == nil {
		return ""
	}
	return found[1]
}

// coreMetadata returns the metadata of a project without its readme
// (packaging.python.org/specifications/core-metadata). Lists are on one line each in
// pyproject.toml.
func coreMetadata(project string) []byte {
	var b bytes.Buffer
	b.WriteString("Metadata-Version: 2.1\n")
	for _, f := range [][2]string{{"Name", "name"}, {"Version", "version"}, {"Summary", "description"}, {"License", "license"}, {"Requires-Python", "requires-python"}} {
		fmt.Fprintf(&b, "%s: %s\n", f[0], field(project, f[1]))
	}
	b.WriteString("Description-Content-Type: text/markdown\n")
	quoted := regexp.MustCompile(`"(.*?)"`)
	_, needs, _ := strings.Cut(project, "\ndependencies = ")
	needs, _, _ = strings.Cut(needs, "\n")
	for _, need := range quoted.FindAllStringSubmatch(needs, -1) {
		fmt.Fprintf(&b, "Requires-Dist: %s\n", need[1])
	}
	_, extras, _ := strings.Cut(project, "\n[project.optional-dependencies]\n")
	extras, _, _ = strings.Cut(extras, "\n\n")
	for line := range strings.Lines(extras) {
		extra, needs, _ := strings.Cut(line, " = ")
		fmt.Fprintf(&b, "Provides-Extra: %s\n", extra)
		for _, need := range quoted.FindAllStringSubmatch(needs, -1) {
			fmt.Fprintf(&b, "Requires-Dist: %s; extra == '%s'\n", need[1], extra)
		}
	}
	b.WriteString("\n")
	return b.Bytes()
}

// tarOf packs files, each name after prefix.
func tarOf(prefix string, files []file) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: prefix + f.name, Mode: 0o644, Size: int64(len(f.data)), ModTime: epoch()}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
