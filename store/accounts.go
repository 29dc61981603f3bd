package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
	"github.com/agora-arena/arena/store/people"
)

var ownerTable = db.NewTable("owners", "o",
	db.Text("id", func(o *arena.Owner) *string { return &o.ID }),
	db.Text("name", func(o *arena.Owner) *string { return &o.Name }),
	db.Text("email", func(o *arena.Owner) *string { return &o.Email }),
	db.Time("created_at", func(o *arena.Owner) *time.Time { return &o.CreatedAt }),
	db.Time("suspended_at", func(o *arena.Owner) *time.Time { return &o.SuspendedAt }),
	db.Text("network", func(o *arena.Owner) *string { return &o.Network }),
	db.Text("suspend_reason", func(o *arena.Owner) *string { return &o.SuspendReason }),
	db.Time("erased_at", func(o *arena.Owner) *time.Time { return &o.ErasedAt }),
	db.Text("role", func(o *arena.Owner) *arena.Scope { return &o.Role.Scope }),
	db.JSON("role_leagues", func(o *arena.Owner) *[]string { return &o.Role.Leagues }),
	db.Time("email_confirmed_at", func(o *arena.Owner) *time.Time { return &o.EmailConfirmedAt }),
	db.Bool("no_pause_mails", func(o *arena.Owner) *bool { return &o.NoPauseMails }),
)

// ownerSummaryTable is ownerTable with the sizes that admins see.
var ownerSummaryTable = db.Extend(ownerTable, func(o *arena.OwnerSummary) *arena.Owner { return &o.Owner },
	db.Computed(`(SELECT count(*) FROM agents a WHERE a.owner_id = o.id AND a.retired_at = 0)`, func(o *arena.OwnerSummary) any { return &o.Agents }),
	db.Computed(`(SELECT count(*) FROM tokens t WHERE t.owner_id = o.id AND t.agent_id IS NULL AND t.revoked_at = 0)`, func(o *arena.OwnerSummary) any { return &o.Tokens }),
	db.Computed(`COALESCE((SELECT max(t.last_used_at) FROM tokens t WHERE t.owner_id = o.id), 0)`, func(o *arena.OwnerSummary) any { return db.IntoTime(&o.LastUsedAt) }),
)

var tokenTable = db.NewTable("tokens", "t",
	db.Text("id", func(t *arena.Token) *string { return &t.ID }),
	db.NullText("owner_id", func(t *arena.Token) *string { return &t.OwnerID }),
	db.Text("scope", func(t *arena.Token) *arena.Scope { return &t.Scope }),
	db.Text("name", func(t *arena.Token) *string { return &t.Name }),
	db.Digest("hash", func(t *arena.Token) *[32]byte { return &t.Hash }),
	db.Time("created_at", func(t *arena.Token) *time.Time { return &t.CreatedAt }),
	db.Time("last_used_at", func(t *arena.Token) *time.Time { return &t.LastUsedAt }),
	db.Text("last_used_by", func(t *arena.Token) *string { return &t.LastUsedBy }),
	db.Time("revoked_at", func(t *arena.Token) *time.Time { return &t.RevokedAt }),
	db.JSON("leagues", func(t *arena.Token) *[]string { return &t.Leagues }),
	db.Time("expires_at", func(t *arena.Token) *time.Time { return &t.ExpiresAt }),
	db.Bool("configured", func(t *arena.Token) *bool { return &t.Configured }),
	db.NullText("agent_id", func(t *arena.Token) *string { return &t.AgentID }),
	db.Computed(`COALESCE((SELECT o.suspended_at FROM owners o WHERE o.id = t.owner_id), 0)`, func(t *arena.Token) any { return db.IntoTime(&t.OwnerSuspendedAt) }),
	db.Computed(`COALESCE((SELECT o.suspend_reason FROM owners o WHERE o.id = t.owner_id), '')`, func(t *arena.Token) any { return &t.OwnerSuspendReason }),
	db.Computed(`COALESCE((SELECT o.role FROM owners o WHERE o.id = t.owner_id), '')`, func(t *arena.Token) any { return &t.OwnerRole.Scope }),
	db.Computed(`COALESCE((SELECT o.role_leagues FROM owners o WHERE o.id = t.owner_id), '')`, func(t *arena.Token) any { return db.IntoJSON(&t.OwnerRole.Leagues) }),
)

var (
	insertOwners = db.NewInsert(ownerTable, "")
	insertTokens = db.NewInsert(tokenTable, "")
)

// CreateOwner stores an owner and their first token with the audit entries
// about it. name_taken: an owner that is not deleted has that name, or one that
// looks the same.
func (s *Accounts) CreateOwner(ctx context.Context, o arena.Owner, t arena.Token, audit ...arena.AuditEntry) error {
	err := s.write(ctx, o.ID, func(ctx context.Context, tx *db.Tx) error {
		if err := insertOwner(ctx, tx, o); err != nil {
			return err
		}
		if _, err := insertTokens.Exec(ctx, tx, t); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "create owner %s", o.ID)
}

// insertOwner stores an owner with the claim of its name.
func insertOwner(ctx context.Context, tx *db.Tx, o arena.Owner) error {
	if _, err := insertOwners.Exec(ctx, tx, o); err != nil {
		return err
	}
	return claimName(ctx, tx, ownerName, o.ID, o.Name)
}

// Owner returns one owner.
func (s *Accounts) Owner(ctx context.Context, id string) (arena.Owner, error) {
	o, err := oneOwner(ctx, s.reader, id, "")
	return o, s.wrap(err, "read owner %s", id)
}

func oneOwner(ctx context.Context, q db.Querier, id, lock string) (arena.Owner, error) {
	o, err := ownerTable.One(ctx, q, ` WHERE o.id = $1`+lock, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("owner", id)
	}
	return o, err
}

// Owners lists owners, newest first, but not the one of the built-in opponents.
func (s *Accounts) Owners(ctx context.Context, f arena.OwnerFilter, p arena.Page) (items []arena.OwnerSummary, next string, err error) {
	after, err := listOwners.open(p)
	if err != nil {
		return nil, "", err
	}
	var c db.Clauses
	c.And("o.id <> ?", arena.BuiltInOwnerID())
	if f.Query != "" {
		part := "%" + likeLiteral(strings.ToLower(db.Storable(f.Query))) + "%"
		id := db.Storable(f.Query)
		c.And(`(lower(o.name) LIKE ? ESCAPE '\' OR lower(o.email) LIKE ? ESCAPE '\' OR o.id = ?
			OR EXISTS (SELECT 1 FROM agents a WHERE a.owner_id = o.id AND (a.name_key LIKE ? ESCAPE '\' OR a.id = ?)))`,
			part, part, id, "%"+likeLiteral(foldCase(id))+"%", id)
	}
	switch f.Status {
	case arena.OwnerActive:
		c.And("o.suspended_at = 0 AND o.erased_at = 0")
	case arena.OwnerSuspended:
		c.And("o.suspended_at > 0 AND o.erased_at = 0")
	case arena.OwnerDeleted:
		c.And("o.erased_at > 0")
	}
	if after != "" {
		c.And("o.id < ?", after)
	}
	items, err = ownerSummaryTable.All(ctx, s.reader, c.Where()+` ORDER BY o.id DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list owners")
	}
	items, next = closePage(listOwners, p, items, func(o arena.OwnerSummary) string { return o.ID })
	return items, next, nil
}

// SuspendOwner suspends an owner at a time for a reason, or lifts that at the
// zero time, and stores the audit entry about the change. An owner that is
// suspended already stays suspended since then, for that reason; before is the
// owner without the change. conflict: the owner was deleted.
func (s *Accounts) SuspendOwner(ctx context.Context, id string, at time.Time, reason string, audit arena.AuditEntry) (before arena.Owner, err error) {
	err = s.write(ctx, id, func(ctx context.Context, tx *db.Tx) (err error) {
		if before, err = oneOwner(ctx, tx, id, s.d.Lock("o")); err != nil {
			return err
		}
		if !before.ErasedAt.IsZero() {
			return arena.Errorf(arena.CodeConflict, "owner %s was deleted", id)
		}
		if before.SuspendedAt.IsZero() == at.IsZero() {
			return nil
		}
		if _, err := db.Exec(ctx, tx, `UPDATE owners SET suspended_at = $1, suspend_reason = $2 WHERE id = $3`, db.Millis(at), reason, id); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit)
	})
	return before, s.wrap(err, "suspend owner %s", id)
}

// OwnerOf returns the owner of an identity of an OIDC issuer. not_found: there is
// none yet.
func (s *Accounts) OwnerOf(ctx context.Context, issuer, subject string) (ownerID string, err error) {
	ownerID, err = db.One(ctx, s.reader, db.ScanText, `SELECT owner_id FROM identities WHERE issuer = $1 AND subject = $2`, issuer, subject)
	if errors.Is(err, sql.ErrNoRows) {
		return "", arena.Errorf(arena.CodeNotFound, "no owner has this name at the issuer")
	}
	return ownerID, s.wrap(err, "read identity")
}

// AdoptOwner stores an owner without a token, with an identity of an OIDC issuer.
// It returns the id of the identity's owner: an existing one stays. unauthorized:
// its token was issued before the identity's last owner was deleted. name_taken
// as in CreateOwner.
func (s *Accounts) AdoptOwner(ctx context.Context, o arena.Owner, id arena.Identity) (ownerID string, err error) {
	err = s.write(ctx, id.Issuer+" "+id.Subject, func(ctx context.Context, tx *db.Tx) error {
		if err := people.CheckIdentity(ctx, tx, id); err != nil {
			return err
		}
		if err := insertOwner(ctx, tx, o); err != nil {
			return err
		}
		_, err := db.Exec(ctx, tx, `INSERT INTO identities (issuer, subject, owner_id, created_at) VALUES ($1, $2, $3, $4)`,
			id.Issuer, id.Subject, o.ID, db.Millis(o.CreatedAt))
		return err
	})
	if err = s.wrap(err, "adopt owner %s", o.ID); arena.CodeOf(err) == arena.CodeConflict {
		return s.OwnerOf(ctx, id.Issuer, id.Subject)
	}
	return o.ID, err
}

// Join uses an invitation once. admit decides about it, and returns the owner with
// the role that it then has; an owner that is unknown is stored, with the token
// and the identity if there are any. A failure of admit changes nothing.
func (s *Accounts) Join(ctx context.Context, invitation [32]byte, admit func(i arena.Invitation) (arena.Joined, error)) (o arena.Owner, err error) {
	err = s.write(ctx, string(invitation[:]), func(ctx context.Context, tx *db.Tx) error {
		i, err := s.people.TakeInvitation(ctx, tx, invitation)
		if err != nil {
			return err
		}
		joined, err := admit(i)
		if err != nil {
			return err
		}
		o = joined.Owner
		known, err := oneOwner(ctx, tx, o.ID, s.d.Lock("o"))
		switch {
		case err == nil:
			if err = joined.Accept(known); err != nil {
				return err
			}
			o = known
			o.Role = joined.Owner.Role
			err = people.SetRole(ctx, tx, o)
		case arena.CodeOf(err) == arena.CodeNotFound:
			err = insertOwner(ctx, tx, o)
		}
		if err != nil {
			return err
		}
		if _, err := insertTokens.Exec(ctx, tx, joined.Tokens...); err != nil {
			return err
		}
		if id := joined.Identity; id.Subject != "" {
			if err := people.CheckIdentity(ctx, tx, id); err != nil {
				return err
			}
			if _, err := db.Exec(ctx, tx, `INSERT INTO identities (issuer, subject, owner_id, created_at) VALUES ($1, $2, $3, $4)`,
				id.Issuer, id.Subject, o.ID, db.Millis(o.CreatedAt)); err != nil {
				return err
			}
		}
		return base.InsertAudit(ctx, tx, joined.Audit...)
	})
	return o, s.wrap(err, "use an invitation")
}

// CreateToken stores a token with the audit entries about it.
func (s *Accounts) CreateToken(ctx context.Context, t arena.Token, audit ...arena.AuditEntry) error {
	err := s.write(ctx, t.ID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := insertTokens.Exec(ctx, tx, t); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "create token %s", t.ID)
}

// Tokens returns an owner's tokens that are not revoked, oldest first, without
// the keys of its agents.
func (s *Accounts) Tokens(ctx context.Context, ownerID string) ([]arena.Token, error) {
	ts, err := tokenTable.All(ctx, s.reader, ` WHERE t.owner_id = $1 AND t.agent_id IS NULL AND t.revoked_at = 0 ORDER BY t.id`, ownerID)
	return ts, s.wrap(err, "read tokens of %s", ownerID)
}

// AgentKeys returns the keys of an agent that are not revoked, oldest first.
func (s *Accounts) AgentKeys(ctx context.Context, agentID string) ([]arena.Token, error) {
	ts, err := tokenTable.All(ctx, s.reader, ` WHERE t.agent_id = $1 AND t.revoked_at = 0 ORDER BY t.id`, agentID)
	return ts, s.wrap(err, "read keys of agent %s", agentID)
}

// AdminTokens returns the tokens that belong to no owner and are not revoked,
// oldest first, expired ones too.
func (s *Accounts) AdminTokens(ctx context.Context) ([]arena.Token, error) {
	ts, err := tokenTable.All(ctx, s.reader, ` WHERE t.owner_id IS NULL AND t.revoked_at = 0 ORDER BY t.id`)
	return ts, s.wrap(err, "read admin tokens")
}

// Token returns one token, whether or not it is revoked.
func (s *Accounts) Token(ctx context.Context, id string) (arena.Token, error) {
	t, err := tokenTable.One(ctx, s.reader, ` WHERE t.id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("token", id)
	}
	return t, s.wrap(err, "read token %s", id)
}

// configuredLock is the key of changes of the configured token, and the name of
// their lock across nodes.
const configuredLock = "configured token"

// ConfigureToken makes t the configured token and revokes the one that it
// supersedes, with the audit entries about that. If the arena has a token with
// the same secret, revoked or not, that one becomes the configured token,
// provided that accept returns nil for it.
func (s *Accounts) ConfigureToken(ctx context.Context, t arena.Token, accept func(known arena.Token) error, audit func(superseded arena.Token) (arena.AuditEntry, error)) error {
	err := s.writeAlone(ctx, configuredLock, func(ctx context.Context, tx *db.Tx) error {
		if err := s.d.LockInCluster(ctx, tx, configuredLock); err != nil {
			return err
		}
		kept := t
		known, err := tokenTable.One(ctx, tx, ` WHERE t.hash = $1`, t.Hash[:])
		switch {
		case errors.Is(err, sql.ErrNoRows):
			kept.Configured = true
			_, err = insertTokens.Exec(ctx, tx, kept)
		case err == nil:
			if err = accept(known); err == nil {
				kept = known
				_, err = db.Exec(ctx, tx, `UPDATE tokens SET configured = 1 WHERE id = $1`, kept.ID)
			}
		}
		if err != nil {
			return err
		}
		before, err := tokenTable.All(ctx, tx, ` WHERE t.configured = 1 AND t.revoked_at = 0 AND t.id <> $1 ORDER BY t.id`, kept.ID)
		if err != nil {
			return err
		}
		for _, old := range before {
			if _, err := db.Exec(ctx, tx, `UPDATE tokens SET revoked_at = $1 WHERE id = $2`, db.Millis(s.now()), old.ID); err != nil {
				return err
			}
			e, err := audit(old)
			if err != nil {
				return err
			}
			if err := base.InsertAudit(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	return s.wrap(err, "configure token")
}

// ReplaceTokens revokes all tokens of an owner and ends its sessions, stores
// fresh in their place, and the audit entries about it. It returns how many
// tokens it revoked. not_found: there is no such owner; conflict: it was deleted.
func (s *Accounts) ReplaceTokens(ctx context.Context, ownerID string, fresh []arena.Token, audit ...arena.AuditEntry) (revoked int, err error) {
	err = s.write(ctx, ownerID, func(ctx context.Context, tx *db.Tx) error {
		o, err := oneOwner(ctx, tx, ownerID, s.d.Lock("o"))
		if err != nil {
			return err
		}
		revoked, err = s.replaceTokens(ctx, tx, o, fresh, audit...)
		return err
	})
	return revoked, s.wrap(err, "replace tokens of %s", ownerID)
}

func (s *Accounts) replaceTokens(ctx context.Context, tx *db.Tx, o arena.Owner, fresh []arena.Token, audit ...arena.AuditEntry) (revoked int, err error) {
	if !o.ErasedAt.IsZero() {
		return 0, arena.Errorf(arena.CodeConflict, "owner %s was deleted", o.ID)
	}
	n, err := db.Exec(ctx, tx, `UPDATE tokens SET revoked_at = $1 WHERE owner_id = $2 AND revoked_at = 0`, db.Millis(s.now()), o.ID)
	if err != nil {
		return 0, err
	}
	if err := people.EndSessions(ctx, tx, o.ID); err != nil {
		return 0, err
	}
	if _, err := insertTokens.Exec(ctx, tx, fresh...); err != nil {
		return 0, err
	}
	return int(n), base.InsertAudit(ctx, tx, audit...)
}

// ResetTokens does what ReplaceTokens does, with a link of the kind reset whose
// secret has the SHA-256 hash, and uses up all such links of the owner. fresh
// returns the owner's new token. not_found: there is no such link, or it has
// expired; conflict: the owner was deleted.
func (s *Accounts) ResetTokens(ctx context.Context, hash [32]byte, fresh func(o arena.Owner) (arena.Token, arena.AuditEntry, error)) (o arena.Owner, revoked int, err error) {
	err = s.write(ctx, string(hash[:]), func(ctx context.Context, tx *db.Tx) error {
		l, err := s.outbox.TakeMailLink(ctx, tx, arena.MailReset, hash)
		if err != nil {
			return err
		}
		if o, err = oneOwner(ctx, tx, l.OwnerID, s.d.Lock("o")); err != nil {
			return err
		}
		t, audit, err := fresh(o)
		if err != nil {
			return err
		}
		revoked, err = s.replaceTokens(ctx, tx, o, []arena.Token{t}, audit)
		return err
	})
	return o, revoked, s.wrap(err, "reset tokens")
}

// RevokeToken ends a token and stores the audit entries about it; ownerID is
// "" for an admin token. not_found: it is another's, unknown, or revoked
// already.
func (s *Accounts) RevokeToken(ctx context.Context, ownerID, id string, audit ...arena.AuditEntry) error {
	err := s.write(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `UPDATE tokens SET revoked_at = $1
			WHERE id = $2 AND COALESCE(owner_id, '') = $3 AND revoked_at = 0`, db.Millis(s.now()), id, ownerID)
		if err == nil && n == 0 {
			return notFound("token", id)
		}
		if err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "revoke token %s", id)
}

// TokenByHash returns the token whose secret has the SHA-256 hash. not_found:
// unknown, revoked or expired.
func (s *Accounts) TokenByHash(ctx context.Context, hash [32]byte) (arena.Token, error) {
	t, err := tokenTable.One(ctx, s.reader, ` WHERE t.hash = $1 AND t.revoked_at = 0`, hash[:])
	if errors.Is(err, sql.ErrNoRows) || err == nil && !t.LiveAt(s.now()) {
		return arena.Token{}, arena.Errorf(arena.CodeNotFound, "there is no such token")
	}
	return t, s.wrap(err, "read token")
}

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

// SigningKeys returns all keys, oldest first, expired ones too.
func (s *Keys) SigningKeys(ctx context.Context) ([]arena.SigningKey, error) {
	ks, err := signingKeys(ctx, s.reader)
	return ks, s.wrap(err, "read signing keys")
}

// keysLock is the key of writes to signing_keys, and the name of their lock
// in the cluster.
const keysLock = "signing_keys"

// AddSigningKey stores k and sets when others expire, by kid.
func (s *Keys) AddSigningKey(ctx context.Context, k arena.SigningKey, retire map[string]time.Time) error {
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
// returns all keys: nodes that start together agree on one.
func (s *Keys) FirstSigningKey(ctx context.Context, k arena.SigningKey) ([]arena.SigningKey, error) {
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

// Identity returns the private key, in PKCS #8, that the arena has under a name.
// The first call stores fresh: nodes that start together agree on one.
func (s *Keys) Identity(ctx context.Context, name string, fresh []byte) ([]byte, error) {
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
