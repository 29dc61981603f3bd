package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// appendEvents appends events to a match's log, with its next numbers. The caller has locked the match's row or made it, so the numbers
// commit with everything else or not at all. What comes back may be shown:
// it has no hidden part.
func (s *Store) appendEvents(ctx context.Context, tx *db.Tx, matchID string, events ...arena.Event) ([]arena.Event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	last, err := db.One(ctx, tx, db.ScanInt, `UPDATE matches SET seq = seq + $1 WHERE id = $2 RETURNING seq`, len(events), matchID)
	if err != nil {
		return nil, err
	}
	return insertEvents(ctx, tx, matchID, last, events...)
}

// eventTable does not read the hidden part: see hiddenEventTable.
var eventTable = db.NewTable("events", "e",
	db.Text("match_id", func(e *arena.Event) *string { return &e.MatchID }),
	db.Int("seq", func(e *arena.Event) *int64 { return &e.Seq }),
	db.Int("round", func(e *arena.Event) *int { return &e.Round }),
	db.Text("agent_id", func(e *arena.Event) *string { return &e.AgentID }),
	db.Time("at", func(e *arena.Event) *time.Time { return &e.At }),
	db.Text("type", func(e *arena.Event) *arena.EventType { return &e.Type }),
	db.RawJSON("body", func(e *arena.Event) *json.RawMessage { return &e.Body }),
	db.Written("hidden", db.TypeText, func(e *arena.Event) any { return string(e.Hidden) }),
)

var insertEventRows = db.NewInsert(eventTable, "")

// insertEvents stores the events of a match, the last of which has number last,
// and returns them without their hidden parts.
func insertEvents(ctx context.Context, tx *db.Tx, matchID string, last int64, events ...arena.Event) ([]arena.Event, error) {
	stored := numbered(matchID, last, events)
	rows := slices.Clone(stored)
	addHidden(rows, events)
	_, err := insertEventRows.Exec(ctx, tx, rows...)
	return stored, err
}

// addHidden adds the hidden parts of events to their rows.
func addHidden(rows, events []arena.Event) {
	for i := range rows {
		rows[i].Hidden = events[i].Hidden
	}
}

// numbered returns the events of a match, whose last one has number last, as
// they may be shown: without their hidden parts.
func numbered(matchID string, last int64, events []arena.Event) []arena.Event {
	stored := make([]arena.Event, len(events))
	for i, e := range events {
		e.MatchID, e.Seq, e.At, e.Hidden = matchID, last-int64(len(events)-1-i), db.FromMillis(db.Millis(e.At)), nil
		stored[i] = e
	}
	return stored
}

// EventsAfter returns a match's events after number since, at most limit, in
// order and without hidden parts; none for a match that does not exist or
// whose log was dropped. Callers must not change their bodies.
func (s *Store) EventsAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	events, err := s.rowsAfter(ctx, matchID, since, limit)
	if err == nil && len(events) == 0 { // in this order: a log goes from rows to archive, never back
		events, err = s.archivedAfter(ctx, matchID, since, limit)
	}
	return events, s.wrap(err, "read events of match %s", matchID)
}

// rowsAfter is EventsAfter for a log that is not packed.
func (s *Store) rowsAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error) {
	return eventTable.All(ctx, s.reader, ` WHERE e.match_id = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3`, matchID, since, limit)
}

// AppendEvents appends an agent's reports to its match's log, under the open
// round. round_closed: the match is not running, no round is open, or the
// agent's seat is not active (threat E5).
func (s *Store) AppendEvents(ctx context.Context, matchID, agentID string, events []arena.Event) ([]arena.Event, error) {
	var stored []arena.Event
	err := s.write(ctx, matchID, func(ctx context.Context, tx *db.Tx) error {
		// The lock comes first, alone: only a later statement is sure to see
		// the seat as it is after whoever held the row before.
		round, err := db.One(ctx, tx, db.ScanInt, `SELECT m.round FROM matches m WHERE m.id = $1 AND m.status = 'running'
			AND m.round_open = 1`+s.d.Lock("m"), matchID)
		if err == nil {
			_, err = db.One(ctx, tx, db.ScanInt, `SELECT 1 FROM seats WHERE match_id = $1 AND agent_id = $2 AND playing = 1`,
				matchID, agentID)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return arena.Errorf(arena.CodeRoundClosed, "no round of match %q is open for agent %q", matchID, agentID)
		}
		if err != nil {
			return err
		}
		own := make([]arena.Event, len(events))
		for i, e := range events {
			e.AgentID, e.Round = agentID, int(round)
			own[i] = e
		}
		stored, err = s.appendEvents(ctx, tx, matchID, own...)
		return err
	})
	return stored, s.wrap(err, "append events of agent %s to match %s", agentID, matchID)
}

// Shown returns a match that was just read as spectators see it now: as it is,
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
