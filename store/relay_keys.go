package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

var relayKeyTable = db.NewTable("relay_keys", "k",
	db.Text("key", func(k *arena.RelayKey) *string { return &k.Key }),
	db.Time("polled_at", func(k *arena.RelayKey) *time.Time { return &k.PolledAt }),
	db.Column[arena.RelayKey]{
		Name: "manifest", Type: db.TypeBytes,
		Value: func(k *arena.RelayKey) any { return append([]byte{}, k.Manifest...) }, // not NULL
		Into:  func(k *arena.RelayKey) any { return manifestInto{&k.Manifest} },
	},
	db.Time("manifest_at", func(k *arena.RelayKey) *time.Time { return &k.ManifestAt }),
	db.Computed(`(SELECT coalesce(max(e.received_at), 0) FROM envelopes e WHERE e.sender = k.key)`,
		func(k *arena.RelayKey) any { return db.IntoTime(&k.PostedAt) }),
)

var (
	pollRelayKeys = db.NewInsert(relayKeyTable, `ON CONFLICT (key) DO UPDATE SET polled_at = excluded.polled_at
		WHERE relay_keys.polled_at < excluded.polled_at`)
	saveManifests = db.NewInsert(relayKeyTable, `ON CONFLICT (key) DO UPDATE SET manifest = excluded.manifest,
		manifest_at = excluded.manifest_at WHERE relay_keys.manifest_at < excluded.manifest_at`)
)

// manifestInto scans a manifest; nil for an empty one.
type manifestInto struct{ manifest *[]byte }

func (i manifestInto) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok {
		return fmt.Errorf("scan manifest: got %T", src)
	}
	*i.manifest = nil
	if len(b) > 0 {
		*i.manifest = bytes.Clone(b)
	}
	return nil
}

// RelayKey gives what is known about a key, also when that is nothing.
func (s *Store) RelayKey(ctx context.Context, key string) (arena.RelayKey, error) {
	k := arena.RelayKey{Key: key}
	ks, err := relayKeyTable.All(ctx, s.reader, ` WHERE k.key = $1`, key)
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
	ks, err := relayKeyTable.All(ctx, s.reader, ` WHERE k.manifest_at > 0 ORDER BY k.manifest_at DESC, k.key LIMIT $1`, limit)
	return ks, s.wrap(err, "read manifests")
}

// PolledRelay notes that somebody asked for what a key was sent.
func (s *Store) PolledRelay(ctx context.Context, key string, at time.Time) error {
	err := s.write(ctx, key, func(ctx context.Context, tx *db.Tx) error {
		_, err := pollRelayKeys.Exec(ctx, tx, arena.RelayKey{Key: key, PolledAt: at})
		return err
	})
	return s.wrap(err, "note a poll")
}

// SaveManifest stores what a key published about itself, unless it has
// published something later.
func (s *Store) SaveManifest(ctx context.Context, key string, manifest []byte, at time.Time) error {
	err := s.write(ctx, key, func(ctx context.Context, tx *db.Tx) error {
		_, err := saveManifests.Exec(ctx, tx, arena.RelayKey{Key: key, Manifest: manifest, ManifestAt: at})
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
