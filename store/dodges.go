package store

import (
	"context"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// Dodges gives what agents dodged in their newest arena.DodgeMatches matches
// of a league that have begun, oldest round first; in each league when league
// is "". A 429 before the agent's first counted round of the match is none.
func (s *Store) Dodges(ctx context.Context, league string, agentIDs []string) ([]arena.Dodge, error) {
	var found []arena.Dodge
	for part := range slices.Chunk(agentIDs, maxIDs) {
		query, args := dodgeQuery(league, part)
		dodges, err := all(ctx, s.reader, func(r scanner) (d arena.Dodge, err error) {
			return d, r.Scan(&d.AgentID, &d.League, &d.MatchID, &d.Round, &d.Outcome, timeInto{&d.At})
		}, query, args...)
		if err != nil {
			return nil, s.wrap(err, "read dodges of %d agents", len(agentIDs))
		}
		found = append(found, dodges...)
	}
	return found, nil
}

// dodgeQuery finds the few answers that can be dodges by their own index, the
// condition of which is in it word by word, and counts newer matches for those
// alone. A 429 without an attempt is a round
// that fell into the pause.
func dodgeQuery(league string, agentIDs []string) (string, []any) {
	var c clauses
	in(&c, "a.agent_id", agentIDs)
	c.and("a.outcome IN ('unavailable', 'rate_limited')")
	c.and("a.attempts > 0")
	if league != "" {
		c.and("m.league = ?", league)
	}
	c.and(`(a.outcome = 'unavailable' OR EXISTS (SELECT 1 FROM answers b WHERE b.match_id = a.match_id
		AND b.agent_id = a.agent_id AND b.round < a.round AND b.outcome NOT IN ('unavailable', 'rate_limited', 'void')))`)
	c.and(`(SELECT count(*) FROM seats s JOIN matches n ON n.id = s.match_id WHERE s.agent_id = a.agent_id
		AND n.league = m.league AND n.started_at > 0 AND s.match_id > a.match_id) < ?`, arena.DodgeMatches)
	return `SELECT a.agent_id, m.league, a.match_id, a.round, a.outcome, r.opened_at FROM answers a
		JOIN matches m ON m.id = a.match_id JOIN rounds r ON r.match_id = a.match_id AND r.no = a.round` +
		c.where() + ` ORDER BY r.opened_at, a.match_id, a.round`, c.args
}
