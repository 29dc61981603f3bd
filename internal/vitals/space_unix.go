//go:build !windows

package vitals

import "golang.org/x/sys/unix"

func space(folder string) (free, size uint64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, 0, err
	}
	block := uint64(fs.Bsize) //nolint:gosec // G115: a block is never negative
	return fs.Bavail * block, fs.Blocks * block, nil
}
