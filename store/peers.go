package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

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

// Peer gives what is known of an agent as a peer. not_found: nothing.
func (s *Store) Peer(ctx context.Context, agentID string) (arena.Peer, error) {
	p, err := peerTable.One(ctx, s.reader, ` WHERE p.agent_id = $1`, agentID)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("peer", agentID)
	}
	return p, s.wrap(err, "read peer %s", agentID)
}

// AgentByKeyName gives the agent, not retired, whose owner proved to hold the
// key of that name. not_found: there is none.
func (s *Store) AgentByKeyName(ctx context.Context, name string) (arena.Agent, error) {
	a, err := agentTable.One(ctx, s.reader, agentOwner+
		` JOIN peers p ON p.agent_id = a.id WHERE p.key_name = $1 AND a.key_proved_at > 0 AND a.retired_at = 0`, name)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "no agent has a key of this name")
	}
	return a, s.wrap(err, "find the agent of a key's name")
}

// NamePeer notes the name of an agent's key.
func (s *Store) NamePeer(ctx context.Context, agentID, keyName string) error {
	return s.changePeer(ctx, agentID, `key_name = $2`, keyName)
}

// GreetPeer notes the capabilities of an agent's hello.
func (s *Store) GreetPeer(ctx context.Context, agentID string, capabilities []string, at time.Time) error {
	list, err := db.JSONText(capabilities)
	if err != nil {
		return s.wrap(err, "note hello of %s", agentID)
	}
	return s.changePeer(ctx, agentID, `capabilities = $2, hello_at = $3`, list, db.Millis(at))
}

// ConnectPeer notes a connection of the agent, which ends all before it, and
// gives its epoch.
func (s *Store) ConnectPeer(ctx context.Context, agentID, way string, at time.Time) (epoch int64, err error) {
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

// SeePeer notes a sign of life of a connection, or with the zero time its end.
// newest says whether there is no later connection.
func (s *Store) SeePeer(ctx context.Context, agentID string, epoch int64, at time.Time) (newest bool, err error) {
	err = s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `UPDATE peers SET seen_at = $1 WHERE agent_id = $2 AND epoch = $3`, db.Millis(at), agentID, epoch)
		newest = n > 0
		return err
	})
	return newest, s.wrap(err, "note life of peer %s", agentID)
}

func (s *Store) changePeer(ctx context.Context, agentID, set string, args ...any) error {
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
