package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

func signingKeys(ctx context.Context, q db.Querier) ([]arena.SigningKey, error) {
	return db.All(ctx, q, func(r db.Row) (k arena.SigningKey, err error) {
		return k, r.Scan(&k.KID, &k.Alg, &k.Private,
			db.IntoTime(&k.CreatedAt), db.IntoTime(&k.SignsFrom), db.IntoTime(&k.ExpiresAt))
	}, `SELECT kid, alg, private, created_at, signs_from, expires_at FROM signing_keys ORDER BY created_at, kid`)
}

func insertKey(ctx context.Context, tx *db.Tx, k arena.SigningKey) error {
	_, err := db.Exec(ctx, tx, `INSERT INTO signing_keys (kid, alg, private, created_at, signs_from, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, k.KID, k.Alg, k.Private, db.Millis(k.CreatedAt), db.Millis(k.SignsFrom), db.Millis(k.ExpiresAt))
	return err
}

// SigningKeys gives all keys, oldest first, expired ones too.
func (s *Store) SigningKeys(ctx context.Context) ([]arena.SigningKey, error) {
	ks, err := signingKeys(ctx, s.reader)
	return ks, s.wrap(err, "read signing keys")
}

// keysLock is the key of writes to signing_keys, and the name of their lock
// in the cluster.
const keysLock = "signing_keys"

// AddSigningKey stores k and sets when others expire, by kid.
func (s *Store) AddSigningKey(ctx context.Context, k arena.SigningKey, retire map[string]time.Time) error {
	err := s.writeAlone(ctx, keysLock, func(ctx context.Context, tx *db.Tx) error {
		if err := s.d.LockInCluster(ctx, tx, keysLock); err != nil {
			return err
		}
		for _, kid := range slices.Sorted(maps.Keys(retire)) {
			n, err := db.Exec(ctx, tx, `UPDATE signing_keys SET expires_at = $1 WHERE kid = $2`, db.Millis(retire[kid]), kid)
			if err != nil {
				return err
			}
			if n == 0 {
				return notFound("signing key", kid)
			}
		}
		return insertKey(ctx, tx, k)
	})
	return s.wrap(err, "add signing key %s", k.KID)
}

// FirstSigningKey stores k when there is no key of any algorithm yet, and
// gives all keys: nodes that start together agree on one.
func (s *Store) FirstSigningKey(ctx context.Context, k arena.SigningKey) ([]arena.SigningKey, error) {
	var keys []arena.SigningKey
	err := s.writeAlone(ctx, keysLock, func(ctx context.Context, tx *db.Tx) error {
		err := s.d.LockInCluster(ctx, tx, keysLock)
		if err != nil {
			return err
		}
		if keys, err = signingKeys(ctx, tx); err != nil || len(keys) > 0 {
			return err
		}
		if err = insertKey(ctx, tx, k); err != nil {
			return err
		}
		keys, err = signingKeys(ctx, tx)
		return err
	})
	return keys, s.wrap(err, "store first signing key")
}
