package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// standingRows reads a league's table: every agent that is in it or was ever
// rated in it, with no more of it than a table shows.
const standingRows = `SELECT a.id, a.owner_id, o.name, a.name, a.version, a.pauses, a.passed_at, a.retired_at,
	r.melo, r.matches, r.peak, r.new_version, r.wins, r.draws, r.losses, r.opponents, r.recent, r.last_rated_at
	FROM (SELECT agent_id FROM entries WHERE league = $1 AND withdrawn_at = 0 UNION SELECT agent_id FROM ratings WHERE league = $1) t
	JOIN agents a ON a.id = t.agent_id JOIN owners o ON o.id = a.owner_id
	LEFT JOIN ratings r ON r.league = $1 AND r.agent_id = a.id`

func scanStanding(league string) func(db.Row) (*arena.Standing, error) {
	return func(r db.Row) (*arena.Standing, error) {
		s := &arena.Standing{Rating: arena.NewRating(league, "")}
		a, g := &s.Agent, &s.Rating
		var last int64
		err := r.Scan(&a.ID, &a.OwnerID, &a.OwnerName, &a.Name, &a.Version, pausesInto{&a.Pauses}, db.IntoTime(&a.PassedAt), db.IntoTime(&a.RetiredAt),
			orAsIs[arena.Melo]{&g.Melo}, orAsIs[int]{&g.Matches}, orAsIs[arena.Melo]{&g.Peak}, orAsIs[int]{&g.NewVersion}, orAsIs[int]{&g.Wins},
			orAsIs[int]{&g.Draws}, orAsIs[int]{&g.Losses}, orAsIs[int]{&s.Opponents}, recentInto{&s.Recent}, orAsIs[int64]{&last})
		g.AgentID, g.LastRatedAt = a.ID, db.FromMillis(last)
		return s, err
	}
}

// orAsIs scans a whole number and leaves what is there when it is NULL.
type orAsIs[T ~int | ~int64] struct{ n *T }

func (i orAsIs[T]) Scan(src any) error {
	if v, ok := src.(int64); ok {
		*i.n = T(v)
	} else if src != nil {
		return fmt.Errorf("scan number: got %T", src)
	}
	return nil
}

// Standings gives a league's table: every agent that is in it or was ever
// rated in it. Those with a rank at now come first, then the others, each by
// rating, then id (rulebook, section 7). Of an agent it has ids and names,
// version, pauses, and when it passed and retired.
func (s *Store) Standings(ctx context.Context, league string, now time.Time) ([]arena.Standing, error) {
	var found []*arena.Standing
	err := s.view(ctx, func(q db.Querier) (err error) {
		if _, err := oneLeague(ctx, q, league, ""); err != nil {
			return err
		}
		found, err = db.All(ctx, q, scanStanding(league), standingRows, league)
		return err
	})
	if err != nil {
		return nil, s.wrap(err, "read standings of league %s", league)
	}
	return rank(found, now), nil
}

// rank orders a table and numbers those who have a rank.
func rank(found []*arena.Standing, now time.Time) []arena.Standing {
	slices.SortFunc(found, func(a, b *arena.Standing) int {
		if x, y := a.Ranked(now), b.Ranked(now); x != y {
			if x {
				return -1
			}
			return 1
		}
		return byRating(a, b)
	})
	table := make([]arena.Standing, len(found))
	for i, s := range found {
		if table[i] = *s; s.Ranked(now) {
			table[i].Rank = i + 1
		}
	}
	return table
}
