//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package join

import (
	"os"
	"syscall"
)

// tryLock locks an open file; ok is false when another process has locked it.
func tryLock(f *os.File) (ok bool) {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != syscall.EWOULDBLOCK
}

// unlock unlocks and closes a file. A program that is just being started has it
// open too, so closing it alone might come late.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}
