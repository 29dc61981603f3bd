package people

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

var sessionTable = db.NewTable("sessions", "x",
	db.Text("id", func(s *arena.Session) *string { return &s.ID }),
	db.Text("owner_id", func(s *arena.Session) *string { return &s.OwnerID }),
	db.Digest("hash", func(s *arena.Session) *[32]byte { return &s.Hash }),
	db.Text("browser", func(s *arena.Session) *string { return &s.Browser }),
	db.Bool("admin", func(s *arena.Session) *bool { return &s.Admin }),
	db.Time("created_at", func(s *arena.Session) *time.Time { return &s.CreatedAt }),
	db.Time("last_used_at", func(s *arena.Session) *time.Time { return &s.LastUsedAt }),
	db.Computed(`(SELECT o.suspended_at FROM owners o WHERE o.id = x.owner_id)`, func(s *arena.Session) any { return db.IntoTime(&s.Owner.SuspendedAt) }),
	db.Computed(`(SELECT o.suspend_reason FROM owners o WHERE o.id = x.owner_id)`, func(s *arena.Session) any { return &s.Owner.SuspendReason }),
	db.Computed(`(SELECT o.role FROM owners o WHERE o.id = x.owner_id)`, func(s *arena.Session) any { return &s.Owner.Role.Scope }),
	db.Computed(`(SELECT o.role_leagues FROM owners o WHERE o.id = x.owner_id)`, func(s *arena.Session) any { return db.IntoJSON(&s.Owner.Role.Leagues) }),
)

var insertSessions = db.NewInsert(sessionTable, "")

// CreateSession stores a session and ends the oldest ones of its owner beyond
// arena.MaxSessions. Without the claim that makes an admin, the other sessions of the
// owner lose it too. not_found: there is no such owner; conflict: it was deleted.
func (a *Access) CreateSession(ctx context.Context, s arena.Session) error {
	err := a.base.Write(ctx, s.OwnerID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := a.base.OwnerForChange(ctx, tx, personTable, s.OwnerID); err != nil {
			return err
		}
		if _, err := insertSessions.Exec(ctx, tx, s); err != nil {
			return err
		}
		if !s.Admin {
			if err := endClaimedRoles(ctx, tx, s); err != nil {
				return err
			}
		}
		_, err := db.Exec(ctx, tx, `DELETE FROM sessions WHERE owner_id = $1 AND id <> $2 AND id NOT IN (
			SELECT x.id FROM sessions x WHERE x.owner_id = $1 AND x.id <> $2 ORDER BY x.created_at DESC, x.id DESC LIMIT $3)`, s.OwnerID, s.ID, arena.MaxSessions-1)
		return err
	})
	return a.base.Wrap(err, "create session %s", s.ID)
}

// endClaimedRoles makes the sessions of the owner of s, which has just begun, sessions of
// an owner. Those that are over are deleted: the longer time of an owner's session would
// bring them back.
func endClaimedRoles(ctx context.Context, tx *db.Tx, s arena.Session) error {
	over := db.Millis(s.CreatedAt.Add(-arena.SessionClaimed))
	if _, err := db.Exec(ctx, tx, `DELETE FROM sessions WHERE owner_id = $1 AND admin = 1 AND created_at <= $2`, s.OwnerID, over); err != nil {
		return err
	}
	_, err := db.Exec(ctx, tx, `UPDATE sessions SET admin = 0 WHERE owner_id = $1 AND admin = 1`, s.OwnerID)
	return err
}

// usedEvery is how exactly the last use of a session is known.
const usedEvery = time.Minute

// SessionByHash returns the session whose secret has the SHA-256 hash, and notes
// its use at most once a minute; a failure to note it does not end the session.
// not_found: unknown, or over.
func (a *Access) SessionByHash(ctx context.Context, hash [32]byte) (arena.Session, error) {
	s, err := sessionTable.One(ctx, a.base.Reader, ` WHERE x.hash = $1`, hash[:])
	now := db.FromMillis(db.Millis(a.base.Now()))
	if errors.Is(err, sql.ErrNoRows) || err == nil && !now.Before(s.EndsAt()) {
		return arena.Session{}, arena.Errorf(arena.CodeNotFound, "there is no such session")
	}
	if err != nil {
		return arena.Session{}, a.base.Wrap(err, "read session")
	}
	if now.Sub(s.LastUsedAt) < usedEvery {
		return s, nil
	}
	err = a.base.Write(ctx, s.ID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `UPDATE sessions SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1`, db.Millis(now), s.ID)
		return err
	})
	if err == nil {
		s.LastUsedAt = now
	}
	_ = a.base.Wrap(err, "note the use of session %s", s.ID) // it is counted
	return s, nil
}

// Sessions returns the sessions of an owner that are not over, newest first.
func (a *Access) Sessions(ctx context.Context, ownerID string) ([]arena.Session, error) {
	all, err := sessionTable.All(ctx, a.base.Reader, ` WHERE x.owner_id = $1 ORDER BY x.id DESC`, ownerID)
	var open []arena.Session
	for _, s := range all {
		if a.base.Now().Before(s.EndsAt()) {
			open = append(open, s)
		}
	}
	return open, a.base.Wrap(err, "read sessions of %s", ownerID)
}

// EndSession ends a session of an owner and stores the audit entries about it.
// not_found: it is another's, unknown, or over.
func (a *Access) EndSession(ctx context.Context, ownerID, id string, audit ...arena.AuditEntry) error {
	err := a.base.Write(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `DELETE FROM sessions WHERE id = $1 AND owner_id = $2`, id, ownerID)
		if err == nil && n == 0 {
			return arena.Errorf(arena.CodeNotFound, "there is no session %q", id)
		}
		if err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return a.base.Wrap(err, "end session %s", id)
}

// EndSessions ends all sessions of an owner.
func EndSessions(ctx context.Context, tx *db.Tx, ownerID string) error {
	_, err := db.Exec(ctx, tx, `DELETE FROM sessions WHERE owner_id = $1`, ownerID)
	return err
}

// DropSessions removes at most limit sessions without a request since before,
// and returns how many it removed.
func (a *Access) DropSessions(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return a.base.Drop(ctx, "sessions",
		`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE last_used_at < $1 ORDER BY last_used_at, id LIMIT $2)`, before, limit)
}
