package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// conversationKept is how long a conversation that is over is known as such.
const conversationKept = 24 * time.Hour

var conversationTable = db.NewTable("conversations", "c",
	db.Digest("key", func(c *arena.Conversation) *[32]byte { return &c.Key }),
	db.Text("agent_id", func(c *arena.Conversation) *string { return &c.AgentID }),
	db.Text("address", func(c *arena.Conversation) *string { return &c.Address }),
	db.Text("document", func(c *arena.Conversation) *string { return &c.Document }),
	db.Text("state", func(c *arena.Conversation) *string { return &c.State }),
	db.Time("created_at", func(c *arena.Conversation) *time.Time { return &c.CreatedAt }),
	db.Time("expires_at", func(c *arena.Conversation) *time.Time { return &c.ExpiresAt }),
)

var insertConversations = db.NewInsert(conversationTable, "")

// OpenConversation stores a conversation. rate_limited: its address has
// perAddress open ones.
func (s *Store) OpenConversation(ctx context.Context, c arena.Conversation, perAddress int) error {
	err := s.write(ctx, "conversations "+c.Address, func(ctx context.Context, tx *db.Tx) error {
		open, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM conversations WHERE address = $1 AND expires_at > $2`, c.Address, db.Millis(c.CreatedAt))
		if err != nil {
			return err
		}
		if open >= int64(perAddress) {
			return arena.Errorf(arena.CodeRateLimited, "this address has %d open conversations", perAddress)
		}
		if _, err := insertConversations.Exec(ctx, tx, c); err != nil {
			return err
		}
		_, err = db.Exec(ctx, tx, `DELETE FROM conversations WHERE key IN (SELECT x.key FROM conversations x
			WHERE x.expires_at < $1 ORDER BY x.expires_at LIMIT 16)`, db.Millis(c.CreatedAt.Add(-conversationKept)))
		return err
	})
	return s.wrap(err, "open a conversation")
}

func oneConversation(ctx context.Context, q db.Querier, key [32]byte, lock string) (arena.Conversation, error) {
	c, err := conversationTable.One(ctx, q, ` WHERE c.key = $1`+lock, key[:])
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no such conversation")
	}
	return c, err
}

// Conversation gives the conversation with a key, over or not.
func (s *Store) Conversation(ctx context.Context, key [32]byte) (arena.Conversation, error) {
	c, err := oneConversation(ctx, s.reader, key, "")
	return c, s.wrap(err, "read a conversation")
}

// UpdateConversation changes state and expiry of a conversation by apply,
// which runs inside the transaction, perhaps more than once.
func (s *Store) UpdateConversation(ctx context.Context, key [32]byte, apply func(*arena.Conversation)) (c arena.Conversation, err error) {
	err = s.write(ctx, "conversation "+string(key[:]), func(ctx context.Context, tx *db.Tx) error {
		if c, err = oneConversation(ctx, tx, key, s.d.Lock("c")); err != nil {
			return err
		}
		apply(&c)
		_, err := db.Exec(ctx, tx, `UPDATE conversations SET state = $1, expires_at = $2 WHERE key = $3`, c.State, db.Millis(c.ExpiresAt), key[:])
		return err
	})
	return c, s.wrap(err, "update a conversation")
}

// SetSecretBase gives an agent a secret base URL, by the SHA-256 of its
// secret. The one before ends.
func (s *Store) SetSecretBase(ctx context.Context, agentID string, hash [32]byte, at time.Time) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `INSERT INTO secret_bases (agent_id, hash, created_at, alive_until, max_concurrent) VALUES ($1, $2, $3, 0, 1)
			ON CONFLICT (agent_id) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at`, agentID, hash[:], db.Millis(at))
		return err
	})
	return s.wrap(err, "set the secret base of agent %s", agentID)
}

// AgentOfBase gives the agent whose secret base has the SHA-256 hash.
// not_found: there is none, or the agent is retired.
func (s *Store) AgentOfBase(ctx context.Context, hash [32]byte) (agentID string, err error) {
	agentID, err = db.One(ctx, s.reader, db.ScanText, `SELECT b.agent_id FROM secret_bases b JOIN agents a ON a.id = b.agent_id
		WHERE b.hash = $1 AND a.retired_at = 0`, hash[:])
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no such secret base")
	}
	return agentID, s.wrap(err, "find the agent of a secret base")
}

// KeepAlive notes that a polling agent counts as present until a time, and how
// many matches it plays at once. An earlier time than the one noted changes
// nothing but the number.
func (s *Store) KeepAlive(ctx context.Context, agentID string, until time.Time, maxConcurrent int) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `UPDATE secret_bases SET alive_until = CASE WHEN alive_until < $1 THEN $1 ELSE alive_until END,
			max_concurrent = $2 WHERE agent_id = $3`, db.Millis(until), maxConcurrent, agentID)
		return err
	})
	return s.wrap(err, "note that agent %s polls", agentID)
}

// AliveUntil gives until when a polling agent counts as present, and how many
// matches it plays at once; zero when it has never polled.
func (s *Store) AliveUntil(ctx context.Context, agentID string) (until time.Time, maxConcurrent int, err error) {
	_, err = db.One(ctx, s.reader, func(r db.Row) (struct{}, error) {
		return struct{}{}, r.Scan(db.IntoTime(&until), &maxConcurrent)
	}, `SELECT alive_until, max_concurrent FROM secret_bases WHERE agent_id = $1`, agentID)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return until, maxConcurrent, s.wrap(err, "read when agent %s polled", agentID)
}
