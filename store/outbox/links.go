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

var linkTable = db.NewTable("mail_links", "x",
	db.Digest("hash", func(l *arena.MailLink) *[32]byte { return &l.Hash }),
	db.Text("kind", func(l *arena.MailLink) *arena.MailKind { return &l.Kind }),
	db.Text("owner_id", func(l *arena.MailLink) *string { return &l.OwnerID }),
	db.Text("address", func(l *arena.MailLink) *string { return &l.Address }),
	db.Time("expires_at", func(l *arena.MailLink) *time.Time { return &l.ExpiresAt }),
)

var insertLinks = db.NewInsert(linkTable, "")

// contactTable is what an owner is to those who write to it.
var contactTable = db.NewTable("owners", "o",
	db.Text("id", func(o *arena.Owner) *string { return &o.ID }),
	db.Text("name", func(o *arena.Owner) *string { return &o.Name }),
	db.Text("email", func(o *arena.Owner) *string { return &o.Email }),
	db.Time("created_at", func(o *arena.Owner) *time.Time { return &o.CreatedAt }),
	db.Time("suspended_at", func(o *arena.Owner) *time.Time { return &o.SuspendedAt }),
	db.Time("erased_at", func(o *arena.Owner) *time.Time { return &o.ErasedAt }),
	db.Time("email_confirmed_at", func(o *arena.Owner) *time.Time { return &o.EmailConfirmedAt }),
	db.Bool("no_pause_mails", func(o *arena.Owner) *bool { return &o.NoPauseMails }),
)

// AddMailLinks stores links in mails.
func (o *Outbox) AddMailLinks(ctx context.Context, links []arena.MailLink) error {
	err := o.base.Write(ctx, "mail links", func(ctx context.Context, tx *db.Tx) error {
		_, err := insertLinks.Exec(ctx, tx, links...)
		return err
	})
	return o.base.Wrap(err, "add links in mails")
}

// TakeMailLink returns the link of a kind whose secret has the SHA-256 hash, and
// removes all links of that kind of its owner. The transaction that it is part of
// must not commit unless the link is used. not_found: there is no such link, or it
// has expired.
func (o *Outbox) TakeMailLink(ctx context.Context, tx *db.Tx, kind arena.MailKind, hash [32]byte) (arena.MailLink, error) {
	l, err := linkTable.One(ctx, tx, ` WHERE x.hash = $1`+o.base.Dialect.Lock("x"), hash[:])
	if errors.Is(err, sql.ErrNoRows) || err == nil && (l.Kind != kind || !o.base.Now().Before(l.ExpiresAt)) {
		return l, arena.Errorf(arena.CodeNotFound, "there is no such link")
	}
	if err != nil {
		return l, err
	}
	return l, dropLinks(ctx, tx, l.OwnerID, kind)
}

func dropLinks(ctx context.Context, tx *db.Tx, ownerID string, kind arena.MailKind) error {
	_, err := db.Exec(ctx, tx, `DELETE FROM mail_links WHERE owner_id = $1 AND kind = $2`, ownerID, string(kind))
	return err
}

// DropMailLinks removes at most limit links that expired before a time, and
// returns how many it removed.
func (o *Outbox) DropMailLinks(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return o.base.Drop(ctx, "links in mails",
		`DELETE FROM mail_links WHERE hash IN (SELECT hash FROM mail_links WHERE expires_at < $1 ORDER BY expires_at, hash LIMIT $2)`, before, limit)
}

// OwnersAt returns at most limit owners that have confirmed an email address,
// whatever the case of its letters, oldest first. Those that are suspended or
// deleted are left out.
func (o *Outbox) OwnersAt(ctx context.Context, address string, limit int) ([]arena.Owner, error) {
	owners, err := contactTable.All(ctx, o.base.Reader,
		` WHERE lower(o.email) = lower(CAST($1 AS TEXT)) AND o.email_confirmed_at > 0 AND o.email <> '' AND o.suspended_at = 0 AND o.erased_at = 0 ORDER BY o.id LIMIT $2`, address, limit)
	return owners, o.base.Wrap(err, "read the owners at an address")
}

// SetMailSettings changes where and whether an owner gets mails, and stores the
// audit entries about it. Another address has to be confirmed again, and ends the
// links that were sent to the one before. not_found: there is no such owner;
// conflict: it was deleted.
func (o *Outbox) SetMailSettings(ctx context.Context, ownerID string, s arena.MailSettings, audit ...arena.AuditEntry) error {
	err := o.base.Write(ctx, ownerID, func(ctx context.Context, tx *db.Tx) error {
		found, err := o.base.OwnerForChange(ctx, tx, contactTable, ownerID)
		if err != nil {
			return err
		}
		if s.Email != nil && *s.Email != found.Email {
			found.Email, found.EmailConfirmedAt = *s.Email, time.Time{}
			for _, kind := range []arena.MailKind{arena.MailConfirm, arena.MailReset} {
				if err := dropLinks(ctx, tx, ownerID, kind); err != nil {
					return err
				}
			}
		}
		if s.Pauses != nil {
			found.NoPauseMails = !*s.Pauses
		}
		silent := 0
		if found.NoPauseMails {
			silent = 1
		}
		if _, err := db.Exec(ctx, tx, `UPDATE owners SET email = $1, email_confirmed_at = $2, no_pause_mails = $3 WHERE id = $4`,
			found.Email, db.Millis(found.EmailConfirmedAt), silent, ownerID); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return o.base.Wrap(err, "change the mail settings of owner %s", ownerID)
}

// ConfirmEmail notes that the address of an owner is confirmed. Of an owner that
// has another address it changes nothing.
func (o *Outbox) ConfirmEmail(ctx context.Context, ownerID, address string, at time.Time) error {
	err := o.base.Write(ctx, ownerID, func(ctx context.Context, tx *db.Tx) error {
		return confirm(ctx, tx, ownerID, address, at)
	})
	return o.base.Wrap(err, "confirm the address of owner %s", ownerID)
}

func confirm(ctx context.Context, tx *db.Tx, ownerID, address string, at time.Time) error {
	_, err := db.Exec(ctx, tx, `UPDATE owners SET email_confirmed_at = $1 WHERE id = $2 AND email = $3 AND email_confirmed_at = 0 AND erased_at = 0`,
		db.Millis(at), ownerID, address)
	return err
}

// ConfirmWithLink confirms the address of an owner with a link of the kind confirm
// whose secret has the SHA-256 hash, and returns the owner. not_found: there is no
// such link, or it has expired.
func (o *Outbox) ConfirmWithLink(ctx context.Context, hash [32]byte, at time.Time) (ownerID string, err error) {
	err = o.base.Write(ctx, string(hash[:]), func(ctx context.Context, tx *db.Tx) error {
		l, err := o.TakeMailLink(ctx, tx, arena.MailConfirm, hash)
		if err != nil {
			return err
		}
		ownerID = l.OwnerID
		return confirm(ctx, tx, l.OwnerID, l.Address, at)
	})
	return ownerID, o.base.Wrap(err, "confirm an address")
}
