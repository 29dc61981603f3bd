//go:build unix

package stream

import (
	"errors"
	"syscall"
)

// canNonblock reports whether sockets take writes that do not wait.
const canNonblock = true

// nonblock writes to sockets without waiting for them. It is kept by who
// writes often: the connection calls a function, and making one each time
// would be an allocation for each write.
type nonblock struct {
	call func(fd uintptr) bool
	b    []byte
	n    int
	err  error
}

func newNonblock() *nonblock {
	nb := &nonblock{}
	nb.call = nb.once
	return nb
}

// write writes as much of b as the socket takes now.
func (nb *nonblock) write(raw syscall.RawConn, b []byte) (int, error) {
	nb.b, nb.n, nb.err = b, 0, nil
	err := raw.Write(nb.call)
	nb.b = nil
	if err == nil {
		err = nb.err
	}
	return nb.n, err //nolint:wrapcheck // wrapped by the wire
}

// once makes one attempt and is never called again: it reports that the
// socket need not be waited for.
func (nb *nonblock) once(fd uintptr) bool {
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

// unread reports whether bytes lie in a socket, while a reader may wait for them.
func unread(raw syscall.RawConn) bool {
	some := false
	_ = raw.Control(func(fd uintptr) { // fails only on a closed connection
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		some = err == nil && n > 0
	})
	return some
}
