package people

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// digestOf names an identity without saying whose it is.
func digestOf(issuer, subject string) string {
	sum := sha256.Sum256([]byte(issuer + "\x00" + subject))
	return hex.EncodeToString(sum[:])
}

// EraseIdentities deletes the identities of an owner at OIDC issuers, and records
// by digest that tokens issued until a time are no longer accepted.
func EraseIdentities(ctx context.Context, tx *db.Tx, ownerID string, at time.Time) error {
	gone, err := db.All(ctx, tx, func(r db.Row) (i arena.Identity, err error) { return i, r.Scan(&i.Issuer, &i.Subject) },
		`SELECT i.issuer, i.subject FROM identities i WHERE i.owner_id = $1 ORDER BY i.issuer, i.subject`, ownerID)
	if err != nil {
		return err
	}
	for _, i := range gone {
		if _, err := db.Exec(ctx, tx, `INSERT INTO erased_identities (digest, at) VALUES ($1, $2) ON CONFLICT (digest) DO UPDATE SET at = $2`,
			digestOf(i.Issuer, i.Subject), db.Millis(at)); err != nil {
			return err
		}
	}
	_, err = db.Exec(ctx, tx, `DELETE FROM identities WHERE owner_id = $1`, ownerID)
	return err
}

// CheckIdentity rejects an identity whose token was issued before its owner was
// deleted, with arena.CodeUnauthorized.
func CheckIdentity(ctx context.Context, tx *db.Tx, id arena.Identity) error {
	at, err := db.One(ctx, tx, db.ScanInt, `SELECT at FROM erased_identities WHERE digest = $1`, digestOf(id.Issuer, id.Subject))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case !id.IssuedAt.After(db.FromMillis(at)):
		return arena.Errorf(arena.CodeUnauthorized, "the owner of this token was deleted; a newer token makes a new owner")
	}
	return nil
}

// DropErasedIdentities removes at most limit digests of identities that were
// deleted before a time, and returns how many it removed.
func (a *Access) DropErasedIdentities(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return a.base.Drop(ctx, "digests of identities",
		`DELETE FROM erased_identities WHERE digest IN (SELECT digest FROM erased_identities WHERE at < $1 ORDER BY at, digest LIMIT $2)`, before, limit)
}
