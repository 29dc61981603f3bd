package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

var signingKeyTable = db.NewTable("signing_keys", "k",
	db.Text("kid", func(k *arena.SigningKey) *string { return &k.KID }),
	db.Text("alg", func(k *arena.SigningKey) *string { return &k.Alg }),
	db.Bytes("private", func(k *arena.SigningKey) *[]byte { return &k.Private }),
	db.Time("created_at", func(k *arena.SigningKey) *time.Time { return &k.CreatedAt }),
	db.Time("signs_from", func(k *arena.SigningKey) *time.Time { return &k.SignsFrom }),
	db.Time("expires_at", func(k *arena.SigningKey) *time.Time { return &k.ExpiresAt }),
)

var insertSigningKeys = db.NewInsert(signingKeyTable, "")

func signingKeys(ctx context.Context, q db.Querier) ([]arena.SigningKey, error) {
	return signingKeyTable.All(ctx, q, ` ORDER BY k.created_at, k.kid`)
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
		_, err := insertSigningKeys.Exec(ctx, tx, k)
		return err
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
		if _, err = insertSigningKeys.Exec(ctx, tx, k); err != nil {
			return err
		}
		keys, err = signingKeys(ctx, tx)
		return err
	})
	return keys, s.wrap(err, "store first signing key")
}
