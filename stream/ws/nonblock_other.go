//go:build !unix

package ws

import (
	"errors"
	"syscall"
)

// canNonblock reports whether the system has nonblocking writes.
const canNonblock = false

// Nonblock is what a goroutine needs for Conn.TrySend: nothing on this system.
type Nonblock struct{}

// NewNonblock returns a Nonblock for one goroutine.
func NewNonblock() *Nonblock { return nil }

func (*Nonblock) write(syscall.RawConn, []byte) (int, error) { return 0, errors.ErrUnsupported }

func unread(syscall.RawConn) bool { return false }
