package base

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// OwnerForChange returns and locks an owner, as a table of the owners with the alias
// o reads it. not_found: there is no such owner; conflict: it was deleted.
func (b *Base) OwnerForChange(ctx context.Context, tx *db.Tx, owners *db.Table[arena.Owner], ownerID string) (arena.Owner, error) {
	o, err := owners.One(ctx, tx, ` WHERE o.id = $1`+b.Dialect.Lock("o"), ownerID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return o, arena.Errorf(arena.CodeNotFound, "there is no owner %q", ownerID)
	case err == nil && !o.ErasedAt.IsZero():
		return o, arena.Errorf(arena.CodeConflict, "owner %s was deleted", ownerID)
	}
	return o, err
}

// Drop runs a statement that deletes at most limit rows whose time, in Unix
// milliseconds, lies before $1; $2 is the limit. It returns how many rows it removed.
// what names the rows, in errors and as the key of the write.
func (b *Base) Drop(ctx context.Context, what, statement string, before time.Time, limit int) (removed int, err error) {
	err = b.Write(ctx, what, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, statement, db.Millis(before), limit)
		removed = int(n)
		return err
	})
	return removed, b.Wrap(err, "drop %s", what)
}
