package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/agora-arena/arena/arena/script/internal/wire"
	"github.com/agora-arena/arena/scoring/sandbox"
)

const (
	memoryTarget = 256 << 20 // the collector works harder from here on; the parent ends a worker at more
	// Little is live between two scripts: the default would collect for every
	// interpreter that is started.
	garbagePercent = 1_000

	maxStack = 64 << 20         // bytes of one goroutine
	maxRun   = 90 * time.Second // more than any parent waits
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
		err := run(engine, r, out)
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

// run runs a script and writes its replies. The error is that of out.
func run(engine *sandbox.Engine, r wire.Request, out io.Writer) error {
	done := wire.Reply{Kind: wire.Done}
	program, err := engine.Compile(r.Source, r.Function)
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
		result.Value, err = program.Call(string(args), &left)
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
