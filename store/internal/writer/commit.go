package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// commit runs queued writes. Where the engine locks rows one by one, keys are
// locked in one order, so that two nodes do not wait for each other: combined
// writes first, which lock all their rows at once, then the others. Writes that
// hold a lock of the whole cluster run by themselves.
func (p *Pool[C]) commit(writes []*queued[C]) {
	shared := [][]*queued[C]{writes}
	var alone []*queued[C]
	if p.d.RowLocks {
		var combined, rest []*queued[C]
		for _, q := range writes {
			switch {
			case q.Alone:
				alone = append(alone, q)
			case q.combines():
				combined = append(combined, q)
			default:
				rest = append(rest, q)
			}
		}
		slices.SortStableFunc(rest, func(a, b *queued[C]) int { return cmp.Compare(a.Key, b.Key) })
		shared = [][]*queued[C]{combined, rest}
	}
	for _, writes := range shared {
		if len(writes) == 1 {
			alone = append(alone, writes[0])
		} else if len(writes) > 1 {
			for _, q := range p.share(started(batches(writes))) {
				p.single(q)
			}
		}
	}
	for _, q := range alone {
		if q.start() {
			p.single(q)
		}
	}
}

// batch is one write, or several that run combined.
type batch[C Combined] []*queued[C]

// batches groups the writes that can run combined, in their order.
func batches[C Combined](writes []*queued[C]) []batch[C] {
	var made []batch[C]
	open := -1               // index of the batch that takes more combined writes
	var keys map[string]bool // of that batch, and whether a write with the key is exclusive
	for _, q := range writes {
		if !q.combines() {
			made = append(made, batch[C]{q})
			continue
		}
		exclusive, known := keys[q.Key]
		if open >= 0 && (!known || !exclusive && !q.Combined.Exclusive()) {
			made[open] = append(made[open], q)
		} else {
			open, keys = len(made), map[string]bool{}
			made = append(made, batch[C]{q})
		}
		keys[q.Key] = q.Combined.Exclusive()
	}
	return made
}

// started starts the writes that were not abandoned and drops the others.
func started[C Combined](made []batch[C]) []batch[C] {
	for i := range made {
		made[i] = slices.DeleteFunc(made[i], func(q *queued[C]) bool { return !q.start() })
	}
	return slices.DeleteFunc(made, func(b batch[C]) bool { return len(b) == 0 })
}

// runBatch runs the writes of a batch. A panic in a caller's function is a
// failure of the batch. The other batches and the process continue.
func (p *Pool[C]) runBatch(ctx context.Context, tx *db.Tx, b batch[C]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic inside a write: %v\n%s", p, debug.Stack())
		}
	}()
	if len(b) == 1 {
		return b[0].Run(ctx, tx)
	}
	combined := make([]C, len(b))
	for i, q := range b {
		combined[i] = q.Combined
	}
	return p.runCombined(ctx, tx, combined)
}

// share runs started batches in one transaction. A batch that fails is undone,
// and only its callers get the error; a batch of several writes is split, and
// each of them runs by itself. share returns the writes that must run again by
// themselves, such as those that lost against another transaction.
//
// Failures are rare, so the batches first run one after the other. When a batch
// fails that may have written, all are undone and run again, each in a
// savepoint: undoing a savepoint needs a copy of every page that it wrote to.
func (p *Pool[C]) share(made []batch[C]) (again []*queued[C]) {
	if len(made) == 0 {
		return nil
	}
	again, undone := p.attempt(made, p.withoutSavepoint)
	if undone {
		again, _ = p.attempt(made, p.inSavepoint)
	}
	return again
}

// attempt runs batches in one transaction. undone means that nothing is stored
// and no caller has an outcome.
func (p *Pool[C]) attempt(made []batch[C], run func(context.Context, *db.Tx, batch[C]) (failed, broken error)) (again []*queued[C], undone bool) {
	ctx, cancel := p.transactionContext(0)
	defer cancel()
	tx, err := p.handle.Begin(ctx, nil)
	if err != nil {
		failAll(made, db.Unavailable(err))
		return nil, false
	}
	var ran []*queued[C]
	var outcomes []error
	for _, b := range made {
		failed, broken := run(ctx, tx, b)
		if broken != nil {
			_ = tx.Rollback()
			switch wrote := errors.Is(broken, errWrote) && ctx.Err() == nil && !p.d.Is(broken, db.FaultUnavailable); {
			case wrote && len(made) == 1:
				return b, false
			case wrote:
				return nil, true
			}
			failAll(made, db.Unavailable(broken))
			return nil, false
		}
		if p.d.Is(failed, db.FaultRetry) || failed != nil && len(b) > 1 {
			again = append(again, b...)
			continue
		}
		for _, q := range b {
			ran = append(ran, q)
			if len(b) > 1 {
				failed = q.Combined.Outcome()
			}
			outcomes = append(outcomes, failed)
		}
	}
	// Callers get their outcomes after the commit, failures too: the cause of a
	// failure may be the uncommitted work of another write.
	err = tx.Commit()
	p.count(len(ran), err)
	for i, q := range ran {
		if err != nil {
			q.done <- db.Unavailable(err)
		} else {
			q.done <- outcomes[i]
		}
	}
	return again, false
}

// errWrote marks the error of a batch that cannot be undone by itself.
var errWrote = errors.New("a write failed among others")

// withoutSavepoint runs one of several batches. A write that is rejected before
// it wrote anything has failed, and nothing must be undone.
func (p *Pool[C]) withoutSavepoint(ctx context.Context, tx *db.Tx, b batch[C]) (failed, broken error) {
	before := tx.Writes()
	err := p.runBatch(ctx, tx, b)
	var known *arena.Error
	switch {
	case err == nil:
		return nil, nil
	case len(b) == 1 && tx.Writes() == before && errors.As(err, &known) && known.Code != arena.CodeUnavailable:
		return err, nil
	}
	return nil, fmt.Errorf("%w: %w", errWrote, err)
}

// inSavepoint runs one of several batches. broken means that the transaction
// itself cannot continue.
func (p *Pool[C]) inSavepoint(ctx context.Context, tx *db.Tx, b batch[C]) (failed, broken error) {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT batch"); err != nil {
		return nil, err
	}
	if failed = p.runBatch(ctx, tx, b); failed != nil {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT batch"); err != nil {
			return nil, errors.Join(failed, err)
		}
	}
	if _, err := tx.ExecContext(ctx, "RELEASE SAVEPOINT batch"); err != nil {
		return nil, err
	}
	return failed, nil
}

// single runs one started write in its own transaction, and again when it lost
// against another one.
func (p *Pool[C]) single(q *queued[C]) {
	var err error
	for range maxTries {
		if err = p.transact(q); !p.d.Is(err, db.FaultRetry) {
			break
		}
	}
	q.done <- p.d.Explain(err)
}

func (p *Pool[C]) transact(q *queued[C]) error {
	ctx, cancel := p.transactionContext(q.Timeout)
	defer cancel()
	tx, err := p.handle.Begin(ctx, nil)
	if err != nil {
		return db.Unavailable(err)
	}
	if err := p.runBatch(ctx, tx, batch[C]{q}); err != nil {
		_ = tx.Rollback()
		if ctx.Err() != nil { // the transaction's timeout, not the caller's
			return db.Unavailable(err)
		}
		return err
	}
	err = tx.Commit()
	p.count(1, err)
	if err != nil && !p.d.Is(err, db.FaultRetry) {
		return db.Unavailable(err)
	}
	return err
}

// transactionContext returns a context that is independent of the callers': a
// caller that gives up must not undo the writes of others.
func (p *Pool[C]) transactionContext(timeout time.Duration) (context.Context, context.CancelFunc) {
	if p.d.Timeout == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), cmp.Or(timeout, p.d.Timeout))
}

func (p *Pool[C]) count(writes int, err error) {
	if err == nil {
		p.commits.Add(1)
		p.writes.Add(int64(writes))
	}
}

func failAll[C Combined](made []batch[C], err error) {
	for _, b := range made {
		for _, q := range b {
			q.done <- err
		}
	}
}
