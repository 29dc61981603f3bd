package userconfig_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/userconfig"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFolder(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/xdg")
	t.Setenv("HOME", "/home/ada")
	for set, want := range map[string]string{"/mine": "/mine", "": "arena"} {
		got, err := userconfig.Folder(func(string) string { return set })
		must(t, err)
		if !strings.HasSuffix(got, want) || !filepath.IsAbs(got) {
			t.Errorf("with %q: %s, want %s", set, got, want)
		}
	}
}

// Files are private and replaced at once, and nothing is left beside them.
func TestWrite(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	file := filepath.Join(folder, "keys.json")
	var got map[string]string
	if err := userconfig.Read(file, &got); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a missing file: %v", err)
	}
	must(t, userconfig.Write(file, map[string]string{"token": "one"}))
	must(t, os.Chmod(file, 0o644))
	must(t, userconfig.Write(file, map[string]string{"token": "two"}))
	must(t, userconfig.Read(file, &got))
	if got["token"] != "two" {
		t.Errorf("read %v", got)
	}
	for path, want := range map[string]fs.FileMode{file: 0o600, folder: 0o700} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
	// A write that fails leaves the file as it was.
	if err := userconfig.Write(file, func() {}); err == nil {
		t.Error("a function was written as JSON")
	}
	must(t, os.Mkdir(filepath.Join(folder, "taken"), 0o700))
	if err := userconfig.Write(filepath.Join(folder, "taken"), 1); err == nil {
		t.Error("a folder was replaced by a file")
	}
	files, err := os.ReadDir(folder)
	must(t, err)
	if len(files) != 2 {
		t.Errorf("left behind: %v", files)
	}
	must(t, os.WriteFile(file, []byte("{"), 0o600))
	if err := userconfig.Read(file, &got); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("reading half a file: %v", err)
	}
}
