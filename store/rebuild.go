package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// RatedResults returns the settled matches of a league in the order of their
// settlements, at most limit, from the one after afterSeq on.
func (s *Leagues) RatedResults(ctx context.Context, league string, afterSeq int64, limit int) ([]arena.RatedResult, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	var results []arena.RatedResult
	_, err := db.All(ctx, s.reader, func(r db.Row) (none struct{}, err error) {
		var t arena.RatedResult
		var seat arena.RatedSeat
		if err = r.Scan(&t.Seq, &t.MatchID, db.IntoTime(&t.At), &seat.AgentID, &seat.OwnerID, &seat.Place, (*int64)(&seat.After)); err != nil {
			return none, err
		}
		if n := len(results); n == 0 || results[n-1].Seq != t.Seq {
			results = append(results, t)
		}
		last := &results[len(results)-1]
		last.Seats = append(last.Seats, seat)
		return none, nil
	}, `SELECT t.seq, t.match_id, t.at, c.agent_id, `+seatGroup+`, s.place, c.melo_after
		FROM (SELECT seq, match_id, at FROM settlements WHERE league = $1 AND seq > $2 ORDER BY seq LIMIT $3) t
		JOIN rating_changes c ON c.settlement = t.seq
		JOIN seats s ON s.match_id = t.match_id AND s.agent_id = c.agent_id ORDER BY t.seq, c.no`, league, afterSeq, limit)
	return results, s.wrap(err, "read rated results of league %s", league)
}

// SaveFit stores the newest refit of a league.
func (s *Leagues) SaveFit(ctx context.Context, f arena.Fit) error {
	lines, err := db.JSONText(f.Lines)
	if err != nil {
		return s.wrap(err, "save the fit of league %s", f.League)
	}
	board, err := db.JSONText(f.Board)
	if err != nil {
		return s.wrap(err, "save the fit of league %s", f.League)
	}
	err = s.write(ctx, leagueKey(f.League), func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `INSERT INTO fits (league, settlement, at, lines, board) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (league) DO UPDATE SET settlement = excluded.settlement, at = excluded.at, lines = excluded.lines, board = excluded.board`,
			f.League, f.Settlement, db.Millis(f.At), lines, board)
		return err
	})
	return s.wrap(err, "save the fit of league %s", f.League)
}

// Fit returns the newest refit of a league; one without lines when there is
// none yet. Its lists are shared and must not be changed: a table asks for
// them again and again, and reading a thousand lines takes longer than the rest.
// The fit of an earlier version has no tiers and stands at settlement 0, so that
// the next refit replaces it.
func (s *Leagues) Fit(ctx context.Context, league string) (arena.Fit, error) {
	known, _ := s.fits.Load(league)
	was, ok := known.(arena.Fit)
	settlement, at := was.Settlement, db.Millis(was.At)
	if !ok {
		settlement = -1 // no fit has it
	}
	f, err := db.One(ctx, s.reader, func(r db.Row) (arena.Fit, error) {
		f := arena.Fit{League: league}
		var lines sql.NullString
		var board string
		if err := r.Scan(&f.Settlement, db.IntoTime(&f.At), &lines, &board); err != nil || !lines.Valid {
			return was, err
		}
		if board == "" {
			f.Settlement = 0
		}
		return f, errors.Join(db.IntoJSON(&f.Lines).Scan(lines.String), db.IntoJSON(&f.Board).Scan(board))
	}, `SELECT settlement, at, CASE WHEN settlement = $1 AND at = $2 THEN NULL ELSE lines END, board FROM fits WHERE league = $3`, settlement, at, league)
	if errors.Is(err, sql.ErrNoRows) {
		return arena.Fit{League: league}, nil
	}
	if err == nil {
		s.fits.Store(league, f)
	}
	return f, s.wrap(err, "read the fit of league %s", league)
}

// RebuildRatings replays every settled match of a league from its stored
// answers, in the order of the settlements, and puts what comes out in the
// place of changes, ratings and drift. rate computes as it does for Settle.
// It returns the number of settlements that changed and the ratings that moved; if
// there are any, the league's fit stands at settlement 0, so that the next refit begins
// anew. The audit entries that audit returns are stored with it. The whole league is
// one transaction; other settlements wait for it. ErrPreview of an audit undoes it and
// is no failure.
func (s *Ratings) RebuildRatings(ctx context.Context, league string,
	rate func(m arena.Match, answers []arena.Answer, ratings map[string]arena.Rating) []arena.RatingChange,
	audit ...func(changed int) (arena.AuditEntry, error),
) (done arena.Rebuilt, err error) {
	err = s.writeLong(ctx, leagueKey(league), rebuildTimeout, func(ctx context.Context, tx *db.Tx) error {
		done = arena.Rebuilt{}
		if _, err := oneLeague(ctx, tx, league, s.d.Lock("l")); err != nil {
			return err
		}
		// No settlement comes between.
		if _, err := db.One(ctx, tx, db.ScanInt, `SELECT c.value FROM counters c WHERE c.name = 'settlements'`+s.d.Lock("c")); err != nil {
			return err
		}
		b := &rebuild{league: league, rate: rate, rows: map[string]*ratingRow{}}
		if err := b.kept(ctx, tx); err != nil {
			return err
		}
		for after := int64(0); ; {
			page, err := loadSettlements(ctx, tx, league, after, rebuildPage)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			after = page[len(page)-1].Seq
			n, err := b.settlements(ctx, tx, page)
			if err != nil {
				return err
			}
			done.Settlements += n
		}
		done.Ratings = b.moved()
		if done.Settlements > 0 { // the fit is based on results that have changed
			if _, err := db.Exec(ctx, tx, `UPDATE fits SET settlement = 0 WHERE league = $1`, league); err != nil {
				return err
			}
		}
		if err := b.store(ctx, tx); err != nil {
			return err
		}
		for _, entry := range audit {
			e, err := entry(done.Settlements)
			if err != nil {
				return err
			}
			if err := base.InsertAudit(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, ErrPreview) {
		err = nil
	}
	return done, s.wrap(err, "rebuild the ratings of league %s", league)
}

// ErrPreview is what an audit of RebuildRatings returns to see what would change.
var ErrPreview = errors.New("only a preview")

// moved returns the ratings that came out otherwise than they were.
func (b *rebuild) moved() (moves []arena.RatingMove) {
	for _, was := range b.stored {
		if now := b.rows[was.AgentID]; now.MilliElo != was.MilliElo {
			moves = append(moves, arena.RatingMove{AgentID: was.AgentID, Before: was.MilliElo, After: now.MilliElo})
		}
	}
	return moves
}

// rebuild is one replay of a league.
type rebuild struct {
	league string
	rate   func(arena.Match, []arena.Answer, map[string]arena.Rating) []arena.RatingChange
	rows   map[string]*ratingRow // as replayed so far
	stored []ratingRow           // as they were
	drift  arena.MilliElo
}

// kept starts all ratings anew. What does not come from results stays:
// opponents are who met whom, and new versions were declared.
func (b *rebuild) kept(ctx context.Context, tx *db.Tx) (err error) {
	b.stored, err = ratingTable.All(ctx, tx, ` WHERE r.league = $1`, b.league)
	for _, r := range b.stored {
		b.rows[r.AgentID] = &ratingRow{Rating: arena.NewRating(b.league, r.AgentID), opponents: r.opponents, groups: r.groups}
	}
	return err
}

// rebuildTimeout is enough for some million settlements.
const rebuildTimeout = 15 * time.Minute

// rebuildPage is how many settlements are read at once, with the answers of their matches.
const rebuildPage = 64

// replayed is what came out otherwise on a page of settlements.
type replayed struct {
	changes []ratingChangeRow
	seats   []seatRow
	drifts  []arena.Settlement
}

var (
	updateSeatRatings = db.NewUpdate(seatTable, []string{"match_id", "agent_id"}, []string{"rating_before", "rating_delta"})
	updateDrifts      = db.NewUpdate(settlementTable, []string{"seq"}, []string{"drift"})
)

// settlements replays a page of settlements and returns how many of them changed.
func (b *rebuild) settlements(ctx context.Context, tx *db.Tx, page []arena.Settlement) (changed int, err error) {
	ids := make([]string, len(page))
	for i, t := range page {
		ids[i] = t.MatchID
	}
	var c db.Clauses
	db.In(&c, "m.id", ids)
	found, err := loadMatches(ctx, tx, c.Where(), c.Args...)
	if err != nil {
		return 0, err
	}
	matches := make(map[string]arena.Match, len(found))
	for _, m := range found {
		matches[m.ID] = m
	}
	c = db.Clauses{}
	db.In(&c, "a.match_id", ids)
	given, err := answerTable.All(ctx, tx, c.Where()+` ORDER BY a.match_id, a.round, a.agent_id`, c.Args...)
	if err != nil {
		return 0, err
	}
	answers := map[string][]arena.Answer{}
	for _, a := range given {
		answers[a.MatchID] = append(answers[a.MatchID], a.Answer)
	}
	var out replayed
	for _, t := range page {
		moved, err := b.settlement(t, matches[t.MatchID], answers[t.MatchID], &out)
		if err != nil {
			return 0, err
		}
		if moved {
			changed++
		}
	}
	if _, err := updateRatingChanges.Exec(ctx, tx, out.changes...); err != nil {
		return 0, err
	}
	if _, err := updateSeatRatings.Exec(ctx, tx, out.seats...); err != nil {
		return 0, err
	}
	_, err = updateDrifts.Exec(ctx, tx, out.drifts...)
	return changed, err
}

// settlement replays one settlement and adds what came out otherwise.
func (b *rebuild) settlement(t arena.Settlement, m arena.Match, answers []arena.Answer, out *replayed) (moved bool, err error) {
	was := t.Changes
	ratings := make(map[string]arena.Rating, len(m.Seats))
	for _, seat := range m.Seats {
		r := arena.NewRating(b.league, seat.AgentID)
		if row := b.rows[seat.AgentID]; row != nil {
			r = row.Rating
		}
		ratings[seat.AgentID] = r
	}
	for _, c := range was {
		ratings[c.AgentID] = ratings[c.AgentID].Before(c)
	}
	changes := b.rate(m, answers, ratings)
	if slices.ContainsFunc(answers, func(a arena.Answer) bool { return a.Reason == arena.ReasonRemoved }) {
		changes = arena.WithUnmoved(changes, was, ratings)
	}
	if len(changes) != len(was) {
		return false, fmt.Errorf("settlement %d moves %d ratings, it moved %d", t.Seq, len(changes), len(was))
	}
	for i, c := range changes {
		row := b.rows[c.AgentID]
		if row == nil || c.AgentID != was[i].AgentID {
			return false, fmt.Errorf("settlement %d moves the rating of agent %s, it moved that of %s", t.Seq, c.AgentID, was[i].AgentID)
		}
		row.settled(c, t.At)
		b.drift += c.After - c.Before
		if was := was[i]; was.Before == c.Before && was.After == c.After && was.K == c.K && was.Score == c.Score {
			continue
		}
		moved = true
		out.changes = append(out.changes, ratingChangeRow{RatingChange: c, settlement: t.Seq, no: i})
		out.seats = append(out.seats, seatRow{matchID: t.MatchID, Seat: arena.Seat{AgentID: c.AgentID, Before: c.Before, Delta: &c.Delta}})
	}
	if t.Drift != b.drift {
		out.drifts = append(out.drifts, arena.Settlement{Seq: t.Seq, Drift: b.drift})
	}
	return moved, nil
}

// store writes the ratings and the drift that came out.
func (b *rebuild) store(ctx context.Context, tx *db.Tx) error {
	rows := make([]ratingRow, len(b.stored))
	for i, was := range b.stored {
		r := b.rows[was.AgentID]
		r.NewVersion = was.NewVersion
		rows[i] = *r
	}
	if _, err := upsertRatings.Exec(ctx, tx, rows...); err != nil {
		return err
	}
	_, err := db.Exec(ctx, tx, `UPDATE leagues SET drift = $1 WHERE slug = $2`, int64(b.drift), b.league)
	return err
}

// CheckRatings replays all settlements in order and compares what they give
// with the stored ratings and drifts, bit for bit (docs/rules.md, section 7). It
// returns the leagues with ratings by slug, and a *ReplayError if they differ.
func (s *Ratings) CheckRatings(ctx context.Context) ([]arena.RatingsReport, error) {
	type key struct{ league, agent string }
	replayed := map[key]arena.Rating{}
	checks := map[string]*arena.RatingsReport{}
	var checked []arena.RatingsReport
	for after := int64(0); ; {
		page, err := s.Settlements(ctx, "", after, db.MaxIDs)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if after++; t.Seq != after {
				return nil, replayErrorf("settlement %d is missing", after)
			}
			c := checks[t.League]
			if c == nil {
				c = &arena.RatingsReport{League: t.League}
				checks[t.League] = c
			}
			c.Settlements++
			for _, change := range t.Changes {
				k := key{t.League, change.AgentID}
				r, known := replayed[k]
				if !known {
					r = arena.NewRating(k.league, k.agent)
					c.Agents++
				}
				if change.Before != r.MilliElo {
					return nil, replayErrorf("settlement %d finds agent %s at %d, not at %d", t.Seq, k.agent, change.Before, r.MilliElo)
				}
				r.MilliElo = change.After
				r.Matches++
				c.Drift += change.After - change.Before
				replayed[k] = r
			}
			if t.Drift != c.Drift {
				return nil, replayErrorf("settlement %d leaves a drift of %d, not %d", t.Seq, t.Drift, c.Drift)
			}
		}
		if len(page) == 0 {
			break
		}
	}
	rows, err := ratingTable.All(ctx, s.reader, ` ORDER BY r.league, r.agent_id`)
	if err != nil {
		return nil, s.wrap(err, "check ratings")
	}
	if len(rows) != len(replayed) {
		return nil, replayErrorf("%d ratings are stored, settlements give %d", len(rows), len(replayed))
	}
	for _, r := range rows {
		if want := replayed[key{r.League, r.AgentID}]; r.MilliElo != want.MilliElo || r.Matches != want.Matches {
			return nil, replayErrorf("agent %s in league %s has %d after %d matches, settlements give %d after %d",
				r.AgentID, r.League, r.MilliElo, r.Matches, want.MilliElo, want.Matches)
		}
		checks[r.League].Sum += r.MilliElo
	}
	leagues, err := s.leagues.Leagues(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range leagues {
		c := checks[l.Slug]
		if c == nil {
			c = &arena.RatingsReport{League: l.Slug}
		}
		if l.Drift != c.Drift || c.Sum != arena.MilliElo(c.Agents)*arena.StartRating+c.Drift {
			return nil, replayErrorf("league %s has %d with a drift of %d, settlements give a drift of %d", l.Slug, c.Sum, l.Drift, c.Drift)
		}
		if c.Agents > 0 {
			checked = append(checked, *c)
		}
	}
	slices.SortFunc(checked, func(a, b arena.RatingsReport) int { return strings.Compare(a.League, b.League) })
	return checked, nil
}

// ReplayError is returned when settlements do not give the ratings that are stored.
type ReplayError struct{ difference string }

// Error returns the first difference.
func (e *ReplayError) Error() string { return "check ratings: " + e.difference }

func replayErrorf(format string, args ...any) error {
	return &ReplayError{fmt.Sprintf(format, args...)}
}

// CheckIntegrity runs SQLite's integrity check. PostgreSQL checks each page as it
// reads it and has no such check.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	if s.d.RowLocks {
		return nil
	}
	found, err := db.All(ctx, s.reader, db.ScanText, "PRAGMA integrity_check")
	if err != nil {
		return s.wrap(err, "check integrity")
	}
	if len(found) != 1 || found[0] != "ok" {
		return fmt.Errorf("check integrity: %s", strings.Join(found, "; "))
	}
	return nil
}
