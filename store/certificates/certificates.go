package certificates

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// Files is the files and locks of the ACME client.
type Files struct{ base *base.Base }

// NewFiles returns the files of a database.
func NewFiles(b *base.Base) *Files { return &Files{base: b} }

// file is a certificate, an account or the answer to a challenge.
type file struct {
	key        string // a path with slashes
	value      []byte // may hold a private key
	modifiedAt time.Time
}

var fileTable = db.NewTable("tls_files", "f",
	db.Text("key", func(f *file) *string { return &f.key }),
	db.Bytes("value", func(f *file) *[]byte { return &f.value }),
	db.Time("modified_at", func(f *file) *time.Time { return &f.modifiedAt }),
)

var putFile = db.NewUpsert(fileTable, []string{"key"}, "value", "modified_at")

// lockKey is the key of writes to files and locks, which are few.
const lockKey = "tls"

// PutTLSFile stores a value at a key, in place of an earlier one.
func (s *Files) PutTLSFile(ctx context.Context, key string, value []byte) error {
	err := s.base.Write(ctx, lockKey, func(ctx context.Context, tx *db.Tx) error {
		_, err := putFile.Exec(ctx, tx, file{key: key, value: value, modifiedAt: s.base.Now()})
		return err
	})
	return s.base.Wrap(err, "store TLS file %s", key)
}

// TLSFile returns the value at a key. not_found: there is none.
func (s *Files) TLSFile(ctx context.Context, key string) ([]byte, error) {
	f, err := fileTable.One(ctx, s.base.Reader, ` WHERE f.key = $1`, key)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no TLS file %s", key)
	}
	return f.value, s.base.Wrap(err, "read TLS file %s", key)
}

// HoldTLSLock acquires a lock for ttl from now, by the database's clock.
// It reports false while another holder has it. The holder itself extends it.
func (s *Files) HoldTLSLock(ctx context.Context, name, holder string, ttl time.Duration) (held bool, err error) {
	err = s.base.Write(ctx, lockKey, func(ctx context.Context, tx *db.Tx) error {
		clock := s.base.Dialect.Clock
		n, err := db.Exec(ctx, tx, `INSERT INTO tls_locks (name, holder, expires_at) VALUES ($1, $2, `+clock+` + $3)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
			WHERE tls_locks.holder = excluded.holder OR `+s.base.Dialect.LeaseOver("tls_locks.expires_at", "$3"), name, holder, ttl.Milliseconds())
		held = n > 0
		return err
	})
	return held && err == nil, s.base.Wrap(err, "hold TLS lock %s", name)
}

// ReleaseTLSLock frees a lock that the holder has. Otherwise it changes nothing.
func (s *Files) ReleaseTLSLock(ctx context.Context, name, holder string) error {
	err := s.base.Write(ctx, lockKey, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `DELETE FROM tls_locks WHERE name = $1 AND holder = $2`, name, holder)
		return err
	})
	return s.base.Wrap(err, "release TLS lock %s", name)
}
