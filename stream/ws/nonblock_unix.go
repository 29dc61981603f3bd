//go:build unix

package ws

import (
	"errors"
	"syscall"
)

// canNonblock reports whether the system has nonblocking writes.
const canNonblock = true

// Nonblock is what a goroutine needs for Conn.TrySend. One that writes often
// keeps its own: syscall.RawConn calls a function, and a new function for each
// write would be an allocation.
type Nonblock struct {
	call func(fd uintptr) bool
	b    []byte
	n    int
	err  error
}

// NewNonblock returns a Nonblock for one goroutine.
func NewNonblock() *Nonblock {
	nb := &Nonblock{}
	nb.call = nb.once
	return nb
}

// write writes as much of b as the socket accepts now.
func (nb *Nonblock) write(raw syscall.RawConn, b []byte) (int, error) {
	nb.b, nb.n, nb.err = b, 0, nil
	err := raw.Write(nb.call)
	nb.b = nil
	if err == nil {
		err = nb.err
	}
	return nb.n, err //nolint:wrapcheck // wrapped by the wire
}

// once makes one attempt. It returns true so that the connection does not wait
// for the socket and call it again.
func (nb *Nonblock) once(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), nb.b)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
		case err != nil:
			nb.err = err
		default:
			nb.n = n
		}
		return true
	}
}

// unread reports whether a socket holds unread bytes. A reader may wait for them
// at the same time.
func unread(raw syscall.RawConn) bool {
	some := false
	_ = raw.Control(func(fd uintptr) { // fails only on a closed connection
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		some = err == nil && n > 0
	})
	return some
}
