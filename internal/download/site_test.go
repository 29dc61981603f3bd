package download

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

const url = "https://arena.example"

// fixture has the program of this platform and one of another platform.
func fixture(t *testing.T) *Site {
	t.Helper()
	s := New(url+"/", t.TempDir())
	s.own = filepath.Join(t.TempDir(), "arena")
	write(t, s.own, "#!/bin/sh\necho the program\n")
	write(t, filepath.Join(s.dir, "plan9-mips", "arena"), "another program")
	write(t, filepath.Join(s.dir, "it's a-folder", "arena"), "not served")
	write(t, filepath.Join(s.dir, "README"), "not a program")
	return s
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s *Site, path string, headers ...string) (*httptest.ResponseRecorder, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	return w, s.Serve(w, r)
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestSite_programs(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	for platform, text := range map[string]string{ownPlatform(): "#!/bin/sh\necho the program\n", "plan9-mips": "another program"} {
		w, err := get(t, s, "/download/"+platform+"/arena")
		if err != nil || w.Body.String() != text || w.Header().Get("Content-Disposition") != "attachment; filename=arena" {
			t.Errorf("%s: %v, %q, %v", platform, err, w.Body, w.Header())
		}
		if w, err := get(t, s, "/download/"+platform+"/arena", "If-None-Match", w.Header().Get("ETag")); err != nil || w.Code != http.StatusNotModified {
			t.Errorf("%s again: %v, status %d", platform, err, w.Code)
		}
		if w, err := get(t, s, "/download/"+platform+"/arena", "Range", "bytes=2-5"); err != nil || w.Code != http.StatusPartialContent || w.Body.String() != text[2:6] {
			t.Errorf("a part of %s: %v, status %d, %q", platform, err, w.Code, w.Body)
		}
		if w, err := get(t, s, "/download/"+platform+"/arena.sha256"); err != nil || w.Body.String() != sumOf(text)+"  arena\n" {
			t.Errorf("checksum of %s: %v, %q", platform, err, w.Body)
		}
	}
	for _, path := range []string{"/download/", "/download/plan9-mips", "/download/plan9-mips/", "/download/plan9-mips/arena/", "/download/../arena", "/download/it's%20a-folder/arena", "/download/linux-vax/arena"} {
		w, err := get(t, s, path)
		if e := new(arena.Error); !errors.As(err, &e) || e.Code != arena.CodeNotFound || w.Body.Len() != 0 || !strings.Contains(err.Error(), "plan9-mips") {
			t.Errorf("%s: %v, %q", path, err, w.Body)
		}
	}
}

// A host may replace a program while the arena runs.
func TestSite_programs_replaced(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	file := filepath.Join(s.dir, "plan9-mips", "arena")
	for i, text := range []string{"one program", "two program"} {
		write(t, file, text)
		changed := time.Unix(int64(i), 0)
		if err := os.Chtimes(file, changed, changed); err != nil {
			t.Fatal(err)
		}
		if w, err := get(t, s, "/download/plan9-mips/arena.sha256"); err != nil || w.Body.String() != sumOf(text)+"  arena\n" {
			t.Errorf("%v, %q", err, w.Body)
		}
	}
}

// The script names the public URL, whatever host a request names. Threat M5.
func TestSite_install_host(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, ScriptPath, nil)
	r.Host = "evil.example'; rm -rf ~; '"
	r.Header.Set("X-Forwarded-Host", "evil.example")
	w := httptest.NewRecorder()
	if err := s.Serve(w, r); err != nil || strings.Contains(w.Body.String(), "evil") || !strings.Contains(w.Body.String(), "arena='"+url+"'\n") {
		t.Errorf("%v\n%s", err, w.Body)
	}
	if strings.Contains(w.Body.String(), "{{") || strings.Contains(w.Body.String(), "a-folder") {
		t.Errorf("not filled in, or an odd folder:\n%s", w.Body)
	}
	if got := quote("it's"); got != `'it'\''s'` {
		t.Error(got)
	}
}

// install runs the script of an arena that serves s, as `curl … | sh` does. broken
// changes what the arena answers.
func install(t *testing.T, s *Site, folder, path string, broken func(path string, body []byte) []byte) (out string, err error) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		if err := s.Serve(answer, r); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		body := answer.Body.Bytes()
		if broken != nil {
			body = broken(r.URL.Path, body)
		}
		_, _ = w.Write(body) // the client has gone
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	cmd := exec.CommandContext(t.Context(), "sh")
	cmd.Stdin = strings.NewReader(s.install())
	cmd.Env = []string{"PATH=" + path + os.Getenv("PATH"), "HOME=" + folder}
	data, err := cmd.CombinedOutput()
	return string(data), err
}

func TestInstall(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for range 2 { // an upgrade works like an installation
		out, err := install(t, fixture(t), home, "", nil)
		if err != nil || !strings.Contains(out, "export PATH=") || !strings.Contains(out, "arena join http://") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	program := filepath.Join(home, ".local/bin/arena")
	if out, err := exec.CommandContext(t.Context(), program).Output(); err != nil || !bytes.Equal(out, []byte("the program\n")) {
		t.Errorf("%v, %q", err, out)
	}
}

// A program that is not what the arena announced is not installed. Threat M5.
func TestInstall_refused(t *testing.T) {
	t.Parallel()
	machine := filepath.Join(t.TempDir(), "uname")
	write(t, machine, "#!/bin/sh\necho Vax\n")
	if err := os.Chmod(machine, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path, want string
		broken     func(path string, body []byte) []byte
	}{
		"changed on the way": {"", "the checksum of the program is wrong", func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/arena") {
				return append(body, '!')
			}
			return body
		}},
		"no checksum": {"", "the checksum of the program is wrong", func(path string, body []byte) []byte {
			if strings.HasSuffix(path, ".sha256") {
				return nil
			}
			return body
		}},
		"another platform": {filepath.Dir(machine) + ":", "this arena has no program for vax-Vax; it has: ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			out, err := install(t, fixture(t), home, c.path, c.broken)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v\n%s", err, out)
			}
			left, _ := filepath.Glob(filepath.Join(home, ".local/bin", ".*arena*")) // a good pattern
			more, _ := filepath.Glob(filepath.Join(home, ".local/bin", "*"))
			if len(left)+len(more) != 0 {
				t.Errorf("left %v %v", left, more)
			}
		})
	}
}
