//go:build unix

package protocol

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// silent reports whether a socket is open and that nothing lies in it unread.
func silent(raw syscall.RawConn) bool {
	open := false
	err := raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		open = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && open
}

// acknowledged reports whether a socket holds nothing that the other side's system
// has not taken.
func acknowledged(raw syscall.RawConn) bool {
	left := 1
	err := raw.Control(func(fd uintptr) {
		if n, err := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ); err == nil {
			left = n
		}
	})
	return err == nil && left == 0
}
