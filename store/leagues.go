package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

const leagueRows = `SELECT l.slug, l.title, l.status, l.settings, l.entry, l.schedule, l.drift, l.created_at, l.next_run_at, l.note,
	(SELECT count(*) FROM entries e WHERE e.league = l.slug AND e.withdrawn_at = 0) FROM leagues l`

func scanLeague(r db.Row) (l arena.League, err error) {
	return l, r.Scan(&l.Slug, &l.Title, &l.Status, db.IntoJSON(&l.Settings), db.IntoJSON(&l.Entry), &l.Schedule, &l.Drift,
		db.IntoTime(&l.CreatedAt), db.IntoTime(&l.NextRunAt), &l.Note, &l.Agents)
}

func oneLeague(ctx context.Context, q db.Querier, slug, lock string) (arena.League, error) {
	l, err := db.One(ctx, q, scanLeague, leagueRows+` WHERE l.slug = $1`+lock, slug)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("league", slug)
	}
	return l, err
}

// leagueKey sorts behind every id, so that a batch locks leagues last.
func leagueKey(slug string) string { return "~" + slug }

// CreateLeague stores a league; its drift is 0. name_taken: the slug exists.
// invalid: its pack does not exist.
func (s *Store) CreateLeague(ctx context.Context, l arena.League) error {
	err := s.write(ctx, leagueKey(l.Slug), func(ctx context.Context, tx *db.Tx) error {
		settings, entry, err := leagueDocs(ctx, tx, l)
		if err != nil {
			return err
		}
		n, err := db.Exec(ctx, tx, `INSERT INTO leagues (slug, title, status, settings, entry, schedule, drift, created_at,
			next_run_at, note) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9) ON CONFLICT (slug) DO NOTHING`,
			l.Slug, l.Title, string(l.Status), settings, entry, l.Schedule, db.Millis(l.CreatedAt), db.Millis(l.NextRunAt), l.Note)
		if err == nil && n == 0 {
			return arena.Errorf(arena.CodeNameTaken, "there is a league %q already", l.Slug)
		}
		return err
	})
	return s.wrap(err, "create league %s", l.Slug)
}

// leagueDocs gives the stored forms of a league's settings and entry rules.
func leagueDocs(ctx context.Context, tx *db.Tx, l arena.League) (settings, entry string, err error) {
	if id := l.Settings.PackID; id != "" {
		_, err := db.One(ctx, tx, db.ScanInt, `SELECT 1 FROM packs WHERE id = $1`, id)
		if errors.Is(err, sql.ErrNoRows) {
			return "", "", arena.Invalid("pack_id", "there is no pack %q", id)
		}
		if err != nil {
			return "", "", err
		}
	}
	if settings, err = db.JSONText(l.Settings); err != nil {
		return "", "", err
	}
	entry, err = db.JSONText(l.Entry)
	return settings, entry, err
}

// League gives one league.
func (s *Store) League(ctx context.Context, slug string) (arena.League, error) {
	l, err := oneLeague(ctx, s.reader, slug, "")
	return l, s.wrap(err, "read league %s", slug)
}

// Leagues gives all leagues, oldest first.
func (s *Store) Leagues(ctx context.Context) ([]arena.League, error) {
	ls, err := db.All(ctx, s.reader, scanLeague, leagueRows+` ORDER BY l.created_at, l.slug`)
	return ls, s.wrap(err, "read leagues")
}

// UpdateLeague changes a league by apply, which gets the stored one and runs
// inside the transaction, perhaps more than once; its error undoes the change
// and comes back. What is written: title, status, settings, entry rules,
// schedule, next run and note. invalid: its pack does not exist.
func (s *Store) UpdateLeague(ctx context.Context, slug string, apply func(*arena.League) error) (arena.League, error) {
	var after arena.League
	err := s.write(ctx, leagueKey(slug), func(ctx context.Context, tx *db.Tx) error {
		l, err := oneLeague(ctx, tx, slug, s.d.Lock("l"))
		if err != nil {
			return err
		}
		if err := apply(&l); err != nil {
			return err
		}
		settings, entry, err := leagueDocs(ctx, tx, l)
		if err != nil {
			return err
		}
		if _, err := db.Exec(ctx, tx, `UPDATE leagues SET title = $1, status = $2, settings = $3, entry = $4, schedule = $5,
			next_run_at = $6, note = $7 WHERE slug = $8`, l.Title, string(l.Status), settings, entry, l.Schedule,
			db.Millis(l.NextRunAt), l.Note, slug); err != nil {
			return err
		}
		after, err = oneLeague(ctx, tx, slug, "")
		return err
	})
	return after, s.wrap(err, "update league %s", slug)
}

// Enter puts an agent into a league; it may have been there before. Entering
// twice changes nothing. not_found: the league or the agent does not exist.
func (s *Store) Enter(ctx context.Context, league, agentID string, at time.Time) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.One(ctx, tx, db.ScanInt, `SELECT 1 FROM agents WHERE id = $1`, agentID); errors.Is(err, sql.ErrNoRows) {
			return notFound("agent", agentID)
		} else if err != nil {
			return err
		}
		return enter(ctx, tx, league, agentID, at)
	})
	return s.wrap(err, "enter agent %s into league %s", agentID, league)
}

func enter(ctx context.Context, tx *db.Tx, league, agentID string, at time.Time) error {
	if _, err := db.One(ctx, tx, db.ScanInt, `SELECT 1 FROM leagues WHERE slug = $1`, league); errors.Is(err, sql.ErrNoRows) {
		return notFound("league", league)
	} else if err != nil {
		return err
	}
	_, err := db.Exec(ctx, tx, `INSERT INTO entries (league, agent_id, entered_at, withdrawn_at) VALUES ($1, $2, $3, 0)
		ON CONFLICT (league, agent_id) DO UPDATE SET entered_at = excluded.entered_at, withdrawn_at = 0
		WHERE entries.withdrawn_at <> 0`, league, agentID, db.Millis(at))
	return err
}

// Withdraw takes an agent out of a league. not_found: it is not in it.
func (s *Store) Withdraw(ctx context.Context, league, agentID string, at time.Time) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `UPDATE entries SET withdrawn_at = $1 WHERE league = $2 AND agent_id = $3 AND withdrawn_at = 0`,
			db.Millis(at), league, agentID)
		if err == nil && n == 0 {
			return arena.Errorf(arena.CodeNotFound, "agent %q is not in league %q", agentID, league)
		}
		return err
	})
	return s.wrap(err, "withdraw agent %s from league %s", agentID, league)
}
