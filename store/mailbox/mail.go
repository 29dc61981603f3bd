package mailbox

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// Messages are the messages for agents, and the records of messages seen before.
type Messages struct{ base *base.Base }

// NewMessages returns the messages of a database.
func NewMessages(b *base.Base) *Messages { return &Messages{base: b} }

// mailRow is a row of mail.
type mailRow struct {
	arena.Mail

	expires time.Time
}

var mailTable = db.NewTable("mail", "x",
	db.Text("box", func(m *mailRow) *string { return &m.Box }),
	db.Int("n", func(m *mailRow) *int64 { return &m.N }),
	db.Text("id", func(m *mailRow) *string { return &m.ID }),
	db.Bytes("body", func(m *mailRow) *[]byte { return &m.Body }),
	db.Time("created_at", func(m *mailRow) *time.Time { return &m.CreatedAt }),
	db.Time("expires_at", func(m *mailRow) *time.Time { return &m.expires }),
)

var insertMail = db.NewInsert(mailTable, "")

// PutMail stores a message for a box until its expiry and returns the number
// that it got there. The same message again is the message that is there;
// conflict: another one has its id.
func (s *Messages) PutMail(ctx context.Context, m arena.Mail, expires time.Time) (stored arena.Mail, err error) {
	err = s.base.WriteAlone(ctx, "mail", func(ctx context.Context, tx *db.Tx) error {
		stored = m
		there, err := mailTable.One(ctx, tx, ` WHERE x.box = $1 AND x.id = $2`, m.Box, m.ID)
		switch {
		case err == nil && bytes.Equal(there.Body, m.Body):
			stored = there.Mail
			return nil
		case err == nil:
			return arena.Errorf(arena.CodeConflict, "another message has the id %q", m.ID)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		// The one counter keeps numbers in the order of commits: a reader that
		// has seen one has missed none before it.
		if stored.N, err = db.One(ctx, tx, db.ScanInt, `INSERT INTO counters (name, value) VALUES ('mail', 1)
			ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value`); err != nil {
			return err
		}
		_, err = insertMail.Exec(ctx, tx, mailRow{Mail: stored, expires: expires})
		return err
	})
	return stored, s.base.Wrap(err, "put mail for %s", m.Box)
}

// Mail returns at most limit messages of a box that came after number after and
// have not expired at now, in order.
func (s *Messages) Mail(ctx context.Context, box string, after int64, limit int, now time.Time) ([]arena.Mail, error) {
	rows, err := mailTable.All(ctx, s.base.Reader, ` WHERE x.box = $1 AND x.n > $2 AND x.expires_at > $3 ORDER BY x.n LIMIT $4`,
		box, after, db.Millis(now), limit)
	var mail []arena.Mail
	for _, r := range rows {
		mail = append(mail, r.Mail)
	}
	return mail, s.base.Wrap(err, "read mail for %s", box)
}

// DropMail removes a box's messages up to number upTo.
func (s *Messages) DropMail(ctx context.Context, box string, upTo int64) error {
	err := s.base.Write(ctx, box, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `DELETE FROM mail WHERE box = $1 AND n <= $2`, box, upTo)
		return err
	})
	return s.base.Wrap(err, "drop mail for %s", box)
}

// Once records that id was seen in scope and reports whether it was the first
// time since the record expired. conflict: it was seen with another digest.
func (s *Messages) Once(ctx context.Context, scope, id string, digest [32]byte, now, expires time.Time) (first bool, err error) {
	err = s.base.Write(ctx, scope+" "+id, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `INSERT INTO seen (scope, id, digest, expires_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (scope, id) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at
			WHERE seen.expires_at <= $5`, scope, id, digest[:], db.Millis(expires), db.Millis(now))
		if first = n > 0; err != nil || first {
			return err
		}
		was, err := db.One(ctx, tx, func(r db.Row) (b []byte, err error) { return b, r.Scan(&b) },
			`SELECT digest FROM seen WHERE scope = $1 AND id = $2`, scope, id)
		if err == nil && !bytes.Equal(was, digest[:]) {
			err = arena.Errorf(arena.CodeConflict, "the id %q was used for another message", id)
		}
		return err
	})
	return first && err == nil, s.base.Wrap(err, "note %s in %s", id, scope)
}

// DropExpired removes at most limit messages, notes of Once and pulled tasks
// each that expired before a time, pulled tasks some time later. It returns the
// largest of the numbers.
func (s *Messages) DropExpired(ctx context.Context, before time.Time, limit int) (n int, err error) {
	if limit < 1 {
		return 0, arena.Invalid("limit", "must be at least 1, got %d", limit)
	}
	err = s.base.WriteAlone(ctx, "drop expired", func(ctx context.Context, tx *db.Tx) error {
		n = 0
		for statement, age := range map[string]time.Duration{
			`DELETE FROM mail WHERE (box, n) IN (SELECT x.box, x.n FROM mail x WHERE x.expires_at < $1 ORDER BY x.expires_at LIMIT $2)`:                                       0,
			`DELETE FROM seen WHERE (scope, id) IN (SELECT x.scope, x.id FROM seen x WHERE x.expires_at < $1 ORDER BY x.expires_at LIMIT $2)`:                                 0,
			`DELETE FROM pulled_tasks WHERE (agent_id, task_id) IN (SELECT x.agent_id, x.task_id FROM pulled_tasks x WHERE x.expires_at < $1 ORDER BY x.expires_at LIMIT $2)`: pulledKept,
		} {
			dropped, err := db.Exec(ctx, tx, statement, db.Millis(before.Add(-age)), limit)
			if err != nil {
				return err
			}
			n = max(n, int(dropped))
		}
		return nil
	})
	if err != nil {
		return 0, s.base.Wrap(err, "drop expired mail")
	}
	return n, nil
}
