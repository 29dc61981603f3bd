package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"
)

// BenchCmd lists the benchmarks. cmd/arena-bench holds them.
type BenchCmd struct {
	All     BenchRunCmd `cmd:"" passthrough:"" help:"One table of the figures of the other benchmarks, beside the last release."`
	Match   BenchRunCmd `cmd:"" passthrough:"" help:"A round of many seats, many duels at once, or duels that wait: processor, memory, dispatch, time limits."`
	Start   BenchRunCmd `cmd:"" passthrough:"" help:"Time from scheduling a match to the first byte of its first task."`
	Stream  BenchRunCmd `cmd:"" passthrough:"" help:"What an event costs for each spectator, beside a bare server."`
	Reads   BenchRunCmd `cmd:"" passthrough:"" help:"What the reads of the pages take in a large database."`
	Events  BenchRunCmd `cmd:"" passthrough:"" help:"From an agent to a spectator through the log, and events taken per second."`
	Soak    BenchRunCmd `cmd:"" passthrough:"" help:"Spectators, honest and hostile agents at once, and what stays behind."`
	Ratings BenchRunCmd `cmd:"" passthrough:"" help:"Processor time of replaying, fitting and settling ratings."`
}

// BenchRunCmd is one benchmark. It replaces this process by arena-bench, so
// that the benchmark itself gets signals and streams and sets the exit code.
type BenchRunCmd struct {
	Args []string `arg:"" optional:"" help:"Flags of the benchmark."`
}

// benchProgram is the name of the program with the benchmarks.
const benchProgram = "arena-bench"

// Run replaces this process, and returns only when that fails.
func (c *BenchRunCmd) Run(app *App, call *kong.Context) error {
	if runtime.GOOS == "windows" {
		return errors.New("the benchmarks need Linux or macOS")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	program, err := findBench(filepath.Dir(self), app.Getenv("PATH"))
	if err != nil {
		return err
	}
	argv := append([]string{program, call.Selected().Name}, c.Args...)
	if err := app.Exec(program, argv, app.Environ); err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	return nil
}

// findBench returns the path of arena-bench: in folder, or else in an absolute
// folder of path, a value of PATH.
func findBench(folder, path string) (string, error) {
	for _, dir := range append([]string{folder}, filepath.SplitList(path)...) {
		if !filepath.IsAbs(dir) { // it would depend on where the user is
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, benchProgram)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s, the program with the benchmarks, is neither in %s nor in a folder of PATH (%s): build it with make bin/arena-bench, or with go build -o %s ./cmd/%s",
		benchProgram, folder, strings.Join(filepath.SplitList(path), ", "), filepath.Join(folder, benchProgram), benchProgram)
}
