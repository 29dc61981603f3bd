//go:build !unix

package stream

import (
	"errors"
	"syscall"
)

// canNonblock: everybody who writes has to wait here.
const canNonblock = false

type nonblock struct{}

func newNonblock() *nonblock { return nil }

func (*nonblock) write(syscall.RawConn, []byte) (int, error) { return 0, errors.ErrUnsupported }

func unread(syscall.RawConn) bool { return false }
