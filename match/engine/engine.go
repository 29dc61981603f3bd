package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/store"
)

// Store stores matches. Every method with a lease fails with arena.CodeLeaseLost
// after a later claim. It changes nothing and returns no events if the operation
// was performed before, so it is safe to repeat after arena.CodeUnavailable,
// which leaves open whether the operation was performed.
type Store interface {
	ClaimMatches(ctx context.Context, node string, ttl time.Duration, limit int, plays func(arena.Lease) bool) ([]arena.Match, error)
	UntilStart(ctx context.Context) (time.Duration, error)
	UntilLeaseEnd(ctx context.Context) (time.Duration, error)
	LastSeqs(ctx context.Context, matchIDs []string) (map[string]int64, error)
	CreateMatch(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error)
	CreateAndClaim(ctx context.Context, m arena.Match, e arena.Event, node string, ttl time.Duration, audit ...arena.AuditEntry) (arena.Event, arena.Lease, error)
	RenewLeases(ctx context.Context, node string, matchIDs []string, ttl time.Duration) ([]arena.Lease, error)
	ReleaseLease(ctx context.Context, l arena.Lease) error
	// RevertInterruption reverts the interruption that a later claim counted. It is
	// called at most once per lease, and only if the match was being judged.
	RevertInterruption(ctx context.Context, l arena.Lease) error

	AgentsByID(ctx context.Context, ids []string) (map[string]arena.Agent, error)
	NoShows(ctx context.Context, league string, agentIDs []string) ([]arena.NoShow, error)
	Cooldowns(ctx context.Context, agentIDs []string, at time.Time) (map[string]arena.Cooldown, error)
	Rounds(ctx context.Context, matchID string) ([]arena.Round, error)
	Answers(ctx context.Context, matchID string) ([]arena.Answer, error)
	Verdicts(ctx context.Context, matchID string) ([]arena.Verdict, error)
	EventsAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error)

	StartMatch(ctx context.Context, l arena.Lease, seats []arena.Seat, at time.Time, first *arena.Round, events []arena.Event) ([]arena.Event, error)
	OpenRound(ctx context.Context, l arena.Lease, r arena.Round, events []arena.Event) ([]arena.Event, error)
	SaveAnswer(ctx context.Context, l arena.Lease, a arena.Answer, deliveries []arena.Delivery, events []arena.Event) ([]arena.Event, error)
	// SaveLastAnswer is like SaveAnswer and marks the match as being judged.
	SaveLastAnswer(ctx context.Context, l arena.Lease, a arena.Answer, deliveries []arena.Delivery, events []arena.Event) ([]arena.Event, error)
	MarkJudging(ctx context.Context, l arena.Lease, round int) error
	OpenVote(ctx context.Context, l arena.Lease, round int, until time.Time, events []arena.Event) ([]arena.Event, error)
	CloseRound(ctx context.Context, l arena.Lease, c arena.RoundClose, events func(hidden []arena.Event) ([]arena.Event, error)) ([]arena.Event, error)
	Settle(ctx context.Context, l arena.Lease, r arena.Result, at time.Time, rate func(map[string]arena.Rating) []arena.RatingChange, last func([]arena.RatingChange) (arena.Event, error)) ([]arena.Event, error)
	VoidMatch(ctx context.Context, l arena.Lease, reason arena.VoidReason, seats []arena.Seat, at time.Time, last arena.Event) ([]arena.Event, error)
}

// Rows are the subjects of the database that an engine works on.
type Rows struct {
	*store.Matches
	*store.Agents
	*store.Ratings
}

// NewRows returns the rows of a database.
func NewRows(s *store.Store) Rows { return Rows{s.Matches, s.Agents, s.Ratings} }

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
// the log of the match whose round caused the pause. PauseIfFailing pauses an
// agent that has failed too many rounds in a row.
type Pauses interface {
	PauseIfFailing(ctx context.Context, agentID string) error
	PauseForRateLimit(ctx context.Context, seat arena.Seat, until time.Time) (arena.Event, error)
}

// Publisher sends committed events to spectators.
type Publisher interface {
	Publish(league string, events ...arena.Event)
}

// DelayedPublisher publishes the events of a delayed match.
type DelayedPublisher interface {
	// Follow publishes the events of m when they become visible, until stop is
	// called. stop publishes the events that are visible by then. Follow does
	// nothing for a match that is not delayed.
	Follow(ctx context.Context, m arena.Match) (stop func(), err error)
}

// Options are the dependencies and limits of an Engine. Those without a default
// are required.
type Options struct {
	Store     Store
	Drivers   map[string]Driver // by protocol
	Tasks     Tasks
	Games     game.Library
	Publisher Publisher
	Delayed   DelayedPublisher
	Pauses    Pauses
	Logger    *slog.Logger
	Now       func() time.Time // with a monotonic reading, as time.Now: it measures the age of leases
	Node      string           // id of this process, unique in the cluster

	Judges Judges // external judges; nil: rounds that need one are void
	Limits
	Hooks
}

// Hooks are functions of the node that an engine calls. Each may be nil.
type Hooks struct {
	Observe func(Observation) // measures; it must not block
	// Flush waits until the events that an agent has sent to this node are in the
	// log, or for a short time at most. Nil: answers do not wait for events.
	Flush func(ctx context.Context, matchID, agentID string)
	// CutOff reports whether the arena was cut off from agents at some time since an
	// attempt without a reply began. It is safe for concurrent use and may take
	// seconds. Nil: it never is.
	CutOff func(ctx context.Context, since time.Time) bool
	// GameFailed pauses a league after the rules of its game failed in a match. Nil:
	// the match is void, and the league goes on.
	GameFailed func(ctx context.Context, league, matchID string, cause error) error
	// WakeOthers notifies other nodes that this one has released a match. It must
	// not block. Nil: they claim the match at their next sweep.
	WakeOthers func()
}

// Limits are the times and numbers of an engine. Zero means the default.
type Limits struct {
	LeaseTTL       time.Duration // default 5 s
	Heartbeat      time.Duration // default 1 s
	Sweep          time.Duration // longest time between two claims; default 1 s
	MaxMatches     int           // that this node plays at once; default 5000
	RateLimitPause time.Duration // after a 429; default 5 min (AAP, "Error codes")
	Grace          time.Duration // for open rounds once Run's context ends; default 30 s
}

// Observation is one measurement for metrics and traces: the outcome of a seat in a
// round, or the end of a match.
type Observation struct {
	MatchID string
	League  string
	Round   int               // of a seat, or 0
	AgentID string            // of a seat, or ""
	Outcome arena.Outcome     // of a seat's round, or ""
	Status  arena.MatchStatus // of a match that ended, or ""
	Start   time.Time         // zero: nothing was sent, or the match never began
	Elapsed time.Duration
}

// MaxInterruptions is the number of interruptions after which a match is void.
// An interruption is a lease that ended because its node crashed or froze while
// it judged the match, which may be the cause. Leases that were released do not
// count, nor do leases that expired while the storage was unavailable.
const MaxInterruptions = 5

// Engine plays the matches of one node.
type Engine struct {
	o    Options
	wake chan struct{}

	// Create may start a match at any time, so both contexts exist from New on.
	drain   context.Context //nolint:containedctx // ends when this node drains
	stop    context.CancelFunc
	matches context.Context //nolint:containedctx // ends when the grace of open rounds is over
	cancel  context.CancelCauseFunc

	mu       sync.Mutex
	runs     map[arena.Lease]*matchRun
	creating map[string]chan struct{} // by the id of a match; closed when its first event is published
	renewal  chan struct{}            // closed at the next renewal
	wg       sync.WaitGroup
	played   []played // lately, in the order of their ends

	outages  atomic.Int64 // times that the storage was found unavailable
	compared atomic.Int64 // outages at the last comparison of logs: see mayHaveLost

	lastTick      atomic.Pointer[time.Time] // of the heartbeat
	unavailableAt atomic.Pointer[time.Time] // when the storage was last unavailable
	leaseEnd      leaseEnd                  // used by the claim loop only
}

// New returns an Engine, which plays only matches that it creates until Run is
// called.
func New(o Options) *Engine {
	defaults(&o.LeaseTTL, arena.MatchLease)
	defaults(&o.Heartbeat, time.Second)
	defaults(&o.Sweep, time.Second)
	defaults(&o.RateLimitPause, 5*time.Minute)
	defaults(&o.Grace, 30*time.Second)
	defaults(&o.MaxMatches, 5000)
	if o.Observe == nil {
		o.Observe = func(Observation) {}
	}
	if o.CutOff == nil {
		o.CutOff = func(context.Context, time.Time) bool { return false }
	}
	if o.GameFailed == nil {
		o.GameFailed = func(context.Context, string, string, error) error { return nil }
	}
	if o.WakeOthers == nil {
		o.WakeOthers = func() {}
	}
	o.Logger = o.Logger.With("component", "engine")
	e := &Engine{
		o: o, wake: make(chan struct{}, 1), runs: map[arena.Lease]*matchRun{}, creating: map[string]chan struct{}{}, renewal: make(chan struct{}),
	}
	e.matches, e.cancel = context.WithCancelCause(context.Background())
	e.drain, e.stop = context.WithCancel(e.matches)
	return e
}

// defaults sets v to d if it has no positive value.
func defaults[T ~int | ~int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Wake makes the engine claim due matches at once. It never blocks.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// claimSoon has due matches claimed at once: by this node, which is the nearest, or
// by the other nodes if this one drains.
func (e *Engine) claimSoon() {
	if e.drain.Err() != nil {
		e.o.WakeOthers()
		return
	}
	e.Wake()
}

// Playing returns the number of matches that this node plays now.
func (e *Engine) Playing() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.runs)
}

// Run claims and plays matches until ctx ends. Then it drains: it claims no
// more matches, and releases each one when its open round has closed. After
// Grace it releases the matches whose rounds are still open. Run returns when
// every match goroutine has ended (threat C8).
func (e *Engine) Run(ctx context.Context) error {
	defer e.cancel(nil)
	context.AfterFunc(ctx, func() {
		e.mu.Lock() // a match that is being created is in wg by now, or is not claimed
		defer e.mu.Unlock()
		e.stop()
	})
	var heartbeats sync.WaitGroup
	heartbeatCtx, stopHeartbeat := context.WithCancel(e.matches)
	e.tick()
	heartbeats.Go(func() { e.heartbeat(heartbeatCtx) })
	e.claimLoop()

	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	grace := time.NewTimer(e.o.Grace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
		e.o.Logger.Warn("grace is over, open rounds are given back", "matches", e.Playing())
		e.cancel(errGraceOver)
		<-done
	}
	stopHeartbeat()
	heartbeats.Wait()
	return nil
}

// claimLoop claims due matches when Wake is called, when the next match starts
// or loses its lease, and at least once per Sweep, until the drain begins.
func (e *Engine) claimLoop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for e.drain.Err() == nil {
		more := e.claim(e.drain)
		if more {
			continue
		}
		timer.Reset(e.untilNextClaim(e.drain))
		select {
		case <-e.drain.Done():
		case <-e.wake:
		case <-timer.C:
		}
	}
}

// claim claims and starts due matches, and reports whether there may be more.
func (e *Engine) claim(ctx context.Context) (more bool) {
	limit := min(e.capacity(), 64)
	if limit <= 0 || e.recovering() || e.mayHaveLost() {
		return false
	}
	asked := e.o.Now()
	claimed, err := e.o.Store.ClaimMatches(ctx, e.o.Node, e.o.LeaseTTL, limit, e.plays)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return false
	case arena.CodeOf(err) == arena.CodeUnavailable:
		e.noteUnavailable()
		e.o.Logger.Warn("storage is unavailable, no match is claimed", "error", err)
		return false
	default:
		e.o.Logger.Error("claim matches", "error", err)
		return false
	}
	for _, m := range claimed {
		e.start(m, asked)
	}
	return len(claimed) == limit
}

// untilNextClaim returns the time until a match may be due, by the clock of the
// database, which decides.
func (e *Engine) untilNextClaim(ctx context.Context) time.Duration {
	wait := e.o.Sweep
	start, err := e.o.Store.UntilStart(ctx)
	if err != nil {
		return wait
	}
	for _, next := range []time.Duration{start, e.untilLeaseEnd(ctx)} {
		if next > 0 {
			wait = min(wait, next)
		}
	}
	return wait
}

// leaseEnd is the time at which the next lease of the cluster expires unless it
// is renewed, as read from the storage at the time asked.
type leaseEnd struct{ at, asked time.Time }

// untilLeaseEnd returns the time until the next lease expires, 0 if there is none, so
// that a match that lost its node is claimed then and not a sweep later. The query reads
// all running matches, so it runs once per sweep.
func (e *Engine) untilLeaseEnd(ctx context.Context) time.Duration {
	now := e.o.Now()
	if now.Sub(e.leaseEnd.asked) >= e.o.Sweep || !now.Before(e.leaseEnd.at) {
		wait, err := e.o.Store.UntilLeaseEnd(ctx)
		if err != nil {
			wait = 0 // the sweep claims the match
		}
		e.leaseEnd = leaseEnd{now.Add(wait), now}
	}
	return e.leaseEnd.at.Sub(now)
}

// start plays one claimed match in its own goroutine. The lease counts from asked.
func (e *Engine) start(m arena.Match, asked time.Time) {
	ctx, cancel := context.WithCancelCause(e.matches)
	mr := &matchRun{
		engine: e, m: m, stored: slices.Clone(m.Seats), cancel: cancel, correct: map[int]string{}, last: map[string]arena.Answer{},
		rand: rand.New(rand.NewPCG(m.Seed, uint64(m.Lease.Epoch))), //nolint:gosec // order of sending, not a secret
		log:  e.o.Logger.With("match_id", m.ID, "league", m.League),
	}
	mr.renewed.Store(&asked)
	mr.published.Store(m.Seq)
	e.mu.Lock()
	e.runs[m.Lease] = mr
	created, creating := e.creating[m.ID]
	e.mu.Unlock()
	// These lines, and those about lost and released leases, show in the logs of
	// all nodes which node relied on which lease, and when.
	lease := m.Lease // so that the goroutine does not keep a second copy of the match
	mr.log.Debug("match claimed", "epoch", lease.Epoch)
	e.wg.Go(func() {
		defer func() {
			mr.log.Debug("match let go", "epoch", lease.Epoch)
			cancel(nil)
			e.mu.Lock()
			delete(e.runs, lease)
			e.remember(mr)
			e.mu.Unlock()
			e.claimSoon() // the match was released, or its agents are free
		}()
		if creating { // its first event may not be published yet
			select {
			case <-created:
			case <-ctx.Done():
			}
		}
		mr.run(ctx)
	})
}
