package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agora-arena/arena/arena"
)

const (
	// maxBatch is the most operations of one transaction. It bounds how long
	// an operation waits for its batch mates.
	maxBatch = 256
	// maxTries is how often an operation that lost against another
	// transaction is run.
	maxTries = 5
)

// operation is one write that waits for its turn. run may be called again
// after a rollback, so it must set, never add to, what it hands out.
type operation struct {
	key   string // of the row that it locks first
	alone bool   // needs a transaction of its own where rows are locked one by one
	step  *step  // what run does, when it can be done together with other steps; else nil
	run   func(context.Context, *transaction) error
	state atomic.Int32
	done  chan error // holds the one outcome
}

const (
	opWaiting int32 = iota
	opStarted
	opAbandoned // its caller went away before it began
)

func (o *operation) start() bool   { return o.state.CompareAndSwap(opWaiting, opStarted) }
func (o *operation) abandon() bool { return o.state.CompareAndSwap(opWaiting, opAbandoned) }

// committer runs write operations. What piled up during the last commit is
// the next batch: under load many operations share one sync to disk, and a
// lone operation waits for nobody.
//
// It has one lane, each with a goroutine and a queue, per transaction that
// may be open at once. Operations on one key stay in one lane, in order.
type committer struct {
	db    *handle
	d     dialect
	steps func(context.Context, *transaction, []*step) error // does steps together
	lanes []*lane
	seed  maphash.Seed
	ended sync.WaitGroup

	operations, commits atomic.Int64
}

type lane struct {
	mu     sync.Mutex
	filled *sync.Cond
	queue  []*operation
	closed bool
}

func newCommitter(db *handle, d dialect, steps func(context.Context, *transaction, []*step) error) *committer {
	c := &committer{db: db, d: d, steps: steps, seed: maphash.MakeSeed()}
	for range d.lanes {
		l := &lane{}
		l.filled = sync.NewCond(&l.mu)
		c.lanes = append(c.lanes, l)
		c.ended.Go(func() {
			for batch := l.next(); batch != nil; batch = l.next() {
				c.commit(batch)
			}
		})
	}
	return c
}

// close lets everything that is queued run, refuses more, and waits.
func (c *committer) close() {
	for _, l := range c.lanes {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		l.filled.Signal()
	}
	c.ended.Wait()
}

// next waits for operations and takes them; nil when the lane is closed and
// empty.
func (l *lane) next() []*operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.filled.Wait()
	}
	n := min(len(l.queue), maxBatch)
	if n == 0 {
		return nil
	}
	batch := slices.Clone(l.queue[:n])
	l.queue = slices.Delete(l.queue, 0, n)
	return batch
}

// do queues an operation and waits for its outcome. When ctx ends before the
// operation began, it never begins; after that its outcome is waited for,
// since it may already count.
func (c *committer) do(ctx context.Context, o *operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.done = make(chan error, 1)
	l := c.lane(o.key)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return unavailable(errors.New("the store is closed"))
	}
	l.queue = append(l.queue, o)
	l.mu.Unlock()
	l.filled.Signal()

	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		if o.abandon() {
			return ctx.Err()
		}
		return <-o.done
	}
}

func (c *committer) lane(key string) *lane {
	return c.lanes[maphash.String(c.seed, key)%uint64(len(c.lanes))]
}

// commit runs a batch. Where rows are locked one by one, keys are taken in
// one order, so that two nodes do not wait for each other: steps, which lock
// all their rows first, then the rest, and operations that hold a lock of the
// whole cluster run by themselves.
func (c *committer) commit(batch []*operation) {
	shared := [][]*operation{batch}
	var alone []*operation
	if c.d.rowLocks {
		var steps, rest []*operation
		for _, o := range batch {
			switch {
			case o.alone:
				alone = append(alone, o)
			case o.step != nil:
				steps = append(steps, o)
			default:
				rest = append(rest, o)
			}
		}
		slices.SortStableFunc(rest, func(a, b *operation) int { return cmp.Compare(a.key, b.key) })
		shared = [][]*operation{steps, rest}
	}
	for _, batch := range shared {
		if len(batch) == 1 {
			alone = append(alone, batch[0])
		} else if len(batch) > 1 {
			for _, o := range c.together(started(units(batch))) {
				c.single(o)
			}
		}
	}
	for _, o := range alone {
		if o.start() {
			c.single(o)
		}
	}
}

// unit is one operation, or some steps that run as one.
type unit []*operation

// units puts steps that may run together into one unit, in their order.
func units(batch []*operation) []unit {
	var made []unit
	together := -1              // index of the unit that takes more steps
	var matches map[string]bool // of its steps, and whether one wants to be the only one
	for _, o := range batch {
		switch {
		case o.step == nil:
			made = append(made, unit{o})
		case together >= 0 && o.step.fits(matches):
			made[together] = append(made[together], o)
			matches[o.key] = o.step.alone()
		default:
			together, matches = len(made), map[string]bool{o.key: o.step.alone()}
			made = append(made, unit{o})
		}
	}
	return made
}

// started starts the operations whose callers have not gone away, and gives
// the units without the others.
func started(units []unit) []unit {
	for i := range units {
		units[i] = slices.DeleteFunc(units[i], func(o *operation) bool { return !o.start() })
	}
	return slices.DeleteFunc(units, func(u unit) bool { return len(u) == 0 })
}

// runUnit runs the operations of a unit. A panic in a caller's function is a
// failure of the unit, not of its batch mates and not of the process.
func (c *committer) runUnit(ctx context.Context, tx *transaction, u unit) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic inside a write: %v\n%s", p, debug.Stack())
		}
	}()
	if len(u) == 1 {
		return u[0].run(ctx, tx)
	}
	steps := make([]*step, len(u))
	for i, o := range u {
		steps[i] = o.step
	}
	return c.steps(ctx, tx, steps)
}

// together runs units, which have started, in one transaction. One that fails
// is undone and only its callers hear of it; when it is of several steps, each
// of them runs by itself instead. It returns the operations that are to be run
// again by themselves, such as those that lost against another transaction.
//
// Mostly nothing fails, so the units run one after the other at first. When
// one fails that may have written, all are undone and run again, each in a
// savepoint: what a savepoint would put back is a copy of every page that is
// written to.
func (c *committer) together(units []unit) (again []*operation) {
	if len(units) == 0 {
		return nil
	}
	again, undone := c.attempt(units, c.plainly)
	if undone {
		again, _ = c.attempt(units, c.inSavepoint)
	}
	return again
}

// attempt runs units in one transaction. undone means that nothing is stored
// and nobody has heard anything.
func (c *committer) attempt(units []unit, run func(context.Context, *transaction, unit) (failed, broken error)) (again []*operation, undone bool) {
	ctx, cancel := c.transactionContext()
	defer cancel()
	tx, err := c.db.begin(ctx, nil)
	if err != nil {
		tell(slices.Concat(units...), unavailable(err))
		return nil, false
	}
	var ran []*operation
	var outcomes []error
	for _, u := range units {
		failed, broken := run(ctx, tx, u)
		if broken != nil {
			_ = tx.Rollback()
			switch wrote := errors.Is(broken, errWrote) && ctx.Err() == nil && !c.d.is(broken, faultUnavailable); {
			case wrote && len(units) == 1:
				return u, false
			case wrote:
				return nil, true
			}
			tell(slices.Concat(units...), unavailable(broken))
			return nil, false
		}
		if c.d.is(failed, faultRetry) || failed != nil && len(u) > 1 {
			again = append(again, u...)
			continue
		}
		for _, o := range u {
			ran = append(ran, o)
			if len(u) > 1 {
				failed = o.step.err
			}
			outcomes = append(outcomes, failed)
		}
	}
	// Outcomes are told after the commit, failures too: what made one
	// operation fail may be the uncommitted work of another.
	err = tx.Commit()
	c.count(len(ran), err)
	for i, o := range ran {
		if err != nil {
			o.done <- unavailable(err)
		} else {
			o.done <- outcomes[i]
		}
	}
	return again, false
}

// errWrote is in the chain of an error of a unit that cannot be undone by
// itself.
var errWrote = errors.New("a write failed among others")

// plainly runs one unit of a batch without a savepoint. An operation that is
// refused before it wrote anything has failed, and nothing is to be undone.
func (c *committer) plainly(ctx context.Context, tx *transaction, u unit) (failed, broken error) {
	before := tx.writes
	err := c.runUnit(ctx, tx, u)
	var known *arena.Error
	switch {
	case err == nil:
		return nil, nil
	case len(u) == 1 && tx.writes == before && errors.As(err, &known) && known.Code != arena.CodeUnavailable:
		return err, nil
	}
	return nil, fmt.Errorf("%w: %w", errWrote, err)
}

// inSavepoint runs one unit of a batch. broken means that the transaction
// itself cannot go on.
func (c *committer) inSavepoint(ctx context.Context, tx *transaction, u unit) (failed, broken error) {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT operation"); err != nil {
		return nil, err
	}
	if failed = c.runUnit(ctx, tx, u); failed != nil {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT operation"); err != nil {
			return nil, errors.Join(failed, err)
		}
	}
	if _, err := tx.ExecContext(ctx, "RELEASE SAVEPOINT operation"); err != nil {
		return nil, err
	}
	return failed, nil
}

// single runs one started operation in its own transaction, again when it
// lost against another one.
func (c *committer) single(o *operation) {
	var err error
	for range maxTries {
		if err = c.transact(o); !c.d.is(err, faultRetry) {
			break
		}
	}
	o.done <- c.d.explain(err)
}

func (c *committer) transact(o *operation) error {
	ctx, cancel := c.transactionContext()
	defer cancel()
	tx, err := c.db.begin(ctx, nil)
	if err != nil {
		return unavailable(err)
	}
	if err := c.runUnit(ctx, tx, unit{o}); err != nil {
		_ = tx.Rollback()
		if ctx.Err() != nil { // our patience, not the caller's
			return unavailable(err)
		}
		return err
	}
	err = tx.Commit()
	c.count(1, err)
	if err != nil && !c.d.is(err, faultRetry) {
		return unavailable(err)
	}
	return err
}

// transactionContext is not a caller's: a caller that goes away must not undo
// the work of its batch mates.
func (c *committer) transactionContext() (context.Context, context.CancelFunc) {
	if c.d.patience == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), c.d.patience)
}

func (c *committer) count(operations int, err error) {
	if err == nil {
		c.commits.Add(1)
		c.operations.Add(int64(operations))
	}
}

func tell(operations []*operation, err error) {
	for _, o := range operations {
		o.done <- err
	}
}
