package sandboxtest

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring/sandbox"
)

// Runner runs scripts one after another. It has the method of the pool of
// arena/script.
type Runner struct {
	engine *sandbox.Engine
}

// New returns a Runner.
func New() (*Runner, error) {
	engine, err := sandbox.New()
	return &Runner{engine: engine}, err
}

// Run runs a script and returns a result for each of its calls.
func (r *Runner) Run(_ context.Context, s arena.Script) ([]arena.CallResult, error) {
	results := make([]arena.CallResult, len(s.Calls))
	program, err := r.engine.Compile(s.Source, s.Function)
	left := sandbox.Allowance{Steps: int64(s.Budget) * sandbox.MaxSteps, Bytes: int64(s.Budget) * sandbox.MaxMemory}
	for i, args := range s.Calls {
		if err == nil || i > 0 && program != nil && !s.StopOnError {
			results[i].Value, err = program.Call(string(args), &left)
		}
		if err != nil {
			results[i] = arena.CallResult{Error: err.Error()}
		}
	}
	return results, nil
}
