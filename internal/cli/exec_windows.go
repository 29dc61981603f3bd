package cli

import (
	"errors"
	"os"
	"os/exec"
)

// Exec runs a program and ends this process with its exit code, since Windows
// cannot replace a process. It returns only when the program does not start.
func Exec(program string, argv, environ []string) error {
	c := &exec.Cmd{Path: program, Args: argv, Env: environ, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err == nil {
		os.Exit(0)
	}
	return err
}
