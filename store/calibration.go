package store

import (
	"context"

	"github.com/agora-arena/arena/arena"
)

// AgentClaims gives what an agent declared with its newest limit judged
// answers, newest match first; in one league, or in all when league is "".
// Rounds that have not closed are left out: nothing is known of them yet
// (rulebook, section 5).
func (s *Store) AgentClaims(ctx context.Context, agentID, league string, limit int) ([]arena.Claim, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	query, args := claimQuery(agentID, league, limit)
	claims, err := all(ctx, s.reader, func(r scanner) (claim arena.Claim, err error) {
		var points arena.Points
		var said struct { // the rest of the reply, which may be long, is not kept
			Confidence *float64 `json:"confidence"`
			Tokens     *int64   `json:"tokens"`
		}
		err = r.Scan(&points, jsonInto{&said})
		return arena.Claim{Confidence: said.Confidence, Tokens: said.Tokens, Right: points == arena.OnePoint}, err
	}, query, args...)
	return claims, s.wrap(err, "read claims of agent %s", agentID)
}

// claimQuery finds the answers by their agent, in the order of the index.
func claimQuery(agentID, league string, limit int) (string, []any) {
	var c clauses
	c.and("a.agent_id = ?", agentID)
	c.and("a.outcome = ?", string(arena.OutcomeAnswered))
	c.and("a.judged = 1")
	c.and("r.closed_at > 0")
	matches := ""
	if league != "" {
		matches = ` JOIN matches m ON m.id = a.match_id`
		c.and("m.league = ?", league)
	}
	query := `SELECT a.points, a.body FROM answers a JOIN rounds r ON r.match_id = a.match_id AND r.no = a.round` + matches + c.where() +
		` ORDER BY a.match_id DESC, a.round DESC LIMIT ` + c.arg(limit)
	return query, c.args
}
