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
	commits := s.commit.commits.Load()
	if commits-s.forgot.Swap(commits) >= busyCommits || s.d.shrink == "" {
		return nil
	}
	_, err := s.reader.ExecContext(ctx, s.d.shrink)
	return s.wrap(err, "let go of pages")
}
