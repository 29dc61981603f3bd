package store

import (
	"context"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// Dodges gives what agents dodged in their newest arena.DodgeMatches matches
// of a league that have begun, oldest round first; in each league when league
// is "". A 429 before the agent's first counted round of the match is none.
func (s *Store) Dodges(ctx context.Context, league string, agentIDs []string) ([]arena.Dodge, error) {
	var found []arena.Dodge
	for part := range slices.Chunk(agentIDs, db.MaxIDs) {
		query, args := dodgeQuery(league, part)
		dodges, err := db.All(ctx, s.reader, func(r db.Row) (d arena.Dodge, err error) {
			return d, r.Scan(&d.AgentID, &d.League, &d.MatchID, &d.Round, &d.Outcome, db.IntoTime(&d.At))
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
	var c db.Clauses
	db.In(&c, "a.agent_id", agentIDs)
	c.And("a.outcome IN ('unavailable', 'rate_limited')")
	c.And("a.attempts > 0")
	if league != "" {
		c.And("m.league = ?", league)
	}
	c.And(`(a.outcome = 'unavailable' OR EXISTS (SELECT 1 FROM answers b WHERE b.match_id = a.match_id
		AND b.agent_id = a.agent_id AND b.round < a.round AND b.outcome NOT IN ('unavailable', 'rate_limited', 'void')))`)
	c.And(`(SELECT count(*) FROM seats s JOIN matches n ON n.id = s.match_id WHERE s.agent_id = a.agent_id
		AND n.league = m.league AND n.started_at > 0 AND s.match_id > a.match_id) < ?`, arena.DodgeMatches)
	return `SELECT a.agent_id, m.league, a.match_id, a.round, a.outcome, r.opened_at FROM answers a
		JOIN matches m ON m.id = a.match_id JOIN rounds r ON r.match_id = a.match_id AND r.no = a.round` +
		c.Where() + ` ORDER BY r.opened_at, a.match_id, a.round`, c.Args
}
