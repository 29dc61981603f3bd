package people

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// Access is the roles, sessions and invitations of a database.
type Access struct{ base *base.Base }

// New returns the access of a database.
func New(b *base.Base) *Access { return &Access{base: b} }

// personTable is what an owner is to those who manage roles.
var personTable = db.NewTable("owners", "o",
	db.Text("id", func(o *arena.Owner) *string { return &o.ID }),
	db.Text("name", func(o *arena.Owner) *string { return &o.Name }),
	db.Text("email", func(o *arena.Owner) *string { return &o.Email }),
	db.Time("created_at", func(o *arena.Owner) *time.Time { return &o.CreatedAt }),
	db.Time("suspended_at", func(o *arena.Owner) *time.Time { return &o.SuspendedAt }),
	db.Time("erased_at", func(o *arena.Owner) *time.Time { return &o.ErasedAt }),
	db.Text("role", func(o *arena.Owner) *arena.Scope { return &o.Role.Scope }),
	db.JSON("role_leagues", func(o *arena.Owner) *[]string { return &o.Role.Leagues }),
)

// maxPeople is how many people with a role are listed.
const maxPeople = 1_000

// People returns the owners that have a role, by role and age.
func (a *Access) People(ctx context.Context) ([]arena.Owner, error) {
	owners, err := personTable.All(ctx, a.base.Reader, ` WHERE o.role <> '' ORDER BY o.role, o.id LIMIT $1`, maxPeople)
	return owners, a.base.Wrap(err, "list people")
}

// SetRole sets or removes the role of an owner, and stores the audit entry
// that audit makes of the change. A role that the owner has already changes
// nothing. not_found: there is no such owner; conflict: it was deleted.
func (a *Access) SetRole(ctx context.Context, ownerID string, role arena.Role, audit func(before arena.Owner) (arena.AuditEntry, error)) (after arena.Owner, err error) {
	err = a.base.Write(ctx, ownerID, func(ctx context.Context, tx *db.Tx) error {
		before, err := a.base.OwnerForChange(ctx, tx, personTable, ownerID)
		if err != nil {
			return err
		}
		after = before
		after.Role = role
		if before.Role.Equal(role) {
			return nil
		}
		if err := SetRole(ctx, tx, after); err != nil {
			return err
		}
		e, err := audit(before)
		if err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, e)
	})
	return after, a.base.Wrap(err, "set the role of owner %s", ownerID)
}

// SetRole stores the role of an owner.
func SetRole(ctx context.Context, tx *db.Tx, o arena.Owner) error {
	_, err := db.Exec(ctx, tx, `UPDATE owners SET role = $1, role_leagues = $2 WHERE id = $3`, string(o.Role.Scope), db.Encode(o.Role.Leagues), o.ID)
	return err
}
