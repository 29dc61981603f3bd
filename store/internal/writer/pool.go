package writer

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/store/internal/db"
)

const (
	// maxWrites is the most writes of one transaction. It bounds how long a
	// write waits for the others.
	maxWrites = 256
	// maxTries is how often the pool runs a write that lost against another
	// transaction.
	maxTries = 5
)

// Write is a write to be committed.
type Write[C Combined] struct {
	// Key names the row that the write locks first. Writes with one key run in
	// the order in which they were queued.
	Key string
	// Alone reports whether the write needs a transaction of its own where the
	// engine locks rows one by one.
	Alone bool
	// First reports whether the write overtakes those that wait. It then waits only
	// for the transaction that has begun.
	First bool
	// Timeout bounds the transaction of a write that is Alone; 0: as for all others.
	Timeout time.Duration
	// Run runs the write. It may be called again after a rollback, so it must
	// set its results, never add to them.
	Run func(context.Context, *db.Tx) error
	// Combined, unless it is the zero value, is the write for RunCombined to run
	// together with others; Run then runs it by itself.
	Combined C
}

// Combined is a write that can run together with others, with statements that
// serve all of them.
type Combined interface {
	comparable
	// Exclusive reports whether no other combined write with the same key may
	// run together with this one.
	Exclusive() bool
	// Outcome returns the write's own error after it ran together with others.
	Outcome() error
}

// Pool commits writes.
type Pool[C Combined] struct {
	handle      *db.Handle
	d           db.Dialect
	runCombined func(context.Context, *db.Tx, []C) error
	shards      []*shard[C]
	seed        maphash.Seed
	ended       sync.WaitGroup

	writes, commits atomic.Int64
}

// New returns a running pool. Close ends it. runCombined runs combined writes in
// one transaction. An error undoes all of them; the pool then runs each by itself.
func New[C Combined](handle *db.Handle, d db.Dialect, runCombined func(context.Context, *db.Tx, []C) error) *Pool[C] {
	p := &Pool[C]{handle: handle, d: d, runCombined: runCombined, seed: maphash.MakeSeed()}
	for range d.Writers {
		s := &shard[C]{}
		s.filled = sync.NewCond(&s.mu)
		p.shards = append(p.shards, s)
		p.ended.Go(func() {
			for queued := s.next(); queued != nil; queued = s.next() {
				p.commit(queued)
			}
		})
	}
	return p
}

// Close commits the queued writes, rejects new ones, and returns when all are
// done.
func (p *Pool[C]) Close() {
	for _, s := range p.shards {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.filled.Signal()
	}
	p.ended.Wait()
}

// Stats returns the number of committed writes and of the transactions that
// they took.
func (p *Pool[C]) Stats() (writes, commits int64) { return p.writes.Load(), p.commits.Load() }

// Queued returns the number of writes that wait.
func (p *Pool[C]) Queued() int {
	n := 0
	for _, s := range p.shards {
		s.mu.Lock()
		n += len(s.queue)
		s.mu.Unlock()
	}
	return n
}

// Shard returns the number of the shard of a key.
func (p *Pool[C]) Shard(key string) int {
	return int(maphash.String(p.seed, key) % uint64(len(p.shards))) //nolint:gosec // less than the number of shards
}

// Do queues a write and returns its outcome. When ctx ends before the write has
// begun, it never begins. After that Do waits for the outcome, since the write
// may already be stored.
func (p *Pool[C]) Do(ctx context.Context, w Write[C]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := &queued[C]{Write: w, done: make(chan error, 1)}
	s := p.shards[p.Shard(w.Key)]
	if !s.add(q) {
		return db.Unavailable(errors.New("the store is closed"))
	}
	select {
	case err := <-q.done:
		return err
	case <-ctx.Done():
		if q.abandon() {
			return ctx.Err()
		}
		return <-q.done
	}
}

// queued is a write in a queue.
type queued[C Combined] struct {
	Write[C]

	state atomic.Int32
	done  chan error // holds the one outcome
}

// combines reports whether the write can run together with others.
func (q *queued[C]) combines() bool {
	var none C
	return q.Combined != none
}

const (
	stateWaiting int32 = iota
	stateStarted
	stateAbandoned // its context ended before it began
)

func (q *queued[C]) start() bool   { return q.state.CompareAndSwap(stateWaiting, stateStarted) }
func (q *queued[C]) abandon() bool { return q.state.CompareAndSwap(stateWaiting, stateAbandoned) }

// shard is a queue of writes.
type shard[C Combined] struct {
	mu     sync.Mutex
	filled *sync.Cond
	queue  []*queued[C]
	closed bool
}

// add reports whether the shard accepts the write.
func (s *shard[C]) add(q *queued[C]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	at := len(s.queue)
	if q.First {
		at = s.first()
	}
	s.queue = slices.Insert(s.queue, at, q)
	s.filled.Signal()
	return true
}

// first returns the number of writes at the head of the queue that overtook others,
// under mu.
func (s *shard[C]) first() int {
	n := slices.IndexFunc(s.queue, func(q *queued[C]) bool { return !q.First })
	if n < 0 {
		return len(s.queue)
	}
	return n
}

// next waits for writes and removes them from the queue. It returns nil when
// the shard is closed and empty.
func (s *shard[C]) next() []*queued[C] {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closed {
		s.filled.Wait()
	}
	n := s.first() // by themselves
	if n == 0 {
		n = min(len(s.queue), maxWrites)
	}
	if n == 0 {
		return nil
	}
	taken := slices.Clone(s.queue[:n])
	s.queue = slices.Delete(s.queue, 0, n)
	return taken
}
