package store

import (
	"context"

	"modernc.org/sqlite"
)

// busyCommits is how many transactions a store that is used commits between
// two calls of Forget. The timetable alone makes a tenth of it.
const busyCommits = 1_000

// Forget lets go of what is kept for the next reader and not worth its memory:
// decoded logs that nobody has read for two minutes and, when little was
// written since the last call, SQLite's pages. It is for every half minute.
func (s *Store) Forget(ctx context.Context) error {
	s.archives.dropIdle()
	commits := s.commit.commits.Load()
	if commits-s.forgot.Swap(commits) >= busyCommits || s.d.shrink == "" {
		return nil
	}
	_, err := s.reader.ExecContext(ctx, s.d.shrink)
	return s.wrap(err, "let go of pages")
}

// PageBytes gives the bytes of the pages that connections to SQLite keep; 0 on
// another engine. It waits until each connection is free.
func (s *Store) PageBytes(ctx context.Context) (int, error) {
	if s.d.shrink == "" {
		return 0, nil
	}
	written, err := s.writer.pageBytes(ctx)
	if err != nil {
		return 0, s.wrap(err, "count pages")
	}
	read, err := s.reader.pageBytes(ctx)
	return written + read, s.wrap(err, "count pages")
}

func (h *handle) pageBytes(ctx context.Context) (sum int, err error) {
	for range max(1, h.Stats().OpenConnections) {
		c, err := h.Conn(ctx)
		if err != nil {
			return 0, err
		}
		defer c.Close() //nolint:errcheck // goes back; not before the end, or the next one would be the same
		if err := c.Raw(func(conn any) error {
			bytes, _, err := conn.(sqlite.DBStatus).Status(sqlite.DBStatusCacheUsed, false)
			sum += bytes
			return err
		}); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
