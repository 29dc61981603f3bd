package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// CreateOwner stores an owner and their first token. Owners are told apart by
// their ids: two may have one name.
func (s *Store) CreateOwner(ctx context.Context, o arena.Owner, t arena.Token) error {
	err := s.write(ctx, o.ID, func(ctx context.Context, tx *db.Tx) error {
		if err := insertOwner(ctx, tx, o); err != nil {
			return err
		}
		return insertToken(ctx, tx, t)
	})
	return s.wrap(err, "create owner %s", o.ID)
}

// Owner gives one owner.
func (s *Store) Owner(ctx context.Context, id string) (arena.Owner, error) {
	o, err := db.One(ctx, s.reader, func(r db.Row) (o arena.Owner, err error) {
		return o, r.Scan(&o.ID, &o.Name, &o.Email, db.IntoTime(&o.CreatedAt))
	}, `SELECT id, name, email, created_at FROM owners WHERE id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("owner", id)
	}
	return o, s.wrap(err, "read owner %s", id)
}

// OwnerOf gives the owner that somebody of an outside issuer is. not_found:
// never seen here.
func (s *Store) OwnerOf(ctx context.Context, issuer, subject string) (ownerID string, err error) {
	ownerID, err = db.One(ctx, s.reader, db.ScanText, `SELECT owner_id FROM identities WHERE issuer = $1 AND subject = $2`, issuer, subject)
	if errors.Is(err, sql.ErrNoRows) {
		return "", arena.Errorf(arena.CodeNotFound, "nobody of this issuer is called so")
	}
	return ownerID, s.wrap(err, "read identity")
}

// AdoptOwner stores an owner without a token, and that it is who the outside
// issuer calls subject. It gives the id of the owner that this person is: the
// one that is there already wins.
func (s *Store) AdoptOwner(ctx context.Context, o arena.Owner, issuer, subject string) (ownerID string, err error) {
	err = s.write(ctx, issuer+" "+subject, func(ctx context.Context, tx *db.Tx) error {
		if err := insertOwner(ctx, tx, o); err != nil {
			return err
		}
		_, err := db.Exec(ctx, tx, `INSERT INTO identities (issuer, subject, owner_id, created_at) VALUES ($1, $2, $3, $4)`,
			issuer, subject, o.ID, db.Millis(o.CreatedAt))
		return err
	})
	if err = s.wrap(err, "adopt owner %s", o.ID); arena.CodeOf(err) == arena.CodeConflict {
		return s.OwnerOf(ctx, issuer, subject)
	}
	return o.ID, err
}

func insertOwner(ctx context.Context, tx *db.Tx, o arena.Owner) error {
	_, err := db.Exec(ctx, tx, `INSERT INTO owners (id, name, email, created_at) VALUES ($1, $2, $3, $4)`, o.ID, o.Name, o.Email, db.Millis(o.CreatedAt))
	return err
}

// CreateToken stores a token.
func (s *Store) CreateToken(ctx context.Context, t arena.Token) error {
	err := s.write(ctx, t.ID, func(ctx context.Context, tx *db.Tx) error { return insertToken(ctx, tx, t) })
	return s.wrap(err, "create token %s", t.ID)
}

func insertToken(ctx context.Context, tx *db.Tx, t arena.Token) error {
	_, err := db.Exec(ctx, tx, `INSERT INTO tokens (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, t.ID, sql.NullString{String: t.OwnerID, Valid: t.OwnerID != ""},
		string(t.Scope), t.Name, t.Hash[:], db.Millis(t.CreatedAt), db.Millis(t.LastUsedAt), db.Millis(t.RevokedAt))
	return err
}

const tokenColumns = `SELECT id, COALESCE(owner_id, ''), scope, name, hash, created_at, last_used_at, revoked_at FROM tokens`

func scanToken(r db.Row) (t arena.Token, err error) {
	var hash []byte
	err = r.Scan(&t.ID, &t.OwnerID, &t.Scope, &t.Name, &hash,
		db.IntoTime(&t.CreatedAt), db.IntoTime(&t.LastUsedAt), db.IntoTime(&t.RevokedAt))
	if err == nil && copy(t.Hash[:], hash) != len(t.Hash) {
		err = fmt.Errorf("token %s: hash of %d bytes", t.ID, len(hash))
	}
	return t, err
}

// Tokens gives an owner's tokens that are not revoked, oldest first.
func (s *Store) Tokens(ctx context.Context, ownerID string) ([]arena.Token, error) {
	ts, err := db.All(ctx, s.reader, scanToken, tokenColumns+
		` WHERE owner_id = $1 AND revoked_at = 0 ORDER BY id`, ownerID)
	return ts, s.wrap(err, "read tokens of %s", ownerID)
}

// AdminTokens gives the admin tokens that are not revoked, oldest first.
func (s *Store) AdminTokens(ctx context.Context) ([]arena.Token, error) {
	ts, err := db.All(ctx, s.reader, scanToken, tokenColumns+
		` WHERE owner_id IS NULL AND scope = 'admin' AND revoked_at = 0 ORDER BY id`)
	return ts, s.wrap(err, "read admin tokens")
}

// RevokeToken ends a token; ownerID is "" for an admin token. not_found: it
// is another's, unknown, or revoked already.
func (s *Store) RevokeToken(ctx context.Context, ownerID, id string) error {
	err := s.write(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `UPDATE tokens SET revoked_at = $1
			WHERE id = $2 AND COALESCE(owner_id, '') = $3 AND revoked_at = 0`, db.Millis(s.now()), id, ownerID)
		if err == nil && n == 0 {
			return notFound("token", id)
		}
		return err
	})
	return s.wrap(err, "revoke token %s", id)
}

// usedEvery is how exactly a token's last use is known.
const usedEvery = time.Minute

// TokenByHash gives the token whose secret has the SHA-256 hash. not_found:
// unknown or revoked. Its last use is noted at most once a minute; a failure
// to note it does not keep anyone out.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (arena.Token, error) {
	t, err := db.One(ctx, s.reader, scanToken, tokenColumns+` WHERE hash = $1 AND revoked_at = 0`, hash[:])
	if errors.Is(err, sql.ErrNoRows) {
		return arena.Token{}, arena.Errorf(arena.CodeNotFound, "there is no such token")
	}
	if err != nil {
		return arena.Token{}, s.wrap(err, "read token")
	}
	now := db.FromMillis(db.Millis(s.now()))
	if now.Sub(t.LastUsedAt) < usedEvery {
		return t, nil
	}
	err = s.write(ctx, t.ID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `UPDATE tokens SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1`, db.Millis(now), t.ID)
		return err
	})
	if err != nil {
		s.log.WarnContext(ctx, "token use not noted", "token_id", t.ID, "error", err)
	} else {
		t.LastUsedAt = now
	}
	return t, nil
}
