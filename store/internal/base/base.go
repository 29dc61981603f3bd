package base

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// Queue commits one write. Key names the row that the write locks first. Alone
// reports whether it needs a transaction of its own.
type Queue func(ctx context.Context, key string, alone bool, run func(context.Context, *db.Tx) error) error

// Base runs the operations of a group of rows.
type Base struct {
	Reader  *db.Handle // several connections that cannot write
	Dialect db.Dialect
	Now     func() time.Time

	queue               Queue
	unavailable, failed atomic.Int64 // operations
	failedAt            atomic.Int64 // when the last of them ended, Unix nanoseconds; 0 never
}

// New returns a Base of an open database, whose writes go to queue.
func New(d *db.DB, now func() time.Time, queue Queue) *Base {
	return &Base{Reader: d.Reader, Dialect: d.Dialect, Now: now, queue: queue}
}

// Write queues run and waits for its outcome. Key names the row that it locks
// first. Run may be called again after a rollback.
func (b *Base) Write(ctx context.Context, key string, run func(context.Context, *db.Tx) error) error {
	return b.queue(ctx, key, false, run)
}

// WriteAlone is Write for operations that hold a lock of the whole cluster or
// take long.
func (b *Base) WriteAlone(ctx context.Context, key string, run func(context.Context, *db.Tx) error) error {
	return b.queue(ctx, key, true, run)
}

// View runs read inside one transaction whose statements see one state.
func (b *Base) View(ctx context.Context, read func(q db.Querier) error) error {
	tx, err := b.Reader.Begin(ctx, b.Dialect.Snapshot)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to keep
	return read(tx)
}

// Wrap adds the failed operation to an error, replaces a driver's error by the
// domain's, and counts it. It returns nil for nil.
func (b *Base) Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	err = b.Dialect.Explain(err)
	switch code := arena.CodeOf(err); {
	case code == arena.CodeUnavailable:
		b.unavailable.Add(1)
		b.failedAt.Store(b.Now().UnixNano())
	case code == arena.CodeInternal && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		b.failed.Add(1)
		b.failedAt.Store(b.Now().UnixNano())
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// Errors returns how many operations failed because the storage was unavailable,
// and how many through another fault, since New, and when the last of them ended.
// That is zero before the first.
func (b *Base) Errors() (unavailable, failed int64, lastAt time.Time) {
	if at := b.failedAt.Load(); at != 0 {
		lastAt = time.Unix(0, at)
	}
	return b.unavailable.Load(), b.failed.Load(), lastAt
}
