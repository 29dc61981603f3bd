package results

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// Games are the counted games of leagues.
type Games struct{ base *base.Base }

// NewGames returns the counted games of a database.
func NewGames(b *base.Base) *Games { return &Games{base: b} }

var recordTable = db.NewTable("game_records", "g",
	db.Text("league", func(r *arena.GameRecord) *string { return &r.League }),
	db.Text("agent_id", func(r *arena.GameRecord) *string { return &r.AgentID }),
	db.Int("turn_order", func(r *arena.GameRecord) *arena.TurnOrder { return &r.Order }),
	db.Text("ended", func(r *arena.GameRecord) *arena.GameEnd { return &r.End }),
	db.Text("cause", func(r *arena.GameRecord) *arena.RoundResult { return &r.Cause }),
	db.Int("games", func(r *arena.GameRecord) *int { return &r.Games }),
	db.Int("wins", func(r *arena.GameRecord) *int { return &r.Wins }),
	db.Int("draws", func(r *arena.GameRecord) *int { return &r.Draws }),
	db.Int("losses", func(r *arena.GameRecord) *int { return &r.Losses }),
	db.Int("points", func(r *arena.GameRecord) *arena.Points { return &r.Points }),
)

var addRecords = db.NewInsert(recordTable, `ON CONFLICT (league, agent_id, turn_order, ended, cause) DO UPDATE SET
	games = game_records.games + excluded.games, wins = game_records.wins + excluded.wins, draws = game_records.draws + excluded.draws,
	losses = game_records.losses + excluded.losses, points = game_records.points + excluded.points`)

// Add counts the games of a match that ends in tx. Rows are locked in the order of
// arena.SumGames, so that two transactions of the same agents do not wait for each
// other.
func Add(ctx context.Context, tx *db.Tx, league string, games []arena.GameRecord) error {
	if len(games) == 0 {
		return nil
	}
	sums := arena.SumGames(games)
	for i := range sums {
		sums[i].League = league
	}
	_, err := addRecords.Exec(ctx, tx, sums...)
	return err
}

// LeagueGames returns how the games of a league ended, by agent.
func (s *Games) LeagueGames(ctx context.Context, league string) ([]arena.GameRecord, error) {
	records, err := recordTable.All(ctx, s.base.Reader, ` WHERE g.league = $1 ORDER BY g.agent_id, g.turn_order, g.ended, g.cause`, league)
	return records, s.base.Wrap(err, "read games of league %s", league)
}

// AgentGames returns how the games of an agent ended, by league.
func (s *Games) AgentGames(ctx context.Context, agentID string) ([]arena.GameRecord, error) {
	records, err := recordTable.All(ctx, s.base.Reader, ` WHERE g.agent_id = $1 ORDER BY g.league, g.turn_order, g.ended, g.cause`, agentID)
	return records, s.base.Wrap(err, "read games of agent %s", agentID)
}
