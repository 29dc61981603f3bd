package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// recentRatings is how many ratings a standing shows.
const recentRatings = 20

// ratingRow is a rating with what is kept beside it, so that a table of
// standings need not read the history.
type ratingRow struct {
	arena.Rating
	opponents int          // distinct ones
	recent    []arena.Melo // the last ratings, oldest first
}

const ratingRows = `SELECT league, agent_id, melo, matches, peak, new_version, wins, draws, losses, opponents, recent,
	last_rated_at FROM ratings`

func scanRating(r db.Row) (row ratingRow, err error) {
	err = r.Scan(&row.League, &row.AgentID, &row.Melo, &row.Matches, &row.Peak, &row.NewVersion, &row.Wins, &row.Draws,
		&row.Losses, &row.opponents, recentInto{&row.recent}, db.IntoTime(&row.LastRatedAt))
	return row, err
}

// recentInto scans the last ratings, a list of whole numbers: a table of
// standings has 20 for each agent.
type recentInto struct{ ratings *[]arena.Melo }

func (i recentInto) Scan(src any) error {
	text, _ := src.(string) // nil: never rated
	list := strings.Trim(text, "[]")
	if list == "" {
		return nil
	}
	*i.ratings = make([]arena.Melo, 0, recentRatings)
	for number := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("scan recent ratings: %w", err)
		}
		*i.ratings = append(*i.ratings, arena.Melo(n))
	}
	return nil
}

// settled adds one settlement to the rating.
func (r *ratingRow) settled(c arena.RatingChange, at time.Time) {
	r.Melo = c.After
	r.Peak = max(r.Peak, c.After)
	r.Matches++
	r.NewVersion = max(0, r.NewVersion-1)
	r.LastRatedAt = at
	switch half := arena.OnePoint / 2; {
	case c.Score > half:
		r.Wins++
	case c.Score < half:
		r.Losses++
	default:
		r.Draws++
	}
	r.recent = append(r.recent, c.After)
	r.recent = r.recent[max(0, len(r.recent)-recentRatings):]
}

func byRating(a, b *arena.Standing) int {
	return cmp.Or(-cmp.Compare(a.Rating.Melo, b.Rating.Melo), cmp.Compare(a.Agent.ID, b.Agent.ID))
}

// AgentRatings gives the ratings of agents in every league in which they were
// rated, by league. Agents without any are left out.
func (s *Store) AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error) {
	found := make(map[string][]arena.Rating, len(ids))
	for part := range slices.Chunk(ids, db.MaxIDs) {
		var c db.Clauses
		db.In(&c, "agent_id", part)
		rows, err := db.All(ctx, s.reader, scanRating, ratingRows+c.Where()+` ORDER BY league`, c.Args...)
		if err != nil {
			return nil, s.wrap(err, "read ratings of %d agents", len(ids))
		}
		for _, r := range rows {
			found[r.AgentID] = append(found[r.AgentID], r.Rating)
		}
	}
	return found, nil
}

// countedOutcomes are those with which a round counts for its seat; only
// matches of two seats are looked at by it.
const countedOutcomes = `('answered', 'timeout', 'error', 'invalid')`

// RatingHistory gives the newest limit points of an agent's rating graph in a
// league, oldest first.
func (s *Store) RatingHistory(ctx context.Context, id, league string, limit int) ([]arena.RatingPoint, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	points, err := db.All(ctx, s.reader, func(r db.Row) (p arena.RatingPoint, err error) {
		return p, r.Scan(&p.MatchID, db.IntoTime(&p.At), &p.Rating, &p.Delta, &p.Version, &p.LeftOut)
	}, `SELECT s.match_id, s.at, c.melo_after, c.delta, t.version, CASE WHEN c.delta < 0 AND t.place = 1 AND NOT EXISTS (
			SELECT 1 FROM seats o WHERE o.match_id = s.match_id AND o.place = 1 AND o.agent_id <> c.agent_id)
		THEN (SELECT count(*) FROM answers a WHERE a.match_id = s.match_id AND a.outcome IN `+countedOutcomes+` AND NOT EXISTS (
			SELECT 1 FROM answers b WHERE b.match_id = a.match_id AND b.round = a.round AND b.agent_id <> a.agent_id AND b.outcome IN `+countedOutcomes+`))
		END FROM rating_changes c JOIN settlements s ON s.seq = c.settlement
		JOIN seats t ON t.match_id = s.match_id AND t.agent_id = c.agent_id
		WHERE c.agent_id = $1 AND c.league = $2 ORDER BY c.settlement DESC LIMIT $3`, id, league, limit)
	slices.Reverse(points)
	return points, s.wrap(err, "read rating history of agent %s", id)
}

// Settlements gives settlements with their changes in order, at most limit,
// from the one after afterSeq on; of one league, or of all when league is "".
// Replayed in this order they give every current rating (rulebook, section 7).
func (s *Store) Settlements(ctx context.Context, league string, afterSeq int64, limit int) ([]arena.Settlement, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	var c db.Clauses
	c.And("seq > ?", afterSeq)
	if league != "" {
		c.And("league = ?", league)
	}
	chosen := ` FROM settlements` + c.Where() + ` ORDER BY seq LIMIT ` + c.Arg(limit)
	var settlements []arena.Settlement
	err := s.view(ctx, func(q db.Querier) (err error) {
		settlements, err = db.All(ctx, q, func(r db.Row) (t arena.Settlement, err error) {
			return t, r.Scan(&t.Seq, &t.MatchID, &t.League, db.IntoTime(&t.At), &t.Drift)
		}, `SELECT seq, match_id, league, at, drift`+chosen, c.Args...)
		if err != nil {
			return err
		}
		index := make(map[int64]*arena.Settlement, len(settlements))
		for i := range settlements {
			index[settlements[i].Seq] = &settlements[i]
		}
		_, err = db.All(ctx, q, func(r db.Row) (none struct{}, err error) {
			var seq int64
			var ch arena.RatingChange
			err = r.Scan(&seq, &ch.AgentID, &ch.Before, &ch.After, &ch.Delta, &ch.K, &ch.Score, &ch.Matches)
			if t, ok := index[seq]; ok {
				t.Changes = append(t.Changes, ch)
			}
			return none, err
		}, `SELECT settlement, agent_id, melo_before, melo_after, delta, k, score, matches FROM rating_changes
			WHERE settlement IN (SELECT seq`+chosen+`) ORDER BY settlement, no`, c.Args...)
		return err
	})
	return settlements, s.wrap(err, "read settlements after %d", afterSeq)
}

// settlementSource is one match's settlement as Settle writes it.
type settlementSource struct {
	matchID, league string
	at              time.Time
	seats           []arena.Seat
}

// rate computes and stores what a match does to ratings; nothing when rate
// gives no changes. The settlements' counter is locked first: settlements
// happen one after the other in the whole cluster, each on the ratings that
// the one before it left.
func (s *Store) rate(ctx context.Context, tx *db.Tx, m settlementSource, rate func(map[string]arena.Rating) []arena.RatingChange) ([]arena.RatingChange, error) {
	seq, err := db.One(ctx, tx, db.ScanInt, `SELECT c.value + 1 FROM counters c WHERE c.name = 'settlements'`+s.d.Lock("c"))
	if err != nil {
		return nil, err
	}
	rows, err := s.ratingsOf(ctx, tx, m)
	if err != nil {
		return nil, err
	}
	ratings := make(map[string]arena.Rating, len(rows))
	for id, r := range rows {
		ratings[id] = r.Rating
	}
	changes := rate(ratings)
	if len(changes) == 0 {
		return nil, nil
	}

	owners := make(map[string]string, len(m.seats))
	for _, seat := range m.seats {
		owners[seat.AgentID] = seat.OwnerID
	}
	met, err := meet(ctx, tx, m.league, changes, owners)
	if err != nil {
		return nil, err
	}
	var drift arena.Melo
	updated, changeArgs := make([][]any, len(changes)), make([][]any, len(changes))
	for i, c := range changes {
		r, ok := rows[c.AgentID]
		if !ok || r.Melo != c.Before {
			return nil, fmt.Errorf("rating change of agent %s starts at %d, its rating is %d", c.AgentID, c.Before, r.Melo)
		}
		drift += c.After - c.Before
		r.settled(c, m.at)
		r.opponents += met[c.AgentID]
		if updated[i], err = ratingArgs(m.league, r); err != nil {
			return nil, err
		}
		changeArgs[i] = []any{
			seq, i, c.AgentID, m.league, int64(c.Before), int64(c.After), int64(c.Delta), c.K, int64(c.Score), r.Matches,
		}
	}

	total, err := db.One(ctx, tx, db.ScanInt, `UPDATE leagues SET drift = drift + $1 WHERE slug = $2 RETURNING drift`, int64(drift), m.league)
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(ctx, tx, `UPDATE counters SET value = $1 WHERE name = 'settlements'`, seq); err != nil {
		return nil, err
	}
	if _, err := db.Exec(ctx, tx, `INSERT INTO settlements (seq, match_id, league, at, drift) VALUES ($1, $2, $3, $4, $5)`,
		seq, m.matchID, m.league, db.Millis(m.at), total); err != nil {
		return nil, err
	}
	if err := db.Bulk(ctx, tx, `INSERT INTO rating_changes (settlement, no, agent_id, league, melo_before, melo_after, delta, k,
		score, matches)`, "", changeArgs); err != nil {
		return nil, err
	}
	return changes, upsertRatings(ctx, tx, updated)
}

func ratingArgs(league string, r *ratingRow) ([]any, error) {
	recent := make([]int64, len(r.recent)) // arena.Melo encodes as Elo
	for i, v := range r.recent {
		recent[i] = int64(v)
	}
	text, err := db.JSONText(recent)
	return []any{
		league, r.AgentID, int64(r.Melo), r.Matches, int64(r.Peak), r.NewVersion, r.Wins, r.Draws,
		r.Losses, r.opponents, text, db.Millis(r.LastRatedAt),
	}, err
}

func upsertRatings(ctx context.Context, tx *db.Tx, rows [][]any) error {
	return db.Bulk(ctx, tx, `INSERT INTO ratings (league, agent_id, melo, matches, peak, new_version, wins, draws, losses,
		opponents, recent, last_rated_at)`, `ON CONFLICT (league, agent_id) DO UPDATE SET melo = excluded.melo,
		matches = excluded.matches, peak = excluded.peak, new_version = excluded.new_version, wins = excluded.wins,
		draws = excluded.draws, losses = excluded.losses, opponents = excluded.opponents, recent = excluded.recent,
		last_rated_at = excluded.last_rated_at`, rows)
}

// ratingsOf gives the ratings of a match's agents, new ones for those who
// have none.
func (s *Store) ratingsOf(ctx context.Context, tx *db.Tx, m settlementSource) (map[string]*ratingRow, error) {
	found := make(map[string]*ratingRow, len(m.seats))
	ids := make([]string, len(m.seats))
	for i, seat := range m.seats {
		ids[i] = seat.AgentID
		found[seat.AgentID] = &ratingRow{Rating: arena.NewRating(m.league, seat.AgentID)}
	}
	for part := range slices.Chunk(ids, db.MaxIDs) {
		var c db.Clauses
		c.And("league = ?", m.league)
		db.In(&c, "agent_id", part)
		rows, err := db.All(ctx, tx, scanRating, ratingRows+c.Where(), c.Args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.AgentID] = &r
		}
	}
	return found, nil
}

// meet notes who met whom and counts, by agent, the opponents that it had not
// met in a rated match of the league before. Agents of one owner are not
// rated against each other and so do not meet (rulebook, section 7).
func meet(ctx context.Context, tx *db.Tx, league string, changes []arena.RatingChange, owners map[string]string) (map[string]int, error) {
	var pairs [][]any
	for i, a := range changes {
		for _, b := range changes[i+1:] {
			if o := owners[a.AgentID]; o != "" && o == owners[b.AgentID] {
				continue
			}
			pairs = append(pairs, []any{league, min(a.AgentID, b.AgentID), max(a.AgentID, b.AgentID)})
		}
	}
	met := make(map[string]int, len(changes))
	for part := range db.Chunks(pairs) {
		_, err := db.All(ctx, tx, func(r db.Row) (none struct{}, err error) {
			var a, b string
			err = r.Scan(&a, &b)
			met[a]++
			met[b]++
			return none, err
		}, `INSERT INTO met (league, a, b)`+db.Values(len(part), 3)+`ON CONFLICT DO NOTHING RETURNING a, b`, slices.Concat(part...)...)
		if err != nil {
			return nil, err
		}
	}
	return met, nil
}
