package runner

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Store is what the runner needs of the rows. Every method that takes a lease
// fails with arena.CodeLeaseLost when a later claim has made it worthless, and
// changes nothing and returns no events when it has been done already: after
// arena.CodeUnavailable nobody knows whether it was, so it is called again.
type Store interface {
	ClaimMatches(ctx context.Context, node string, ttl time.Duration, limit int) ([]arena.Match, error)
	NextStart(ctx context.Context) (time.Time, error)
	NextLeaseEnd(ctx context.Context) (time.Time, error)
	CreateMatch(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error)
	CreateAndClaim(ctx context.Context, m arena.Match, e arena.Event, node string, ttl time.Duration, audit ...arena.AuditEntry) (arena.Event, arena.Lease, error)
	RenewLeases(ctx context.Context, node string, matchIDs []string, ttl time.Duration) ([]arena.Lease, error)
	ReleaseLease(ctx context.Context, l arena.Lease) error
	// ExcuseLease takes back the interruption that a later claim counted. It is
	// called at most once for a lease, and only if the match was being judged.
	ExcuseLease(ctx context.Context, l arena.Lease) error

	AgentsByID(ctx context.Context, ids []string) (map[string]arena.Agent, error)
	Rests(ctx context.Context, agentIDs []string, at time.Time) (map[string]arena.Rest, error)
	Rounds(ctx context.Context, matchID string) ([]arena.Round, error)
	Answers(ctx context.Context, matchID string) ([]arena.Answer, error)
	EventsAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error)

	StartMatch(ctx context.Context, l arena.Lease, seats []arena.Seat, at time.Time, first *arena.Round, events []arena.Event) ([]arena.Event, error)
	OpenRound(ctx context.Context, l arena.Lease, r arena.Round, events []arena.Event) ([]arena.Event, error)
	SaveAnswer(ctx context.Context, l arena.Lease, a arena.Answer, deliveries []arena.Delivery, events []arena.Event) ([]arena.Event, error)
	// SaveLastAnswer is SaveAnswer, and marks the match as being judged.
	SaveLastAnswer(ctx context.Context, l arena.Lease, a arena.Answer, deliveries []arena.Delivery, events []arena.Event) ([]arena.Event, error)
	MarkJudging(ctx context.Context, l arena.Lease, round int) error
	Tell(ctx context.Context, l arena.Lease, round int, events []arena.Event) ([]arena.Event, error)
	CloseRound(ctx context.Context, l arena.Lease, c arena.RoundClose, events func(hidden []arena.Event) ([]arena.Event, error)) ([]arena.Event, error)
	Settle(ctx context.Context, l arena.Lease, r arena.Result, at time.Time, rate func(map[string]arena.Rating) []arena.RatingChange, last func([]arena.RatingChange) (arena.Event, error)) ([]arena.Event, error)
	VoidMatch(ctx context.Context, l arena.Lease, reason string, seats []arena.Seat, at time.Time, last arena.Event) ([]arena.Event, error)
}

// Driver sends tasks over one protocol. Prepare returns a function that sends
// the request. It may also add the request to the attempt's batch. Nothing is
// sent before the function is called or the batch is sent.
type Driver interface {
	Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error)
}

// warmer is implemented by drivers that can connect to an endpoint before a
// request is prepared. Warm must not block.
type warmer interface {
	Warm(endpoint string)
}

// Tasks chooses the task of a round from the match's settings and seed.
type Tasks interface {
	Pick(ctx context.Context, m arena.Match, round int) (arena.Task, error)
}

// Pauses pauses agents. PauseForRateLimit returns the agent_paused event for
// the log of the match whose round caused the pause.
type Pauses interface {
	PauseForRateLimit(ctx context.Context, seat arena.Seat, until time.Time) (arena.Event, error)
}

// Publisher tells spectators what has been committed.
type Publisher interface {
	Publish(league string, events ...arena.Event)
}

// DelayedPublisher publishes the events of a delayed match.
type DelayedPublisher interface {
	// Follow publishes the events of m when spectators may see them, until stop
	// is called; stop publishes what is visible by then. It does nothing for a
	// match that is not delayed.
	Follow(ctx context.Context, m arena.Match) (stop func(), err error)
}

// Options are the parts and limits of a Runner. Parts without a default must
// be given.
type Options struct {
	Store     Store
	Drivers   map[string]Driver // by protocol
	Tasks     Tasks
	Publisher Publisher
	Delayed   DelayedPublisher
	Pauses    Pauses
	Logger    *slog.Logger
	Now       func() time.Time // must carry a monotonic reading, as time.Now does: leases are judged by it
	Node      string           // id of this process, unique in the cluster

	LeaseTTL       time.Duration // default 5 s
	Heartbeat      time.Duration // default 1 s
	Sweep          time.Duration // longest wait between two looks for due matches; default 1 s
	MaxMatches     int           // played at once by this node; default 5000
	RateLimitPause time.Duration // after a 429; default 5 min (AAP, "Error codes")
	Grace          time.Duration // for open rounds once Run's context ends; default 30 s
	Observe        func(Observation)
	Judges         Judges // of leagues whose judge must be asked; nil: their rounds are void
	// Hear returns when what an agent has sent beside its answer is in the log,
	// as far as it came to this node, or soon. Nil: nothing waits for it.
	Hear func(ctx context.Context, matchID, agentID string)
	// WakeOthers tells other nodes that a match waits for them, after this one
	// gave it back. It must not block. Nil: their sweep finds it.
	WakeOthers func()
}

// Observation is one figure for metrics: a seat's round or a match that ended.
type Observation struct {
	League  string
	Outcome arena.Outcome     // of a seat's round, or ""
	Status  arena.MatchStatus // of a match that ended, or ""
	Elapsed time.Duration
}

// MaxInterruptions is how many of a match's leases may end by crashes or
// freezes of its nodes while the match is being judged, before it is given up: it
// may be the match that breaks them. Leases that were given back do not count,
// nor do those that ended because their node could not reach the storage.
const MaxInterruptions = 5

// Runner plays the matches of one node.
type Runner struct {
	o    Options
	wake chan struct{}

	mu       sync.Mutex
	runs     map[arena.Lease]*matchRun
	expected int                                  // matches that are being created here
	take     func(m arena.Match, asked time.Time) // starts one of them; nil: this node takes none
	renewal  chan struct{}                        // closed at the next renewal
	wg       sync.WaitGroup

	lastTick      atomic.Pointer[time.Time] // the heart's last
	unavailableAt atomic.Pointer[time.Time] // when the storage was last found away
	ends          leaseEnd                  // the claim loop's own
}

// New checks the parts and makes a Runner. It does nothing before Run.
func New(o Options) (*Runner, error) {
	switch {
	case o.Store == nil, len(o.Drivers) == 0, o.Tasks == nil, o.Publisher == nil, o.Delayed == nil, o.Pauses == nil, o.Logger == nil, o.Now == nil, o.Node == "":
		return nil, errors.New("runner: a part is missing: Store, Drivers, Tasks, Publisher, Delayed, Pauses, Logger, Now and Node are needed")
	}
	defaults(&o.LeaseTTL, 5*time.Second)
	defaults(&o.Heartbeat, time.Second)
	defaults(&o.Sweep, time.Second)
	defaults(&o.RateLimitPause, 5*time.Minute)
	defaults(&o.Grace, 30*time.Second)
	defaults(&o.MaxMatches, 5000)
	if o.Observe == nil {
		o.Observe = func(Observation) {}
	}
	if o.WakeOthers == nil {
		o.WakeOthers = func() {}
	}
	o.Logger = o.Logger.With("component", "runner")
	return &Runner{o: o, wake: make(chan struct{}, 1), runs: map[arena.Lease]*matchRun{}, renewal: make(chan struct{})}, nil
}

func defaults[T ~int | ~int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Wake makes the runner look for due matches at once. It never blocks.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Playing is the number of matches that this node plays now.
func (r *Runner) Playing() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.runs)
}

// Run claims and plays matches until ctx ends. Then it claims no more and
// gives each match back the moment its open round has closed, at once when
// none is open. Rounds that are still open after Grace are given back as they
// are. It returns when every match goroutine has ended (threat C8).
func (r *Runner) Run(ctx context.Context) error {
	// Matches outlive ctx by the grace: they get a context of their own.
	matches, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	var beats sync.WaitGroup
	beating, stopBeating := context.WithCancel(matches)
	r.tick()
	beats.Go(func() { r.heartbeat(beating) })

	r.takeBy(func(m arena.Match, asked time.Time) { r.start(ctx, matches, m, asked) })
	r.claimLoop(ctx, matches)
	r.takeBy(nil)

	done := make(chan struct{})
	go func() { r.wg.Wait(); close(done) }()
	grace := time.NewTimer(r.o.Grace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
		r.o.Logger.Warn("grace is over, open rounds are given back", "matches", r.Playing())
		kill(errGraceOver)
		<-done
	}
	stopBeating()
	beats.Wait()
	return nil
}

// claimLoop looks for due matches whenever it is woken, when the next match
// is to start, and every Sweep as the net under both.
func (r *Runner) claimLoop(ctx, matches context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		more := r.claim(ctx, matches)
		if more {
			continue
		}
		timer.Reset(r.untilNextLook(ctx))
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C:
		}
	}
}

// claim starts what is due and reports whether there may be more.
func (r *Runner) claim(ctx, matches context.Context) (more bool) {
	limit := min(r.room(), 64)
	if limit <= 0 || r.recovering() {
		return false
	}
	asked := r.o.Now()
	claimed, err := r.o.Store.ClaimMatches(ctx, r.o.Node, r.o.LeaseTTL, limit)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return false
	case arena.CodeOf(err) == arena.CodeUnavailable:
		r.noteUnavailable()
		r.o.Logger.Warn("storage is away, no match is claimed", "error", err)
		return false
	default:
		r.o.Logger.Error("claim matches", "error", err)
		return false
	}
	for _, m := range claimed {
		r.start(ctx, matches, m, asked)
	}
	return len(claimed) == limit
}

// clockStep is the wait when a start has come by this node's clock and not by
// the database's, which counts.
const clockStep = 5 * time.Millisecond

func (r *Runner) untilNextLook(ctx context.Context) time.Duration {
	wait := r.o.Sweep
	start, err := r.o.Store.NextStart(ctx)
	if err != nil {
		return wait
	}
	for _, next := range []time.Time{start, r.nextLeaseEnd(ctx)} {
		if !next.IsZero() {
			wait = min(wait, max(next.Sub(r.o.Now()), clockStep))
		}
	}
	return wait
}

// leaseEnd is when the next lease of the cluster runs out, unless it is
// renewed, as it was at a time.
type leaseEnd struct{ at, asked time.Time }

// nextLeaseEnd makes a match that has lost its node be claimed when its lease
// runs out, and no sweep later. The storage reads all running matches for it,
// so it is asked once a sweep.
func (r *Runner) nextLeaseEnd(ctx context.Context) time.Time {
	now := r.o.Now()
	if now.Sub(r.ends.asked) < r.o.Sweep && now.Before(r.ends.at) {
		return r.ends.at
	}
	at, err := r.o.Store.NextLeaseEnd(ctx)
	if err != nil {
		at = time.Time{} // the sweep finds what is to be found
	}
	r.ends = leaseEnd{at, now}
	return at
}

// start plays one claimed match in its own goroutine. drain ends when the
// match should stop after its open round; the lease runs from asked.
func (r *Runner) start(drain, matches context.Context, m arena.Match, asked time.Time) {
	ctx, cancel := context.WithCancelCause(matches)
	mr := &matchRun{
		r: r, m: m, drain: drain, cancel: cancel, correct: map[int]string{}, last: map[string]arena.Answer{},
		rand: rand.New(rand.NewPCG(m.Seed, uint64(m.Lease.Epoch))), //nolint:gosec // order of sending, not a secret
		log:  r.o.Logger.With("match_id", m.ID, "league", m.League),
	}
	mr.renewed.Store(&asked)
	mr.told.Store(m.Seq)
	r.mu.Lock()
	r.runs[m.Lease] = mr
	r.mu.Unlock()
	// With these lines, and those of a lease that is lost or given back, the logs
	// of all nodes tell who believed to own a match, and when.
	lease := m.Lease // the goroutine shall not keep a second copy of the match
	mr.log.Debug("match claimed", "epoch", lease.Epoch)
	r.wg.Go(func() {
		defer func() {
			mr.log.Debug("match let go", "epoch", lease.Epoch)
			cancel(nil)
			r.mu.Lock()
			delete(r.runs, lease)
			r.mu.Unlock()
			if drain.Err() != nil {
				r.o.WakeOthers() // the match was given back, or its seats are free
			} else {
				r.Wake() // its seats are free: a match that waited for them may start
			}
		}()
		mr.run(ctx)
	})
}
