package store

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// addOutcomes counts how a match's rounds ended for each of its agents; it
// runs once, in the transaction that ends the match. Its answers stay as they
// are from then on, but for their points. The order keeps two transactions of
// the same agents from waiting for each other, so that no second match may end
// in the same transaction.
func addOutcomes(ctx context.Context, tx *db.Tx, matchID string) error {
	_, err := db.Exec(ctx, tx, `INSERT INTO outcomes (agent_id, outcome, rounds)
		SELECT a.agent_id, a.outcome, count(*) FROM answers a WHERE a.match_id = $1 GROUP BY a.agent_id, a.outcome ORDER BY a.agent_id, a.outcome
		ON CONFLICT (agent_id, outcome) DO UPDATE SET rounds = outcomes.rounds + excluded.rounds`, matchID)
	return err
}

// AgentCauses counts an agent's rounds by outcome, those of matches that are
// over: finished or void.
func (s *Store) AgentCauses(ctx context.Context, id string) (map[arena.Outcome]int, error) {
	type cause struct {
		outcome arena.Outcome
		rounds  int
	}
	causes, err := db.All(ctx, s.reader, func(r db.Row) (c cause, err error) {
		return c, r.Scan(&c.outcome, &c.rounds)
	}, `SELECT outcome, rounds FROM outcomes WHERE agent_id = $1`, id)
	rounds := make(map[arena.Outcome]int, len(causes))
	for _, c := range causes {
		rounds[c.outcome] = c.rounds
	}
	return rounds, s.wrap(err, "count outcomes of agent %s", id)
}
