package download

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// The paths of a Site; those of a program are below /download/.
const (
	ScriptPath = "/install.sh"
	Prefix     = "/download/"
)

//go:embed install.sh
var script string

// Site serves the script and the programs. It is safe for concurrent use.
type Site struct {
	url string // of the arena, without a slash at the end
	own string // file of the running program
	dir string // "": no other programs

	mu   sync.Mutex
	sums map[string]checksum // by file
}

// checksum is the SHA-256 of a file as it was at a time.
type checksum struct {
	size    int64
	changed time.Time
	hex     string
}

// New returns a Site for the arena at a base URL. dir is a folder with programs of
// other platforms at OS-ARCH/arena, or "". Files are opened for each request.
func New(url, dir string) *Site {
	return &Site{url: strings.TrimRight(url, "/"), own: running(), dir: dir, sums: map[string]checksum{}}
}

// running returns a name of the running program. On Linux this name stays valid
// after an upgrade has replaced the file.
func running() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return "" // no file: nothing is served for this platform
	}
	return path
}

// Serve serves a GET of ScriptPath or of a path below Prefix. It writes
// nothing when it returns an error.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path == ScriptPath {
		serve(w, r, "text/x-shellscript; charset=utf-8", s.install())
		return nil
	}
	platform, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Prefix), "/")
	f, err := s.open(platform)
	if err != nil || name != "arena" && name != "arena.sha256" {
		if err == nil {
			_ = f.Close() // only read from
		}
		return arena.Errorf(arena.CodeNotFound, "there is no such program; this arena has: %s", strings.Join(s.platforms(), ", "))
	}
	defer f.Close() //nolint:errcheck // only read from
	sum, err := s.sum(f)
	if err != nil {
		return fmt.Errorf("checksum of the program for %s: %w", platform, err)
	}
	if name == "arena.sha256" {
		serve(w, r, "text/plain; charset=utf-8", sum+"  arena\n")
		return nil
	}
	file := "arena"
	if strings.HasPrefix(platform, "windows-") {
		file = "arena.exe"
	}
	w.Header().Set("Content-Disposition", "attachment; filename="+file)
	serveContent(w, r, "application/octet-stream", sum, f)
	return nil
}

// ownPlatform returns the platform of the running program.
func ownPlatform() string { return runtime.GOOS + "-" + runtime.GOARCH }

// isPlatform reports whether a name has the form OS-ARCH. Its characters need no
// quotes in a shell, and lead out of no folder.
func isPlatform(name string) bool {
	system, arch, _ := strings.Cut(name, "-")
	return system != "" && arch != "" && strings.Trim(system+arch, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// open opens the program for a platform.
func (s *Site) open(platform string) (*os.File, error) {
	switch {
	case platform == ownPlatform():
		return os.Open(s.own)
	case s.dir == "" || !isPlatform(platform):
		return nil, fs.ErrNotExist
	}
	return os.Open(filepath.Join(s.dir, platform, "arena")) //nolint:gosec // G304: a file of the host, whose name was checked
}

// platforms returns the platforms that there are programs for, sorted.
func (s *Site) platforms() (found []string) {
	names := []string{ownPlatform()}
	if s.dir != "" {
		entries, _ := os.ReadDir(s.dir) // the folder may be missing
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		if f, err := s.open(name); err == nil {
			_ = f.Close() // only read from
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// sum returns the SHA-256 of a file in hexadecimal. A file is read once until it changes.
func (s *Site) sum(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.sums[f.Name()]; known.size == info.Size() && known.changed.Equal(info.ModTime()) {
		return known.hex, nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	known := checksum{info.Size(), info.ModTime(), hex.EncodeToString(hash.Sum(nil))}
	s.sums[f.Name()] = known
	return known.hex, nil
}

// install returns the script with the URL of this arena and its platforms.
func (s *Site) install() string {
	return strings.NewReplacer("{{arena}}", quote(s.url), "{{platforms}}", quote(strings.Join(s.platforms(), " "))).Replace(script)
}

// quote returns a word of a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func serve(w http.ResponseWriter, r *http.Request, kind, text string) {
	sum := sha256.Sum256([]byte(text))
	serveContent(w, r, kind, hex.EncodeToString(sum[:]), strings.NewReader(text))
}

// serveContent answers with a file, with a part of it, or with 304 to a client that
// has it. Another version has other bytes, so clients must ask each time.
func serveContent(w http.ResponseWriter, r *http.Request, kind, sum string, content io.ReadSeeker) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+sum[:24]+`"`)
	http.ServeContent(w, r, "", time.Time{}, content)
}
