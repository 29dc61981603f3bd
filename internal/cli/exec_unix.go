//go:build unix

package cli

import "syscall"

// Exec replaces this process by a program, and returns only when that fails.
func Exec(program string, argv, environ []string) error {
	return syscall.Exec(program, argv, environ) //nolint:gosec // G204: the caller chooses the program
}
