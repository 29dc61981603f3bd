package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

var goldTable = db.NewTable("gold", "g",
	db.Text("league", func(g *arena.GoldVerdict) *string { return &g.League }),
	db.Text("pack_id", func(g *arena.GoldVerdict) *string { return &g.PackID }),
	db.Int("task", func(g *arena.GoldVerdict) *int { return &g.Task }),
	db.Text("version", func(g *arena.GoldVerdict) *string { return &g.Version }),
	db.Bool("agreed", func(g *arena.GoldVerdict) *bool { return &g.Agreed }),
	db.Time("at", func(g *arena.GoldVerdict) *time.Time { return &g.At }),
)

var saveGold = db.NewUpsert(goldTable, []string{"league", "pack_id", "task"})

// SaveGold stores a verdict on a gold item in place of the one before.
func (s *Leagues) SaveGold(ctx context.Context, g arena.GoldVerdict) error {
	err := s.write(ctx, leagueKey(g.League), func(ctx context.Context, tx *db.Tx) error {
		_, err := saveGold.Exec(ctx, tx, g)
		return err
	})
	return s.wrap(err, "save a verdict on a gold item of league %s", g.League)
}

// Gold returns the newest verdict of a league's judge on each gold item of a pack that is
// in use, oldest first.
func (s *Leagues) Gold(ctx context.Context, league, packID string) ([]arena.GoldVerdict, error) {
	gold, err := goldTable.All(ctx, s.reader, ` JOIN tasks t ON t.pack_id = g.pack_id AND t.n = g.task
		WHERE g.league = $1 AND g.pack_id = $2 AND t.removed_at = 0 AND t.replaced_by = 0 ORDER BY g.at, g.task`, league, packID)
	return gold, s.wrap(err, "read verdicts on gold items of league %s", league)
}

// NextGold returns the number of the gold item of a pack that a league's judge was asked
// about least recently, if ever. not_found: the pack has no task in use.
func (s *Leagues) NextGold(ctx context.Context, league, packID string) (int, error) {
	n, err := db.One(ctx, s.reader, db.ScanInt, `SELECT t.n FROM tasks t LEFT JOIN gold g ON g.league = $1 AND g.pack_id = t.pack_id AND g.task = t.n
		WHERE t.pack_id = $2 AND t.removed_at = 0 AND t.replaced_by = 0 ORDER BY COALESCE(g.at, 0), t.n LIMIT 1`, league, packID)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "pack %q has no tasks", packID)
	}
	return int(n), s.wrap(err, "find a gold item for league %s", league)
}
