package people

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

var invitationTable = db.NewTable("invitations", "x",
	db.Text("id", func(i *arena.Invitation) *string { return &i.ID }),
	db.Digest("hash", func(i *arena.Invitation) *[32]byte { return &i.Hash }),
	db.Text("role", func(i *arena.Invitation) *arena.Scope { return &i.Role.Scope }),
	db.JSON("role_leagues", func(i *arena.Invitation) *[]string { return &i.Role.Leagues }),
	db.Text("name", func(i *arena.Invitation) *string { return &i.Name }),
	db.Text("email", func(i *arena.Invitation) *string { return &i.Email }),
	db.Int("uses", func(i *arena.Invitation) *int { return &i.Uses }),
	db.Int("used", func(i *arena.Invitation) *int { return &i.Used }),
	db.Time("created_at", func(i *arena.Invitation) *time.Time { return &i.CreatedAt }),
	db.Text("created_by", func(i *arena.Invitation) *string { return &i.CreatedBy }),
	db.Time("expires_at", func(i *arena.Invitation) *time.Time { return &i.ExpiresAt }),
	db.Time("revoked_at", func(i *arena.Invitation) *time.Time { return &i.RevokedAt }),
)

var insertInvitations = db.NewInsert(invitationTable, "")

// CreateInvitation stores an invitation with the audit entries about it.
func (a *Access) CreateInvitation(ctx context.Context, i arena.Invitation, audit ...arena.AuditEntry) error {
	err := a.base.Write(ctx, i.ID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := insertInvitations.Exec(ctx, tx, i); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return a.base.Wrap(err, "create invitation %s", i.ID)
}

// Invitations returns at most limit invitations, newest first, those that cannot
// be used any more too.
func (a *Access) Invitations(ctx context.Context, limit int) ([]arena.Invitation, error) {
	list, err := invitationTable.All(ctx, a.base.Reader, ` ORDER BY x.id DESC LIMIT $1`, limit)
	return list, a.base.Wrap(err, "list invitations")
}

// OpenInvitations returns how many invitations can be used at now.
func (a *Access) OpenInvitations(ctx context.Context, now time.Time) (int64, error) {
	n, err := db.One(ctx, a.base.Reader, db.ScanInt, `SELECT count(*) FROM invitations WHERE expires_at > $1 AND used < uses AND revoked_at = 0`, db.Millis(now))
	return n, a.base.Wrap(err, "count invitations")
}

func oneInvitation(ctx context.Context, q db.Querier, rest string, args ...any) (arena.Invitation, error) {
	i, err := invitationTable.One(ctx, q, rest, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no such invitation")
	}
	return i, err
}

// InvitationByHash returns the invitation whose secret has the SHA-256 hash,
// whether or not it can be used.
func (a *Access) InvitationByHash(ctx context.Context, hash [32]byte) (arena.Invitation, error) {
	i, err := oneInvitation(ctx, a.base.Reader, ` WHERE x.hash = $1`, hash[:])
	return i, a.base.Wrap(err, "read invitation")
}

// TakeInvitation counts one use of an invitation and returns it as it was
// before. The transaction that it is part of must not commit unless the
// invitation can be used.
func (a *Access) TakeInvitation(ctx context.Context, tx *db.Tx, hash [32]byte) (arena.Invitation, error) {
	i, err := oneInvitation(ctx, tx, ` WHERE x.hash = $1`+a.base.Dialect.Lock("x"), hash[:])
	if err != nil {
		return i, err
	}
	_, err = db.Exec(ctx, tx, `UPDATE invitations SET used = used + 1 WHERE id = $1`, i.ID)
	return i, err
}

// RevokeInvitation ends an invitation at a time and stores the audit entries
// about it. not_found: it is unknown, or cannot be used any more.
func (a *Access) RevokeInvitation(ctx context.Context, id string, at time.Time, audit ...arena.AuditEntry) error {
	err := a.base.Write(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `UPDATE invitations SET revoked_at = $1 WHERE id = $2 AND revoked_at = 0 AND used < uses AND expires_at > $1`, db.Millis(at), id)
		if err == nil && n == 0 {
			return arena.Errorf(arena.CodeNotFound, "there is no invitation %q that can be used", id)
		}
		if err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return a.base.Wrap(err, "revoke invitation %s", id)
}

// DropInvitations removes at most limit invitations that expired before a time,
// and returns how many it removed.
func (a *Access) DropInvitations(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return a.base.Drop(ctx, "invitations",
		`DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at < $1 ORDER BY expires_at, id LIMIT $2)`, before, limit)
}
