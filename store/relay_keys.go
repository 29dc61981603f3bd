package store

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

const relayKeyRows = `SELECT k.key, k.polled_at, k.manifest, k.manifest_at,
	(SELECT coalesce(max(e.received_at), 0) FROM envelopes e WHERE e.sender = k.key) FROM relay_keys k`

func scanRelayKey(r db.Row) (k arena.RelayKey, err error) {
	err = r.Scan(&k.Key, db.IntoTime(&k.PolledAt), &k.Manifest, db.IntoTime(&k.ManifestAt), db.IntoTime(&k.PostedAt))
	if len(k.Manifest) == 0 {
		k.Manifest = nil
	}
	return k, err
}

// RelayKey gives what is known about a key, also when that is nothing.
func (s *Store) RelayKey(ctx context.Context, key string) (arena.RelayKey, error) {
	k := arena.RelayKey{Key: key}
	ks, err := db.All(ctx, s.reader, scanRelayKey, relayKeyRows+` WHERE k.key = $1`, key)
	switch {
	case err == nil && len(ks) == 1:
		k = ks[0]
	case err == nil: // it may have posted and never asked
		k.PostedAt, err = db.One(ctx, s.reader, func(r db.Row) (at time.Time, err error) { return at, r.Scan(db.IntoTime(&at)) },
			`SELECT coalesce(max(received_at), 0) FROM envelopes WHERE sender = $1`, key)
	}
	return k, s.wrap(err, "read relay key")
}

// RelayManifests gives the keys that have published a manifest, newest first.
func (s *Store) RelayManifests(ctx context.Context, limit int) ([]arena.RelayKey, error) {
	ks, err := db.All(ctx, s.reader, scanRelayKey, relayKeyRows+` WHERE k.manifest_at > 0 ORDER BY k.manifest_at DESC, k.key LIMIT $1`, limit)
	return ks, s.wrap(err, "read manifests")
}

// PolledRelay notes that somebody asked for what a key was sent.
func (s *Store) PolledRelay(ctx context.Context, key string, at time.Time) error {
	err := s.write(ctx, key, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `INSERT INTO relay_keys (key, polled_at, manifest, manifest_at) VALUES ($1, $2, $3, 0)
			ON CONFLICT (key) DO UPDATE SET polled_at = excluded.polled_at WHERE relay_keys.polled_at < excluded.polled_at`,
			key, db.Millis(at), []byte{})
		return err
	})
	return s.wrap(err, "note a poll")
}

// SaveManifest stores what a key published about itself, unless it has
// published something later.
func (s *Store) SaveManifest(ctx context.Context, key string, manifest []byte, at time.Time) error {
	err := s.write(ctx, key, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `INSERT INTO relay_keys (key, polled_at, manifest, manifest_at) VALUES ($1, 0, $2, $3)
			ON CONFLICT (key) DO UPDATE SET manifest = excluded.manifest, manifest_at = excluded.manifest_at
			WHERE relay_keys.manifest_at < excluded.manifest_at`, key, manifest, db.Millis(at))
		return err
	})
	return s.wrap(err, "store a manifest")
}

// Identity gives the private key, in PKCS #8, that the arena has under a name.
// The first call stores fresh: nodes that start together agree on one.
func (s *Store) Identity(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	var private []byte
	err := s.write(ctx, name, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `INSERT INTO own_keys (name, private) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, fresh)
		if err != nil {
			return err
		}
		private, err = db.One(ctx, tx, func(r db.Row) (b []byte, err error) { return b, r.Scan(&b) },
			`SELECT private FROM own_keys WHERE name = $1`, name)
		return err
	})
	return private, s.wrap(err, "read identity %s", name)
}
