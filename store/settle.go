package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
	"github.com/agora-arena/arena/store/results"
)

// Settle ends a match that was played, in one transaction: seats, state,
// ratings, settlement, drift, outcomes, games, encounters, last event (threat C1). When r.Rated, rate receives
// the ratings of all its agents and returns the changes; without any, no
// rating changes and nothing is settled. last makes the final event from them.
// Both run inside the transaction, perhaps more than once. A second call for
// the same match returns (nil, nil) and changes nothing.
func (s *Matches) Settle(ctx context.Context, l arena.Lease, r arena.Result, at time.Time,
	rate func(map[string]arena.Rating) []arena.RatingChange, last func([]arena.RatingChange) (arena.Event, error),
) ([]arena.Event, error) {
	at = db.FromMillis(db.Millis(at))
	var stored []arena.Event
	// Alone: it holds the settlements' counter until it commits.
	err := s.writeAlone(ctx, l.MatchID, func(ctx context.Context, tx *db.Tx) error {
		stored = nil
		settled, err := s.endedAs(ctx, tx, l, arena.MatchFinished)
		if err != nil || settled {
			return err
		}
		f, err := s.fence(ctx, tx, l)
		if err != nil {
			return err
		}
		var changes []arena.RatingChange
		if r.Rated {
			m := settlementSource{matchID: l.MatchID, league: f.league, at: at, seats: r.Seats}
			if changes, err = s.ratings.rate(ctx, tx, m, rate); err != nil {
				return err
			}
		}
		if err := updateSeats(ctx, tx, endSeats, ratedRows(l.MatchID, r.Seats, changes)...); err != nil {
			return err
		}
		e, err := last(changes)
		if err != nil {
			return err
		}
		if stored, err = s.appendEvents(ctx, tx, l.MatchID, e); err != nil {
			return err
		}
		if err := endMatch(ctx, tx, l.MatchID, arena.MatchFinished, arena.VoidReason{}, at); err != nil {
			return err
		}
		if err := results.Add(ctx, tx, f.league, r.Games); err != nil {
			return err
		}
		return addEncounters(ctx, tx, l.MatchID)
	})
	return stored, s.wrap(err, "settle match %s", l.MatchID)
}

// endedAs locks the match's row and reports whether this lease, the current
// one, has ended the match this way.
func (s *Matches) endedAs(ctx context.Context, tx *db.Tx, l arena.Lease, end arena.MatchStatus) (bool, error) {
	status, err := db.One(ctx, tx, db.ScanText, `SELECT m.status FROM matches m WHERE m.id = $1 AND m.epoch = $2`+s.d.Lock("m"),
		l.MatchID, l.Epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return false, leaseLost(l)
	}
	return arena.MatchStatus(status) == end, err
}

// ratedRows returns the rows of the seats of a match that is over, with their
// rating changes.
func ratedRows(matchID string, seats []arena.Seat, changes []arena.RatingChange) []seatRow {
	rows := make([]seatRow, len(seats))
	for i, seat := range seats {
		seat.Before, seat.Delta = 0, nil
		for _, c := range changes {
			if c.AgentID == seat.AgentID {
				seat.Before, seat.Delta = c.Before, &c.Delta
			}
		}
		rows[i] = seatRow{matchID: matchID, Seat: seat}
	}
	return rows
}

// VoidMatch ends a running match that does not count, with the last event of
// its log. No rating moves. A second call for the same match changes nothing
// and returns no events.
func (s *Matches) VoidMatch(ctx context.Context, l arena.Lease, reason arena.VoidReason, seats []arena.Seat, at time.Time, last arena.Event) ([]arena.Event, error) {
	var stored []arena.Event
	// Alone: see endMatch.
	err := s.writeAlone(ctx, l.MatchID, func(ctx context.Context, tx *db.Tx) error {
		stored = nil
		if over, err := s.endedAs(ctx, tx, l, arena.MatchVoid); err != nil || over {
			return err
		}
		if _, err := s.fence(ctx, tx, l); err != nil {
			return err
		}
		if err := updateSeats(ctx, tx, endSeats, ratedRows(l.MatchID, seats, nil)...); err != nil {
			return err
		}
		var err error
		if stored, err = s.appendEvents(ctx, tx, l.MatchID, last); err != nil {
			return err
		}
		return endMatch(ctx, tx, l.MatchID, arena.MatchVoid, reason, at)
	})
	return stored, s.wrap(err, "void match %s", l.MatchID)
}
