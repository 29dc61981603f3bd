package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// disk is a small file system in memory that holds the database alone, so that
// the nemesis can fill it.
type disk struct {
	path    string
	ballast string
}

// newDisk mounts a disk of the given size in bytes at path. Only root may do so.
func newDisk(ctx context.Context, path string, bytes int64) (*disk, error) {
	if err := os.MkdirAll(path, 0o755); err != nil { //nolint:gosec // G301: the database's user must pass through it
		return nil, fmt.Errorf("make folder: %w", err)
	}
	out, err := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("mode=0755,size=%d", bytes), "arena-chaos", path).CombinedOutput() //nolint:gosec // G204: our own folder
	if err != nil {
		return nil, fmt.Errorf("mount: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return &disk{path: path, ballast: filepath.Join(path, "ballast")}, nil
}

// fill uses all space that is left.
func (d *disk) fill() error {
	f, err := os.OpenFile(d.ballast, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // G703: our own folder
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("open ballast: %w", err)
	}
	for _, size := range []int{1 << 20, 4 << 10} {
		for block := make([]byte, size); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return errors.Join(fmt.Errorf("write ballast: %w", err), f.Close())
		}
		err = nil
	}
	if f == nil {
		return nil
	}
	return f.Close() //nolint:wrapcheck // nothing to add
}

// keepFull also uses what the database frees, for d.
func (d *disk) keepFull(ctx context.Context, long time.Duration) error {
	for end := time.Now().Add(long); time.Now().Before(end); {
		if err := d.fill(); err != nil {
			return err
		}
		wait(ctx, 50*time.Millisecond)
	}
	return nil
}

// free releases what fill uses.
func (d *disk) free() error {
	if err := os.Remove(d.ballast); err != nil { //nolint:gosec // G703: our own folder
		return fmt.Errorf("remove ballast: %w", err)
	}
	return nil
}

// used is how much of the disk is taken, in bytes.
func (d *disk) used() (int64, error) {
	var used int64
	err := filepath.WalkDir(d.path, func(_ string, e os.DirEntry, err error) error { //nolint:gosec // G703: our own folder
		if err != nil {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			used += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("look at the disk: %w", err)
	}
	return used, nil
}

// copyTo keeps what is on the disk when it goes.
func (d *disk) copyTo(folder string) error {
	if err := os.CopyFS(folder, os.DirFS(d.path)); err != nil {
		return fmt.Errorf("keep the disk: %w", err)
	}
	return nil
}

// close removes the disk with its contents.
func (d *disk) close() {
	_ = exec.Command("umount", "--lazy", d.path).Run() //nolint:gosec,noctx // G204: our own folder; what fails here is a mount that is left
}
