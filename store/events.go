package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// appendEvents appends events to a match's log, with its next numbers. The caller has locked the match's row or made it, so the numbers
// commit with everything else or not at all. What comes back may be shown:
// it has no hidden part.
func (s *Matches) appendEvents(ctx context.Context, tx *db.Tx, matchID string, events ...arena.Event) ([]arena.Event, error) {
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
func (s *Matches) EventsAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error) {
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
func (s *Matches) rowsAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error) {
	return eventTable.All(ctx, s.reader, ` WHERE e.match_id = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3`, matchID, since, limit)
}

// AppendEvents appends an agent's reports to its match's log, under the open
// round. round_closed: the match is not running, no round is open, or the
// agent's seat is not active (threat E5).
func (s *Matches) AppendEvents(ctx context.Context, matchID, agentID string, events []arena.Event) ([]arena.Event, error) {
	var stored []arena.Event
	err := s.write(ctx, matchID, func(ctx context.Context, tx *db.Tx) error {
		// The lock comes first, alone: only a later statement is sure to see
		// the seat as the previous holder of the row left it.
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

// FirstEventSince returns the seq of the first event of a running match, not
// counting match_scheduled, that is later than at or belongs to the open round
// without being its round_started; 0 if there is none. An open of 0 means that
// no round is open.
func (s *Matches) FirstEventSince(ctx context.Context, matchID string, at time.Time, open int) (int64, error) {
	first, err := db.One(ctx, s.reader, db.ScanInt, `SELECT COALESCE(min(seq), 0) FROM events WHERE match_id = $1 AND seq > 1
		AND (at > $2 OR round > 0 AND round = $3 AND type <> $4)`, matchID, db.Millis(at), open, string(arena.EventRoundStarted))
	return first, s.wrap(err, "find the first event of match %s since %s", matchID, at.Format(arena.TimeFormat))
}

// EventsOfTypes returns the events of a running match up to a seq that have one
// of the types, in the order of seq.
func (s *Matches) EventsOfTypes(ctx context.Context, matchID string, upTo int64, types ...arena.EventType) ([]arena.Event, error) {
	if len(types) == 0 {
		return nil, nil
	}
	var c db.Clauses
	c.And("e.match_id = ?", matchID)
	c.And("e.seq <= ?", upTo)
	db.In(&c, "e.type", types)
	events, err := eventTable.All(ctx, s.reader, c.Where()+" ORDER BY e.seq", c.Args...)
	return events, s.wrap(err, "read events of match %s by type", matchID)
}

// ErasedTexts returns the commitments of the texts of a match that were erased,
// by pointer into its record.
func (s *Matches) ErasedTexts(ctx context.Context, matchID string) (commitments map[string]string, err error) {
	text, err := erasedTexts(ctx, s.reader, matchID)
	if err == nil && text != "" {
		err = db.IntoJSON(&commitments).Scan(text)
	}
	return commitments, s.wrap(err, "read erased texts of match %s", matchID)
}

// erasedTexts returns the commitments as they are stored; "" if there are none.
func erasedTexts(ctx context.Context, q db.Querier, matchID string) (string, error) {
	text, err := db.One(ctx, q, db.ScanText, `SELECT commitments FROM erasures WHERE match_id = $1`, matchID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// EraseTexts erases texts of an agent from the log and the answers of a match that
// is over, in one transaction, and with those of all rounds what its seat holds and the
// key of their salts. The commitments stay. conflict: the match is not over, or
// texts of it were erased that e does not know of.
func (s *Matches) EraseTexts(ctx context.Context, e arena.TextErasure, audit ...arena.AuditEntry) error {
	changed := make(map[int64]json.RawMessage, len(e.Events))
	for _, event := range e.Events {
		changed[event.Seq] = event.Body
	}
	err := s.writeAlone(ctx, e.MatchID, func(ctx context.Context, tx *db.Tx) error {
		if err := s.lockOver(ctx, tx, e.MatchID); err != nil {
			return err
		}
		if err := saveCommitments(ctx, tx, e); err != nil {
			return err
		}
		if err := eraseSeat(ctx, tx, e); err != nil {
			return err
		}
		if err := erasePrompts(ctx, tx, e); err != nil {
			return err
		}
		if err := eraseReasons(ctx, tx, e); err != nil {
			return err
		}
		for seq, body := range changed {
			if _, err := db.Exec(ctx, tx, `UPDATE events SET body = $1 WHERE match_id = $2 AND seq = $3`, string(body), e.MatchID, seq); err != nil {
				return err
			}
		}
		if err := s.erasePacked(ctx, tx, e.MatchID, changed); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "erase texts of agent %s in match %s", e.AgentID, e.MatchID)
}

// saveCommitments stores the commitments of all erased texts of a match.
func saveCommitments(ctx context.Context, tx *db.Tx, e arena.TextErasure) error {
	stored, err := erasedTexts(ctx, tx, e.MatchID)
	if err != nil {
		return err
	}
	var known map[string]string
	if stored != "" {
		if err := db.IntoJSON(&known).Scan(stored); err != nil {
			return err
		}
	}
	for place := range known {
		if _, ok := e.Commitments[place]; !ok {
			return arena.Errorf(arena.CodeConflict, "other texts of match %s were erased meanwhile", e.MatchID)
		}
	}
	if len(e.Commitments) == 0 { // the match has no record
		return nil
	}
	commitments, err := db.JSONText(e.Commitments)
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, tx, `INSERT INTO erasures (match_id, commitments) VALUES ($1, $2) ON CONFLICT (match_id) DO UPDATE SET commitments = excluded.commitments`,
		e.MatchID, commitments)
	return err
}

// eraseSeat erases the texts of a seat outside the log.
func eraseSeat(ctx context.Context, tx *db.Tx, e arena.TextErasure) error {
	answer, err := db.JSONText(map[string]string{"answer": e.Notice})
	if err != nil {
		return err
	}
	where, seat := ` WHERE match_id = $1 AND agent_id = $2 AND ($3 = 0 OR round = $3)`, []any{e.MatchID, e.AgentID, e.Round}
	if _, err := db.Exec(ctx, tx, `UPDATE answers SET body = $4`+where+` AND body IS NOT NULL`, append(seat, answer)...); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, tx, `UPDATE events SET hidden = ''`+where, seat...); err != nil {
		return err
	}
	// What was sent and received. Envelopes are signed, so they go as a whole.
	for _, query := range []string{
		`UPDATE deliveries SET detail = '', response = NULL` + where, `DELETE FROM pulled_tasks` + where, `DELETE FROM envelopes` + where + ` AND match_id <> ''`,
	} {
		if _, err := db.Exec(ctx, tx, query, seat...); err != nil {
			return err
		}
	}
	if e.Round > 0 {
		return nil
	}
	_, err = db.Exec(ctx, tx, `UPDATE seats SET salt = '', name = $1, version = '', endpoint = '', public_key = '' WHERE match_id = $2 AND agent_id = $3`,
		arena.DeletedAgent, e.MatchID, e.AgentID)
	return err
}

// erasePrompts erases the prompts of the rounds that may repeat erased texts.
func erasePrompts(ctx context.Context, tx *db.Tx, e arena.TextErasure) error {
	type row struct {
		no   int
		turn arena.Turn
	}
	rounds, err := db.All(ctx, tx, func(r db.Row) (x row, err error) { return x, r.Scan(&x.no, db.IntoPacked(&x.turn)) },
		`SELECT r.no, r.turn FROM rounds r WHERE r.match_id = $1 AND r.no >= $2 AND r.turn <> ''`, e.MatchID, e.Round)
	if err != nil {
		return err
	}
	for _, round := range rounds {
		for i, p := range round.turn.Prompts {
			round.turn.Prompts[i] = arena.Prompt{Seat: p.Seat, Bank: p.Bank}
		}
		if bytes.Contains(round.turn.State, []byte(`"transcript"`)) { // repeats what agents wrote
			round.turn.State = nil
		}
		turn, err := db.PackedText(round.turn)
		if err == nil {
			_, err = db.Exec(ctx, tx, `UPDATE rounds SET turn = $1 WHERE match_id = $2 AND no = $3`, turn, e.MatchID, round.no)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// erasePacked replaces the bodies of events of a match whose log is packed.
func (s *Matches) erasePacked(ctx context.Context, tx *db.Tx, matchID string, changed map[int64]json.RawMessage) error {
	parts, err := partTable.All(ctx, tx, ` WHERE p.match_id = $1 ORDER BY p.first_seq`, matchID)
	if err != nil {
		return err
	}
	for _, p := range parts {
		events, err := s.unpack(ctx, tx, matchID, p)
		if err != nil {
			return err
		}
		var raw []byte
		for _, event := range events {
			if body, ok := changed[event.Seq]; ok {
				event.Body = body
			}
			raw = packEvent(raw, event)
		}
		if _, err := db.Exec(ctx, tx, `UPDATE event_archives SET data = $1, bytes = $2, archived_at = $3 WHERE match_id = $4 AND first_seq = $5`,
			s.packer.EncodeAll(raw, nil), len(raw), max(db.Millis(s.now()), db.Millis(p.archivedAt)+1), matchID, p.first); err != nil {
			return err
		}
	}
	return nil
}
