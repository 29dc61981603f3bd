package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

func signingKeys(ctx context.Context, q querier) ([]arena.SigningKey, error) {
	return all(ctx, q, func(r scanner) (k arena.SigningKey, err error) {
		return k, r.Scan(&k.KID, &k.Alg, &k.Private,
			timeInto{&k.CreatedAt}, timeInto{&k.SignsFrom}, timeInto{&k.ExpiresAt})
	}, `SELECT kid, alg, private, created_at, signs_from, expires_at FROM signing_keys ORDER BY created_at, kid`)
}

func insertKey(ctx context.Context, tx *transaction, k arena.SigningKey) error {
	_, err := exec(ctx, tx, `INSERT INTO signing_keys (kid, alg, private, created_at, signs_from, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, k.KID, k.Alg, k.Private, ms(k.CreatedAt), ms(k.SignsFrom), ms(k.ExpiresAt))
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
	err := s.writeAlone(ctx, keysLock, func(ctx context.Context, tx *transaction) error {
		if err := s.d.oneInCluster(ctx, tx, keysLock); err != nil {
			return err
		}
		for _, kid := range slices.Sorted(maps.Keys(retire)) {
			n, err := exec(ctx, tx, `UPDATE signing_keys SET expires_at = $1 WHERE kid = $2`, ms(retire[kid]), kid)
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
	err := s.writeAlone(ctx, keysLock, func(ctx context.Context, tx *transaction) error {
		err := s.d.oneInCluster(ctx, tx, keysLock)
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
