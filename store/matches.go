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
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// matchRow is a row of matches.
type matchRow struct {
	arena.Match

	settings string        // Match.Settings, encoded before the write is queued
	ttl      time.Duration // of the lease that a new match gets
}

// matchTable reads no last event of a log that was dropped (logDropped).
var matchTable = db.NewTable("matches", "m",
	db.Text("id", func(m *matchRow) *string { return &m.ID }),
	db.Text("league", func(m *matchRow) *string { return &m.League }),
	db.Text("status", func(m *matchRow) *arena.MatchStatus { return &m.Status }),
	db.JSON("settings", func(m *matchRow) *arena.Settings { return &m.Settings }).With(func(m *matchRow) any { return m.settings }),
	db.Bits("seed", func(m *matchRow) *uint64 { return &m.Seed }),
	db.Text("seed_salt", func(m *matchRow) *string { return &m.SeedSalt }),
	db.Int("round", func(m *matchRow) *int { return &m.Round }),
	db.Bool("round_open", func(m *matchRow) *bool { return &m.RoundOpen }),
	db.Time("created_at", func(m *matchRow) *time.Time { return &m.CreatedAt }),
	db.Time("starts_at", func(m *matchRow) *time.Time { return &m.StartsAt }),
	db.Time("started_at", func(m *matchRow) *time.Time { return &m.StartedAt }),
	db.Time("finished_at", func(m *matchRow) *time.Time { return &m.FinishedAt }),
	db.Text("void_code", func(m *matchRow) *arena.VoidCode { return &m.VoidReason.Code }),
	db.Text("void_reason", func(m *matchRow) *string { return &m.VoidReason.Text }),
	db.Int("seq", func(m *matchRow) *int64 { return &m.Seq }).As(`CASE m.log_state WHEN 2 THEN 0 ELSE m.seq END`),
	db.Text("node", func(m *matchRow) *string { return &m.Lease.Node }),
	db.Int("epoch", func(m *matchRow) *int64 { return &m.Lease.Epoch }),
	db.Written("leased_until", db.TypeInt, func(m *matchRow) any { return m.ttl.Milliseconds() }),
	db.Int("interruptions", func(m *matchRow) *int { return &m.Interruptions }),
	db.Text("unrated_reason", func(m *matchRow) *arena.UnratedReason { return &m.UnratedReason }),
	db.Written("delay", db.TypeInt, func(m *matchRow) any { return delayOf(m.Settings) }),
)

var insertMatches = db.NewInsert(matchTable, "")

// newInsertClaimed returns the statement that stores matches under a lease.
func newInsertClaimed(d db.Dialect) *db.Statement[matchRow] {
	return db.NewInsertWith(matchTable, map[string]string{"leased_until": d.Clock + " + ?", "started_at": d.Clock}, "")
}

// seatRow is a row of seats.
type seatRow struct {
	arena.Seat

	matchID string
	pinned  bool // the seat shows its agent as it was when the match started
	playing bool // it is active, and the match is running

	reserved int64 // tokens that the match was estimated to cost when it was created
}

// seatTable joins agents: see seatAgents.
var seatTable = db.NewTable("seats", "s",
	db.Text("match_id", func(s *seatRow) *string { return &s.matchID }),
	db.Int("no", func(s *seatRow) *int { return &s.No }),
	db.Text("agent_id", func(s *seatRow) *string { return &s.AgentID }),
	db.Text("state", func(s *seatRow) *arena.SeatState { return &s.State }),
	db.Int("out_round", func(s *seatRow) *int { return &s.OutRound }),
	db.Int("points", func(s *seatRow) *arena.Points { return &s.Points }),
	db.Int("place", func(s *seatRow) *int { return &s.Place }),
	db.Text("outcome", func(s *seatRow) *arena.Outcome { return &s.Outcome }),
	db.Int("rate_limits", func(s *seatRow) *int { return &s.RateLimits }),
	db.Int("lost_rounds", func(s *seatRow) *int { return &s.LostRounds }),
	db.Int("skipped_rounds", func(s *seatRow) *int { return &s.SkippedRounds }),
	db.Text("withdrawal", func(s *seatRow) *arena.Withdrawal { return &s.Withdrawal }),
	db.Int("tokens", func(s *seatRow) *int64 { return &s.Tokens }),
	db.Written("reserved_tokens", db.TypeInt, func(s *seatRow) any { return s.reserved }),
	db.Int("rating_before", func(s *seatRow) *arena.MilliElo { return &s.Before }),
	db.NullInt("rating_delta", func(s *seatRow) **arena.MilliElo { return &s.Delta }),
	db.Text("salt", func(s *seatRow) *string { return &s.Salt }),
	db.Bool("pinned", func(s *seatRow) *bool { return &s.pinned }),
	db.Bool("playing", func(s *seatRow) *bool { return &s.playing }),
	pinned("name", func(s *seatRow) *string { return &s.Name }),
	pinned("owner_id", func(s *seatRow) *string { return &s.OwnerID }),
	db.Text("owner_group", func(s *seatRow) *string { return &s.OwnerGroup }),
	pinned("protocol", func(s *seatRow) *string { return &s.Protocol }),
	pinned("endpoint", func(s *seatRow) *string { return &s.Endpoint }),
	pinned("public_key", func(s *seatRow) *string { return &s.PublicKey }),
	pinned("version", func(s *seatRow) *string { return &s.Version }),
)

// pinned is a column that shows the agent as it is now until its match starts,
// and as it was then from that time on.
func pinned(name string, field func(*seatRow) *string) db.Column[seatRow] {
	return db.Text(name, field).As(`CASE s.pinned WHEN 1 THEN s.` + name + ` ELSE a.` + name + ` END`)
}

// seatGroup is arena.Seat.Group of a seat of a match that has started.
const seatGroup = `COALESCE(NULLIF(s.owner_group, ''), s.owner_id)`

// seatAgents joins the agents to seatTable.
const seatAgents = ` JOIN agents a ON a.id = s.agent_id`

var (
	insertSeats = db.NewInsert(seatTable, "")
	// updateStandings stores how seats stand when a round closes.
	updateStandings = db.NewUpdate(seatTable, []string{"match_id", "no", "agent_id"},
		[]string{"state", "out_round", "points", "place", "outcome", "rate_limits", "lost_rounds", "skipped_rounds", "tokens"})
	// endSeats stores how seats stand when their match is over.
	endSeats = db.NewUpdate(seatTable, []string{"match_id", "no", "agent_id"},
		[]string{"state", "out_round", "points", "place", "outcome", "rate_limits", "lost_rounds", "skipped_rounds", "tokens", "rating_before", "rating_delta", "playing"})
	// pinSeats stores how seats stand when their match starts, with their agents
	// as they are now.
	pinSeats = db.NewUpdate(seatTable, []string{"match_id", "no", "agent_id"},
		[]string{
			"state", "out_round", "points", "place", "outcome", "rate_limits", "lost_rounds", "skipped_rounds", "rating_before", "rating_delta", "playing",
			"withdrawal", "pinned", "name", "owner_id", "protocol", "endpoint", "public_key", "version",
		})
	// freeSeats marks seats as not playing. The plus keeps SQLite from reading
	// all playing seats.
	freeSeats = db.NewUpdate(seatTable, []string{"match_id", "no"}, []string{"playing"}, "+seats.playing = 1")
)

// updateSeats runs an update of seats of a match. It fails when one of them is
// not the match's.
func updateSeats(ctx context.Context, tx *db.Tx, update *db.Statement[seatRow], rows ...seatRow) error {
	n, err := update.Exec(ctx, tx, rows...)
	if err == nil && n != int64(len(rows)) {
		err = fmt.Errorf("%d of %d seats are not those of their matches", int64(len(rows))-n, len(rows))
	}
	return err
}

// loadMatches reads matches with their seats, all seats in one statement per
// MaxIDs matches.
func loadMatches(ctx context.Context, q db.Querier, rest string, args ...any) ([]arena.Match, error) {
	rows, err := matchTable.All(ctx, q, rest, args...)
	if err != nil {
		return nil, err
	}
	matches := make([]arena.Match, len(rows))
	for i, r := range rows {
		matches[i] = r.Match
		matches[i].Lease.MatchID = r.ID
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
		seats, err := seatTable.All(ctx, q, seatAgents+c.Where()+` ORDER BY s.match_id, s.no`, c.Args...)
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

// CreateMatch stores a scheduled match with its seats (No and AgentID), the
// first event of its log and the audit entries about it. A zero StartsAt means
// at once. not_found: the league does not exist; invalid: an agent does not
// exist, is retired, or has two seats.
func (s *Matches) CreateMatch(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error) {
	e, _, err := s.create(ctx, m, e, "", 0, audit)
	return e, err
}

// CreateAndClaim is CreateMatch, and leases the match to node, for ttl by the
// database's clock, when it starts at once. The lease is zero when the match must
// wait for a claim: it starts later, one of its agents has no free seat or an
// older due match waits for it, or another transaction is claiming.
func (s *Matches) CreateAndClaim(ctx context.Context, m arena.Match, e arena.Event, node string, ttl time.Duration, audit ...arena.AuditEntry) (arena.Event, arena.Lease, error) {
	return s.create(ctx, m, e, node, ttl, audit)
}

// create stores a match, under a lease unless node is "" or the match has to
// wait.
func (s *Matches) create(ctx context.Context, m arena.Match, e arena.Event, node string, ttl time.Duration, audit []arena.AuditEntry) (arena.Event, arena.Lease, error) {
	if m.StartsAt.IsZero() {
		m.StartsAt = m.CreatedAt
	}
	row := matchRow{Match: arena.Match{
		ID: m.ID, League: m.League, Status: arena.MatchScheduled, Settings: m.Settings, Seed: m.Seed, SeedSalt: m.SeedSalt,
		UnratedReason: m.UnratedReason, CreatedAt: m.CreatedAt, StartsAt: m.StartsAt, Seq: 1,
	}}
	var err error
	if row.settings, err = db.JSONText(m.Settings); err != nil {
		return arena.Event{}, arena.Lease{}, s.wrap(err, "create match %s", m.ID)
	}
	c := creation{row: row, seats: m.Seats, first: e, node: node, ttl: ttl, audit: audit}
	err = s.write(ctx, m.ID, func(ctx context.Context, tx *db.Tx) error { return s.createIn(ctx, tx, &c) })
	if errors.Is(err, errBudgets) {
		// One at a time in the cluster: two nodes that count what an agent has used side
		// by side would both find the rest of its day free.
		c.reserve = true
		err = s.writeAlone(ctx, budgetLock, func(ctx context.Context, tx *db.Tx) error {
			if err := s.d.LockInCluster(ctx, tx, budgetLock); err != nil {
				return err
			}
			return s.createIn(ctx, tx, &c)
		})
	}
	if err != nil {
		return arena.Event{}, arena.Lease{}, s.wrap(err, "create match %s", m.ID)
	}
	return c.events[0], c.lease, nil
}

// budgetLock names the lock under which matches of agents with a budget are
// created.
const budgetLock = "budgets"

// errBudgets is returned by createIn for agents with a budget, unless the
// transaction holds budgetLock.
var errBudgets = errors.New("an agent of the match has a budget")

// creation is a match to be created with the first event of its log. createIn sets
// events and lease.
type creation struct {
	row     matchRow
	seats   []arena.Seat
	first   arena.Event
	events  []arena.Event
	node    string // "": the match is not claimed
	ttl     time.Duration
	audit   []arena.AuditEntry
	reserve bool // under budgetLock
	lease   arena.Lease
}

func (s *Matches) createIn(ctx context.Context, tx *db.Tx, c *creation) error {
	c.lease = arena.Lease{}
	claims, m := false, &c.row.Match
	if c.node != "" && !m.StartsAt.After(m.CreatedAt) {
		var err error
		if claims, err = s.d.TryLockInCluster(ctx, tx, claimLock); err != nil {
			return err
		}
	}
	free, agents, err := s.checkSeats(ctx, tx, c.seats, claims)
	if err != nil {
		return err
	}
	var reserved map[string]int64
	if slices.ContainsFunc(agents, func(a arena.Agent) bool { return !a.Budget.IsZero() }) {
		if !c.reserve {
			return errBudgets
		}
		if reserved, err = s.budgets.Reserve(ctx, tx, agents, m.Settings, m.StartsAt); err != nil {
			return err
		}
	}
	row := c.row
	insert := insertMatches
	if free {
		c.lease = arena.Lease{MatchID: m.ID, Node: c.node, Epoch: 1}
		row.Status, row.Lease, row.ttl = arena.MatchRunning, c.lease, c.ttl
		insert = s.insertClaimed
	}
	_, err = insert.Exec(ctx, tx, row)
	if s.d.Is(err, db.FaultReference) { // its one foreign key
		return notFound("league", m.League)
	}
	if err != nil {
		return err
	}
	seats := make([]seatRow, len(c.seats))
	for i, seat := range c.seats {
		seats[i] = seatRow{matchID: m.ID, playing: free, reserved: reserved[seat.AgentID], Seat: arena.Seat{
			No: seat.No, AgentID: seat.AgentID, OwnerGroup: seat.OwnerGroup, State: arena.SeatActive, Salt: seat.Salt,
		}}
	}
	if _, err := insertSeats.Exec(ctx, tx, seats...); err != nil {
		return err
	}
	if c.events, err = insertEvents(ctx, tx, m.ID, 1, c.first); err != nil {
		return err
	}
	return base.InsertAudit(ctx, tx, c.audit...)
}

// checkSeats rejects invalid seats and, when askFree, reports whether every agent
// can start at once. That holds only under the lock of claims. agents are those of
// the seats, with the fields that their budgets need.
func (s *Matches) checkSeats(ctx context.Context, q db.Querier, seats []arena.Seat, askFree bool) (free bool, agents []arena.Agent, err error) {
	taken := make(map[string]bool, len(seats))
	ids := make([]string, len(seats))
	for i, seat := range seats {
		if taken[seat.AgentID] {
			return false, nil, arena.Invalid(fmt.Sprintf("agents[%d]", i), "agent %q has a seat already", seat.AgentID)
		}
		taken[seat.AgentID], ids[i] = true, seat.AgentID
	}
	type agent struct {
		arena.Agent

		free bool
	}
	free = askFree
	isFree := "0"
	if askFree {
		isFree = s.freeToPlay()
	}
	known := make(map[string]arena.Agent, len(seats))
	for part := range slices.Chunk(ids, db.MaxIDs) {
		c := db.Clauses{Conditions: []string{"a.retired_at = 0"}}
		db.In(&c, "a.id", part)
		found, err := db.All(ctx, q, func(r db.Row) (a agent, err error) {
			return a, r.Scan(&a.ID, &a.RoundTokens, db.IntoJSON(&a.Budget), &a.free)
		},
			`SELECT a.id, a.round_tokens, a.budget, `+isFree+` FROM agents a`+c.Where(), c.Args...)
		if err != nil {
			return false, nil, err
		}
		for _, a := range found {
			known[a.ID] = a.Agent
			free = free && a.free
		}
	}
	for i, id := range ids {
		a, ok := known[id]
		if !ok {
			return false, nil, arena.Invalid(fmt.Sprintf("agents[%d]", i), "there is no agent %q", id)
		}
		agents = append(agents, a)
	}
	return free, agents, nil
}

// Match returns one match with its seats, both as they were at one moment.
func (s *Matches) Match(ctx context.Context, id string) (arena.Match, error) {
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

// LiveMatches returns a league's matches that are not over, with their seats,
// first to start first.
func (s *Matches) LiveMatches(ctx context.Context, league string) ([]arena.Match, error) {
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

// RunningMatches returns the running matches in which agents have a seat that plays.
func (s *Matches) RunningMatches(ctx context.Context, agentIDs []string) (matches []arena.Match, err error) {
	err = s.view(ctx, func(q db.Querier) error {
		matches = nil
		for part := range slices.Chunk(agentIDs, db.MaxIDs) {
			var c db.Clauses
			db.In(&c, "p.agent_id", part)
			running, err := loadMatches(ctx, q, ` WHERE m.id IN (SELECT p.match_id FROM seats p`+c.Where()+` AND p.playing = 1)`, c.Args...)
			if err != nil {
				return err
			}
			matches = append(matches, running...)
		}
		return nil
	})
	return matches, s.wrap(err, "read running matches of %d agents", len(agentIDs))
}

// EndMatch cancels a match that has not begun, or makes one void that is not
// over, with the last event of its log and the audit entries about it. It ends
// the lease of a running match. conflict: the match is over, or it has begun and
// cannot be canceled.
func (s *Matches) EndMatch(ctx context.Context, id string, status arena.MatchStatus, reason arena.VoidReason, at time.Time, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error) {
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
		if stored, err = s.appendEvents(ctx, tx, id, e); err != nil {
			return err
		}
		if err := endMatch(ctx, tx, id, status, reason, at); err != nil {
			return err
		}
		if _, err := db.Exec(ctx, tx, `UPDATE seats SET playing = 0 WHERE match_id = $1 AND playing = 1`, id); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	if err != nil {
		return arena.Event{}, s.wrap(err, "end match %s", id)
	}
	return stored[0], nil
}

// untilEnd is the delay of a match whose rounds are hidden until it has finished.
const untilEnd = 1 << 50 // ms

// delayOf returns after which time the statistics and the relay show the rounds of
// a match that runs, in milliseconds.
func delayOf(s arena.Settings) int64 {
	if s.UntilEnd() {
		return untilEnd
	}
	return s.Visibility.Delay().Milliseconds()
}

// endMatch is the one place where a match comes to an end, after its last event was
// appended: SQLite's trigger matches_ended counts its log. Its transaction is alone,
// since addOutcomes is in it.
func endMatch(ctx context.Context, tx *db.Tx, id string, status arena.MatchStatus, reason arena.VoidReason, at time.Time) error {
	kept := int64(untilEnd) // a match that is void hides what it has hidden
	if status == arena.MatchFinished {
		kept = -1
	}
	if _, err := db.Exec(ctx, tx, `UPDATE matches SET status = $1, void_code = $2, void_reason = $6, round_open = 0, finished_at = $3,
		leased_until = 0, delay = CASE WHEN delay = $5 THEN delay ELSE 0 END WHERE id = $4`,
		string(status), string(reason.Code), db.Millis(at), id, kept, reason.Text); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, tx, `UPDATE seats SET ended_at = $1 WHERE match_id = $2
		AND EXISTS (SELECT 1 FROM matches m WHERE m.id = $2 AND m.started_at > 0)`, db.Millis(at), id); err != nil {
		return err
	}
	return addOutcomes(ctx, tx, id)
}
