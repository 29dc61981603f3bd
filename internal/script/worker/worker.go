package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/agora-arena/arena/internal/script/internal/wire"
	"github.com/agora-arena/arena/scoring/sandbox"
)

const (
	memoryTarget = 256 << 20 // the collector works harder from here on; the parent ends a worker at more
	// Little is live between two scripts, 10 MiB with the games: the default would
	// collect for every interpreter that is started.
	garbagePercent = 500

	maxStack = 64 << 20         // bytes of one goroutine
	maxRun   = 10 * time.Minute // more than any parent waits
)

// Serve restricts this process and runs the scripts that it reads from in
// until in ends. It must be the only work of the process.
func Serve(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1) // a script uses one processor, with its garbage collection
	debug.SetGCPercent(garbagePercent)
	debug.SetMemoryLimit(memoryTarget)
	debug.SetMaxStack(maxStack)
	missing, err := restrict()
	if err != nil {
		return fmt.Errorf("restrict this process: %w", err)
	}
	return serve(in, out, missing)
}

func serve(in io.Reader, out io.Writer, missing []string) error {
	engine, err := sandbox.New()
	if err != nil {
		return err
	}
	if err := warm(engine); err != nil {
		return err
	}
	if err := wire.Write(out, wire.MaxReply, wire.Reply{Kind: wire.Ready, Missing: missing}); err != nil {
		return err
	}
	programs := &programs{engine: engine}
	requests, failed := make(chan wire.Request), make(chan error, 1)
	go receive(in, requests, failed)
	for more := true; ; {
		var r wire.Request
		select {
		case r = <-requests:
		default:
			if more { // there is time to prepare for the next request
				var err error
				if more, err = engine.Prepare(); err != nil {
					return err
				}
				continue
			}
			select {
			case r = <-requests:
			case err := <-failed:
				return err
			}
		}
		more = true
		// A parent that has crashed ends no script: on Linux the kernel does it for
		// the parent, elsewhere this.
		overdue := time.AfterFunc(maxRun, func() { os.Exit(1) })
		err := programs.run(r, out)
		overdue.Stop()
		if err != nil {
			return err
		}
	}
}

// receive reads requests until the input ends, which is no failure. It ends
// with the process when a script is still running then.
func receive(in io.Reader, requests chan<- wire.Request, failed chan<- error) {
	for buffered := bufio.NewReader(in); ; {
		var r wire.Request
		switch err := wire.Read(buffered, wire.MaxRequest, &r); {
		case errors.Is(err, io.EOF):
			failed <- nil
			return
		case err != nil:
			failed <- err
			return
		}
		requests <- r
	}
}

// warm runs a script once, so that a process in which none can run never
// reports that it is ready.
func warm(engine *sandbox.Engine) error {
	p, err := engine.Compile("function main() { return 1 }", "main")
	if err != nil {
		return err
	}
	left := sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory}
	_, err = p.Call("[]", &left)
	return err
}

// maxGames is how many games a worker keeps: as many as an arena plays at once.
// The interpreter of one has about 600 KiB.
const maxGames = 8

// programs compiles sources and caches the programs of games.
type programs struct {
	engine *sandbox.Engine
	games  []keptGame // the last one was used last
}

type keptGame struct {
	source string
	game   *sandbox.Game
}

// call is a call of a compiled source.
type call func(args string, left *sandbox.Allowance) (string, error)

// compile returns what calls a function of a source. The error is the source's.
func (p *programs) compile(r wire.Request) (call, error) {
	if !r.Game {
		program, err := p.engine.Compile(r.Source, r.Function)
		if err != nil {
			return nil, err
		}
		return program.Call, nil
	}
	at := slices.IndexFunc(p.games, func(k keptGame) bool { return k.source == r.Source })
	if at < 0 {
		game, err := p.engine.CompileGame(r.Source)
		if err != nil {
			return nil, err
		}
		if len(p.games) == maxGames {
			p.games = slices.Delete(p.games, 0, 1)
		}
		at, p.games = len(p.games), append(p.games, keptGame{r.Source, game})
	}
	kept := p.games[at]
	p.games = append(slices.Delete(p.games, at, at+1), kept)
	return func(args string, left *sandbox.Allowance) (string, error) {
		return kept.game.Call(r.Function, args, left)
	}, nil
}

// run runs a script and writes its replies. It returns write errors of out.
func (p *programs) run(r wire.Request, out io.Writer) error {
	done := wire.Reply{Kind: wire.Done}
	call, err := p.compile(r)
	if err != nil {
		done.Error = err.Error()
		return wire.Write(out, wire.MaxReply, done)
	}
	if err := wire.Write(out, wire.MaxReply, wire.Reply{Kind: wire.Compiled}); err != nil {
		return err
	}
	left := sandbox.Allowance{Steps: int64(r.Budget) * sandbox.MaxSteps, Bytes: int64(r.Budget) * sandbox.MaxMemory}
	for _, args := range r.Calls {
		result := wire.Reply{Kind: wire.Result}
		result.Value, err = call(string(args), &left)
		if err != nil {
			result.Value, result.Error = "", err.Error()
		}
		if err := wire.Write(out, wire.MaxReply, result); err != nil {
			return err
		}
		if result.Error != "" && r.StopOnError {
			done.Error = "not called: an earlier call failed"
			break
		}
	}
	return wire.Write(out, wire.MaxReply, done)
}
