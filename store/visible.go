package store

import (
	"context"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// FirstEventSince returns the seq of the first event of a running match, not
// counting match_scheduled, that is later than at or belongs to the open round
// without being its round_started; 0 if there is none. An open of 0 means that
// no round is open.
func (s *Store) FirstEventSince(ctx context.Context, matchID string, at time.Time, open int) (int64, error) {
	first, err := one(ctx, s.reader, scanInt, `SELECT COALESCE(min(seq), 0) FROM events WHERE match_id = $1 AND seq > 1
		AND (at > $2 OR round > 0 AND round = $3 AND type <> $4)`, matchID, ms(at), open, string(arena.EventRoundStarted))
	return first, s.wrap(err, "find the first event of match %s since %s", matchID, at.Format(arena.TimeFormat))
}

// EventsOfTypes returns the events of a running match up to a seq that have one
// of the types, in the order of seq.
func (s *Store) EventsOfTypes(ctx context.Context, matchID string, upTo int64, types ...arena.EventType) ([]arena.Event, error) {
	if len(types) == 0 {
		return nil, nil
	}
	var c clauses
	c.arg(matchID) // of eventRows
	c.and("seq <= ?", upTo)
	in(&c, "type", types)
	events, err := all(ctx, s.reader, scanEvent, eventRows+" AND "+strings.Join(c.conditions, " AND ")+" ORDER BY seq", c.args...)
	return events, s.wrap(err, "read events of match %s by type", matchID)
}
