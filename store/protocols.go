package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// AgentByKey returns the agent of a protocol, not retired, whose owner proved to
// hold the key. not_found: there is none.
func (s *Agents) AgentByKey(ctx context.Context, protocol, publicKey string) (arena.Agent, error) {
	a, err := agentTable.One(ctx, s.reader, agentOwner+` WHERE a.protocol = $1 AND a.public_key = $2 AND a.key_proved_at > 0 AND a.retired_at = 0`, protocol, publicKey)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "no agent has proved to hold this key")
	}
	return a, s.wrap(err, "find the agent of a key")
}

// conversationKept is how long a conversation that is over is known as such.
const conversationKept = 24 * time.Hour

var conversationTable = db.NewTable("conversations", "c",
	db.Digest("key", func(c *arena.Conversation) *[32]byte { return &c.Key }),
	db.Text("agent_id", func(c *arena.Conversation) *string { return &c.AgentID }),
	db.Text("address", func(c *arena.Conversation) *string { return &c.Address }),
	db.Text("site", func(c *arena.Conversation) *string { return &c.Site }),
	db.Text("document", func(c *arena.Conversation) *string { return &c.Document }),
	db.Text("state", func(c *arena.Conversation) *string { return &c.State }),
	db.Time("created_at", func(c *arena.Conversation) *time.Time { return &c.CreatedAt }),
	db.Time("expires_at", func(c *arena.Conversation) *time.Time { return &c.ExpiresAt }),
)

var insertConversations = db.NewInsert(conversationTable, "")

// OpenConversation stores a conversation. rate_limited: its address has
// perAddress open ones, or its site arena.SiteFactor times as many.
func (s *Protocols) OpenConversation(ctx context.Context, c arena.Conversation, perAddress int) error {
	err := s.write(ctx, "conversations "+cmp.Or(c.Site, c.Address), func(ctx context.Context, tx *db.Tx) error {
		if err := fewConversations(ctx, tx, "address", c.Address, c.CreatedAt, perAddress); err != nil {
			return err
		}
		if c.Site != "" {
			if err := fewConversations(ctx, tx, "site", c.Site, c.CreatedAt, perAddress*arena.SiteFactor); err != nil {
				return err
			}
		}
		if _, err := insertConversations.Exec(ctx, tx, c); err != nil {
			return err
		}
		_, err := db.Exec(ctx, tx, `DELETE FROM conversations WHERE key IN (SELECT x.key FROM conversations x
			WHERE x.expires_at < $1 ORDER BY x.expires_at LIMIT 16)`, db.Millis(c.CreatedAt.Add(-conversationKept)))
		return err
	})
	return s.wrap(err, "open a conversation")
}

// fewConversations returns rate_limited when most conversations of a column's
// value, which is not empty, are open. The query repeats that it is not empty: the
// index of sites holds such rows alone.
func fewConversations(ctx context.Context, tx *db.Tx, column, value string, now time.Time, most int) error {
	open, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM conversations WHERE `+column+` = $1 AND `+column+` <> '' AND expires_at > $2`, value, db.Millis(now))
	if err == nil && open >= int64(most) {
		err = arena.Errorf(arena.CodeRateLimited, "this %s has %d open conversations", column, most)
	}
	return err
}

func oneConversation(ctx context.Context, q db.Querier, key [32]byte, lock string) (arena.Conversation, error) {
	c, err := conversationTable.One(ctx, q, ` WHERE c.key = $1`+lock, key[:])
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no such conversation")
	}
	return c, err
}

// Conversation returns the conversation with a key, over or not.
func (s *Protocols) Conversation(ctx context.Context, key [32]byte) (arena.Conversation, error) {
	c, err := oneConversation(ctx, s.reader, key, "")
	return c, s.wrap(err, "read a conversation")
}

// UpdateConversation changes state and expiry of a conversation by apply,
// which runs inside the transaction, perhaps more than once.
func (s *Protocols) UpdateConversation(ctx context.Context, key [32]byte, apply func(*arena.Conversation)) (c arena.Conversation, err error) {
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

// SetSecretBase sets the secret base URL of an agent, by the SHA-256 of its
// secret. The previous one ends.
func (s *Protocols) SetSecretBase(ctx context.Context, agentID string, hash [32]byte, at time.Time) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `INSERT INTO secret_bases (agent_id, hash, created_at, alive_until, max_concurrent) VALUES ($1, $2, $3, 0, 1)
			ON CONFLICT (agent_id) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at`, agentID, hash[:], db.Millis(at))
		return err
	})
	return s.wrap(err, "set the secret base of agent %s", agentID)
}

// AgentOfBase returns the agent whose secret base has the SHA-256 hash.
// not_found: there is none, or the agent is retired.
func (s *Protocols) AgentOfBase(ctx context.Context, hash [32]byte) (agentID string, err error) {
	agentID, err = db.One(ctx, s.reader, db.ScanText, `SELECT b.agent_id FROM secret_bases b JOIN agents a ON a.id = b.agent_id
		WHERE b.hash = $1 AND a.retired_at = 0`, hash[:])
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no such secret base")
	}
	return agentID, s.wrap(err, "find the agent of a secret base")
}

// KeepAlive records that a polling agent counts as present until a time, and how
// many matches it plays at once. An earlier time than the one noted changes
// nothing but the number.
func (s *Protocols) KeepAlive(ctx context.Context, agentID string, until time.Time, maxConcurrent int) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `UPDATE secret_bases SET alive_until = CASE WHEN alive_until < $1 THEN $1 ELSE alive_until END,
			max_concurrent = $2 WHERE agent_id = $3`, db.Millis(until), maxConcurrent, agentID)
		return err
	})
	return s.wrap(err, "note that agent %s polls", agentID)
}

// AliveUntil returns until when a polling agent counts as present, and how many
// matches it plays at once; zero when it has never polled.
func (s *Protocols) AliveUntil(ctx context.Context, agentID string) (until time.Time, maxConcurrent int, err error) {
	_, err = db.One(ctx, s.reader, func(r db.Row) (struct{}, error) {
		return struct{}{}, r.Scan(db.IntoTime(&until), &maxConcurrent)
	}, `SELECT alive_until, max_concurrent FROM secret_bases WHERE agent_id = $1`, agentID)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return until, maxConcurrent, s.wrap(err, "read when agent %s polled", agentID)
}

// AgoraWay returns the way in which an agent of two-party Agora accepted
// messages at its endpoint, "" when none is stored.
func (s *Protocols) AgoraWay(ctx context.Context, agentID, endpoint string) (way string, err error) {
	way, err = db.One(ctx, s.reader, db.ScanText, `SELECT way FROM agora_ways WHERE agent_id = $1 AND endpoint = $2`, agentID, endpoint)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return way, s.wrap(err, "read the way of agent %s", agentID)
}

// SetAgoraWay stores the way in which an agent accepted messages at its
// endpoint, in the place of an earlier one; "" removes it.
func (s *Protocols) SetAgoraWay(ctx context.Context, agentID, endpoint, way string) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		if way == "" {
			_, err := db.Exec(ctx, tx, `DELETE FROM agora_ways WHERE agent_id = $1`, agentID)
			return err
		}
		_, err := db.Exec(ctx, tx, `INSERT INTO agora_ways (agent_id, endpoint, way) VALUES ($1, $2, $3)
			ON CONFLICT (agent_id) DO UPDATE SET endpoint = excluded.endpoint, way = excluded.way`, agentID, endpoint, way)
		return err
	})
	return s.wrap(err, "store the way of agent %s", agentID)
}

var peerTable = db.NewTable("peers", "p",
	db.Text("agent_id", func(p *arena.Peer) *string { return &p.AgentID }),
	db.Text("key_name", func(p *arena.Peer) *string { return &p.KeyName }),
	db.JSON("capabilities", func(p *arena.Peer) *[]string { return &p.Capabilities }),
	db.Time("hello_at", func(p *arena.Peer) *time.Time { return &p.HelloAt }),
	db.Text("way", func(p *arena.Peer) *string { return &p.Way }),
	db.Int("epoch", func(p *arena.Peer) *int64 { return &p.Epoch }),
	db.Time("seen_at", func(p *arena.Peer) *time.Time { return &p.SeenAt }),
)

var insertPeers = db.NewInsert(peerTable, "ON CONFLICT (agent_id) DO NOTHING")

// Peer returns what is known of an agent as a peer. not_found: nothing.
func (s *Protocols) Peer(ctx context.Context, agentID string) (arena.Peer, error) {
	p, err := peerTable.One(ctx, s.reader, ` WHERE p.agent_id = $1`, agentID)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("peer", agentID)
	}
	return p, s.wrap(err, "read peer %s", agentID)
}

// AgentByKeyName returns the agent, not retired, whose owner proved to hold the
// key of that name. not_found: there is none.
func (s *Agents) AgentByKeyName(ctx context.Context, name string) (arena.Agent, error) {
	a, err := agentTable.One(ctx, s.reader, agentOwner+
		` JOIN peers p ON p.agent_id = a.id WHERE p.key_name = $1 AND a.key_proved_at > 0 AND a.retired_at = 0`, name)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "no agent has a key of this name")
	}
	return a, s.wrap(err, "find the agent of a key's name")
}

// NamePeer stores the name of an agent's key.
func (s *Protocols) NamePeer(ctx context.Context, agentID, keyName string) error {
	return s.changePeer(ctx, agentID, `key_name = $2`, keyName)
}

// GreetPeer stores the capabilities of an agent's hello.
func (s *Protocols) GreetPeer(ctx context.Context, agentID string, capabilities []string, at time.Time) error {
	list, err := db.JSONText(capabilities)
	if err != nil {
		return s.wrap(err, "note hello of %s", agentID)
	}
	return s.changePeer(ctx, agentID, `capabilities = $2, hello_at = $3`, list, db.Millis(at))
}

// ConnectPeer records a connection of the agent, which ends all earlier ones,
// and returns its epoch.
func (s *Protocols) ConnectPeer(ctx context.Context, agentID, way string, at time.Time) (epoch int64, err error) {
	err = s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		if err := addPeer(ctx, tx, agentID); err != nil {
			return err
		}
		epoch, err = db.One(ctx, tx, db.ScanInt, `UPDATE peers SET way = $1, epoch = epoch + 1, seen_at = $2 WHERE agent_id = $3 RETURNING epoch`,
			way, db.Millis(at), agentID)
		return err
	})
	return epoch, s.wrap(err, "connect peer %s", agentID)
}

// SeePeer records a heartbeat of a connection or, with the zero time, its
// end. newest reports whether there is no later connection.
func (s *Protocols) SeePeer(ctx context.Context, agentID string, epoch int64, at time.Time) (newest bool, err error) {
	err = s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `UPDATE peers SET seen_at = $1 WHERE agent_id = $2 AND epoch = $3`, db.Millis(at), agentID, epoch)
		newest = n > 0
		return err
	})
	return newest, s.wrap(err, "note life of peer %s", agentID)
}

func (s *Protocols) changePeer(ctx context.Context, agentID, set string, args ...any) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		if err := addPeer(ctx, tx, agentID); err != nil {
			return err
		}
		_, err := db.Exec(ctx, tx, `UPDATE peers SET `+set+` WHERE agent_id = $1`, append([]any{agentID}, args...)...)
		return err
	})
	return s.wrap(err, "change peer %s", agentID)
}

func addPeer(ctx context.Context, tx *db.Tx, agentID string) error {
	_, err := insertPeers.Exec(ctx, tx, arena.Peer{AgentID: agentID, Capabilities: []string{}})
	return err
}
