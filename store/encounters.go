package store

import (
	"context"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// addEncounters counts a match that is finished for every pair of its agents,
// as its seats stand; it runs once, in the transaction that ends the match.
func addEncounters(ctx context.Context, tx *db.Tx, matchID string) error {
	_, err := db.Exec(ctx, tx, encounters("1"), matchID)
	return err
}

// takeEncounters takes back what addEncounters did, while the seats stand as
// they did then.
func takeEncounters(ctx context.Context, tx *db.Tx, matchID string) error {
	_, err := db.Exec(ctx, tx, encounters("-1"), matchID)
	return err
}

// encounters adds the pairs of a match, each so many times. The order keeps
// two transactions of the same agents from waiting for each other; nothing
// that others lock may be locked after it.
func encounters(times string) string {
	return strings.ReplaceAll(`INSERT INTO encounters (a, b, a_wins, draws, b_wins)
		SELECT x.agent_id, y.agent_id, CASE WHEN x.place < y.place THEN {n} ELSE 0 END, CASE WHEN x.place = y.place THEN {n} ELSE 0 END,
			CASE WHEN x.place > y.place THEN {n} ELSE 0 END
		FROM seats x JOIN seats y ON y.match_id = x.match_id AND x.agent_id < y.agent_id
		WHERE x.match_id = $1 AND x.state <> 'left' AND y.state <> 'left' ORDER BY x.agent_id, y.agent_id
		ON CONFLICT (a, b) DO UPDATE SET a_wins = encounters.a_wins + excluded.a_wins, draws = encounters.draws + excluded.draws,
		b_wins = encounters.b_wins + excluded.b_wins`, "{n}", times)
}

// Opponents gives an agent's record against each agent that it met in a
// finished match, rated or not, and neither left: the better place wins. Most
// matches first.
func (s *Store) Opponents(ctx context.Context, id string) ([]arena.OpponentRecord, error) {
	records, err := db.All(ctx, s.reader, func(r db.Row) (o arena.OpponentRecord, err error) {
		err = r.Scan(&o.AgentID, &o.Name, &o.Wins, &o.Draws, &o.Losses)
		o.Matches = o.Wins + o.Draws + o.Losses
		return o, err
	}, `SELECT o.id, n.name, o.wins, o.draws, o.losses FROM (
			SELECT e.b AS id, e.a_wins AS wins, e.draws AS draws, e.b_wins AS losses FROM encounters e WHERE e.a = $1 UNION ALL
			SELECT e.a, e.b_wins, e.draws, e.a_wins FROM encounters e WHERE e.b = $1) o
		JOIN agents n ON n.id = o.id ORDER BY o.wins + o.draws + o.losses DESC, o.id`, id)
	return records, s.wrap(err, "read opponents of agent %s", id)
}
