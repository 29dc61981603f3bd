package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

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

// PutMail stores a message for a box until its expiry and gives the number
// that it got there. The same message again is the message that is there;
// conflict: another one has its id.
func (s *Store) PutMail(ctx context.Context, m arena.Mail, expires time.Time) (stored arena.Mail, err error) {
	err = s.writeAlone(ctx, "mail", func(ctx context.Context, tx *db.Tx) error {
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
	return stored, s.wrap(err, "put mail for %s", m.Box)
}

// Mail gives at most limit messages of a box that came after number after and
// have not expired at now, in order.
func (s *Store) Mail(ctx context.Context, box string, after int64, limit int, now time.Time) ([]arena.Mail, error) {
	rows, err := mailTable.All(ctx, s.reader, ` WHERE x.box = $1 AND x.n > $2 AND x.expires_at > $3 ORDER BY x.n LIMIT $4`,
		box, after, db.Millis(now), limit)
	var mail []arena.Mail
	for _, r := range rows {
		mail = append(mail, r.Mail)
	}
	return mail, s.wrap(err, "read mail for %s", box)
}

// DropMail removes a box's messages up to number upTo.
func (s *Store) DropMail(ctx context.Context, box string, upTo int64) error {
	err := s.write(ctx, box, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `DELETE FROM mail WHERE box = $1 AND n <= $2`, box, upTo)
		return err
	})
	return s.wrap(err, "drop mail for %s", box)
}

// Once notes that id was seen in scope and says whether it was the first time
// since its note's expiry. conflict: it was seen with another digest.
func (s *Store) Once(ctx context.Context, scope, id string, digest [32]byte, now, expires time.Time) (first bool, err error) {
	err = s.write(ctx, scope+" "+id, func(ctx context.Context, tx *db.Tx) error {
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
	return first && err == nil, s.wrap(err, "note %s in %s", id, scope)
}

// DropExpired removes at most limit messages, and as many notes of Once, that
// expired before a time, and gives the larger of both numbers.
func (s *Store) DropExpired(ctx context.Context, before time.Time, limit int) (n int, err error) {
	if err := checkLimit(limit); err != nil {
		return 0, err
	}
	err = s.writeAlone(ctx, "drop expired", func(ctx context.Context, tx *db.Tx) error {
		n = 0
		for _, statement := range []string{
			`DELETE FROM mail WHERE (box, n) IN (SELECT x.box, x.n FROM mail x WHERE x.expires_at < $1 ORDER BY x.expires_at LIMIT $2)`,
			`DELETE FROM seen WHERE (scope, id) IN (SELECT x.scope, x.id FROM seen x WHERE x.expires_at < $1 ORDER BY x.expires_at LIMIT $2)`,
		} {
			dropped, err := db.Exec(ctx, tx, statement, db.Millis(before), limit)
			if err != nil {
				return err
			}
			n = max(n, int(dropped))
		}
		return nil
	})
	if err != nil {
		return 0, s.wrap(err, "drop expired mail")
	}
	return n, nil
}

// AgentByKey gives the agent of a protocol, not retired, whose owner proved to
// hold the key. not_found: there is none.
func (s *Store) AgentByKey(ctx context.Context, protocol, publicKey string) (arena.Agent, error) {
	a, err := agentTable.One(ctx, s.reader, agentOwner+` WHERE a.protocol = $1 AND a.public_key = $2 AND a.key_proved_at > 0 AND a.retired_at = 0`, protocol, publicKey)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "no agent has proved to hold this key")
	}
	return a, s.wrap(err, "find the agent of a key")
}
