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
	"github.com/agora-arena/arena/store/internal/db"
)

// matchRows reads matches. A log that was dropped (logDropped) has no last
// event.
const matchRows = `SELECT m.id, m.league, m.status, m.settings, m.seed, m.round, m.round_open, m.created_at, m.starts_at,
	m.started_at, m.finished_at, m.void_reason, CASE m.log_state WHEN 2 THEN 0 ELSE m.seq END, m.node, m.epoch, m.interruptions FROM matches m`

func scanMatch(r db.Row) (m arena.Match, err error) {
	var seed int64
	err = r.Scan(&m.ID, &m.League, &m.Status, db.IntoJSON(&m.Settings), &seed, &m.Round, &m.RoundOpen, db.IntoTime(&m.CreatedAt),
		db.IntoTime(&m.StartsAt), db.IntoTime(&m.StartedAt), db.IntoTime(&m.FinishedAt), &m.VoidReason, &m.Seq, &m.Lease.Node, &m.Lease.Epoch,
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

func scanSeat(r db.Row) (row seatRow, err error) {
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
func loadMatches(ctx context.Context, q db.Querier, query string, args ...any) ([]arena.Match, error) {
	matches, err := db.All(ctx, q, scanMatch, matchRows+query, args...)
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(matches, db.MaxIDs) {
		index := make(map[string]*arena.Match, len(part))
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].ID
			index[ids[i]] = &part[i]
		}
		var c db.Clauses
		db.In(&c, "s.match_id", ids)
		seats, err := db.All(ctx, q, scanSeat, seatRows+c.Where()+` ORDER BY s.match_id, s.no`, c.Args...)
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
	e, _, err := s.create(ctx, m, e, "", 0)
	return e, err
}

// CreateAndClaim is CreateMatch, and gives node the right to play the match,
// for ttl by the database's clock, when it starts at its creation. The lease
// is zero when the match waits for a claim as any other: it starts later, one
// of its agents has no free seat or is awaited by an older match that is due,
// or another transaction claims at this moment.
func (s *Store) CreateAndClaim(ctx context.Context, m arena.Match, e arena.Event, node string, ttl time.Duration) (arena.Event, arena.Lease, error) {
	return s.create(ctx, m, e, node, ttl)
}

// create stores a match, under a lease unless node is "" or the match has to
// wait.
func (s *Store) create(ctx context.Context, m arena.Match, e arena.Event, node string, ttl time.Duration) (arena.Event, arena.Lease, error) {
	settings, err := db.JSONText(m.Settings)
	if err != nil {
		return arena.Event{}, arena.Lease{}, s.wrap(err, "create match %s", m.ID)
	}
	if m.StartsAt.IsZero() {
		m.StartsAt = m.CreatedAt
	}
	var stored []arena.Event
	var lease arena.Lease
	err = s.write(ctx, m.ID, func(ctx context.Context, tx *db.Tx) error {
		lease = arena.Lease{}
		claims := false
		if node != "" && !m.StartsAt.After(m.CreatedAt) {
			var err error
			if claims, err = s.d.TryLockInCluster(ctx, tx, claimLock); err != nil {
				return err
			}
		}
		free, err := s.checkSeats(ctx, tx, m.Seats, claims)
		if err != nil {
			return err
		}
		status, p, until, startedAt := arena.MatchScheduled, notStarted, "0", "0"
		if free {
			lease = arena.Lease{MatchID: m.ID, Node: node, Epoch: 1}
			status, p, until, startedAt = arena.MatchRunning, seated, s.d.Clock+" + $11", s.d.Clock
		}
		args := []any{m.ID, m.League, string(status), settings, int64(m.Seed), db.Millis(m.CreatedAt), db.Millis(m.StartsAt), lease.Node, lease.Epoch, m.Settings.Visibility.Delay().Milliseconds()} //nolint:gosec // the same 64 bits
		if free {
			args = append(args, ttl.Milliseconds())
		}
		_, err = db.Exec(ctx, tx, `INSERT INTO matches (id, league, status, settings, seed, round, round_open, created_at,
			starts_at, finished_at, void_reason, seq, node, epoch, lease_until, started_at, delay)
			VALUES ($1, $2, $3, $4, $5, 0, 0, $6, $7, 0, '', 1, $8, $9, `+until+`, `+startedAt+`, $10)`, args...)
		if s.d.Is(err, db.FaultReference) { // its one foreign key
			return notFound("league", m.League)
		}
		if err != nil {
			return err
		}
		rows := make([][]any, len(m.Seats))
		for i, seat := range m.Seats {
			rows[i] = seatArgs(m.ID, arena.Seat{No: seat.No, AgentID: seat.AgentID, State: arena.SeatActive}, p)
		}
		if err := db.Bulk(ctx, tx, insertSeats, "", rows); err != nil {
			return err
		}
		stored, err = insertEvents(ctx, tx, m.ID, 1, e)
		return err
	})
	if err != nil {
		return arena.Event{}, arena.Lease{}, s.wrap(err, "create match %s", m.ID)
	}
	return stored[0], lease, nil
}

// checkSeats refuses seats that cannot be given, and tells, when it is asked,
// whether every agent can take its seat at once. The latter holds only under
// the lock of claims.
func (s *Store) checkSeats(ctx context.Context, q db.Querier, seats []arena.Seat, askFree bool) (free bool, err error) {
	taken := make(map[string]bool, len(seats))
	ids := make([]string, len(seats))
	for i, seat := range seats {
		if taken[seat.AgentID] {
			return false, arena.Invalid(fmt.Sprintf("agents[%d]", i), "agent %q has a seat already", seat.AgentID)
		}
		taken[seat.AgentID], ids[i] = true, seat.AgentID
	}
	type agent struct {
		id   string
		free bool
	}
	free = askFree
	isFree := "0"
	if askFree {
		isFree = s.freeToPlay()
	}
	known := make(map[string]bool, len(seats))
	for part := range slices.Chunk(ids, db.MaxIDs) {
		c := db.Clauses{Conditions: []string{"a.retired_at = 0"}}
		db.In(&c, "a.id", part)
		found, err := db.All(ctx, q, func(r db.Row) (a agent, err error) { return a, r.Scan(&a.id, &a.free) },
			`SELECT a.id, `+isFree+` FROM agents a`+c.Where(), c.Args...)
		if err != nil {
			return false, err
		}
		for _, a := range found {
			known[a.id] = true
			free = free && a.free
		}
	}
	for i, id := range ids {
		if !known[id] {
			return false, arena.Invalid(fmt.Sprintf("agents[%d]", i), "there is no agent %q", id)
		}
	}
	return free, nil
}

const insertSeats = `INSERT INTO seats (match_id, no, agent_id, state, out_round, points, place, outcome, rate_limits,
	rating_before, rating_delta, name, owner_id, protocol, endpoint, public_key, version, pinned, playing)`

// phase is where a match stands when its seats are written.
type phase int

const (
	notStarted phase = iota // seats show their agents, none is playing
	seated                  // claimed: the same, but they are playing
	inPlay                  // pinned, and active seats are playing
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
		db.Flag(p >= inPlay), db.Flag((p == seated || p == inPlay) && s.State == arena.SeatActive),
	}
}

// heldSeats gives the agents of a match by seat, and whether the seats are
// pinned.
func heldSeats(ctx context.Context, tx *db.Tx, matchID string) (agents map[int]string, pinned bool, err error) {
	type seat struct {
		no      int
		agentID string
		pinned  bool
	}
	held, err := db.All(ctx, tx, func(r db.Row) (s seat, err error) { return s, r.Scan(&s.no, &s.agentID, &s.pinned) },
		`SELECT no, agent_id, pinned FROM seats WHERE match_id = $1`, matchID)
	agents = make(map[int]string, len(held))
	for _, h := range held {
		agents[h.no] = h.agentID
		pinned = pinned || h.pinned
	}
	return agents, pinned, err
}

// writeSeats stores how the pinned seats of a match stand. A seat that the
// match does not have is refused.
func writeSeats(ctx context.Context, tx *db.Tx, matchID string, seats []arena.Seat, p phase) error {
	agents, _, err := heldSeats(ctx, tx, matchID)
	if err != nil {
		return err
	}
	return putSeats(ctx, tx, matchID, agents, seats, p, "")
}

// pinSeats stores what the seats of a match, whose agents are given, are from
// now on: name, endpoint, key and version.
func pinSeats(ctx context.Context, tx *db.Tx, matchID string, agents map[int]string, seats []arena.Seat) error {
	return putSeats(ctx, tx, matchID, agents, seats, inPlay, `, name = excluded.name, owner_id = excluded.owner_id, protocol = excluded.protocol,
		endpoint = excluded.endpoint, public_key = excluded.public_key, version = excluded.version, pinned = 1`)
}

func putSeats(ctx context.Context, tx *db.Tx, matchID string, agents map[int]string, seats []arena.Seat, p phase, pin string) error {
	rows := make([][]any, len(seats))
	for i, seat := range seats {
		if agents[seat.No] != seat.AgentID {
			return fmt.Errorf("seat %d of match %s is not agent %q's", seat.No, matchID, seat.AgentID)
		}
		rows[i] = seatArgs(matchID, seat, p)
	}
	return db.Bulk(ctx, tx, insertSeats, ` ON CONFLICT (match_id, no) DO UPDATE SET state = excluded.state, out_round = excluded.out_round,
		points = excluded.points, place = excluded.place, outcome = excluded.outcome, rate_limits = excluded.rate_limits,
		rating_before = excluded.rating_before, rating_delta = excluded.rating_delta, playing = excluded.playing`+pin, rows)
}

// Match gives one match with its seats, both as they were at one moment.
func (s *Store) Match(ctx context.Context, id string) (arena.Match, error) {
	var m arena.Match
	err := s.view(ctx, func(q db.Querier) error {
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
	var c db.Clauses
	order := "m.id"
	if f.League != "" {
		c.And("m.league = ?", f.League)
	}
	if f.AgentID != "" {
		of := `SELECT x.match_id FROM seats x WHERE x.agent_id = ` + c.Arg(f.AgentID)
		if f.League == "" && len(f.Statuses) == 0 { // the page's matches, and not all that it has played
			if after != "" {
				of += ` AND x.match_id < ` + c.Arg(after)
			}
			of += ` ORDER BY x.match_id DESC LIMIT ` + c.Arg(p.Limit+1)
		}
		c.Conditions = append(c.Conditions, "m.id IN ("+of+")")
		order = "m.id || ''" // no index has it, or SQLite would walk back through all matches until the page is full
	}
	if len(f.Statuses) > 0 {
		db.In(&c, "m.status", f.Statuses)
	}
	if after != "" {
		c.And("m.id < ?", after)
	}
	var items []arena.Match
	err = s.view(ctx, func(q db.Querier) (err error) {
		items, err = loadMatches(ctx, q, c.Where()+` ORDER BY `+order+` DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
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
	err := s.view(ctx, func(q db.Querier) (err error) {
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
	// Alone: see endMatch.
	err := s.writeAlone(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		now, err := db.One(ctx, tx, db.ScanText, `SELECT m.status FROM matches m WHERE m.id = $1`+s.d.Lock("m"), id)
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
		if _, err := db.Exec(ctx, tx, `UPDATE matches SET epoch = epoch + 1 WHERE id = $1`, id); err != nil {
			return err
		}
		if err := endMatch(ctx, tx, id, status, reason, at); err != nil {
			return err
		}
		if _, err := db.Exec(ctx, tx, `UPDATE seats SET playing = 0 WHERE match_id = $1 AND playing = 1`, id); err != nil {
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

// endMatch is the one place where a match comes to an end. Its transaction is
// alone, since addOutcomes is in it.
func endMatch(ctx context.Context, tx *db.Tx, id string, status arena.MatchStatus, reason string, at time.Time) error {
	if _, err := db.Exec(ctx, tx, `UPDATE matches SET status = $1, void_reason = $2, round_open = 0, finished_at = $3,
		lease_until = 0, delay = 0 WHERE id = $4`, string(status), reason, db.Millis(at), id); err != nil {
		return err
	}
	return addOutcomes(ctx, tx, id)
}
