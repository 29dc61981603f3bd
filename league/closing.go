package league

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
)

// finished closes a league behind its season, unless its schedule opens the
// next one.
func (t *tick) finished(ctx context.Context, s *season) error {
	t.Logger.InfoContext(ctx, "season finished", "league", s.league.Slug, "season", s.No)
	goesOn := s.league.Schedule != "" && s.Options.Starts == arena.StartsSeason
	_, err := t.Store.UpdateLeague(ctx, s.league.Slug, func(l *arena.League) error {
		if l.Note = (arena.Note{}); goesOn {
			l.NextRunAt = t.nextOccurrence(*l)
			return nil
		}
		l.NextRunAt = time.Time{}
		if l.Status == arena.LeagueFinished { // by an admin, meanwhile
			return nil
		}
		return apply(l, arena.FinishLeague, t.now)
	})
	if err != nil {
		return fmt.Errorf("close the league: %w", err)
	}
	return nil
}

// close ends the season of a league that was finished by hand: its table
// stands as it is, and matches that have not begun are canceled.
func (t *tick) close(ctx context.Context, slug string) error {
	s, pairings, err := t.Store.Season(ctx, slug, 0)
	if err != nil {
		return fmt.Errorf("read the season: %w", err)
	}
	matches, err := t.Store.PairingMatches(ctx, s.ID)
	if err != nil {
		return fmt.Errorf("read the season's matches: %w", err)
	}
	var change arena.SeasonChange
	for i := range pairings {
		if p := &pairings[i]; p.Open() {
			p.Result, p.DecidedAt = arena.PairingVoid, t.now
			change.Pairings = append(change.Pairings, *p)
		}
	}
	table := format.Table(format.State{Season: s, Pairings: pairings, Now: t.now})
	if !format.Of(s.Format).Tabled() {
		if table, err = t.ladderTable(ctx, slug); err != nil {
			return err
		}
	}
	change.Finish = &arena.SeasonEnd{At: t.now, Table: table}
	if err := t.Store.ChangeSeason(ctx, s, change); err != nil && arena.CodeOf(err) != arena.CodeConflict {
		return fmt.Errorf("end the season: %w", err)
	}
	var failed []error
	for _, m := range matches {
		if m.Status == arena.MatchScheduled || m.Status == arena.MatchReady {
			failed = append(failed, t.Matches.CancelUnstarted(ctx, m, arena.VoidSeasonFinished))
		}
	}
	return errors.Join(failed...)
}

// ladderSeason begins and ends the seasons of a ladder, which know no
// pairings: their table is the ratings as they stand at the end. It reports
// whether the ladder goes on pairing.
func (t *tick) ladderSeason(ctx context.Context, l arena.League) (bool, error) {
	s, _, err := t.Store.Season(ctx, l.Slug, 0)
	if err != nil && arena.CodeOf(err) != arena.CodeNotFound {
		return false, fmt.Errorf("read the season: %w", err)
	}
	if s.Status != arena.SeasonRunning {
		_, err := t.begin(ctx, &season{Season: s, league: l})
		return true, err
	}
	over := !s.EndsAt.IsZero() && !t.now.Before(s.EndsAt)
	if l.Schedule != "" && l.Settings.Options.Starts == arena.StartsSeason {
		due, err := t.occurrence(ctx, l, true)
		if err != nil {
			return false, err
		}
		over = over || due
	}
	if !over {
		return true, nil
	}
	if err := t.close(ctx, l.Slug); err != nil {
		return false, err
	}
	return false, t.finished(ctx, &season{Season: s, league: l})
}

// ladderTable is the final table of a ladder: its ratings.
func (t *tick) ladderTable(ctx context.Context, slug string) ([]arena.TableRow, error) {
	standings, err := t.Store.Standings(ctx, slug, t.now)
	if err != nil {
		return nil, fmt.Errorf("read standings: %w", err)
	}
	var table []arena.TableRow
	for _, s := range standings {
		if s.Rating.Matches == 0 {
			continue
		}
		table = append(table, arena.TableRow{
			Rank: len(table) + 1, AgentID: s.Agent.ID, Name: s.Agent.Name, Played: s.Rating.Matches,
			Wins: s.Rating.Wins, Draws: s.Rating.Draws, Losses: s.Rating.Losses,
			TieBreaks: []arena.TieBreak{{Name: "rating", Value: arena.Points(s.Rating.MilliElo)}},
		})
	}
	return table, nil
}
