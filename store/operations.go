package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// nodeKept is how long a node that is gone stays in the list.
const nodeKept = time.Hour

// Heartbeat stores a node's heartbeat. A node that has locked the database is the
// only one: it replaces the one that it was before a restart.
func (s *Operations) Heartbeat(ctx context.Context, n arena.Node) error {
	err := s.write(ctx, n.ID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Exec(ctx, tx, `INSERT INTO nodes (node, version, started_at, seen_at, draining, last_error, last_error_at)
			VALUES ($1, $2, $3, `+s.d.Clock+`, $4, $5, $6) ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at,
			draining = excluded.draining, last_error = excluded.last_error, last_error_at = excluded.last_error_at`,
			n.ID, n.Version, db.Millis(n.StartedAt), db.Flag(n.Draining), db.Storable(n.LastError), db.Millis(n.LastErrorAt)); err != nil {
			return err
		}
		_, err := db.Exec(ctx, tx, `DELETE FROM nodes WHERE seen_at < `+s.d.Clock+` - $1 OR $2 = 1 AND node <> $3`,
			nodeKept.Milliseconds(), db.Flag(s.db.Locked()), n.ID)
		return err
	})
	return s.wrap(err, "store heartbeat of node %s", n.ID)
}

// The most that Operations looks at.
const (
	openLooked = 200
	slowLooked = 5
)

// Operations returns the nodes, the queue, the rounds that are open and the
// slowest agents, all of one moment.
func (s *Operations) Operations(ctx context.Context) (arena.Operations, error) {
	var o arena.Operations
	err := s.view(ctx, func(q db.Querier) (err error) {
		if o.Nodes, err = s.nodes(ctx, q); err != nil {
			return err
		}
		o.Queue, err = db.One(ctx, q, func(r db.Row) (u arena.Queue, err error) {
			return u, r.Scan(&u.Due, &u.Later, db.IntoTime(&u.Oldest))
		}, `SELECT count(CASE WHEN starts_at <= `+s.d.Clock+` THEN 1 END), count(CASE WHEN starts_at > `+s.d.Clock+` THEN 1 END),
			COALESCE(min(CASE WHEN starts_at <= `+s.d.Clock+` THEN starts_at END), 0) FROM matches WHERE status IN ('scheduled', 'ready')`)
		if err != nil {
			return err
		}
		if o.Open, err = db.All(ctx, q, scanOpenRound, openRoundsQuery, openLooked); err != nil {
			return err
		}
		o.Slow, err = db.All(ctx, q, func(r db.Row) (a arena.Agent, err error) {
			return a, r.Scan(&a.ID, &a.Name, &a.Health.Latency, &a.Health.DeclaredLatency)
		}, `SELECT id, name, latency_ns, declared_latency_ns FROM agents WHERE retired_at = 0 AND passed_at <> 0 AND paused_until <= $1
			AND health_ok = 1 ORDER BY latency_ns DESC, id LIMIT $2`, db.Millis(s.now()), slowLooked)
		return err
	})
	return o, s.wrap(err, "read operations")
}

const openRoundsQuery = `SELECT m.id, m.league, m.node, m.settings, m.interruptions, r.no, r.opened_at FROM matches m
	CROSS JOIN rounds r WHERE r.match_id = m.id AND r.no = m.round AND m.status = 'running' AND m.round_open = 1 ORDER BY r.opened_at, m.id LIMIT $1`

func scanOpenRound(r db.Row) (o arena.OpenRound, err error) {
	return o, r.Scan(&o.MatchID, &o.League, &o.Node, db.IntoJSON(&o.Settings), &o.Interruptions, &o.Round, db.IntoTime(&o.OpenedAt))
}

// nodes returns the nodes with a recent heartbeat and those that hold a
// match, by id. A node with a valid lease is alive.
func (s *Operations) nodes(ctx context.Context, q db.Querier) ([]arena.Node, error) {
	return db.All(ctx, q, func(r db.Row) (n arena.Node, err error) {
		return n, r.Scan(&n.ID, &n.Version, db.IntoTime(&n.StartedAt), db.IntoTime(&n.SeenAt), &n.Alive, &n.Draining, &n.LastError,
			db.IntoTime(&n.LastErrorAt), &n.Matches)
	}, `SELECT k.node, COALESCE(n.version, ''), COALESCE(n.started_at, 0), COALESCE(n.seen_at, 0),
		CASE WHEN n.seen_at > `+s.d.Clock+` - $1 OR k.until > `+s.d.Clock+` THEN 1 ELSE 0 END, COALESCE(n.draining, 0), COALESCE(n.last_error, ''),
		COALESCE(n.last_error_at, 0), k.matches
		FROM (SELECT node, CAST(sum(matches) AS BIGINT) AS matches, max(until) AS until FROM (
			SELECT node, 0 AS matches, 0 AS until FROM nodes UNION ALL
			SELECT node, count(*), max(leased_until) FROM matches WHERE status = 'running' AND node <> '' GROUP BY node) AS u GROUP BY node) AS k
		LEFT JOIN nodes n ON n.node = k.node ORDER BY k.node`, arena.NodeSilence.Milliseconds())
}

// Banner returns the text that every page shows; the zero value is none.
func (s *Operations) Banner(ctx context.Context) (arena.Banner, error) {
	b, err := readBanner(ctx, s.reader, "")
	return b, s.wrap(err, "read the banner")
}

func readBanner(ctx context.Context, q db.Querier, lock string) (arena.Banner, error) {
	b, err := db.One(ctx, q, func(r db.Row) (b arena.Banner, err error) {
		return b, r.Scan(&b.Text, db.IntoTime(&b.Since))
	}, `SELECT b.text, b.since FROM banner b WHERE b.one = 1`+lock)
	if errors.Is(err, sql.ErrNoRows) {
		return arena.Banner{}, nil
	}
	return b, err
}

// SetBanner replaces the text that every page shows. The audit entries that
// audit returns about the change are stored with it.
func (s *Operations) SetBanner(ctx context.Context, b arena.Banner, audit ...arena.BannerAudit) error {
	err := s.write(ctx, "banner", func(ctx context.Context, tx *db.Tx) error {
		before, err := readBanner(ctx, tx, s.d.Lock("b"))
		if err != nil {
			return err
		}
		if _, err := db.Exec(ctx, tx, `INSERT INTO banner (one, text, since) VALUES (1, $1, $2)
			ON CONFLICT (one) DO UPDATE SET text = excluded.text, since = excluded.since`, b.Text, db.Millis(b.Since)); err != nil {
			return err
		}
		return auditChange(ctx, tx, before, b, audit)
	})
	return s.wrap(err, "set the banner")
}

// ClaimTick reports whether the caller is the one in the cluster that runs a job
// now: one claim is granted per interval, by the database's clock (threats C3, C7).
// Intervals count from the first claim, so that a late one delays none after it.
func (s *Operations) ClaimTick(ctx context.Context, job string, every time.Duration) (bool, error) {
	var won bool
	err := s.write(ctx, job, func(ctx context.Context, tx *db.Tx) error {
		// The clock is read once the row is locked: another node may have claimed since.
		n, err := db.Exec(ctx, tx, `INSERT INTO ticks (job, tick) VALUES ($1, `+s.d.Clock+`) ON CONFLICT (job) DO UPDATE
			SET tick = CASE WHEN ticks.tick > `+s.d.Clock+` THEN `+s.d.Clock+` ELSE ticks.tick + (`+s.d.Clock+` - ticks.tick) / CAST($2 AS BIGINT) * $2 END
			WHERE `+s.d.LeaseOver("ticks.tick + $2", "$2"), job, every.Milliseconds())
		won = n == 1
		return err
	})
	return won && err == nil, s.wrap(err, "claim tick of job %s", job)
}

// LastTick returns when the interval began in which a job was claimed last, by the
// database's clock; zero: never.
func (s *Operations) LastTick(ctx context.Context, job string) (time.Time, error) {
	at, err := db.One(ctx, s.reader, db.ScanInt, `SELECT COALESCE(max(tick), 0) FROM ticks WHERE job = $1`, job)
	return db.FromMillis(at), s.wrap(err, "read last tick of job %s", job)
}

// Meetings returns the duels of a league that start at or after since and were
// not cancelled or void, oldest first. At is when the match starts.
func (s *Operations) Meetings(ctx context.Context, league string, since time.Time) ([]arena.Meeting, error) {
	meetings, err := db.All(ctx, s.reader, func(r db.Row) (m arena.Meeting, err error) {
		return m, r.Scan(&m.A, &m.B, db.IntoTime(&m.At))
	}, `SELECT a.agent_id, b.agent_id, m.starts_at FROM matches m
		JOIN seats a ON a.match_id = m.id AND a.no = 0 JOIN seats b ON b.match_id = m.id AND b.no = 1
		WHERE m.league = $1 AND m.starts_at >= $2 AND m.status NOT IN ('cancelled', 'void') AND (m.status <> 'finished' OR m.starts_at <= $3)
		AND NOT EXISTS (SELECT 1 FROM seats c WHERE c.match_id = m.id AND c.no = 2)
		ORDER BY m.starts_at, m.id`, league, db.Millis(since), db.Millis(s.now().Add(arena.ClockSlack)))
	return meetings, s.wrap(err, "read meetings of league %s", league)
}

// endedCounter precedes the status in the name of a counter of matches that are over.
// Triggers keep these and the counter "log events", the events in their logs.
const endedCounter = "matches "

// Counts returns the sizes of the whole arena. It reads the agents and the matches that
// are not over, and counters for all others.
func (s *Operations) Counts(ctx context.Context) (arena.Counts, error) {
	counts := arena.Counts{Agents: map[arena.AgentStatus]int{}, Matches: map[arena.MatchStatus]int{}}
	type line struct {
		status string
		n      int
		events int64
	}
	read := func(r db.Row) (l line, err error) { return l, r.Scan(&l.status, &l.n, &l.events) }
	err := s.view(ctx, func(q db.Querier) error {
		// Agent.StatusAt in SQL.
		agents, err := db.All(ctx, q, read, `SELECT CASE WHEN retired_at <> 0 THEN 'retired' WHEN passed_at = 0 AND pauses NOT LIKE '%"expired"%' THEN 'pending'
			WHEN paused_until > $1 THEN 'paused' ELSE 'active' END AS status, count(*), 0 FROM agents GROUP BY 1`, db.Millis(s.now()))
		if err != nil {
			return err
		}
		for _, l := range agents {
			counts.Agents[arena.AgentStatus(l.status)] = l.n
		}
		// Logs have no gaps, so their last numbers add up to their lines.
		open, err := db.All(ctx, q, read, `SELECT status, count(*), CAST(sum(seq) AS BIGINT) FROM matches
			WHERE status IN ('scheduled', 'ready', 'running') GROUP BY status`)
		if err != nil {
			return err
		}
		for _, l := range open {
			counts.Matches[arena.MatchStatus(l.status)] = l.n
			counts.Events += l.events
		}
		kept, err := db.All(ctx, q, read, `SELECT name, value, 0 FROM counters`)
		for _, l := range kept {
			switch status, ended := strings.CutPrefix(l.status, endedCounter); {
			case ended && l.n > 0:
				counts.Matches[arena.MatchStatus(status)] = l.n
			case l.status == "log events":
				counts.Events += int64(l.n)
			case l.status == "settlements":
				counts.Settlements = int64(l.n)
			}
		}
		return err
	})
	return counts, s.wrap(err, "count rows")
}

// Audit appends an entry to the audit log. Entries never change. An entry
// about a change of rows is stored by the method that changes them.
func (s *Operations) Audit(ctx context.Context, e arena.AuditEntry) error {
	e.ID = cmp.Or(e.ID, arena.NewID(arena.AuditPrefix, e.At))
	err := s.write(ctx, e.ID, func(ctx context.Context, tx *db.Tx) error { return base.InsertAudit(ctx, tx, e) })
	return s.wrap(err, "audit %s", e.Action)
}

// auditChange stores the entries about a change of a row together with it.
func auditChange[T any, A ~func(before, after T) (arena.AuditEntry, error)](ctx context.Context, tx *db.Tx, before, after T, audit []A) error {
	for _, entry := range audit {
		e, err := entry(before, after)
		if err != nil {
			return err
		}
		if err := base.InsertAudit(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// AuditLog lists the entries, newest first.
func (s *Operations) AuditLog(ctx context.Context, f arena.AuditFilter, p arena.Page) ([]arena.AuditEntry, string, error) {
	after, err := listAudit.open(p)
	if err != nil {
		return nil, "", err
	}
	var actors []string
	if f.Actor != "" {
		if actors, err = s.ownerNamed(ctx, f.Actor); err != nil {
			return nil, "", err
		}
		actors = append(actors, f.Actor)
	}
	filter := func(c *db.Clauses) {
		if len(actors) > 0 {
			db.In(c, "u.actor", actors)
		}
		if len(f.Actions) > 0 {
			db.In(c, "u.action", f.Actions)
		}
		if !f.From.IsZero() {
			c.And("u.id >= ?", arena.FirstID(arena.AuditPrefix, f.From))
		}
		if !f.To.IsZero() {
			c.And("u.id < ?", arena.FirstID(arena.AuditPrefix, f.To))
		}
		if after != "" {
			c.And("u.id < ?", after)
		}
	}
	var c db.Clauses
	if f.Find == "" {
		filter(&c)
	} else {
		var found []string
		for _, column := range []string{"u.actor", "u.action", "u.target"} {
			part := db.Clauses{Args: c.Args}
			part.And(column+" = ?", f.Find)
			filter(&part)
			found = append(found, `SELECT u.id FROM audit u`+part.Where()+` ORDER BY u.id DESC LIMIT `+part.Arg(p.Limit+1))
			c.Args = part.Args
		}
		c.InAny("u.id", found...)
	}
	items, err := base.AuditTable.All(ctx, s.reader, c.Where()+` ORDER BY u.id DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list the audit log")
	}
	items, next := closePage(listAudit, p, items, func(e arena.AuditEntry) string { return e.ID })
	return items, next, nil
}

// ownerNamed returns the id of the owner with a name in any case, none if there is none.
func (s *Operations) ownerNamed(ctx context.Context, name string) ([]string, error) {
	ids, err := db.All(ctx, s.reader, func(r db.Row) (id string, err error) { return id, r.Scan(&id) },
		`SELECT n.holder FROM names n WHERE n.key = $1`, ownerName+" "+plaintext.NameKeys(name)[0])
	return ids, s.wrap(err, "find the owner %q", name)
}

// named are the queries of the names of ids by their prefix, the columns of
// the ids, and the order of several names.
// Slugs of leagues have no prefix.
var named = map[string]struct{ query, column, order string }{
	arena.OwnerPrefix:      {"SELECT id, name FROM owners", "id", ""},
	arena.AgentPrefix:      {"SELECT id, name FROM agents", "id", ""},
	arena.PackPrefix:       {"SELECT id, name FROM packs", "id", ""},
	arena.TokenPrefix:      {"SELECT id, name FROM tokens", "id", ""},
	arena.InvitationPrefix: {"SELECT id, name FROM invitations", "id", ""},
	arena.MatchPrefix:      {"SELECT s.match_id, a.name FROM seats s JOIN agents a ON a.id = s.agent_id", "s.match_id", " ORDER BY s.no"},
	"":                     {"SELECT slug, title FROM leagues", "slug", ""},
}

// Names returns what ids are called, whatever they are the ids of: a match by all its
// agents, in the order of seats. Those without a name are left out.
func (s *Operations) Names(ctx context.Context, ids []string) (map[string][]string, error) {
	byPrefix := map[string][]string{}
	for _, id := range ids {
		prefix := id[:strings.IndexByte(id, '_')+1]
		byPrefix[prefix] = append(byPrefix[prefix], id)
	}
	names := map[string][]string{}
	for prefix, kind := range named {
		for part := range slices.Chunk(byPrefix[prefix], db.MaxIDs) {
			var c db.Clauses
			db.In(&c, kind.column, part)
			found, err := db.All(ctx, s.reader, func(r db.Row) (row [2]string, err error) { return row, r.Scan(&row[0], &row[1]) },
				kind.query+c.Where()+kind.order, c.Args...)
			if err != nil {
				return nil, s.wrap(err, "read the names of %d ids", len(ids))
			}
			for _, row := range found {
				names[row[0]] = append(names[row[0]], row[1])
			}
		}
	}
	return names, nil
}
