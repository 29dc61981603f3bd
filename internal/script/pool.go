package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// The default limits of a worker. The counted limits of the interpreter are well
// below; these limits end what the interpreter cannot count.
const (
	defaultMemory  = 384 << 20
	defaultCPU     = 10 * time.Second
	defaultCompile = 2 * time.Second
	// A worker that has used this time, but not its processor time, had to wait
	// for the machine.
	defaultWall = 5 * time.Minute

	maxWorkers   = 4
	startTimeout = 30 * time.Second

	maxDeaths  = 2 // of the workers of one script
	maxStarved = 3 // runs of one script that had to wait for the machine
)

// When a worker is replaced although it is well.
const (
	maxServed   = 1_000            // scripts
	maxUsed     = 60 * time.Second // processor time; the worker's own limit is twice that
	maxIdleSize = 192 << 20        // resident bytes after a script
)

// Options are the parts and limits of a Pool.
type Options struct {
	// Command is the command line of a worker: a program that calls
	// worker.Serve with its standard input and output.
	Command []string
	Logger  *slog.Logger

	Workers int           // at once; default: one for each processor, at most 4
	Memory  int64         // resident bytes of a worker; default 384 MiB
	CPU     time.Duration // processor time of a script; default 10 s
	Compile time.Duration // part of CPU that compiling may take; default 2 s
	Wall    time.Duration // time of a script; default 5 min, where processor time cannot be read 30 s
	// Quota counts the processor time of owners; nil: it is not counted.
	Quota Quota
}

// Quota is how much processor time the scripts of each owner may use.
type Quota interface {
	Charge(ctx context.Context, owner string, used time.Duration)
	Check(owner string) error // an error when the owner has used it up
}

// Stats are the figures of a Pool.
type Stats struct {
	Workers int              // processes
	Busy    int              // of them, running a script
	Started int64            // processes ever
	Killed  map[string]int64 // scripts that exceeded a limit, by limit
}

// Pool runs scripts in worker processes. It is safe for concurrent use.
type Pool struct {
	o     Options
	queue *queue          // for the workers
	ctx   context.Context //nolint:containedctx // ends at Close; scripts under way end with it
	close context.CancelFunc
	reap  sync.WaitGroup // one for each process

	mu        sync.Mutex
	processes map[*process]bool // all that have not exited
	idle      []*process
	dir       string // empty working folder of the workers; "" before the first
	stats     Stats
}

var errClosed = errors.New("the script pool is closed")

// NewPool returns a pool without workers: the first script starts one.
func NewPool(o Options) *Pool {
	if o.Workers <= 0 {
		o.Workers = min(runtime.NumCPU(), maxWorkers)
	}
	setDefault(&o.Memory, defaultMemory)
	setDefault(&o.CPU, defaultCPU)
	setDefault(&o.Compile, defaultCompile)
	wall := defaultWall
	if !canMeasure {
		wall = 3 * o.CPU
	}
	setDefault(&o.Wall, wall)
	o.Logger = o.Logger.With("component", "script")
	p := &Pool{o: o, queue: newQueue(o.Workers, o.Quota), processes: map[*process]bool{}, stats: Stats{Killed: map[string]int64{}}}
	p.ctx, p.close = context.WithCancel(context.Background())
	return p
}

func setDefault[T ~int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Run runs a script and returns a result for each of its calls. It waits for
// its turn and a free worker. The error is arena.ErrScriptLimit when the script
// is at fault.
func (p *Pool) Run(ctx context.Context, s arena.Script) ([]arena.CallResult, error) {
	results, err := p.run(ctx, s, 1, false)
	for deaths, starved := 0, 0; err != nil; {
		if errors.Is(err, errDied) {
			deaths++
		} else if errors.Is(err, errStarved) {
			starved++
		} else {
			break
		}
		if deaths == maxDeaths {
			err = p.limit(limitDeath)
			break
		}
		if starved == maxStarved {
			break
		}
		p.o.Logger.WarnContext(ctx, "a script runs once more", "error", err)
		// Something else may have killed a worker: the kernel, short of memory, or an
		// operator. Its script runs again with no other one beside it.
		slots := 1
		if deaths > 0 {
			slots = p.o.Workers
		}
		results, err = p.run(ctx, s, slots, true)
	}
	switch {
	case err == nil, errors.Is(err, arena.ErrScriptLimit):
		return results, err
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run a script: %w", context.Cause(ctx))
	case p.ctx.Err() != nil:
		return nil, errClosed
	}
	return nil, fmt.Errorf("run a script: %w", err)
}

// run runs a script once, holding the given number of slots. A fresh run gets a
// new worker.
func (p *Pool) run(ctx context.Context, s arena.Script, slots int, fresh bool) ([]arena.CallResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	if err := p.queue.acquire(ctx, s, slots); err != nil {
		return nil, err
	}
	defer p.queue.release(slots)
	for ; ; fresh = true {
		w, err := p.take(ctx, fresh, s.Game)
		if err != nil {
			return nil, err
		}
		results, err := p.supervise(ctx, w, s)
		p.release(w, err == nil)
		// An idle worker may have died since its last script. This one has not
		// reached it, so it is no part of that.
		if errors.Is(err, errNotSent) && !fresh {
			continue
		}
		return results, err
	}
}

// take returns an idle worker of games or of answers, or starts one. If idle ones of
// the other kind are in its way, one of them ends.
func (p *Pool) take(ctx context.Context, fresh, game bool) (*process, error) {
	p.mu.Lock()
	for n := len(p.idle) - 1; !fresh && n >= 0; n-- {
		w := p.idle[n]
		if w.game != game {
			continue
		}
		p.idle = slices.Delete(p.idle, n, n+1)
		if w.alive() {
			p.stats.Busy++
			p.mu.Unlock()
			return w, nil
		}
	}
	var other *process
	if len(p.idle) > 0 && len(p.processes) > p.o.Workers {
		other, p.idle = p.idle[0], p.idle[1:]
	}
	p.mu.Unlock()
	if other != nil {
		other.kill()
	}
	w, err := p.start(ctx, game)
	if err != nil {
		return nil, fmt.Errorf("start a script worker: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Busy++
	return w, nil
}

// release keeps a worker for the next script, unless it failed or is worn.
func (p *Pool) release(w *process, well bool) {
	w.served++
	keep := well && w.served < maxServed && w.used < maxUsed && w.size < maxIdleSize && p.ctx.Err() == nil
	if !keep {
		w.kill()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Busy--
	if keep && len(p.idle) < p.o.Workers {
		p.idle = append(p.idle, w)
	} else {
		w.kill()
	}
}

// limit counts a script that exceeded a limit.
func (p *Pool) limit(name string) error {
	p.mu.Lock()
	p.stats.Killed[name]++
	p.mu.Unlock()
	return fmt.Errorf("%w: %s", arena.ErrScriptLimit, name)
}

// Stats returns the current figures.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Workers = len(p.processes)
	s.Killed = maps.Clone(p.stats.Killed)
	return s
}

// Close ends the scripts under way and returns when all workers have exited.
func (p *Pool) Close() error {
	p.close()
	_ = p.queue.acquire(context.Background(), arena.Script{Rated: true}, p.o.Workers) // background: every script ends with p.ctx
	defer p.queue.release(p.o.Workers)
	p.mu.Lock()
	idle, dir := p.idle, p.dir
	p.idle, p.dir = nil, ""
	p.mu.Unlock()
	for _, w := range idle {
		w.kill()
	}
	p.reap.Wait()
	if dir == "" {
		return nil
	}
	if err := os.Remove(dir); err != nil {
		return fmt.Errorf("remove the folder of the script workers: %w", err)
	}
	return nil
}
