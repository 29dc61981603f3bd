package main

import "github.com/agora-arena/arena/internal/script/worker"

// ScriptWorkerCmd is a worker process of the script pool of a server
// (server.ScriptWorker).
type ScriptWorkerCmd struct{}

// Run serves scripts until standard input ends.
func (ScriptWorkerCmd) Run(app *App) error { return worker.Serve(app.Stdin, app.Stdout) }
