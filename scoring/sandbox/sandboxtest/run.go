package sandboxtest

import (
	"context"
	"sync"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring/sandbox"
)

// Runner runs scripts one after another. It has the method of the pool of
// internal/script.
type Runner struct {
	engine *sandbox.Engine

	mu    sync.Mutex
	games map[string]*sandbox.Game // by source
}

// New returns a Runner.
func New() (*Runner, error) {
	engine, err := sandbox.New()
	return &Runner{engine: engine, games: map[string]*sandbox.Game{}}, err
}

// Run runs a script and returns a result for each of its calls.
func (r *Runner) Run(_ context.Context, s arena.Script) ([]arena.CallResult, error) {
	results := make([]arena.CallResult, len(s.Calls))
	call, err := r.compile(s)
	left := sandbox.Allowance{Steps: int64(s.Budget) * sandbox.MaxSteps, Bytes: int64(s.Budget) * sandbox.MaxMemory}
	for i, args := range s.Calls {
		if err == nil || i > 0 && call != nil && !s.StopOnError {
			results[i].Value, err = call(string(args), &left)
		}
		if err != nil {
			results[i] = arena.CallResult{Error: err.Error()}
		}
	}
	return results, nil
}

func (r *Runner) compile(s arena.Script) (func(string, *sandbox.Allowance) (string, error), error) {
	if !s.Game {
		program, err := r.engine.Compile(s.Source, s.Function)
		if err != nil {
			return nil, err
		}
		return program.Call, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	game := r.games[s.Source]
	if game == nil {
		var err error
		if game, err = r.engine.CompileGame(s.Source); err != nil {
			return nil, err
		}
		r.games[s.Source] = game
	}
	return func(args string, left *sandbox.Allowance) (string, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return game.Call(s.Function, args, left)
	}, nil
}
