//go:build !unix

package protocol

import "syscall"

// silent returns false: sockets cannot be inspected on this platform, so no
// connection carries a second request.
func silent(syscall.RawConn) bool { return false }

func acknowledged(syscall.RawConn) bool { return false }
