package store

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// Shown gives a match that was just read as spectators see it now: as it is,
// unless it is delayed, else as it stood when its log ended with the last event
// that is old enough (rulebook, section 5).
func (s *Store) Shown(ctx context.Context, m arena.Match) (arena.Match, error) {
	if m.Delay() == 0 {
		return m, nil
	}
	last, err := s.lastShown(ctx, m)
	if err != nil {
		return m, s.wrap(err, "read what is shown of match %s", m.ID)
	}
	events, err := eventTable.All(ctx, s.reader, ` WHERE e.match_id = $1 AND e.seq <= $2 AND e.type IN ($3, $4, $5) ORDER BY e.seq`, m.ID, last,
		string(arena.EventAgentLeft), string(arena.EventRoundStarted), string(arena.EventRoundClosed))
	if err != nil {
		return m, s.wrap(err, "read what is shown of match %s", m.ID)
	}
	return m.AsOf(last, events)
}

// ShownAfter is EventsAfter for spectators: of a delayed match that runs it
// gives the events that are old enough.
func (s *Store) ShownAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error) {
	m, err := s.Match(ctx, matchID)
	if err != nil {
		return nil, err
	}
	if m.Delay() > 0 {
		last, err := s.lastShown(ctx, m)
		if err != nil {
			return nil, s.wrap(err, "read what is shown of match %s", m.ID)
		}
		if limit = int(min(int64(limit), last-since)); limit <= 0 {
			return nil, nil
		}
	}
	return s.EventsAfter(ctx, matchID, since, limit)
}

// lastShown is the seq of the last event that spectators of a delayed match
// see. That it was scheduled is no secret; of an open round they see the task
// alone, however long it takes (rulebook, section 5).
func (s *Store) lastShown(ctx context.Context, m arena.Match) (int64, error) {
	open := -1
	if m.RoundOpen {
		open = m.Round
	}
	// What was appended since m was read is younger than any delay.
	return db.One(ctx, s.reader, db.ScanInt, `SELECT COALESCE(min(seq) - 1, $2) FROM events WHERE match_id = $1 AND seq > 1
		AND (at > $3 OR round = $4 AND type <> $5)`, m.ID, m.Seq, db.Millis(s.now().Add(-m.Delay())), open, string(arena.EventRoundStarted))
}
