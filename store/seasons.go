package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// seasonTable has no entrants; seasonList has no more of a table than its podium.
var (
	seasonTable = db.NewTable("seasons", "s", append(seasonColumns(),
		db.JSON("final", func(s *arena.Season) *[]arena.TableRow { return &s.Table }).With(func(s *arena.Season) any { return textOrNone(s.Table) }))...)
	seasonList = db.NewTable("seasons", "s", append(seasonColumns(),
		db.Column[arena.Season]{Name: "final", Into: func(s *arena.Season) any { return podiumInto{&s.Table} }})...)
)

// seasonColumns are all columns but the last, the final table.
func seasonColumns() []db.Column[arena.Season] {
	return []db.Column[arena.Season]{
		db.Text("id", func(s *arena.Season) *string { return &s.ID }),
		db.Text("league", func(s *arena.Season) *string { return &s.League }),
		db.Int("no", func(s *arena.Season) *int { return &s.No }),
		db.Text("status", func(s *arena.Season) *arena.SeasonStatus { return &s.Status }),
		db.Text("format", func(s *arena.Season) *arena.Format { return &s.Format }),
		db.JSON("options", func(s *arena.Season) *arena.FormatOptions { return &s.Options }),
		db.Bits("seed", func(s *arena.Season) *uint64 { return &s.Seed }),
		db.Int("version", func(s *arena.Season) *int64 { return &s.Version }),
		db.Time("started_at", func(s *arena.Season) *time.Time { return &s.StartedAt }),
		db.Time("ends_at", func(s *arena.Season) *time.Time { return &s.EndsAt }),
		db.Time("finished_at", func(s *arena.Season) *time.Time { return &s.FinishedAt }),
		db.Time("corrected_at", func(s *arena.Season) *time.Time { return &s.CorrectedAt }),
	}
}

// podiumInto scans the rows of a table with the ranks 1 to 3: they come first,
// and the rest of a long table is not read.
type podiumInto struct{ rows *[]arena.TableRow }

func (i podiumInto) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("scan table: got %T", src)
	}
	*i.rows = nil
	d := json.NewDecoder(strings.NewReader(text))
	if text == "" {
		return nil
	}
	if _, err := d.Token(); err != nil { // [
		return fmt.Errorf("scan table: %w", err)
	}
	for d.More() {
		var row arena.TableRow
		if err := d.Decode(&row); err != nil {
			return fmt.Errorf("scan table: %w", err)
		}
		if row.Rank > 3 {
			break
		}
		*i.rows = append(*i.rows, row)
	}
	return nil
}

var insertSeasons = db.NewInsert(seasonTable, "")

// textOrNone returns the stored form of a list: the empty text for nil.
func textOrNone[T any](list []T) any {
	if list == nil {
		return ""
	}
	return db.Encode(list)
}

var pairingTable = db.NewTable("pairings", "p",
	db.Text("season_id", func(p *arena.Pairing) *string { return &p.SeasonID }),
	db.Int("round", func(p *arena.Pairing) *int { return &p.Round }),
	db.Int("slot", func(p *arena.Pairing) *int { return &p.Slot }),
	db.Int("game", func(p *arena.Pairing) *int { return &p.Game }),
	db.Text("bracket", func(p *arena.Pairing) *string { return &p.Bracket }),
	db.JSON("agents", func(p *arena.Pairing) *[]string { return &p.Agents }),
	db.Text("result", func(p *arena.Pairing) *arena.PairingResult { return &p.Result }),
	db.JSON("scores", func(p *arena.Pairing) *[]arena.Points { return &p.Scores }).With(func(p *arena.Pairing) any { return textOrNone(p.Scores) }),
	db.NullText("match_id", func(p *arena.Pairing) *string { return &p.MatchID }),
	db.Time("created_at", func(p *arena.Pairing) *time.Time { return &p.CreatedAt }),
	db.Time("decided_at", func(p *arena.Pairing) *time.Time { return &p.DecidedAt }),
)

// savePairings keeps the results that pairings have.
var savePairings = db.NewInsert(pairingTable, `ON CONFLICT (season_id, round, slot, game) DO UPDATE SET result = excluded.result,
	scores = excluded.scores, match_id = excluded.match_id, decided_at = excluded.decided_at WHERE pairings.result = ''`)

// entrantRow is a row of entrants.
type entrantRow struct {
	arena.Entrant

	seasonID string
}

var entrantTable = db.NewTable("entrants", "e",
	db.Text("season_id", func(e *entrantRow) *string { return &e.seasonID }),
	db.Text("agent_id", func(e *entrantRow) *string { return &e.AgentID }),
	db.Text("owner_id", func(e *entrantRow) *string { return &e.OwnerID }),
	db.Text("name", func(e *entrantRow) *string { return &e.Name }),
	db.Int("rating", func(e *entrantRow) *arena.MilliElo { return &e.Rating }),
	db.Int("round", func(e *entrantRow) *int { return &e.Round }),
	db.Int("withdrawn_round", func(e *entrantRow) *int { return &e.WithdrawnRound }),
)

var saveEntrants = db.NewUpsert(entrantTable, []string{"season_id", "agent_id"}, "withdrawn_round")

// StartSeason stores a new season of a league with its entrants and assigns it
// the next number of that league. conflict: a season of the league is running.
func (s *Leagues) StartSeason(ctx context.Context, season arena.Season) (arena.Season, error) {
	err := s.write(ctx, leagueKey(season.League), func(ctx context.Context, tx *db.Tx) error {
		if _, err := oneLeague(ctx, tx, season.League, s.d.Lock("l")); err != nil {
			return err
		}
		running, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM seasons WHERE league = $1 AND status = 'running'`, season.League)
		if err != nil {
			return err
		}
		if running > 0 {
			return arena.Errorf(arena.CodeConflict, "a season of league %q is running", season.League)
		}
		last, err := db.One(ctx, tx, db.ScanInt, `SELECT COALESCE(max(no), 0) FROM seasons WHERE league = $1`, season.League)
		if err != nil {
			return err
		}
		if _, err := insertSeasons.Exec(ctx, tx, arena.Season{
			ID: season.ID, League: season.League, No: int(last) + 1, Status: arena.SeasonRunning, Format: season.Format, Options: season.Options,
			Seed: season.Seed, Version: 1, StartedAt: season.StartedAt, EndsAt: season.EndsAt,
		}); err != nil {
			return err
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
	rows := make([]entrantRow, len(entrants))
	for i, e := range entrants {
		rows[i] = entrantRow{Entrant: e, seasonID: seasonID}
	}
	_, err := saveEntrants.Exec(ctx, tx, rows...)
	return err
}

// loadSeason reads the first season that the condition names, with its
// entrants, best rated first, and all its pairings by round, slot and game.
func loadSeason(ctx context.Context, q db.Querier, where string, args ...any) (arena.Season, []arena.Pairing, error) {
	season, err := loadEntrants(ctx, q, where, args...)
	if err != nil {
		return season, nil, err
	}
	pairings, err := pairingTable.All(ctx, q, ` WHERE p.season_id = $1 ORDER BY p.round, p.slot, p.game`, season.ID)
	return season, pairings, err
}

// loadEntrants is loadSeason without pairings.
func loadEntrants(ctx context.Context, q db.Querier, where string, args ...any) (arena.Season, error) {
	season, err := seasonTable.One(ctx, q, where, args...)
	if err != nil {
		return season, err
	}
	entrants, err := entrantTable.All(ctx, q, ` WHERE e.season_id = $1 ORDER BY e.rating DESC, e.agent_id`, season.ID)
	for _, e := range entrants {
		season.Entrants = append(season.Entrants, e.Entrant)
	}
	return season, err
}

// Season returns a season of a league with its pairings, by round, slot and
// game; the newest when no is 0. not_found: the league has no such season.
func (s *Leagues) Season(ctx context.Context, league string, no int) (season arena.Season, pairings []arena.Pairing, err error) {
	err = s.season(ctx, league, no, func(q db.Querier, where string, args ...any) (err error) {
		season, pairings, err = loadSeason(ctx, q, where, args...)
		return err
	})
	return season, pairings, err
}

// SeasonEntrants is Season without pairings, of which there are many.
func (s *Leagues) SeasonEntrants(ctx context.Context, league string, no int) (season arena.Season, err error) {
	err = s.season(ctx, league, no, func(q db.Querier, where string, args ...any) (err error) {
		season, err = loadEntrants(ctx, q, where, args...)
		return err
	})
	return season, err
}

func (s *Leagues) season(ctx context.Context, league string, no int, load func(q db.Querier, where string, args ...any) error) error {
	where, args := ` WHERE s.league = $1 AND s.no = $2`, []any{league, no}
	if no == 0 {
		where, args = ` WHERE s.league = $1 ORDER BY s.no DESC LIMIT 1`, []any{league}
	}
	err := s.view(ctx, func(q db.Querier) error {
		if err := load(q, where, args...); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := oneLeague(ctx, q, league, ""); err != nil {
			return err
		}
		return arena.Errorf(arena.CodeNotFound, "league %q has no such season", league)
	})
	return s.wrap(err, "read season %d of league %s", no, league)
}

// Seasons lists the seasons of a league, newest first, without entrants, each
// with its podium alone.
func (s *Leagues) Seasons(ctx context.Context, league string, p arena.Page) (seasons []arena.Season, next string, err error) {
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
	seasons, err = seasonList.All(ctx, s.reader, c.Where()+` ORDER BY s.no DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list seasons of league %s", league)
	}
	seasons, next = closePage(listSeasons, p, seasons, func(s arena.Season) string { return strconv.Itoa(s.No) })
	return seasons, next, nil
}

// RunningSeasons returns the slugs of the leagues that have a running season.
func (s *Leagues) RunningSeasons(ctx context.Context) ([]string, error) {
	slugs, err := db.All(ctx, s.reader, db.ScanText, `SELECT league FROM seasons WHERE status = 'running' ORDER BY league`)
	return slugs, s.wrap(err, "list running seasons")
}

// PairingMatches returns the matches of a season's open pairings, by id.
// Pairings whose match has not been made yet have none.
func (s *Leagues) PairingMatches(ctx context.Context, seasonID string) (map[string]arena.Match, error) {
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

// PairingOf returns the pairing that a match decides and its season's number.
// not_found: no season ordered the match.
func (s *Leagues) PairingOf(ctx context.Context, matchID string) (p arena.Pairing, season int, err error) {
	err = s.view(ctx, func(q db.Querier) error {
		if p, err = pairingTable.One(ctx, q, ` WHERE p.match_id = $1`, matchID); errors.Is(err, sql.ErrNoRows) {
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
func (s *Leagues) ChangeSeason(ctx context.Context, season arena.Season, c arena.SeasonChange) error {
	pairings := slices.Clone(c.Pairings)
	for i := range pairings {
		pairings[i].SeasonID = season.ID
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
		if _, err := savePairings.Exec(ctx, tx, pairings...); err != nil {
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

// DecideAgain gives a decided pairing of a running season the result that its match has
// now. Without one nothing changes.
func (s *Leagues) DecideAgain(ctx context.Context, matchID string, result arena.PairingResult, scores []arena.Points) error {
	err := s.write(ctx, matchID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `UPDATE seasons SET version = version + 1
			WHERE status = 'running' AND id IN (SELECT p.season_id FROM pairings p WHERE p.match_id = $1 AND p.result <> '')`, matchID)
		if err != nil {
			return err
		}
		_, err = db.Exec(ctx, tx, `UPDATE pairings SET result = $1, scores = $2 WHERE match_id = $3 AND result <> ''
			AND season_id IN (SELECT id FROM seasons WHERE status = 'running')`, result, textOrNone(scores), matchID)
		return err
	})
	return s.wrap(err, "decide the pairing of match %s again", matchID)
}

// SeasonDays sums up, by day and league, the seasons that were played at some
// time from from on and before to.
func (s *Leagues) SeasonDays(ctx context.Context, from, to time.Time) ([]arena.SeasonDay, error) {
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
