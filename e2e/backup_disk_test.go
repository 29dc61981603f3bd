//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A backup that does not fit on the disk fails, and leaves the last good one and
// nothing else.
func TestE2E_Backup_fullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir, disk := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
		t.Skip(err) // a container without the capability
	}
	t.Cleanup(func() { must(t, syscall.Unmount(disk, 0)) })
	for _, args := range [][]string{{"migrate"}, {"backup", disk}} {
		if code, out := runBeside(t, dir, nil, args...); code != exitOK {
			t.Fatalf("arena %v: exit code %d, %s", args, code, out)
		}
	}
	good, err := os.ReadDir(disk)
	must(t, err)
	if len(good) != 1 {
		t.Fatalf("the disk holds %v", good)
	}
	before, err := os.ReadFile(filepath.Join(disk, good[0].Name()))
	must(t, err)

	const left = 100 << 10 // less than the smallest arena
	var fs syscall.Statfs_t
	must(t, syscall.Statfs(disk, &fs))
	must(t, os.WriteFile(filepath.Join(disk, "other"), make([]byte, int64(fs.Bavail)*fs.Bsize-left), 0o600))
	code, out := runBeside(t, dir, nil, "backup", filepath.Join(disk, "next.db"))
	if code != exitFailure || !strings.Contains(out, "back up to "+disk) || !strings.Contains(out, "full") {
		t.Errorf("exit code %d, %s", code, out)
	}
	entries, err := os.ReadDir(disk)
	must(t, err)
	after, err := os.ReadFile(filepath.Join(disk, good[0].Name()))
	must(t, err)
	if len(entries) != 2 || string(after) != string(before) {
		t.Errorf("the disk holds %v, the good backup has %d bytes and had %d", entries, len(after), len(before))
	}
}
