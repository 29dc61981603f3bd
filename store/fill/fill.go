package fill

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Duels is what Fill stores.
type Duels struct {
	Leagues []string // exist; their agents take turns in Agents
	// Agents that exist, at least two for each league, in the order in which duels pair
	// them: each with the next ones of its league in turn.
	Agents  []string
	Matches int       // finished rated duels of one round
	Events  int       // in the log of each
	From    time.Time // when the first match began; one begins in each second after
}

// step is the number of matches of one transaction.
const step = 5000

// Fill stores finished duels with their logs, answers, settlements and ratings
// as a long life of an arena leaves them. It is no way to play: the settlements
// cannot be replayed. The database has the schema of this version and no
// matches yet. Fill calls progress after each transaction.
func (d Duels) Fill(ctx context.Context, db *sql.DB, progress func(done, all int)) error {
	if len(d.Leagues) < 1 || len(d.Agents) < 2*len(d.Leagues) || len(d.Agents)%len(d.Leagues) != 0 || d.Matches < 1 || d.Events < 1 {
		return errors.New("fill: at least one league, two agents for each and as many for all, one match and one event are needed")
	}
	// SQLite has no current_schema, so a successful call identifies PostgreSQL.
	f := filler{Duels: d, db: db, postgres: db.QueryRowContext(ctx, "SELECT current_schema()").Scan(new(string)) == nil}
	if err := f.fill(ctx, progress); err != nil {
		return fmt.Errorf("fill the database: %w", err)
	}
	return nil
}

// filler is one run of Fill.
type filler struct {
	Duels
	db       *sql.DB
	postgres bool
}

func (f filler) fill(ctx context.Context, progress func(done, all int)) error {
	var indexes []string // that are made at the end
	err := f.inTx(ctx, func(tx *sql.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, `CREATE TABLE bench_agents (n BIGINT NOT NULL PRIMARY KEY, id TEXT NOT NULL, league TEXT NOT NULL)`); err != nil {
			return err
		}
		if indexes, err = f.dropIndexes(ctx, tx); err != nil {
			return err
		}
		rows := make([]string, len(f.Agents))
		for i, id := range f.Agents {
			rows[i] = fmt.Sprintf("(%d, %s, %s)", i, quoted(id), quoted(f.Leagues[i%len(f.Leagues)]))
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO bench_agents (n, id, league) VALUES `+strings.Join(rows, ", ")) //nolint:gosec // G202: they are quoted
		return err
	})
	if err != nil {
		return err
	}
	for from := 0; from < f.Matches; from += step {
		to := min(from+step, f.Matches)
		if err := f.inTx(ctx, func(tx *sql.Tx) error {
			if err := f.unchecked(ctx, tx); err != nil {
				return err
			}
			return f.matches(ctx, tx, from, to)
		}); err != nil {
			return err
		}
		progress(to, f.Matches)
	}
	if err := f.inTx(ctx, func(tx *sql.Tx) error { return f.close(ctx, tx) }); err != nil {
		return err
	}
	return f.finish(ctx, indexes)
}

// inTx runs one transaction.
func (f filler) inTx(ctx context.Context, run func(*sql.Tx) error) error {
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := run(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// quoted returns a text as a literal of SQL.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// The indexes of the tables that grow, but not those of constraints.
const droppable = `SELECT i.indexname, i.indexdef FROM pg_indexes i WHERE i.schemaname = current_schema()
	AND i.tablename IN ('matches', 'seats', 'rounds', 'answers', 'events', 'settlements', 'rating_changes')
	AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)`

// dropIndexes drops indexes that take less time to build at once than row by
// row, and returns the statements that make them. On SQLite that is no gain.
func (f filler) dropIndexes(ctx context.Context, tx *sql.Tx) (again []string, err error) {
	if !f.postgres {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, droppable)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var names []string
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		names, again = append(names, name), append(again, definition)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := tx.ExecContext(ctx, "DROP INDEX "+name); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// unchecked lets PostgreSQL insert rows without looking up what they refer to,
// when the role may ask for that: it is most of the work.
func (f filler) unchecked(ctx context.Context, tx *sql.Tx) error {
	if !f.postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT set_config('session_replication_role', 'replica', true) FROM pg_roles WHERE rolname = current_user AND rolsuper`)
	return err
}

// finish makes the indexes and updates the statistics of the planner.
func (f filler) finish(ctx context.Context, indexes []string) error {
	if !f.postgres {
		_, err := f.db.ExecContext(ctx, "ANALYZE")
		return err
	}
	c, err := f.db.Conn(ctx) // one, for its settings
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
func (f filler) matches(ctx context.Context, tx *sql.Tx, from, to int) error {
	leagues := len(f.Leagues)
	n := len(f.Agents) / leagues // of each
	// Of match i: its id, its league, when it began, and its two agents.
	series := fmt.Sprintf(`WITH RECURSIVE n(i, l, k) AS (SELECT CAST(%[1]d AS BIGINT), CAST(%[1]d %% %[3]d AS BIGINT), CAST(%[1]d / %[3]d AS BIGINT)
			UNION ALL SELECT i + 1, (i + 1) %% %[3]d, (i + 1) / %[3]d FROM n WHERE i + 1 < %[2]d),
		m(i, id, league, at, a, b) AS (SELECT n.i, 'm_' || substr(CAST(10000000000 + n.i AS TEXT), 2), x.league, %[4]d + n.i * 1000, x.id, y.id FROM n
			JOIN bench_agents x ON x.n = n.l + %[3]d * (n.k %% %[5]d)
			JOIN bench_agents y ON y.n = n.l + %[3]d * ((n.k + 1 + n.k / %[5]d %% %[6]d) %% %[5]d)) `,
		from, to, leagues, f.From.UnixMilli(), n, n-1)
	side := `CROSS JOIN (SELECT CAST(0 AS BIGINT) AS no UNION ALL SELECT 1) t`
	agent := `CASE t.no WHEN 0 THEN m.a ELSE m.b END`
	for _, insert := range []string{
		`INSERT INTO matches (id, league, status, settings, seed, round, round_open, created_at, starts_at, started_at, finished_at, void_code, void_reason,
			seq, node, epoch, leased_until) ` + series + `SELECT m.id, m.league, 'finished', l.settings, m.i, 1, 0, m.at, m.at, m.at, m.at + 900, '', '', ` +
			fmt.Sprint(f.Events) + `, 'nd_1', 1, 0 FROM m JOIN leagues l ON l.slug = m.league`,
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
		`INSERT INTO settlements (seq, match_id, league, at, drift) ` + series + `SELECT m.i + 1, m.id, m.league, m.at + 900, 0 FROM m`,
		`INSERT INTO rating_changes (settlement, no, agent_id, league, melo_before, melo_after, delta, k, score, matches) ` + series +
			`SELECT m.i + 1, t.no, ` + agent + `, m.league, 1500000, 1508000, 8000, 32, 1000 * t.no, m.i / ` + fmt.Sprint(len(f.Agents)) + ` FROM m ` + side,
		`INSERT INTO encounters (a, b, a_wins, draws, b_wins) ` + series + `SELECT CASE WHEN m.a < m.b THEN m.a ELSE m.b END, CASE WHEN m.a < m.b THEN m.b ELSE m.a END,
			sum(CASE WHEN m.a < m.b THEN 0 ELSE 1 END), 0, sum(CASE WHEN m.a < m.b THEN 1 ELSE 0 END) FROM m WHERE true GROUP BY 1, 2
			ON CONFLICT (a, b) DO UPDATE SET a_wins = encounters.a_wins + excluded.a_wins, b_wins = encounters.b_wins + excluded.b_wins`,
		`INSERT INTO outcomes (agent_id, outcome, rounds) ` + series + `SELECT ` + agent + `, 'answered', count(*) FROM m ` + side + ` WHERE true GROUP BY 1
			ON CONFLICT (agent_id, outcome) DO UPDATE SET rounds = outcomes.rounds + excluded.rounds`,
	} {
		if _, err := tx.ExecContext(ctx, insert); err != nil {
			return err
		}
	}
	return nil
}

// recentRatings is how many ratings the store keeps beside each standing.
const recentRatings = 20

// close stores what the matches left behind, as if each rating had just moved.
func (f filler) close(ctx context.Context, tx *sql.Tx) error {
	end := f.From.UnixMilli() + int64(f.Matches)*1000
	recent := "[" + strings.Repeat("1500000,", recentRatings-1) + "1508000]"
	for _, statement := range []string{
		fmt.Sprintf(`INSERT INTO ratings (league, agent_id, melo, matches, peak, new_version, wins, draws, losses, opponents, recent, last_rated_at)
			SELECT league, id, 1400000 + n / %d * 200, %d, 1700000, 0, 10, 0, 10, 20, %s, %d FROM bench_agents`,
			len(f.Leagues), 2*f.Matches/len(f.Agents), quoted(recent), end),
		fmt.Sprintf(`UPDATE counters SET value = %d WHERE name IN ('settlements', 'matches finished')`, f.Matches),
		fmt.Sprintf(`UPDATE counters SET value = %d WHERE name = 'log events'`, f.Matches*f.Events),
		`DROP TABLE bench_agents`,
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
