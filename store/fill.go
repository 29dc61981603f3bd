package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/agora-arena/arena/store/internal/db"
)

// Fill says how much Store.Fill makes.
type Fill struct {
	League string // exists
	// Agents that exist, in the order in which duels pair them: each with the next ones in turn.
	Agents  []string
	Matches int       // finished rated duels of one round
	Events  int       // in the log of each
	From    time.Time // when the first match began; one begins in each second after
}

// Fill stores finished duels with their logs, answers, settlements and ratings
// as a long life of an arena leaves them, for benchmarks of what reads cost. It
// is no way to play: the settlements cannot be replayed. The database must
// have no matches yet. It calls progress after each step.
func (s *Store) Fill(ctx context.Context, f Fill, progress func(done, all int)) error {
	if len(f.Agents) < 2 || f.Matches < 1 || f.Events < 1 {
		return errors.New("fill: at least two agents, one match and one event are needed")
	}
	const step = 5000    // matches
	var indexes []string // that are made at the end
	err := s.writeAlone(ctx, "fill", func(ctx context.Context, tx *db.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, `CREATE TABLE bench_agents (n BIGINT NOT NULL PRIMARY KEY, id TEXT NOT NULL)`); err != nil {
			return err
		}
		if indexes, err = s.dropIndexes(ctx, tx); err != nil {
			return err
		}
		for i, id := range f.Agents {
			if _, err := db.Exec(ctx, tx, `INSERT INTO bench_agents (n, id) VALUES ($1, $2)`, i, id); err != nil {
				return err
			}
		}
		return nil
	})
	for from := 0; err == nil && from < f.Matches; from += step {
		err = s.writeAlone(ctx, "fill", func(ctx context.Context, tx *db.Tx) error {
			if err := s.unchecked(ctx, tx); err != nil {
				return err
			}
			return f.matches(ctx, tx, from, min(from+step, f.Matches))
		})
		progress(min(from+step, f.Matches), f.Matches)
	}
	if err == nil {
		err = s.writeAlone(ctx, "fill", func(ctx context.Context, tx *db.Tx) error { return f.close(ctx, tx) })
	}
	if err == nil {
		err = s.finishFill(ctx, indexes)
	}
	return s.wrap(err, "fill the database")
}

// The indexes of the tables that grow, but not those of constraints.
const droppable = `SELECT i.indexname, i.indexdef FROM pg_indexes i WHERE i.schemaname = current_schema()
	AND i.tablename IN ('matches', 'seats', 'rounds', 'answers', 'events', 'settlements', 'rating_changes')
	AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)`

// dropIndexes drops indexes that take less time to make at once than row by
// row, and gives the statements that make them. On SQLite that is no gain.
func (s *Store) dropIndexes(ctx context.Context, tx *db.Tx) (again []string, err error) {
	if !s.d.RowLocks {
		return nil, nil
	}
	type index struct{ name, definition string }
	found, err := db.All(ctx, tx, func(r db.Row) (i index, err error) { return i, r.Scan(&i.name, &i.definition) }, droppable)
	for _, i := range found {
		if _, err := tx.ExecContext(ctx, "DROP INDEX "+i.name); err != nil {
			return nil, err
		}
		again = append(again, i.definition)
	}
	return again, err
}

// unchecked lets PostgreSQL insert rows without looking up what they refer to,
// when the role may ask for that: it is most of the work.
func (s *Store) unchecked(ctx context.Context, tx *db.Tx) error {
	if !s.d.RowLocks {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT set_config('session_replication_role', 'replica', true) FROM pg_roles WHERE rolname = current_user AND rolsuper`)
	return err
}

// finishFill makes the indexes and counts the rows, as in an arena that has
// lived long.
func (s *Store) finishFill(ctx context.Context, indexes []string) error {
	if !s.d.RowLocks {
		_, err := s.writer.ExecContext(ctx, "ANALYZE")
		return err
	}
	c, err := s.writer.Conn(ctx) // one, for its settings
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // back to the pool
	statements := append([]string{"SET statement_timeout = 0", "SET maintenance_work_mem = '256MB'"}, indexes...)
	for _, statement := range append(statements, "VACUUM ANALYZE", "RESET maintenance_work_mem", "RESET statement_timeout") {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// matches stores the matches numbered from one to before another.
func (f Fill) matches(ctx context.Context, tx *db.Tx, from, to int) error {
	n := len(f.Agents)
	// Of match i: its id, when it began, and its two agents.
	series := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT CAST(%d AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d),
		m(i, id, at, a, b) AS (SELECT n.i, 'm_' || substr(CAST(10000000000 + n.i AS TEXT), 2), %d + n.i * 1000, x.id, y.id FROM n
			JOIN bench_agents x ON x.n = n.i %% %d JOIN bench_agents y ON y.n = (n.i + 1 + n.i / %d %% %d) %% %d) `,
		from, to, db.Millis(f.From), n, n, n-1, n)
	side := `CROSS JOIN (SELECT CAST(0 AS BIGINT) AS no UNION ALL SELECT 1) t`
	agent := `CASE t.no WHEN 0 THEN m.a ELSE m.b END`
	league := "'" + strings.ReplaceAll(f.League, "'", "''") + "'"
	for _, insert := range []string{
		`INSERT INTO matches (id, league, status, settings, seed, round, round_open, created_at, starts_at, started_at, finished_at, void_reason,
			seq, node, epoch, lease_until) ` + series + `SELECT m.id, ` + league + `, 'finished', l.settings, m.i, 1, 0, m.at, m.at, m.at, m.at + 900, '', ` +
			fmt.Sprint(f.Events) + `, 'nd_1', 1, 0 FROM m JOIN leagues l ON l.slug = ` + league,
		`INSERT INTO seats (match_id, no, agent_id, pinned, name, owner_id, protocol, endpoint, public_key, version, state, playing, out_round, points, place,
			outcome, rate_limits, rating_before, rating_delta) ` + series + `SELECT m.id, t.no, ` + agent + `, 1, ` + agent + `, 'ow', 'aap', 'https://example.org/agora', '', '1', 'active', 0, 0,
			1000 * t.no, 2 - t.no, 'answered', 0, 1500000, 8000 FROM m ` + side,
		`INSERT INTO rounds (match_id, no, task, opened_at, closed_at, interruptions, opened_seq, source) ` + series +
			`SELECT m.id, 1, '{"description":"2+2?","answers":["4"]}', m.at, m.at + 900, 0, 2, 'pk/1' FROM m`,
		`INSERT INTO answers (match_id, round, agent_id, outcome, reason, body, elapsed_ns, attempts, points, judged) ` + series +
			`SELECT m.id, 1, ` + agent + `, 'answered', '', '{"answer":"4"}', 40000000, 1, 1000 * t.no, 1 FROM m ` + side,
		`INSERT INTO events (match_id, seq, round, agent_id, at, type, body, hidden) ` + series + fmt.Sprintf(`, e(s) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT s + 1 FROM e WHERE s < %d)
			SELECT m.id, e.s, 1, m.a, m.at + e.s, CASE e.s WHEN %d THEN 'match_finished' ELSE 'thinking' END, '{"message":"let me think about it let me think about it let me think about it"}', ''
			FROM m CROSS JOIN e`, f.Events, f.Events),
		`INSERT INTO settlements (seq, match_id, league, at, drift) ` + series + `SELECT m.i + 1, m.id, ` + league + `, m.at + 900, 0 FROM m`,
		`INSERT INTO rating_changes (settlement, no, agent_id, league, melo_before, melo_after, delta, k, score, matches) ` + series +
			`SELECT m.i + 1, t.no, ` + agent + `, ` + league + `, 1500000, 1508000, 8000, 32, 1000 * t.no, m.i / ` + fmt.Sprint(n) + ` FROM m ` + side,
		`INSERT INTO encounters (a, b, a_wins, draws, b_wins) ` + series + `SELECT CASE WHEN m.a < m.b THEN m.a ELSE m.b END, CASE WHEN m.a < m.b THEN m.b ELSE m.a END,
			sum(CASE WHEN m.a < m.b THEN 0 ELSE 1 END), 0, sum(CASE WHEN m.a < m.b THEN 1 ELSE 0 END) FROM m WHERE true GROUP BY 1, 2
			ON CONFLICT (a, b) DO UPDATE SET a_wins = encounters.a_wins + excluded.a_wins, b_wins = encounters.b_wins + excluded.b_wins`,
		`INSERT INTO outcomes (agent_id, outcome, rounds) ` + series + `SELECT ` + agent + `, 'answered', count(*) FROM m ` + side + ` WHERE true GROUP BY 1
			ON CONFLICT (agent_id, outcome) DO UPDATE SET rounds = outcomes.rounds + excluded.rounds`,
	} {
		if _, err := tx.Tx.ExecContext(ctx, insert); err != nil {
			return err
		}
	}
	return nil
}

// close stores what the matches left behind, as if each rating had just moved.
func (f Fill) close(ctx context.Context, tx *db.Tx) error {
	end := db.Millis(f.From) + int64(f.Matches)*1000
	if _, err := db.Exec(ctx, tx, `INSERT INTO ratings (league, agent_id, melo, matches, peak, new_version, wins, draws, losses, opponents, recent, last_rated_at)
		SELECT CAST($1 AS TEXT), id, 1400000 + n * 200, CAST($2 AS BIGINT), 1700000, 0, 10, 0, 10, 20, CAST($4 AS TEXT), CAST($3 AS BIGINT) FROM bench_agents`,
		f.League, 2*f.Matches/len(f.Agents), end, "["+strings.Repeat("1500000,", recentRatings-1)+"1508000]"); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, tx, `UPDATE counters SET value = $1 WHERE name = 'settlements'`, f.Matches); err != nil {
		return err
	}
	_, err := db.Exec(ctx, tx, `DROP TABLE bench_agents`)
	return err
}

// Temporary makes an empty database on the PostgreSQL server of databaseURL,
// and gives its URL. drop removes it, whoever is connected.
func Temporary(ctx context.Context, databaseURL string, o Options) (temporary string, drop func(context.Context) error, err error) {
	u, err := url.Parse(databaseURL)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return "", nil, errors.New("make a temporary database: the URL does not begin with postgres://")
	}
	s, err := Open(ctx, databaseURL, o)
	if err != nil {
		return "", nil, err
	}
	name := "arena_bench_" + strings.ToLower(rand.Text()[:12])
	if _, err := s.writer.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, errors.Join(s.wrap(err, "make a temporary database"), s.Close())
	}
	u.Path = "/" + name
	return u.String(), func(ctx context.Context) error {
		_, err := s.writer.ExecContext(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		return errors.Join(s.wrap(err, "drop the temporary database"), s.Close())
	}, nil
}
