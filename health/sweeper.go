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
	"time"

	"github.com/agora-arena/arena/arena"
)

// Store is what a Sweeper needs of storage.
type Store interface {
	Agent(ctx context.Context, id string) (arena.Agent, error)
	// DueForProbe gives every agent that is not retired.
	DueForProbe(ctx context.Context) ([]arena.Agent, error)
	// RecordProbe applies apply to the agent, which may run again, and counts
	// the day's uptime, in one transaction.
	RecordProbe(ctx context.Context, id string, at time.Time, ok bool, apply func(*arena.Agent) error) (before, after arena.Agent, err error)
}

// Prober asks one agent for its health, in its protocol. It fills what it
// found and counts nothing.
type Prober interface {
	Probe(ctx context.Context, a arena.Agent) arena.Health
}

// Publisher tells the spectators of leagues, and of the lobby, what has been
// committed. The event has no seq and no match.
type Publisher interface {
	PublishAgent(leagues []string, e arena.Event)
}

// Options are the parts and limits of a Sweeper. All but the limits are
// needed.
type Options struct {
	Store     Store
	Probers   map[string]Prober // by protocol
	Publisher Publisher
	// Canary reports whether the arena itself is connected: nil when it is. It is
	// asked only when most probes of a sweep fail (threat F7).
	Canary  func(ctx context.Context) error
	Workers int           // probes at a time, default 64; it keeps 300 stalling agents within 30 s (threat R12)
	Spread  time.Duration // the probes of a sweep start spread over this long; 0: at once
	Logger  *slog.Logger
	Now     func() time.Time // must carry a monotonic reading, as time.Now does
	Rand    *rand.Rand       // used by one sweep at a time
}

// Sweeper probes agents. It is safe for concurrent use.
type Sweeper struct {
	o        Options
	sweeping sync.Mutex
}

// Report says what one sweep did.
type Report struct {
	Probed  int
	Failed  int
	Paused  int
	Resumed int // pauses that ended, by health or by time
	Passed  int
	Frozen  bool // most probes failed and so did the canary: nothing was recorded
	Skipped bool // another sweep was running: nothing was done
	Took    time.Duration
}

// recorders is how many results are recorded at a time: enough for storage to
// batch them, few enough to leave it to matches.
const recorders = 8

// errChanged means that the agent was retired, or moved, while it was probed:
// the result is of no use.
var errChanged = errors.New("the agent changed while it was probed")

// New makes a Sweeper.
func New(o Options) (*Sweeper, error) {
	switch {
	case o.Store == nil || len(o.Probers) == 0 || o.Publisher == nil || o.Canary == nil || o.Logger == nil || o.Now == nil || o.Rand == nil:
		return nil, errors.New("health: a part is missing")
	case o.Workers < 0 || o.Spread < 0:
		return nil, errors.New("health: workers and spread cannot be negative")
	}
	o.Workers = cmp.Or(o.Workers, 64)
	return &Sweeper{o: o}, nil
}

// Sweep probes every agent that is not retired once, then records all results,
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
		_, speaks := s.o.Probers[a.Protocol]
		return !speaks // another node may: this one does not know
	})
	found := s.probeAll(ctx, agents)
	if ctx.Err() != nil {
		return Report{}, fmt.Errorf("sweep: %w", context.Cause(ctx))
	}
	r := Report{Probed: len(agents)}
	for _, h := range found {
		if !h.OK {
			r.Failed++
		}
	}
	if 2*r.Failed > r.Probed {
		if err := s.o.Canary(ctx); err != nil {
			r.Frozen, r.Took = true, s.o.Now().Sub(began)
			s.o.Logger.Warn("health sweep does not count: the arena is cut off", "failed", r.Failed, "probed", r.Probed, "error", err)
			return r, nil
		}
	}
	err = s.recordAll(ctx, agents, found, &r)
	r.Took = s.o.Now().Sub(began)
	s.o.Logger.Debug("health sweep done", "probed", r.Probed, "failed", r.Failed, "took_ms", r.Took.Milliseconds())
	return r, err
}

// probeAll probes the agents, each after its own random share of the spread.
// Results stand in the order of agents; those of an ended context mean nothing.
func (s *Sweeper) probeAll(ctx context.Context, agents []arena.Agent) []arena.Health {
	type slot struct {
		agent int
		after time.Duration
	}
	slots := make([]slot, len(agents))
	for i := range slots {
		slots[i].agent = i
		if s.o.Spread > 0 {
			slots[i].after = time.Duration(s.o.Rand.Int64N(int64(s.o.Spread)))
		}
	}
	slices.SortFunc(slots, func(a, b slot) int { return cmp.Compare(a.after, b.after) })

	found := make([]arena.Health, len(agents))
	began := s.o.Now()
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(s.o.Workers, len(agents)) {
		workers.Go(func() {
			for i := range next {
				found[i] = s.o.Probers[agents[i].Protocol].Probe(ctx, agents[i])
			}
		})
	}
	defer workers.Wait()
	defer close(next)
	for _, slot := range slots {
		if !wait(ctx, slot.after-s.o.Now().Sub(began)) {
			break
		}
		select {
		case next <- slot.agent:
		case <-ctx.Done():
		}
	}
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
	var (
		mu   sync.Mutex
		errs []error
		wg   sync.WaitGroup
		next = make(chan int)
	)
	for range min(recorders, len(agents)) {
		wg.Go(func() {
			for i := range next {
				before, after, err := s.record(ctx, agents[i], found[i])
				mu.Lock()
				switch {
				case errors.Is(err, errChanged):
				case err != nil:
					errs = append(errs, err)
				default:
					r.count(before, after)
				}
				mu.Unlock()
			}
		})
	}
	for i := range agents {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

func (r *Report) count(before, after arena.Agent) {
	if before.PassedAt.IsZero() && !after.PassedAt.IsZero() {
		r.Passed++
	}
	for _, reason := range arena.PauseReasons() {
		switch was, is := hasPause(before, reason), hasPause(after, reason); {
		case is && !was:
			r.Paused++
		case was && !is:
			r.Resumed++
		}
	}
}

// Check probes one agent now and records the result; Health of the agent that
// it returns is what was found. Errors: not_found; conflict when the agent is
// retired, speaks a protocol that this node does not, or changed meanwhile.
func (s *Sweeper) Check(ctx context.Context, agentID string) (arena.Agent, error) {
	a, err := s.o.Store.Agent(ctx, agentID)
	if err != nil {
		return arena.Agent{}, fmt.Errorf("check agent %s: %w", agentID, err)
	}
	prober, speaks := s.o.Probers[a.Protocol]
	switch {
	case !a.RetiredAt.IsZero():
		return arena.Agent{}, arena.Errorf(arena.CodeConflict, "the agent is retired")
	case !speaks:
		return arena.Agent{}, arena.Errorf(arena.CodeConflict, "the protocol %q cannot be checked here", a.Protocol)
	}
	found := prober.Probe(ctx, a)
	if ctx.Err() != nil {
		return arena.Agent{}, fmt.Errorf("check agent %s: %w", agentID, context.Cause(ctx))
	}
	_, after, err := s.record(ctx, a, found)
	if errors.Is(err, errChanged) {
		return arena.Agent{}, arena.Errorf(arena.CodeConflict, "the agent changed while it was checked: check it again")
	}
	return after, err
}

// record applies the policy to the agent as it is now stored, and publishes
// the pauses that began and ended.
func (s *Sweeper) record(ctx context.Context, probed arena.Agent, found arena.Health) (before, after arena.Agent, err error) {
	now := s.o.Now()
	before, after, err = s.o.Store.RecordProbe(ctx, probed.ID, now, found.OK, func(a *arena.Agent) error {
		if !a.RetiredAt.IsZero() || a.Endpoint != probed.Endpoint || a.PublicKey != probed.PublicKey {
			return errChanged
		}
		Next(*a, found, now).Apply(a, now)
		liftExpired(a, now)
		return nil
	})
	if err != nil {
		return before, after, fmt.Errorf("record check of agent %s: %w", probed.ID, err)
	}
	return before, after, s.publish(before, after, now)
}
