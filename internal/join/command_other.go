//go:build !unix

package join

import "os/exec"

// group changes nothing: only the program itself is killed here.
func group(*exec.Cmd) {}

// killGroup does nothing.
func killGroup(*exec.Cmd) {}
