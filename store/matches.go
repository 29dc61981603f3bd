package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// matchRows reads matches. A log that was dropped (logDropped) has no last
// event.
const matchRows = `SELECT m.id, m.league, m.status, m.settings, m.seed, m.round, m.round_open, m.created_at, m.starts_at,
	m.started_at, m.finished_at, m.void_reason, CASE m.log_state WHEN 2 THEN 0 ELSE m.seq END, m.node, m.epoch, m.interruptions FROM matches m`

func scanMatch(r scanner) (m arena.Match, err error) {
	var seed int64
	err = r.Scan(&m.ID, &m.League, &m.Status, jsonInto{&m.Settings}, &seed, &m.Round, &m.RoundOpen, timeInto{&m.CreatedAt},
		timeInto{&m.StartsAt}, timeInto{&m.StartedAt}, timeInto{&m.FinishedAt}, &m.VoidReason, &m.Seq, &m.Lease.Node, &m.Lease.Epoch,
		&m.Interruptions)
	m.Seed = uint64(seed) //nolint:gosec // the same 64 bits
	m.Lease.MatchID = m.ID
	return m, err
}

// seatRows reads seats. Until a match starts a seat shows its agent as it is
// now, from then on as it was pinned.
const seatRows = `SELECT s.match_id, s.no, s.agent_id, s.state, s.out_round, s.points, s.place, s.outcome, s.rate_limits,
	s.rating_before, s.rating_delta,
	CASE s.pinned WHEN 1 THEN s.name ELSE a.name END, CASE s.pinned WHEN 1 THEN s.owner_id ELSE a.owner_id END,
	CASE s.pinned WHEN 1 THEN s.protocol ELSE a.protocol END, CASE s.pinned WHEN 1 THEN s.endpoint ELSE a.endpoint END,
	CASE s.pinned WHEN 1 THEN s.public_key ELSE a.public_key END, CASE s.pinned WHEN 1 THEN s.version ELSE a.version END
	FROM seats s JOIN agents a ON a.id = s.agent_id`

// seatRow is a seat with the match that it belongs to.
type seatRow struct {
	matchID string
	arena.Seat
}

func scanSeat(r scanner) (row seatRow, err error) {
	s := &row.Seat
	var delta sql.NullInt64
	err = r.Scan(&row.matchID, &s.No, &s.AgentID, &s.State, &s.OutRound, &s.Points, &s.Place, &s.Outcome, &s.RateLimits,
		&s.Before, &delta, &s.Name, &s.OwnerID, &s.Protocol, &s.Endpoint, &s.PublicKey, &s.Version)
	if delta.Valid {
		s.Delta = new(arena.Melo(delta.Int64))
	}
	return row, err
}

// loadMatches reads matches with their seats, all seats in one statement per
// maxIDs matches.
func loadMatches(ctx context.Context, q querier, query string, args ...any) ([]arena.Match, error) {
	matches, err := all(ctx, q, scanMatch, matchRows+query, args...)
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(matches, maxIDs) {
		index := make(map[string]*arena.Match, len(part))
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].ID
			index[ids[i]] = &part[i]
		}
		var c clauses
		in(&c, "s.match_id", ids)
		seats, err := all(ctx, q, scanSeat, seatRows+c.where()+` ORDER BY s.match_id, s.no`, c.args...)
		if err != nil {
			return nil, err
		}
		for _, s := range seats {
			m := index[s.matchID]
			m.Seats = append(m.Seats, s.Seat)
		}
	}
	return matches, nil
}

// CreateMatch stores a scheduled match with its seats (No and AgentID) and
// the first event of its log. A zero StartsAt means at once. not_found: the
// league does not exist; invalid: an agent does not exist, is retired, or has
// two seats.
func (s *Store) CreateMatch(ctx context.Context, m arena.Match, e arena.Event) (arena.Event, error) {
	settings, err := jsonText(m.Settings)
	if err != nil {
		return arena.Event{}, s.wrap(err, "create match %s", m.ID)
	}
	if m.StartsAt.IsZero() {
		m.StartsAt = m.CreatedAt
	}
	var stored []arena.Event
	err = s.write(ctx, m.ID, func(ctx context.Context, tx *transaction) error {
		if err := checkSeats(ctx, tx, m.Seats); err != nil {
			return err
		}
		_, err := exec(ctx, tx, `INSERT INTO matches (id, league, status, settings, seed, round, round_open, created_at,
			starts_at, started_at, finished_at, void_reason, seq, node, epoch, lease_until)
			VALUES ($1, $2, 'scheduled', $3, $4, 0, 0, $5, $6, 0, 0, '', 0, '', 0, 0)`,
			m.ID, m.League, settings, int64(m.Seed), ms(m.CreatedAt), ms(m.StartsAt)) //nolint:gosec // the same 64 bits
		if s.d.is(err, faultReference) { // its one foreign key
			return notFound("league", m.League)
		}
		if err != nil {
			return err
		}
		rows := make([][]any, len(m.Seats))
		for i, seat := range m.Seats {
			rows[i] = seatArgs(m.ID, arena.Seat{No: seat.No, AgentID: seat.AgentID, State: arena.SeatActive}, notStarted)
		}
		if err := bulk(ctx, tx, insertSeats, "", rows); err != nil {
			return err
		}
		stored, err = s.appendEvents(ctx, tx, m.ID, e)
		return err
	})
	if err != nil {
		return arena.Event{}, s.wrap(err, "create match %s", m.ID)
	}
	return stored[0], nil
}

func checkSeats(ctx context.Context, q querier, seats []arena.Seat) error {
	taken := make(map[string]bool, len(seats))
	ids := make([]string, len(seats))
	for i, seat := range seats {
		if taken[seat.AgentID] {
			return arena.Invalid(fmt.Sprintf("agents[%d]", i), "agent %q has a seat already", seat.AgentID)
		}
		taken[seat.AgentID], ids[i] = true, seat.AgentID
	}
	known := make(map[string]bool, len(seats))
	for part := range slices.Chunk(ids, maxIDs) {
		c := clauses{conditions: []string{"retired_at = 0"}}
		in(&c, "id", part)
		found, err := all(ctx, q, scanText, `SELECT id FROM agents`+c.where(), c.args...)
		if err != nil {
			return err
		}
		for _, id := range found {
			known[id] = true
		}
	}
	for i, id := range ids {
		if !known[id] {
			return arena.Invalid(fmt.Sprintf("agents[%d]", i), "there is no agent %q", id)
		}
	}
	return nil
}

const insertSeats = `INSERT INTO seats (match_id, no, agent_id, state, out_round, points, place, outcome, rate_limits,
	rating_before, rating_delta, name, owner_id, protocol, endpoint, public_key, version, pinned, playing)`

// phase is where a match stands when its seats are written.
type phase int

const (
	notStarted phase = iota // seats show their agents, none is playing
	inPlay                  // active seats are playing
	ended                   // none is playing any more
)

func seatArgs(matchID string, s arena.Seat, p phase) []any {
	var delta sql.NullInt64
	if s.Delta != nil {
		delta = sql.NullInt64{Int64: int64(*s.Delta), Valid: true}
	}
	return []any{
		matchID, s.No, s.AgentID, string(s.State), s.OutRound, int64(s.Points), s.Place, string(s.Outcome), s.RateLimits,
		int64(s.Before), delta, s.Name, s.OwnerID, s.Protocol, s.Endpoint, s.PublicKey, s.Version,
		flag(p != notStarted), flag(p == inPlay && s.State == arena.SeatActive),
	}
}

// writeSeats stores how the seats of a match stand; what a seat is (name,
// endpoint, key, version) is stored only when pin is true. A seat that the
// match does not have is refused.
func (s *Store) writeSeats(ctx context.Context, tx *transaction, matchID string, seats []arena.Seat, p phase, pin bool) error {
	held, err := all(ctx, tx, scanSeat, seatRows+` WHERE s.match_id = $1`, matchID)
	if err != nil {
		return err
	}
	agents := make(map[int]string, len(held))
	for _, h := range held {
		agents[h.No] = h.AgentID
	}
	rows := make([][]any, len(seats))
	for i, seat := range seats {
		if agents[seat.No] != seat.AgentID {
			return fmt.Errorf("seat %d of match %s is not agent %q's", seat.No, matchID, seat.AgentID)
		}
		rows[i] = seatArgs(matchID, seat, p)
	}
	set := ` ON CONFLICT (match_id, no) DO UPDATE SET state = excluded.state, out_round = excluded.out_round,
		points = excluded.points, place = excluded.place, outcome = excluded.outcome, rate_limits = excluded.rate_limits,
		rating_before = excluded.rating_before, rating_delta = excluded.rating_delta, playing = excluded.playing`
	if pin {
		set += `, name = excluded.name, owner_id = excluded.owner_id, protocol = excluded.protocol,
			endpoint = excluded.endpoint, public_key = excluded.public_key, version = excluded.version, pinned = 1`
	}
	return bulk(ctx, tx, insertSeats, set, rows)
}

// Match gives one match with its seats, both as they were at one moment.
func (s *Store) Match(ctx context.Context, id string) (arena.Match, error) {
	var m arena.Match
	err := s.view(ctx, func(q querier) error {
		found, err := loadMatches(ctx, q, ` WHERE m.id = $1`, id)
		if err == nil && len(found) == 0 {
			return notFound("match", id)
		}
		if err == nil {
			m = found[0]
		}
		return err
	})
	return m, s.wrap(err, "read match %s", id)
}

// Matches lists matches with their seats, newest first.
func (s *Store) Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]arena.Match, string, error) {
	after, err := listMatches.open(p)
	if err != nil {
		return nil, "", err
	}
	var c clauses
	if f.League != "" {
		c.and("m.league = ?", f.League)
	}
	if f.AgentID != "" {
		c.and("m.id IN (SELECT x.match_id FROM seats x WHERE x.agent_id = ?)", f.AgentID)
	}
	if len(f.Statuses) > 0 {
		in(&c, "m.status", f.Statuses)
	}
	if after != "" {
		c.and("m.id < ?", after)
	}
	var items []arena.Match
	err = s.view(ctx, func(q querier) (err error) {
		items, err = loadMatches(ctx, q, c.where()+` ORDER BY m.id DESC LIMIT `+c.arg(p.Limit+1), c.args...)
		return err
	})
	if err != nil {
		return nil, "", s.wrap(err, "list matches")
	}
	items, next := closePage(listMatches, p, items, func(m arena.Match) string { return m.ID })
	return items, next, nil
}

// LiveMatches gives a league's matches that are not over, with their seats,
// first to start first.
func (s *Store) LiveMatches(ctx context.Context, league string) ([]arena.Match, error) {
	var matches []arena.Match
	err := s.view(ctx, func(q querier) (err error) {
		matches, err = loadMatches(ctx, q, ` WHERE m.league = $1 AND m.status IN ('scheduled', 'ready', 'running')`, league)
		return err
	})
	// Here and not in SQL: SQLite would walk all of the league's matches in
	// the order of their starts.
	slices.SortFunc(matches, func(a, b arena.Match) int {
		return cmp.Or(a.StartsAt.Compare(b.StartsAt), cmp.Compare(a.ID, b.ID))
	})
	return matches, s.wrap(err, "read live matches of league %s", league)
}

// EndMatch cancels a match that has not begun, or makes one void that is not
// over, with the last event of its log. It ends the lease: the runner that
// plays the match loses it. conflict: the match is over, or it has begun and
// cannot be cancelled.
func (s *Store) EndMatch(ctx context.Context, id string, status arena.MatchStatus, reason string, at time.Time, e arena.Event) (arena.Event, error) {
	if status != arena.MatchCancelled && status != arena.MatchVoid {
		return arena.Event{}, fmt.Errorf("end match %s: status %q is neither cancelled nor void", id, status)
	}
	var stored []arena.Event
	err := s.write(ctx, id, func(ctx context.Context, tx *transaction) error {
		now, err := one(ctx, tx, scanText, `SELECT m.status FROM matches m WHERE m.id = $1`+s.d.lock("m"), id)
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("match", id)
		}
		if err != nil {
			return err
		}
		switch was := arena.MatchStatus(now); {
		case was.Over():
			return arena.Errorf(arena.CodeConflict, "the match is over: it is %s", was)
		case was == arena.MatchRunning && status == arena.MatchCancelled:
			return arena.Errorf(arena.CodeConflict, "the match is running and can only be made void")
		}
		if _, err := exec(ctx, tx, `UPDATE matches SET epoch = epoch + 1 WHERE id = $1`, id); err != nil {
			return err
		}
		if err := endMatch(ctx, tx, id, status, reason, at); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, `UPDATE seats SET playing = 0 WHERE match_id = $1 AND playing = 1`, id); err != nil {
			return err
		}
		stored, err = s.appendEvents(ctx, tx, id, e)
		return err
	})
	if err != nil {
		return arena.Event{}, s.wrap(err, "end match %s", id)
	}
	return stored[0], nil
}

// endMatch is the one place where a match comes to an end.
func endMatch(ctx context.Context, tx *transaction, id string, status arena.MatchStatus, reason string, at time.Time) error {
	_, err := exec(ctx, tx, `UPDATE matches SET status = $1, void_reason = $2, round_open = 0, finished_at = $3,
		lease_until = 0 WHERE id = $4`, string(status), reason, ms(at), id)
	return err
}
