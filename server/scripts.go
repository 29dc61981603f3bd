package server

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/agora-arena/arena/internal/script"
)

// ScriptWorker is the command that runs untrusted scripts in a process of its
// own. A program that makes a Server must have it: the worker processes are
// started from the same file.
const ScriptWorker = "script-worker"

// NewScripts returns a pool whose workers are processes of this program. Without
// a quota it counts no processor time of owners.
func NewScripts(log *slog.Logger, quota script.Quota) (*script.Pool, error) {
	program := "/proc/self/exe" // this very program, even after an update has replaced its file
	if runtime.GOOS != "linux" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program for the script workers: %w", err)
		}
	}
	return script.NewPool(script.Options{Command: []string{program, ScriptWorker}, Logger: log, Quota: quota}), nil
}
