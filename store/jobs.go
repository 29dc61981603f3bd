package store

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// tickKept is how long a claimed tick is remembered. A tick older than that,
// measured from the job's newest, counts as claimed.
const tickKept = 24 * time.Hour

// ClaimTick reports whether the caller is the one in the cluster that runs
// this tick of a job (threat C3).
func (s *Store) ClaimTick(ctx context.Context, job string, tick time.Time) (bool, error) {
	var won bool
	err := s.write(ctx, job, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `INSERT INTO ticks (job, tick) SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT)
			WHERE NOT EXISTS (SELECT 1 FROM ticks t WHERE t.job = $1 AND t.tick > $3) ON CONFLICT DO NOTHING`,
			job, db.Millis(tick), db.Millis(tick.Add(tickKept)))
		if err != nil {
			return err
		}
		if won = n == 1; !won {
			return nil
		}
		_, err = db.Exec(ctx, tx, `DELETE FROM ticks WHERE job = $1 AND tick < $2`, job, db.Millis(tick.Add(-tickKept)))
		return err
	})
	return won && err == nil, s.wrap(err, "claim tick of job %s", job)
}

// Meetings gives the duels of a league that start at or after since and were
// not cancelled or void, oldest first. At is when the match starts.
func (s *Store) Meetings(ctx context.Context, league string, since time.Time) ([]arena.Meeting, error) {
	meetings, err := db.All(ctx, s.reader, func(r db.Row) (m arena.Meeting, err error) {
		return m, r.Scan(&m.A, &m.B, db.IntoTime(&m.At))
	}, `SELECT a.agent_id, b.agent_id, m.starts_at FROM matches m
		JOIN seats a ON a.match_id = m.id AND a.no = 0 JOIN seats b ON b.match_id = m.id AND b.no = 1
		WHERE m.league = $1 AND m.starts_at >= $2 AND m.status NOT IN ('cancelled', 'void')
		AND NOT EXISTS (SELECT 1 FROM seats c WHERE c.match_id = m.id AND c.no = 2)
		ORDER BY m.starts_at, m.id`, league, db.Millis(since))
	return meetings, s.wrap(err, "read meetings of league %s", league)
}

// Counts gives the sizes of the whole arena.
func (s *Store) Counts(ctx context.Context) (arena.Counts, error) {
	counts := arena.Counts{Agents: map[arena.AgentStatus]int{}, Matches: map[arena.MatchStatus]int{}}
	type line struct {
		status string
		n      int
		events int64
	}
	read := func(r db.Row) (l line, err error) { return l, r.Scan(&l.status, &l.n, &l.events) }
	err := s.view(ctx, func(q db.Querier) error {
		// Agent.StatusAt in SQL.
		agents, err := db.All(ctx, q, read, `SELECT CASE WHEN retired_at <> 0 THEN 'retired' WHEN passed_at = 0 THEN 'pending'
			WHEN paused_until > $1 THEN 'paused' ELSE 'active' END AS status, count(*), 0 FROM agents GROUP BY 1`, db.Millis(s.now()))
		if err != nil {
			return err
		}
		for _, l := range agents {
			counts.Agents[arena.AgentStatus(l.status)] = l.n
		}
		// Logs have no gaps, so their last numbers add up to their lines.
		matches, err := db.All(ctx, q, read, `SELECT status, count(*), CAST(sum(CASE log_state WHEN $1 THEN 0 ELSE seq END) AS BIGINT)
			FROM matches GROUP BY status`, logDropped)
		if err != nil {
			return err
		}
		for _, l := range matches {
			counts.Matches[arena.MatchStatus(l.status)] = l.n
			counts.Events += l.events
		}
		counts.Settlements, err = db.One(ctx, q, db.ScanInt, `SELECT value FROM counters WHERE name = 'settlements'`)
		return err
	})
	return counts, s.wrap(err, "count rows")
}
