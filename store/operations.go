package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
)

// nodeKept is how long a node that is gone stays in the list.
const nodeKept = time.Hour

// Beat is a node's sign of life.
func (s *Store) Beat(ctx context.Context, n arena.Node) error {
	err := s.write(ctx, n.ID, func(ctx context.Context, tx *transaction) error {
		if _, err := exec(ctx, tx, `INSERT INTO nodes (node, version, started_at, seen_at, draining, last_error, last_error_at)
			VALUES ($1, $2, $3, `+s.d.clock+`, $4, $5, $6) ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at,
			draining = excluded.draining, last_error = excluded.last_error, last_error_at = excluded.last_error_at`,
			n.ID, n.Version, ms(n.StartedAt), flag(n.Draining), storable(n.LastError), ms(n.LastErrorAt)); err != nil {
			return err
		}
		_, err := exec(ctx, tx, `DELETE FROM nodes WHERE seen_at < `+s.d.clock+` - $1`, nodeKept.Milliseconds())
		return err
	})
	return s.wrap(err, "node %s gives a sign of life", n.ID)
}

// The most that Operations looks at.
const (
	openLooked = 200
	slowLooked = 5
)

// Operations gives the nodes, the queue, the rounds that are open and the
// slowest agents, all of one moment.
func (s *Store) Operations(ctx context.Context) (arena.Operations, error) {
	var o arena.Operations
	err := s.view(ctx, func(q querier) (err error) {
		if o.Nodes, err = s.nodes(ctx, q); err != nil {
			return err
		}
		o.Queue, err = one(ctx, q, func(r scanner) (u arena.Queue, err error) {
			return u, r.Scan(&u.Due, &u.Later, timeInto{&u.Oldest})
		}, `SELECT count(CASE WHEN starts_at <= `+s.d.clock+` THEN 1 END), count(CASE WHEN starts_at > `+s.d.clock+` THEN 1 END),
			COALESCE(min(CASE WHEN starts_at <= `+s.d.clock+` THEN starts_at END), 0) FROM matches WHERE status IN ('scheduled', 'ready')`)
		if err != nil {
			return err
		}
		if o.Open, err = all(ctx, q, scanOpenRound, openRounds, openLooked); err != nil {
			return err
		}
		o.Slow, err = all(ctx, q, func(r scanner) (a arena.Agent, err error) {
			return a, r.Scan(&a.ID, &a.Name, &a.Health.Latency, &a.Health.DeclaredLatency)
		}, `SELECT id, name, latency_ns, declared_latency_ns FROM agents WHERE retired_at = 0 AND passed_at <> 0 AND paused_until <= $1
			AND health_ok = 1 ORDER BY latency_ns DESC, id LIMIT $2`, ms(s.now()), slowLooked)
		return err
	})
	return o, s.wrap(err, "read operations")
}

const openRounds = `SELECT m.id, m.league, m.node, m.settings, m.interruptions, r.no, r.opened_at FROM matches m
	CROSS JOIN rounds r WHERE r.match_id = m.id AND r.no = m.round AND m.status = 'running' AND m.round_open = 1 ORDER BY r.opened_at, m.id LIMIT $1`

func scanOpenRound(r scanner) (o arena.OpenRound, err error) {
	return o, r.Scan(&o.MatchID, &o.League, &o.Node, jsonInto{&o.Settings}, &o.Interruptions, &o.Round, timeInto{&o.OpenedAt})
}

// nodes gives the nodes that gave a sign of life lately and those that play a
// match, by id. Who holds a lease that has not run out is alive.
func (s *Store) nodes(ctx context.Context, q querier) ([]arena.Node, error) {
	return all(ctx, q, func(r scanner) (n arena.Node, err error) {
		return n, r.Scan(&n.ID, &n.Version, timeInto{&n.StartedAt}, timeInto{&n.SeenAt}, &n.Alive, &n.Draining, &n.LastError,
			timeInto{&n.LastErrorAt}, &n.Matches)
	}, `SELECT k.node, COALESCE(n.version, ''), COALESCE(n.started_at, 0), COALESCE(n.seen_at, 0),
		CASE WHEN n.seen_at > `+s.d.clock+` - $1 OR k.until > `+s.d.clock+` THEN 1 ELSE 0 END, COALESCE(n.draining, 0), COALESCE(n.last_error, ''),
		COALESCE(n.last_error_at, 0), k.matches
		FROM (SELECT node, CAST(sum(matches) AS BIGINT) AS matches, max(until) AS until FROM (
			SELECT node, 0 AS matches, 0 AS until FROM nodes UNION ALL
			SELECT node, count(*), max(lease_until) FROM matches WHERE status = 'running' AND node <> '' GROUP BY node) AS u GROUP BY node) AS k
		LEFT JOIN nodes n ON n.node = k.node ORDER BY k.node`, arena.NodeSilence.Milliseconds())
}

// Banner returns the text that every page shows; the zero value is none.
func (s *Store) Banner(ctx context.Context) (arena.Banner, error) {
	b, err := readBanner(ctx, s.reader, "")
	return b, s.wrap(err, "read the banner")
}

func readBanner(ctx context.Context, q querier, lock string) (arena.Banner, error) {
	b, err := one(ctx, q, func(r scanner) (b arena.Banner, err error) {
		return b, r.Scan(&b.Text, timeInto{&b.Since})
	}, `SELECT b.text, b.since FROM banner b WHERE b.one = 1`+lock)
	if errors.Is(err, sql.ErrNoRows) {
		return arena.Banner{}, nil
	}
	return b, err
}

// SetBanner replaces the text that every page shows. The audit entries that
// audit returns about the change are stored with it.
func (s *Store) SetBanner(ctx context.Context, b arena.Banner, audit ...arena.BannerAudit) error {
	err := s.write(ctx, "banner", func(ctx context.Context, tx *transaction) error {
		before, err := readBanner(ctx, tx, s.d.lock("b"))
		if err != nil {
			return err
		}
		if _, err := exec(ctx, tx, `INSERT INTO banner (one, text, since) VALUES (1, $1, $2)
			ON CONFLICT (one) DO UPDATE SET text = excluded.text, since = excluded.since`, b.Text, ms(b.Since)); err != nil {
			return err
		}
		return auditChange(ctx, tx, before, b, audit)
	})
	return s.wrap(err, "set the banner")
}
