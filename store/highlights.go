package store

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// moversLooked is how many of the newest settlements Movers looks at, however
// many a busy day has.
const moversLooked = 20_000

// Movers gives the agents whose rating in one league has moved most since a
// time, up or down.
func (s *Store) Movers(ctx context.Context, since time.Time, limit int) ([]arena.Mover, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	movers, err := db.All(ctx, s.reader, func(r db.Row) (m arena.Mover, err error) {
		var recent []int64 // arena.Melo encodes as Elo
		err = r.Scan(&m.AgentID, &m.Name, &m.League, &m.Rating, db.IntoJSON(&recent), &m.Change, &m.Matches)
		for _, v := range recent {
			m.Recent = append(m.Recent, arena.Melo(v))
		}
		return m, err
	}, moversQuery, db.Millis(since), moversLooked, limit)
	return movers, s.wrap(err, "read movers")
}

// moversQuery begins with the settlements: SQLite keeps to the order of a
// CROSS JOIN.
const moversQuery = `SELECT a.id, a.name, t.league, g.melo, g.recent, t.change, t.matches FROM (
		SELECT c.agent_id, c.league, CAST(sum(c.delta) AS BIGINT) AS change, count(*) AS matches
		FROM settlements s CROSS JOIN rating_changes c
		WHERE c.settlement = s.seq AND s.at >= $1 AND s.seq > (SELECT n.value - $2 FROM counters n WHERE n.name = 'settlements')
		GROUP BY c.agent_id, c.league HAVING sum(c.delta) <> 0 ORDER BY abs(sum(c.delta)) DESC, c.agent_id, c.league LIMIT $3) t
	JOIN agents a ON a.id = t.agent_id JOIN ratings g ON g.league = t.league AND g.agent_id = t.agent_id
	ORDER BY abs(t.change) DESC, a.id, t.league`

// LastSeasons gives the newest finished season of each league that has one, by
// the league's slug, without entrants.
func (s *Store) LastSeasons(ctx context.Context) (map[string]arena.Season, error) {
	seasons, err := seasonTable.All(ctx, s.reader, lastSeasons)
	if err != nil {
		return nil, s.wrap(err, "read last seasons")
	}
	last := make(map[string]arena.Season, len(seasons))
	for _, season := range seasons {
		last[season.League] = season
	}
	return last, nil
}

// lastSeasons begins with the leagues: SQLite keeps to the order of a CROSS
// JOIN.
const lastSeasons = ` CROSS JOIN leagues l WHERE s.league = l.slug AND s.no = (SELECT o.no FROM seasons o
	WHERE o.league = l.slug AND o.status = 'finished' ORDER BY o.no DESC LIMIT 1)`
