package store

import (
	"context"
	"database/sql"
)

// Write queues any operation, for tests of the committer.
func (s *Store) Write(ctx context.Context, key string, run func(context.Context, *sql.Tx) error) error {
	return s.write(ctx, key, run)
}

// Queued gives the number of operations that wait.
func (s *Store) Queued() int {
	n := 0
	for _, l := range s.commit.lanes {
		l.mu.Lock()
		n += len(l.queue)
		l.mu.Unlock()
	}
	return n
}

// Writer gives the writing handle.
func (s *Store) Writer() *sql.DB { return s.writer }

// Reader gives the reading handle.
func (s *Store) Reader() *sql.DB { return s.reader }

// WriteInLane is Write with a key that belongs to lane n.
func (s *Store) WriteInLane(ctx context.Context, n int, run func(context.Context, *sql.Tx) error) error {
	key := ""
	for s.commit.lane(key) != s.commit.lanes[n] {
		key += "x"
	}
	return s.write(ctx, key, run)
}
