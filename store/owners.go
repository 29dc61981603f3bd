package store

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
	"github.com/agora-arena/arena/store/people"
)

var tokenUseTable = db.NewTable("tokens", "t",
	db.Text("id", func(u *arena.TokenUse) *string { return &u.TokenID }),
	db.Time("last_used_at", func(u *arena.TokenUse) *time.Time { return &u.At }),
	db.Text("last_used_by", func(u *arena.TokenUse) *string { return &u.Network }),
)

var updateTokenUses = db.NewUpdate(tokenUseTable, []string{"id"}, []string{"last_used_at", "last_used_by"}, "tokens.revoked_at = 0")

// NoteTokenUses stores the last uses of tokens, one of each, in one
// transaction. Revoked tokens stay as they are.
func (s *Accounts) NoteTokenUses(ctx context.Context, uses []arena.TokenUse) error {
	if len(uses) == 0 {
		return nil
	}
	err := s.write(ctx, "token uses", func(ctx context.Context, tx *db.Tx) error {
		_, err := updateTokenUses.Exec(ctx, tx, uses...)
		return err
	})
	return s.wrap(err, "note the use of %d tokens", len(uses))
}

// RotateToken stores fresh in the place of a token of the same owner and agent,
// which ends at a time, with the audit entries about it. not_found: the token is
// another's, unknown, revoked, or ends before that time already.
func (s *Accounts) RotateToken(ctx context.Context, oldID string, fresh arena.Token, ends time.Time, audit ...arena.AuditEntry) error {
	err := s.write(ctx, oldID, func(ctx context.Context, tx *db.Tx) error {
		now := s.now()
		revoked := time.Time{}
		if !ends.After(now) {
			revoked = now
		}
		n, err := db.Exec(ctx, tx, `UPDATE tokens SET expires_at = $1, revoked_at = $2
			WHERE id = $3 AND owner_id = $4 AND COALESCE(agent_id, '') = $5 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $1)`,
			db.Millis(ends), db.Millis(revoked), oldID, fresh.OwnerID, fresh.AgentID)
		if err == nil && n == 0 {
			return notFound("token", oldID)
		}
		if err != nil {
			return err
		}
		if _, err := insertTokens.Exec(ctx, tx, fresh); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "rotate token %s", oldID)
}

// ofOwner selects the agents of the owner $1.
const ofOwner = `(SELECT a.id FROM agents a WHERE a.owner_id = $1)`

// joinedWith selects the invitations that the owner $1 has taken up, by the index of its
// actions: many others have joined.
const joinedWith = `SELECT j.target FROM audit j WHERE j.actor = $1 AND j.action || '' = 'join'`

// personalRows are the statements that delete what an owner gave or sent. $1 is
// the owner. Texts in matches follow with EraseTexts.
func personalRows() []string {
	return []string{
		`DELETE FROM sessions WHERE owner_id = $1`,
		`DELETE FROM mail_links WHERE owner_id = $1`,
		`UPDATE invitations SET name = '', email = '' WHERE id IN (` + joinedWith + `)`,
		`UPDATE tokens SET name = '', last_used_by = '' WHERE owner_id = $1`,

		`DELETE FROM conformance WHERE agent_id IN ` + ofOwner,
		`DELETE FROM secret_bases WHERE agent_id IN ` + ofOwner,
		`DELETE FROM agora_ways WHERE agent_id IN ` + ofOwner,
		`DELETE FROM peers WHERE agent_id IN ` + ofOwner,
		`DELETE FROM presence WHERE agent_id IN ` + ofOwner,
		`DELETE FROM conversations WHERE agent_id IN ` + ofOwner,
		`DELETE FROM pulled_tasks WHERE agent_id IN ` + ofOwner,
		`DELETE FROM envelopes WHERE agent_id IN ` + ofOwner + ` OR owner_id = $1`,
		`DELETE FROM relay_keys WHERE key IN (SELECT a.public_key FROM agents a WHERE a.owner_id = $1 AND a.public_key <> '')`,
		`DELETE FROM mail WHERE box IN ` + ofOwner,
		`UPDATE deliveries SET detail = '', request = NULL, response = NULL WHERE agent_id IN ` + ofOwner,
		`UPDATE entrants SET name = '` + arena.DeletedAgent + `' WHERE owner_id = $1`,

		// Who did what to which id stays; what was changed may hold names and texts.
		`UPDATE audit SET before = '', after = '' WHERE actor = $1`,
		`UPDATE audit SET before = '', after = '' WHERE target IN (SELECT CAST($1 AS TEXT) UNION SELECT a.id FROM agents a WHERE a.owner_id = $1
			UNION SELECT t.id FROM tokens t WHERE t.owner_id = $1 UNION ` + joinedWith + `)`,

		`UPDATE agents SET name = '` + arena.DeletedAgent + `', name_key = '` + arena.DeletedAgent + `', endpoint = '', endpoint_key = '',
			endpoint_domain = '', public_key = '', key_proved_at = 0, version = '', model = '', mark = '', description = '', health_reason = '', health_detail = '',
			capabilities = '[]' WHERE owner_id = $1`,
	}
}

func erasePersonal(ctx context.Context, tx *db.Tx, ownerID string, at time.Time) error {
	if err := releaseName(ctx, tx, ownerID); err != nil {
		return err
	}
	if err := people.EraseIdentities(ctx, tx, ownerID, at); err != nil {
		return err
	}
	for _, query := range personalRows() {
		if _, err := db.Exec(ctx, tx, query, ownerID); err != nil {
			return err
		}
	}
	return nil
}

// EraseOwner deletes the personal data of an owner: it revokes its tokens,
// retires its agents, deletes its identities and messages, and replaces names.
// Results stay under the ids. The audit entries about it are stored with it. Done again, it
// deletes what has come since. not_found: there is no such owner.
func (s *Accounts) EraseOwner(ctx context.Context, e arena.OwnerErasure, audit ...arena.AuditEntry) error {
	err := s.writeAlone(ctx, e.OwnerID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := oneOwner(ctx, tx, e.OwnerID, s.d.Lock("o")); err != nil {
			return err
		}
		at, now := db.Millis(e.At), db.Millis(s.now())
		for _, change := range []struct {
			query string
			args  []any
		}{
			{`INSERT INTO erased_owners (owner_id, at, done_at) VALUES ($1, $2, 0) ON CONFLICT (owner_id) DO UPDATE SET done_at = 0`, []any{e.OwnerID, at}},
			{`UPDATE tokens SET revoked_at = $1 WHERE owner_id = $2 AND revoked_at = 0`, []any{now, e.OwnerID}},
			{`DELETE FROM outbox WHERE owner_id = $1 OR lower(address) IN (SELECT lower(o.email) FROM owners o WHERE o.id = $1 AND o.email <> '')`, []any{e.OwnerID}},
			{`UPDATE owners SET name = $1, email = '', email_confirmed_at = 0, no_pause_mails = 0, network = '', suspended_at = 0, suspend_reason = '',
				role = '', role_leagues = '[]', erased_at = CASE WHEN erased_at > 0 THEN erased_at ELSE $2 END WHERE id = $3`, []any{arena.DeletedOwner, at, e.OwnerID}},
		} {
			if _, err := db.Exec(ctx, tx, change.query, change.args...); err != nil {
				return err
			}
		}
		if err := retireAgents(ctx, tx, "owner_id", e.OwnerID, s.now()); err != nil {
			return err
		}
		if err := erasePersonal(ctx, tx, e.OwnerID, s.now()); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "erase owner %s", e.OwnerID)
}

// OwnerErasures lists the owners whose personal data was deleted, oldest first,
// after an id.
func (s *Accounts) OwnerErasures(ctx context.Context, after string, limit int) ([]arena.OwnerErasure, error) {
	found, err := db.All(ctx, s.reader, scanErasure, `SELECT x.owner_id, x.at FROM erased_owners x WHERE x.owner_id > $1 ORDER BY x.owner_id LIMIT $2`, after, limit)
	return found, s.wrap(err, "list erased owners")
}

func scanErasure(r db.Row) (e arena.OwnerErasure, err error) {
	return e, r.Scan(&e.OwnerID, db.IntoTime(&e.At))
}

// UnfinishedErasures lists at most limit erased owners with texts in matches.
func (s *Accounts) UnfinishedErasures(ctx context.Context, limit int) ([]arena.OwnerErasure, error) {
	found, err := db.All(ctx, s.reader, scanErasure, `SELECT x.owner_id, x.at FROM erased_owners x WHERE x.done_at = 0 ORDER BY x.owner_id LIMIT $1`, limit)
	return found, s.wrap(err, "list unfinished erasures")
}

// overStatuses are those of matches that have ended.
const overStatuses = `('finished', 'void', 'cancelled')`

// ErasableSeats returns at most limit seats of an erased owner whose texts are
// left, in matches that are over, and how many seats it has in matches that are
// not.
func (s *Accounts) ErasableSeats(ctx context.Context, ownerID string, limit int) (seats []arena.SeatTexts, open int, err error) {
	seats, err = db.All(ctx, s.reader, func(r db.Row) (x arena.SeatTexts, err error) {
		return x, r.Scan(&x.MatchID, &x.AgentID)
	}, `SELECT s.match_id, s.agent_id FROM agents a CROSS JOIN seats s CROSS JOIN matches m WHERE a.owner_id = $1 AND s.agent_id = a.id
		AND (s.name <> $2 OR s.salt <> '' OR s.endpoint <> '') AND m.id = s.match_id AND m.status IN `+overStatuses+` LIMIT $3`,
		ownerID, arena.DeletedAgent, limit)
	if err == nil {
		var n int64
		n, err = db.One(ctx, s.reader, db.ScanInt, `SELECT count(*) FROM matches m CROSS JOIN seats s CROSS JOIN agents a
			WHERE m.status IN ('scheduled', 'ready', 'running') AND s.match_id = m.id AND a.id = s.agent_id AND a.owner_id = $1`, ownerID)
		open = int(n)
	}
	return seats, open, s.wrap(err, "find texts of owner %s", ownerID)
}

// FinishErasure deletes what has come since an owner was erased, and records that
// no texts of it are left in matches.
func (s *Accounts) FinishErasure(ctx context.Context, ownerID string) error {
	err := s.writeAlone(ctx, ownerID, func(ctx context.Context, tx *db.Tx) error {
		if err := erasePersonal(ctx, tx, ownerID, s.now()); err != nil {
			return err
		}
		_, err := db.Exec(ctx, tx, `UPDATE erased_owners SET done_at = $1 WHERE owner_id = $2`, db.Millis(s.now()), ownerID)
		return err
	})
	return s.wrap(err, "finish the erasure of owner %s", ownerID)
}

// Identities returns the identities of an owner at OIDC issuers: who they are, and
// nothing that the issuer said about them.
func (s *Accounts) Identities(ctx context.Context, ownerID string) ([]arena.Identity, error) {
	found, err := db.All(ctx, s.reader, func(r db.Row) (i arena.Identity, err error) { return i, r.Scan(&i.Issuer, &i.Subject) },
		`SELECT i.issuer, i.subject FROM identities i WHERE i.owner_id = $1 ORDER BY i.issuer, i.subject`, ownerID)
	return found, s.wrap(err, "read identities of owner %s", ownerID)
}
