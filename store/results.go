package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// AgentResults counts the closed rounds of an agent's newest matches, at most
// so many, by how they ended; most rounds first.
func (s *Store) AgentResults(ctx context.Context, agentID string, matches int) ([]arena.ResultCount, error) {
	if err := checkLimit(matches); err != nil {
		return nil, err
	}
	query, args := resultQuery(agentID, matches)
	counts, err := db.All(ctx, s.reader, func(r db.Row) (c arena.ResultCount, err error) {
		var ns int64
		err = r.Scan(&c.Result, &c.Rounds, &ns)
		c.Mean = time.Duration(ns)
		return c, err
	}, query, args...)
	slices.SortFunc(counts, func(a, b arena.ResultCount) int {
		return cmp.Or(cmp.Compare(b.Rounds, a.Rounds), cmp.Compare(a.Result, b.Result))
	})
	return counts, s.wrap(err, "count results of agent %s", agentID)
}

// seen leaves out the seats in delayed matches that run: what spectators do not
// see yet does not count yet (rulebook, section 5).
const seen = `match_id NOT IN (SELECT id FROM matches WHERE delay > 0)`

// resultQuery reaches each answer by its key, from the agent's newest seats:
// SQLite takes the tables of a CROSS JOIN in the order in which they stand.
func resultQuery(agentID string, matches int) (string, []any) {
	return `SELECT CASE WHEN a.outcome <> $1 THEN a.outcome WHEN a.judged = 0 THEN $2 WHEN a.points >= $3 THEN $4
			WHEN a.points > 0 THEN $5 ELSE $6 END AS result, count(*), CAST(avg(a.elapsed_ns) AS BIGINT)
		FROM (SELECT match_id FROM seats WHERE agent_id = $7 AND ` + seen + ` ORDER BY match_id DESC LIMIT $8) s
		CROSS JOIN rounds r CROSS JOIN answers a
		WHERE r.match_id = s.match_id AND r.closed_at > 0 AND a.match_id = r.match_id AND a.round = r.no AND a.agent_id = $7
		GROUP BY 1`,
		[]any{
			string(arena.OutcomeAnswered), string(arena.ResultUnjudged), int64(arena.OnePoint),
			string(arena.ResultRight), string(arena.ResultPartial), string(arena.ResultWrong), agentID, matches,
		}
}
