package outbox

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// Outbox is the mails of a database.
type Outbox struct{ base *base.Base }

// New returns the outbox of a database.
func New(b *base.Base) *Outbox { return &Outbox{base: b} }

var mailTable = db.NewTable("outbox", "x",
	db.Text("id", func(m *arena.QueuedMail) *string { return &m.ID }),
	db.Text("kind", func(m *arena.QueuedMail) *arena.MailKind { return &m.Kind }),
	db.Text("owner_id", func(m *arena.QueuedMail) *string { return &m.OwnerID }),
	db.Text("agent_id", func(m *arena.QueuedMail) *string { return &m.AgentID }),
	db.Text("pause", func(m *arena.QueuedMail) *arena.PauseReason { return &m.Pause }),
	db.Text("address", func(m *arena.QueuedMail) *string { return &m.Address }),
	db.Time("created_at", func(m *arena.QueuedMail) *time.Time { return &m.CreatedAt }),
	db.Time("next_at", func(m *arena.QueuedMail) *time.Time { return &m.NextAt }),
	db.Time("give_up_at", func(m *arena.QueuedMail) *time.Time { return &m.GiveUpAt }),
	db.Time("ended_at", func(m *arena.QueuedMail) *time.Time { return &m.EndedAt }),
	db.Int("attempts", func(m *arena.QueuedMail) *int { return &m.Attempts }),
)

var insertMails = db.NewInsert(mailTable, "")

// queueLock is the key of writes that count the mails, and the name of their lock
// in the cluster.
const queueLock = "outbox"

// QueueMail stores a mail, within limits. rate_limited: there are as many to the
// address, or about the agent, as there may be; unavailable: as many mails wait.
func (o *Outbox) QueueMail(ctx context.Context, m arena.QueuedMail, limits arena.MailLimits) error {
	err := o.base.WriteAlone(ctx, queueLock, func(ctx context.Context, tx *db.Tx) error {
		if err := o.base.Dialect.LockInCluster(ctx, tx, queueLock); err != nil {
			return err
		}
		waiting, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM outbox WHERE ended_at = 0`)
		if err != nil {
			return err
		}
		sent, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM outbox WHERE lower(address) = lower(CAST($1 AS TEXT)) AND kind = $2 AND created_at > $3`,
			m.Address, string(m.Kind), db.Millis(m.CreatedAt.Add(-time.Hour)))
		if err != nil {
			return err
		}
		about := int64(0)
		if m.AgentID != "" { // the query repeats it: the index holds such rows alone
			about, err = db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM outbox WHERE agent_id = $1 AND agent_id <> '' AND created_at > $2`, m.AgentID, db.Millis(m.CreatedAt.Add(-limits.PerAgent)))
		}
		switch {
		case err != nil:
			return err
		case sent >= int64(limits.PerHour):
			return arena.Errorf(arena.CodeRateLimited, "too many mails to this address within an hour")
		case about > 0:
			return arena.Errorf(arena.CodeRateLimited, "there was a mail about agent %s already", m.AgentID)
		case waiting >= int64(limits.Waiting):
			return arena.Errorf(arena.CodeUnavailable, "%d mails wait already, as many as may", waiting)
		}
		_, err = insertMails.Exec(ctx, tx, m)
		return err
	})
	return o.base.Wrap(err, "queue mail %s", m.ID)
}

// ClaimMail returns the mail whose next attempt has been due for longest, and
// counts that attempt. Until the time that next returns for it no other node gets
// the mail. not_found: none is due.
func (o *Outbox) ClaimMail(ctx context.Context, now time.Time, next func(m arena.QueuedMail) time.Time) (m arena.QueuedMail, err error) {
	err = o.base.Write(ctx, "claim mail", func(ctx context.Context, tx *db.Tx) error {
		m, err = mailTable.One(ctx, tx, ` WHERE x.ended_at = 0 AND x.next_at <= $1 ORDER BY x.next_at, x.id LIMIT 1`+o.base.Dialect.Lock("x"), db.Millis(now))
		if errors.Is(err, sql.ErrNoRows) {
			return arena.Errorf(arena.CodeNotFound, "no mail is due")
		}
		if err != nil {
			return err
		}
		m.Attempts++
		m.NextAt = next(m)
		_, err := db.Exec(ctx, tx, `UPDATE outbox SET attempts = $1, next_at = $2 WHERE id = $3`, m.Attempts, db.Millis(m.NextAt), m.ID)
		return err
	})
	return m, o.base.Wrap(err, "claim a mail")
}

// EndMail notes that a mail was sent, or given up. It stays for the limits.
func (o *Outbox) EndMail(ctx context.Context, id string, at time.Time) error {
	err := o.base.Write(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `UPDATE outbox SET ended_at = $1 WHERE id = $2 AND ended_at = 0`, db.Millis(at), id)
		return err
	})
	return o.base.Wrap(err, "end mail %s", id)
}

// DropMails removes at most limit mails that were queued before a time and have
// ended, and returns how many it removed.
func (o *Outbox) DropMails(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return o.base.Drop(ctx, "mails",
		`DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE created_at < $1 AND ended_at > 0 ORDER BY created_at, id LIMIT $2)`, before, limit)
}
