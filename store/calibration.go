package store

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// AgentClaims gives what an agent declared with its newest limit judged
// answers, newest match first, as far as they lie in its newest 2*limit
// matches; of these only those in one league when league is not "": an agent
// that plays elsewhere would have all of its answers read. Rounds that have not
// closed are left out: nothing is known of them yet (rulebook, section 5).
func (s *Store) AgentClaims(ctx context.Context, agentID, league string, limit int) ([]arena.Claim, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	type claim struct {
		arena.Claim
		league string
	}
	query, args := claimQuery(agentID, league, limit)
	found, err := db.All(ctx, s.reader, func(r db.Row) (c claim, err error) {
		var points arena.Points
		var said struct { // the rest of the reply, which may be long, is not kept
			Confidence *float64 `json:"confidence"`
			Tokens     *int64   `json:"tokens"`
		}
		err = r.Scan(&points, db.IntoJSON(&said), &c.league)
		c.Claim = arena.Claim{Confidence: said.Confidence, Tokens: said.Tokens, Right: points == arena.OnePoint}
		return c, err
	}, query, args...)
	var claims []arena.Claim
	for _, c := range found {
		if c.league == league {
			claims = append(claims, c.Claim)
		}
	}
	return claims, s.wrap(err, "read claims of agent %s", agentID)
}

// claimQuery reaches each answer by its key, from the agent's newest seats;
// with the leagues of their matches when one is asked for. It looks at twice as
// many matches as answers are asked for: without a bound PostgreSQL walks
// through all answers, and one who never answers would have all its matches
// read. SQLite takes the tables of a CROSS JOIN in the order in which they
// stand. That an answer is judged says that its round has closed: see
// SaveAnswer.
func claimQuery(agentID, league string, limit int) (string, []any) {
	of := "''"
	if league != "" {
		of = "(SELECT m.league FROM matches m WHERE m.id = c.match_id)"
	}
	return `SELECT c.points, c.body, ` + of + ` FROM (SELECT s.match_id, a.points, a.body FROM
		(SELECT match_id FROM seats WHERE agent_id = $1 AND ` + seen + ` ORDER BY match_id DESC LIMIT $4) s CROSS JOIN rounds r CROSS JOIN answers a
		WHERE r.match_id = s.match_id AND a.match_id = r.match_id AND a.round = r.no AND a.agent_id = $1 AND a.outcome = $2
		AND a.judged = 1 ORDER BY s.match_id DESC, r.no DESC LIMIT $3) c`, []any{agentID, string(arena.OutcomeAnswered), limit, 2 * limit}
}
