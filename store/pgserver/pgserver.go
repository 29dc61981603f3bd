//go:build unix

package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrMissing means that the machine has no PostgreSQL server to start.
var ErrMissing = errors.New("no PostgreSQL server found: put its initdb and pg_ctl on PATH, or apt-get install postgresql")

// Program returns the path of one of the server's programs: from PATH, else where
// Debian puts them, the newest version first; ErrMissing.
func Program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", fmt.Errorf("%s: %w", name, ErrMissing)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) }), nil
}

// Own returns a folder to the user that the programs run as.
func Own(folder string) error {
	as, err := identity()
	if err != nil || as == nil {
		return err
	}
	return os.Chown(folder, int(as.Uid), int(as.Gid)) //nolint:wrapcheck // it names the folder
}

// Run runs a program of the server in a folder, as the user that may: as root
// that is the system's postgres, since the server refuses to run as root. What
// a program said is in the error.
func Run(ctx context.Context, folder, program string, args ...string) error {
	as, err := identity()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // G204: the server's own programs
	cmd.Dir = folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.WaitDelay = time.Second // the server that pg_ctl leaves behind must not hold our pipe open
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, out.String())
	}
	return nil
}

// identity is the user that the programs run as; nil: this process's own.
func identity() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // said above
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("user of the database: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}
