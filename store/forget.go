package store

import "context"

// busyCommits is how many transactions a store that is used commits between
// two calls of Forget. The timetable alone makes a tenth of it.
const busyCommits = 1_000

// Forget lets go of what is kept for the next reader and not worth its memory:
// decoded logs that nobody has read for two minutes and, when little was
// written since the last call, SQLite's pages. It is for every half minute.
func (s *Store) Forget(ctx context.Context) error {
	s.archives.dropIdle()
	_, commits := s.commit.Stats()
	if commits-s.forgot.Swap(commits) >= busyCommits || s.d.Shrink == "" {
		return nil
	}
	_, err := s.reader.ExecContext(ctx, s.d.Shrink)
	return s.wrap(err, "let go of pages")
}

// PageBytes gives the bytes of the pages that connections to SQLite keep; 0 on
// another engine. It waits until each connection is free.
func (s *Store) PageBytes(ctx context.Context) (int, error) {
	if s.d.Shrink == "" {
		return 0, nil
	}
	written, err := s.writer.PageBytes(ctx)
	if err != nil {
		return 0, s.wrap(err, "count pages")
	}
	read, err := s.reader.PageBytes(ctx)
	return written + read, s.wrap(err, "count pages")
}
