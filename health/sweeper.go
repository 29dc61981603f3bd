package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Store is what a Sweeper needs of storage.
type Store interface {
	Agent(ctx context.Context, id string) (arena.Agent, error)
	// DueForProbe returns every agent that is not retired.
	DueForProbe(ctx context.Context) ([]arena.Agent, error)
}

// Recorder stores what health checks of different agents found and what
// follows from it, and publishes the pauses that began or ended. The results
// are in the order of checks; conflict: the agent was retired, or moved, while
// it was checked, and the result is of no use.
type Recorder interface {
	RecordChecks(ctx context.Context, at time.Time, checks []arena.HealthCheck) ([]arena.Probed, error)
}

// Prober queries one agent for its health, in its protocol. It fills what it
// found and counts nothing.
type Prober interface {
	Probe(ctx context.Context, a arena.Agent) arena.Health
}

// Options are the parts and limits of a Sweeper. All but the limits are
// needed.
type Options struct {
	Store    Store
	Recorder Recorder
	Probers  map[string]Prober // by protocol
	// CutOff reports whether the arena itself was cut off at some time since the
	// sweep began. It is asked only when most endpoints fail (threat N1).
	CutOff  func(ctx context.Context, since time.Time) bool
	Workers int // the most probes at a time, default 512; fewer when fewer keep up, see Sweeper.workers
	// Interval is the time between the starts of two sweeps, default 30 s.
	Interval time.Duration
	Spread   time.Duration // the probes of a sweep start evenly over this long; 0: at once
	Logger   *slog.Logger
	Now      func() time.Time // must carry a monotonic reading, as time.Now does
	Rand     *rand.Rand       // used by one sweep at a time
}

// Sweeper probes agents. It is safe for concurrent use.
type Sweeper struct {
	o        Options
	sweeping sync.Mutex
	mean     time.Duration // of a probe, in the last sweep; guarded by sweeping
}

// Report is what one sweep did.
type Report struct {
	Probed  int
	Failed  int
	Paused  int
	Resumed int // pauses that ended, by health or by time
	Passed  int
	Frozen  bool // most endpoints failed and the arena was cut off: nothing was recorded
	Skipped bool // another sweep was running: nothing was done
	Took    time.Duration
}

const (
	// fewWorkers keep 300 stalling agents within 30 s (threat R12).
	fewWorkers = 64
	// firstMean is how long a probe is taken to last before any was made.
	firstMean = 300 * time.Millisecond
	// busyRetry is the time after which a check of an address that got too many may
	// be tried again.
	busyRetry = 30 * time.Second
	// recordedAtOnce is how many results storage gets at a time: few enough to
	// let matches write in between.
	recordedAtOnce = 256
)

// New makes a Sweeper.
func New(o Options) *Sweeper {
	o.Workers = cmp.Or(o.Workers, 512)
	o.Interval = cmp.Or(o.Interval, 30*time.Second)
	return &Sweeper{o: o, mean: firstMean}
}

// Sweep probes every agent that is due once, then records all results,
// and returns when that is done. It does nothing while another Sweep runs. When
// ctx ends first, nothing is recorded. The error joins what went wrong with
// single agents; the others are recorded all the same.
func (s *Sweeper) Sweep(ctx context.Context) (Report, error) {
	if !s.sweeping.TryLock() {
		return Report{Skipped: true}, nil
	}
	defer s.sweeping.Unlock()
	began := s.o.Now()
	agents, err := s.o.Store.DueForProbe(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("sweep: %w", err)
	}
	agents = slices.DeleteFunc(slices.Clone(agents), func(a arena.Agent) bool {
		_, probes := s.o.Probers[a.Protocol]
		return !probes || !Due(a, s.o.Interval, began) // another node may probe it: this one does not know
	})
	r := Report{Probed: len(agents)}
	found := s.probeAll(ctx, agents)
	if ctx.Err() != nil {
		return Report{}, fmt.Errorf("sweep: %w", context.Cause(ctx))
	}
	called, silent := 0, 0 // endpoints; agents without one call the arena
	for i, h := range found {
		if h.Reason == arena.ReasonHostBusy {
			r.Probed-- // it was not called
			continue
		}
		if agents[i].Endpoint != "" {
			called++
		}
		if !h.OK {
			r.Failed++
			if agents[i].Endpoint != "" {
				silent++
			}
		}
	}
	r.Frozen = 2*silent > called && s.o.CutOff(ctx, began)
	switch {
	case ctx.Err() != nil:
		return Report{}, fmt.Errorf("sweep: %w", context.Cause(ctx))
	case r.Frozen:
		r.Took = s.o.Now().Sub(began)
		s.o.Logger.Debug("health sweep does not count: the arena is cut off", "failed", r.Failed, "probed", r.Probed)
		return r, nil
	}
	err = s.recordAll(ctx, agents, found, &r)
	r.Took = s.o.Now().Sub(began)
	s.o.Logger.Debug("health sweep done", "probed", r.Probed, "failed", r.Failed, "took_ms", r.Took.Milliseconds())
	return r, err
}

// workers is how many probes at a time start all agents within the spread when
// they last as long as those of the last sweep did, and a quarter more.
func (s *Sweeper) workers(agents int) int {
	enough := fewWorkers
	if s.o.Spread > 0 {
		enough = max(enough, int(float64(agents)*s.mean.Seconds()/s.o.Spread.Seconds()*5/4))
	}
	return min(enough, s.o.Workers, agents)
}

// probeAll probes the agents in a random order, evenly over the spread.
// Results stand in the order of agents; those of an ended context mean nothing.
func (s *Sweeper) probeAll(ctx context.Context, agents []arena.Agent) []arena.Health {
	if len(agents) == 0 {
		return nil
	}
	found := make([]arena.Health, len(agents))
	began := s.o.Now()
	next := make(chan int)
	var busy atomic.Int64
	var working sync.WaitGroup
	for range s.workers(len(agents)) {
		working.Go(func() {
			for i := range next {
				asked := s.o.Now()
				found[i] = s.o.Probers[agents[i].Protocol].Probe(ctx, agents[i])
				busy.Add(int64(s.o.Now().Sub(asked)))
			}
		})
	}
	for i, agent := range s.o.Rand.Perm(len(agents)) {
		if !wait(ctx, s.o.Spread*time.Duration(i)/time.Duration(len(agents))-s.o.Now().Sub(began)) {
			break
		}
		select {
		case next <- agent:
		case <-ctx.Done():
		}
	}
	close(next)
	working.Wait()
	s.mean = time.Duration(busy.Load()) / time.Duration(len(agents))
	return found
}

// wait waits for d and reports whether the context still holds.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// recordAll records what was found and counts the changes in r.
func (s *Sweeper) recordAll(ctx context.Context, agents []arena.Agent, found []arena.Health, r *Report) error {
	var errs []error
	for from := 0; from < len(agents); from += recordedAtOnce {
		to := min(from+recordedAtOnce, len(agents))
		recorded, err := s.record(ctx, agents[from:to], found[from:to], true)
		if err != nil {
			errs = append(errs, err)
		}
		for _, d := range recorded {
			switch {
			case arena.CodeOf(d.Err) == arena.CodeConflict: // it changed while it was checked
			case d.Err != nil:
				errs = append(errs, d.Err)
			default:
				r.count(d.Before, d.After)
			}
		}
	}
	return errors.Join(errs...)
}

func (r *Report) count(before, after arena.Agent) {
	if before.PassedAt.IsZero() && !after.PassedAt.IsZero() {
		r.Passed++
	}
	for _, reason := range arena.PauseReasons() {
		_, was := before.PauseFor(reason)
		switch _, is := after.PauseFor(reason); {
		case is && !was:
			r.Paused++
		case was && !is:
			r.Resumed++
		}
	}
}

// Check probes one agent now and records the result; Health of the agent that
// it returns is what was found. Errors: not_found; rate_limited when the
// endpoint's address gets too many requests; conflict when the agent is
// retired, uses a protocol that this node has no driver for, or changed meanwhile.
func (s *Sweeper) Check(ctx context.Context, agentID string) (arena.Agent, error) {
	a, err := s.o.Store.Agent(ctx, agentID)
	if err != nil {
		return arena.Agent{}, fmt.Errorf("check agent %s: %w", agentID, err)
	}
	prober, probes := s.o.Probers[a.Protocol]
	switch {
	case !a.RetiredAt.IsZero():
		return arena.Agent{}, arena.Errorf(arena.CodeConflict, "the agent is retired")
	case !probes:
		return arena.Agent{}, arena.Errorf(arena.CodeConflict, "the protocol %q cannot be checked here", a.Protocol)
	}
	found := prober.Probe(ctx, a)
	if ctx.Err() != nil {
		return arena.Agent{}, fmt.Errorf("check agent %s: %w", agentID, context.Cause(ctx))
	}
	if found.Reason == arena.ReasonHostBusy {
		e := arena.Errorf(arena.CodeRateLimited, "%s", found.Detail)
		e.RetryAfter = busyRetry
		return arena.Agent{}, e
	}
	recorded, err := s.record(ctx, []arena.Agent{a}, []arena.Health{found}, false)
	if err != nil {
		return arena.Agent{}, err
	}
	return recorded[0].After, recorded[0].Err
}

// record applies the policy to the agents as they are now stored.
// Checks that the client did not make are left out.
func (s *Sweeper) record(ctx context.Context, agents []arena.Agent, found []arena.Health, sweep bool) ([]arena.Probed, error) {
	now := s.o.Now()
	checks := make([]arena.HealthCheck, 0, len(agents))
	for i, checked := range agents {
		if found[i].Reason == arena.ReasonHostBusy {
			continue
		}
		checks = append(checks, arena.HealthCheck{Agent: checked, OK: found[i].OK, Sweep: sweep, Step: func(stored arena.Agent) arena.HealthStep {
			return Next(stored, found[i], now)
		}})
	}
	return s.o.Recorder.RecordChecks(ctx, now, checks)
}
