package script

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/script/internal/wire"
)

// The limits that a script can exceed, as they are named in figures and logs.
const (
	limitMemory  = "memory"
	limitCPU     = "cpu"
	limitCompile = "compile"
	limitDeath   = "death" // its worker died, twice
)

var (
	errNotSent = errors.New("the script could not be sent to its worker")
	errDied    = errors.New("the worker died")
	errStarved = errors.New("the worker got too little processor time")
)

// watchEvery is how often the parent looks at a process that runs a script.
const watchEvery = 5 * time.Millisecond

// process is a worker process.
type process struct {
	game bool // it runs games, else answers
	cmd  *exec.Cmd
	in   *os.File
	out  *os.File
	read *bufio.Reader
	died chan struct{} // closed once the process has exited and has been waited for

	served int
	used   time.Duration // processor time, after its last script
	size   int64         // resident bytes, after its last script
}

func (w *process) alive() bool {
	select {
	case <-w.died:
		return false
	default:
		return true
	}
}

// processorTime returns the processor time used so far. On systems that do not show
// it, it is available once the process has exited.
func (w *process) processorTime() time.Duration {
	if !w.alive() && w.cmd.ProcessState != nil {
		return w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime()
	}
	u, err := measure(w.cmd.Process.Pid)
	if err != nil {
		return w.used
	}
	return u.cpu
}

// kill ends the process and returns when it has exited.
func (w *process) kill() {
	_ = w.cmd.Process.Kill() // fails only when it has exited
	<-w.died
	_, _ = w.in.Close(), w.out.Close()
}

// start starts a worker and waits until it is ready.
func (p *Pool) start(ctx context.Context, game bool) (*process, error) {
	dir, err := p.workFolder()
	if err != nil {
		return nil, err
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		_, _ = childIn.Close(), in.Close()
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	cmd := exec.Command(p.o.Command[0], p.o.Command[1:]...) //nolint:gosec,noctx // G204: our own program; it outlives the script that needed it first
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.SysProcAttr = []string{}, dir, childIn, childOut, attributes()
	err = cmd.Start()
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, fmt.Errorf("start %s: %w", p.o.Command[0], err)
	}
	w := &process{game: game, cmd: cmd, in: in, out: out, read: bufio.NewReader(out), died: make(chan struct{})}
	p.mu.Lock()
	p.processes[w] = true
	p.mu.Unlock()
	p.reap.Go(func() {
		_ = cmd.Wait() // how it ended does not matter
		p.mu.Lock()
		delete(p.processes, w)
		p.mu.Unlock()
		close(w.died)
	})
	if err := p.ready(ctx, w); err != nil {
		w.kill()
		return nil, err
	}
	return w, nil
}

// ready waits for the first message of a worker.
func (p *Pool) ready(ctx context.Context, w *process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it was not ready within %v", startTimeout))
	defer cancel()
	var hello wire.Reply
	stop := context.AfterFunc(ctx, func() { _ = w.cmd.Process.Kill() })
	err := wire.Read(w.read, wire.MaxReply, &hello)
	switch {
	case !stop():
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("it exited at once: %w", err)
	case hello.Kind != wire.Ready:
		return fmt.Errorf("its first message is %q", hello.Kind)
	}
	if !w.game { // matches wait for the moves of games, which the arena itself makes
		if err := yield(w.cmd.Process.Pid); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.stats.Started++
	first := p.stats.Started == 1
	p.mu.Unlock()
	if first && len(hello.Missing) > 0 {
		p.o.Logger.WarnContext(ctx, "the operating system does not offer all protections for script workers", "missing", hello.Missing)
	}
	return nil
}

// workFolder returns the empty working folder of the workers.
func (p *Pool) workFolder() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "arena-script-")
		if err != nil {
			return "", fmt.Errorf("make the folder of the script workers: %w", err)
		}
		p.dir = dir
	}
	return p.dir, nil
}

// exchange is the conversation about one script.
type exchange struct {
	compiled chan struct{} // closed when the source has been compiled
	done     chan struct{} // closed at the end
	results  []arena.CallResult
	err      error // errNotSent or errDied
}

// talk sends a script and reads the replies.
func (x *exchange) talk(w *process, s arena.Script) {
	defer close(x.done)
	if err := wire.Write(w.in, wire.MaxRequest, request(s)); err != nil {
		x.err = fmt.Errorf("%w: %w", errNotSent, err)
		return
	}
	for {
		var r wire.Reply
		if err := wire.Read(w.read, wire.MaxReply, &r); err != nil {
			x.err = fmt.Errorf("%w: %w", errDied, err)
			return
		}
		switch {
		case r.Kind == wire.Compiled && x.results == nil:
			close(x.compiled)
			x.results = make([]arena.CallResult, 0, len(s.Calls))
		case r.Kind == wire.Result && x.results != nil && len(x.results) < len(s.Calls):
			x.results = append(x.results, arena.CallResult{Value: r.Value, Error: r.Error})
		case r.Kind == wire.Done:
			for len(x.results) < len(s.Calls) {
				x.results = append(x.results, arena.CallResult{Error: r.Error})
			}
			return
		default:
			x.err = fmt.Errorf("%w: unexpected message %.20q", errDied, r.Kind)
			return
		}
	}
}

// request returns the request to a worker for a script, without its owner.
func request(s arena.Script) wire.Request {
	return wire.Request{Source: s.Source, Function: s.Function, Calls: s.Calls, Budget: s.Budget, StopOnError: s.StopOnError, Game: s.Game}
}

// supervise runs a script in a worker, and kills the worker when the script
// exceeds a limit or ctx ends.
func (p *Pool) supervise(ctx context.Context, w *process, s arena.Script) ([]arena.CallResult, error) {
	x := &exchange{compiled: make(chan struct{}), done: make(chan struct{})}
	before := w.processorTime()
	go x.talk(w, s)
	err := p.watch(ctx, w, x, before)
	if err != nil {
		w.kill() // ends the conversation
	}
	<-x.done
	w.used = w.processorTime()
	used := w.used - before
	if s.Used != nil {
		s.Used.Add(int64(used))
	}
	if p.o.Quota != nil && s.Owner != "" {
		p.o.Quota.Charge(context.WithoutCancel(ctx), s.Owner, used)
	}
	// Where the time of a live process cannot be read, only a new worker's is the
	// script's alone.
	if errors.Is(err, errStarved) && used > p.o.CPU && (canMeasure || w.served == 0) {
		err = p.limit(limitCPU)
	}
	if err != nil {
		return nil, err
	}
	return x.results, x.err
}

// watch returns when the conversation has ended, or with the reason to end it.
// Processor time decides. The time that passes only shows that the machine did
// not run the worker, which is not the fault of its script.
func (p *Pool) watch(ctx context.Context, w *process, x *exchange, before time.Duration) error {
	began := time.Now() //nolint:forbidigo // measures another process
	limit, limitName, compiled := p.o.Compile, limitCompile, x.compiled
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-x.done:
			if u, err := measure(w.cmd.Process.Pid); err == nil {
				w.size = u.memory
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-compiled:
			limit, limitName, compiled = p.o.CPU, limitCPU, nil
			continue
		case <-tick.C:
		}
		u, err := measure(w.cmd.Process.Pid)
		switch {
		case err == nil && u.memory > p.o.Memory:
			return p.limit(limitMemory)
		case err == nil && u.cpu-before > limit:
			return p.limit(limitName)
		case time.Since(began) > p.o.Wall:
			return fmt.Errorf("%w in %v", errStarved, p.o.Wall)
		}
	}
}
