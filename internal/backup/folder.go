package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// Folder is a folder that keeps backups.
type Folder struct{ Dir string }

// String returns the path.
func (f Folder) String() string { return f.Dir }

// Workspace returns the folder itself: a finished file gets its name there in one
// step.
func (f Folder) Workspace() string { return f.Dir }

// Put moves the file, which the service has verified and flushed, to its name.
// The mode stays 0600 (threat O7).
func (f Folder) Put(_ context.Context, name, file string, _ Sum) error {
	if err := f.free(name); err != nil {
		return err
	}
	if err := os.Rename(file, filepath.Join(f.Dir, name)); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // folders cannot be flushed there
		return nil
	}
	dir, err := os.Open(f.Dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// free returns conflict when a name is taken.
func (f Folder) free(name string) error {
	target := filepath.Join(f.Dir, name)
	if _, err := os.Lstat(target); err == nil {
		return arena.Errorf(arena.CodeConflict, "%s exists; a backup never replaces a file", target)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Open opens a file.
func (f Folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(f.Dir, name)) //nolint:gosec // G304: the operator names it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, arena.Errorf(arena.CodeNotFound, "there is no such file")
	}
	return file, err
}

// List returns the names of regular files.
func (f Folder) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Remove removes a file.
func (f Folder) Remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(f.Dir, name))
}

// Check returns an error unless files can be made in the folder, and the name is
// free.
func (f Folder) Check(_ context.Context, name string) error {
	work, err := os.MkdirTemp(f.Dir, workspacePrefix)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err // its path is the temporary file's
		}
		return fmt.Errorf("no files can be made in %s: %w", f.Dir, err)
	}
	return errors.Join(os.Remove(work), f.free(name))
}

// escapeGlob makes a path match itself alone.
func escapeGlob(path string) string {
	if runtime.GOOS == "windows" { // it has no escapes
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
