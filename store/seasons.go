package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

const seasonRows = `SELECT s.id, s.league, s.no, s.status, s.format, s.options, s.seed, s.version, s.started_at, s.ends_at,
	s.finished_at, s.final FROM seasons s`

func scanSeason(r db.Row) (s arena.Season, err error) {
	var seed int64
	err = r.Scan(&s.ID, &s.League, &s.No, &s.Status, &s.Format, db.IntoJSON(&s.Options), &seed, &s.Version,
		db.IntoTime(&s.StartedAt), db.IntoTime(&s.EndsAt), db.IntoTime(&s.FinishedAt), db.IntoJSON(&s.Table))
	s.Seed = uint64(seed) //nolint:gosec // the same 64 bits
	return s, err
}

const pairingRows = `SELECT p.season_id, p.round, p.slot, p.game, p.bracket, p.agents, p.result, p.scores, COALESCE(p.match_id, ''),
	p.created_at, p.decided_at FROM pairings p`

func scanPairing(r db.Row) (p arena.Pairing, err error) {
	return p, r.Scan(&p.SeasonID, &p.Round, &p.Slot, &p.Game, &p.Bracket, db.IntoJSON(&p.Agents), &p.Result, db.IntoJSON(&p.Scores),
		&p.MatchID, db.IntoTime(&p.CreatedAt), db.IntoTime(&p.DecidedAt))
}

// StartSeason stores a new season of a league with its entrants and gives it
// the next number of that league. conflict: a season of the league is running.
func (s *Store) StartSeason(ctx context.Context, season arena.Season) (arena.Season, error) {
	options, err := db.JSONText(season.Options)
	if err != nil {
		return arena.Season{}, s.wrap(err, "start season %s", season.ID)
	}
	err = s.write(ctx, leagueKey(season.League), func(ctx context.Context, tx *db.Tx) error {
		if _, err := oneLeague(ctx, tx, season.League, s.d.Lock("l")); err != nil {
			return err
		}
		n, err := db.Exec(ctx, tx, `INSERT INTO seasons (id, league, no, status, format, options, seed, version, started_at,
			ends_at, finished_at, final) SELECT CAST($1 AS TEXT), l.slug, (SELECT COALESCE(max(o.no), 0) + 1 FROM seasons o
			WHERE o.league = l.slug), 'running', CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), 1, CAST($5 AS BIGINT),
			CAST($6 AS BIGINT), 0, '' FROM leagues l WHERE l.slug = $7 AND NOT EXISTS (SELECT 1 FROM seasons r
			WHERE r.league = l.slug AND r.status = 'running')`, season.ID, string(season.Format), options,
			int64(season.Seed), db.Millis(season.StartedAt), db.Millis(season.EndsAt), season.League) //nolint:gosec // the same 64 bits
		if err != nil {
			return err
		}
		if n == 0 {
			return arena.Errorf(arena.CodeConflict, "a season of league %q is running", season.League)
		}
		if err := join(ctx, tx, season.ID, season.Entrants); err != nil {
			return err
		}
		season, _, err = loadSeason(ctx, tx, ` WHERE s.id = $1`, season.ID)
		return err
	})
	return season, s.wrap(err, "start season %s", season.ID)
}

func join(ctx context.Context, tx *db.Tx, seasonID string, entrants []arena.Entrant) error {
	rows := make([][]any, len(entrants))
	for i, e := range entrants {
		rows[i] = []any{seasonID, e.AgentID, e.OwnerID, e.Name, int64(e.Rating), e.Round, e.WithdrawnRound}
	}
	return db.Bulk(ctx, tx, `INSERT INTO entrants (season_id, agent_id, owner_id, name, rating, round, withdrawn_round)`,
		`ON CONFLICT (season_id, agent_id) DO UPDATE SET withdrawn_round = excluded.withdrawn_round`, rows)
}

// loadSeason reads the first season that the condition names, with its
// entrants, best rated first, and all its pairings by round, slot and game.
func loadSeason(ctx context.Context, q db.Querier, where string, args ...any) (arena.Season, []arena.Pairing, error) {
	season, err := db.One(ctx, q, scanSeason, seasonRows+where, args...)
	if err != nil {
		return season, nil, err
	}
	season.Entrants, err = db.All(ctx, q, func(r db.Row) (e arena.Entrant, err error) {
		return e, r.Scan(&e.AgentID, &e.OwnerID, &e.Name, &e.Rating, &e.Round, &e.WithdrawnRound)
	}, `SELECT agent_id, owner_id, name, rating, round, withdrawn_round FROM entrants WHERE season_id = $1
		ORDER BY rating DESC, agent_id`, season.ID)
	if err != nil {
		return season, nil, err
	}
	pairings, err := db.All(ctx, q, scanPairing, pairingRows+` WHERE p.season_id = $1 ORDER BY p.round, p.slot, p.game`, season.ID)
	return season, pairings, err
}

// Season gives a season of a league with its pairings, by round, slot and
// game; the newest when no is 0. not_found: the league has no such season.
func (s *Store) Season(ctx context.Context, league string, no int) (arena.Season, []arena.Pairing, error) {
	where, args := ` WHERE s.league = $1 AND s.no = $2`, []any{league, no}
	if no == 0 {
		where, args = ` WHERE s.league = $1 ORDER BY s.no DESC LIMIT 1`, args[:1]
	}
	var season arena.Season
	var pairings []arena.Pairing
	err := s.view(ctx, func(q db.Querier) (err error) {
		if season, pairings, err = loadSeason(ctx, q, where, args...); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := oneLeague(ctx, q, league, ""); err != nil {
			return err
		}
		return arena.Errorf(arena.CodeNotFound, "league %q has no such season", league)
	})
	return season, pairings, s.wrap(err, "read season %d of league %s", no, league)
}

// Seasons lists the seasons of a league, newest first, without entrants.
func (s *Store) Seasons(ctx context.Context, league string, p arena.Page) (seasons []arena.Season, next string, err error) {
	after, err := listSeasons.open(p)
	if err != nil {
		return nil, "", err
	}
	var c db.Clauses
	c.And("s.league = ?", league)
	if after != "" {
		no, err := strconv.Atoi(after)
		if err != nil {
			return nil, "", arena.Invalid("cursor", "is not one that this list gave out")
		}
		c.And("s.no < ?", no)
	}
	seasons, err = db.All(ctx, s.reader, scanSeason, seasonRows+c.Where()+` ORDER BY s.no DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list seasons of league %s", league)
	}
	seasons, next = closePage(listSeasons, p, seasons, func(s arena.Season) string { return strconv.Itoa(s.No) })
	return seasons, next, nil
}

// RunningSeasons gives the slugs of the leagues that have a running season.
func (s *Store) RunningSeasons(ctx context.Context) ([]string, error) {
	slugs, err := db.All(ctx, s.reader, db.ScanText, `SELECT league FROM seasons WHERE status = 'running' ORDER BY league`)
	return slugs, s.wrap(err, "list running seasons")
}

// PairingMatches gives the matches of a season's open pairings, by id.
// Pairings whose match has not been made yet have none.
func (s *Store) PairingMatches(ctx context.Context, seasonID string) (map[string]arena.Match, error) {
	found := map[string]arena.Match{}
	err := s.view(ctx, func(q db.Querier) error {
		matches, err := loadMatches(ctx, q, ` WHERE m.id IN (SELECT p.match_id FROM pairings p WHERE p.season_id = $1 AND p.result = '')`, seasonID)
		for _, m := range matches {
			found[m.ID] = m
		}
		return err
	})
	return found, s.wrap(err, "read the matches of season %s", seasonID)
}

// PairingOf gives the pairing that a match decides and its season's number.
// not_found: no season ordered the match.
func (s *Store) PairingOf(ctx context.Context, matchID string) (p arena.Pairing, season int, err error) {
	err = s.view(ctx, func(q db.Querier) error {
		if p, err = db.One(ctx, q, scanPairing, pairingRows+` WHERE p.match_id = $1`, matchID); errors.Is(err, sql.ErrNoRows) {
			return arena.Errorf(arena.CodeNotFound, "no season ordered match %q", matchID)
		} else if err != nil {
			return err
		}
		no, err := db.One(ctx, q, db.ScanInt, `SELECT no FROM seasons WHERE id = $1`, p.SeasonID)
		season = int(no)
		return err
	})
	return p, season, s.wrap(err, "read the pairing of match %s", matchID)
}

// ChangeSeason stores what was decided on season as it stood at
// season.Version: all of it, or nothing. A pairing that has a result keeps it.
// conflict: the season has changed since, or is finished.
func (s *Store) ChangeSeason(ctx context.Context, season arena.Season, c arena.SeasonChange) error {
	rows := make([][]any, len(c.Pairings))
	for i, p := range c.Pairings {
		agents, err := db.JSONText(p.Agents)
		if err != nil {
			return s.wrap(err, "change season %s", season.ID)
		}
		scores := ""
		if p.Scores != nil {
			if scores, err = db.JSONText(p.Scores); err != nil {
				return s.wrap(err, "change season %s", season.ID)
			}
		}
		rows[i] = []any{
			season.ID, p.Round, p.Slot, p.Game, p.Bracket, agents, string(p.Result), scores,
			sql.NullString{String: p.MatchID, Valid: p.MatchID != ""},
			db.Millis(p.CreatedAt), db.Millis(p.DecidedAt),
		}
	}
	err := s.write(ctx, season.ID, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `UPDATE seasons SET version = version + 1 WHERE id = $1 AND version = $2 AND status = 'running'`,
			season.ID, season.Version)
		if err == nil && n == 0 {
			return arena.Errorf(arena.CodeConflict, "season %d of league %q has changed", season.No, season.League)
		}
		if err != nil {
			return err
		}
		if err := join(ctx, tx, season.ID, c.Join); err != nil {
			return err
		}
		if err := db.Bulk(ctx, tx, `INSERT INTO pairings (season_id, round, slot, game, bracket, agents, result, scores, match_id,
			created_at, decided_at)`, `ON CONFLICT (season_id, round, slot, game) DO UPDATE SET result = excluded.result,
			scores = excluded.scores, match_id = excluded.match_id, decided_at = excluded.decided_at WHERE pairings.result = ''`, rows); err != nil {
			return err
		}
		if c.Finish == nil {
			return nil
		}
		final, err := db.JSONText(c.Finish.Table)
		if err != nil {
			return err
		}
		_, err = db.Exec(ctx, tx, `UPDATE seasons SET status = 'finished', finished_at = $1, final = $2 WHERE id = $3`,
			db.Millis(c.Finish.At), final, season.ID)
		return err
	})
	return s.wrap(err, "change season %s", season.ID)
}

// SeasonDays sums up, by day and league, the seasons that were played at some
// time from from on and before to.
func (s *Store) SeasonDays(ctx context.Context, from, to time.Time) ([]arena.SeasonDay, error) {
	const day = 24 * 60 * 60 * 1000
	days, err := db.All(ctx, s.reader, func(r db.Row) (d arena.SeasonDay, err error) {
		var running int
		if err := r.Scan(&d.League, &d.Day, &d.First, &d.Last, db.IntoTime(&d.StartedAt), db.IntoTime(&d.FinishedAt), db.IntoTime(&d.EndsAt), &running); err != nil {
			return d, err
		}
		if running > 0 {
			d.FinishedAt = time.Time{}
		}
		return d, nil
	}, `SELECT t.league, t.day, min(t.no), max(t.no), min(t.started_at), max(t.finished_at), max(t.ends_at), sum(t.running) FROM (
			SELECT s.league, s.no, s.started_at, s.finished_at,
				CASE WHEN s.status = 'running' THEN s.ends_at ELSE 0 END AS ends_at, CASE WHEN s.status = 'running' THEN 1 ELSE 0 END AS running,
				CASE WHEN s.started_at < $1 THEN 0 ELSE (s.started_at - $2) / $3 END AS day
			FROM seasons s WHERE s.started_at < $4 AND (s.status = 'running' OR s.finished_at >= $5)) t
		GROUP BY t.league, t.day ORDER BY t.day, t.league`, db.Millis(from), db.Millis(from), day, db.Millis(to), db.Millis(from))
	return days, s.wrap(err, "sum up seasons by day")
}
