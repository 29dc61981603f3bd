package main

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/agora-arena/arena/arena/script"
	"github.com/agora-arena/arena/arena/script/worker"
)

const scriptWorker = "script-worker" // as in the table of commands

// ScriptWorkerCmd is a worker process of the script pool.
type ScriptWorkerCmd struct{}

// Run serves scripts until standard input ends.
func (ScriptWorkerCmd) Run(app *App) error { return worker.Serve(app.Stdin, app.Stdout) }

// newScripts returns a pool whose workers are processes of this program.
func newScripts(log *slog.Logger) (*script.Pool, error) {
	program := "/proc/self/exe" // this very program, even after an update has replaced its file
	if runtime.GOOS != "linux" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program for the script workers: %w", err)
		}
	}
	return script.NewPool(script.Options{Command: []string{program, scriptWorker}, Logger: log})
}
