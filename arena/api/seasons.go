package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
)

// seasonReads are the rows that seasonHandlers read.
type seasonReads interface {
	League(ctx context.Context, slug string) (arena.League, error)
	Season(ctx context.Context, league string, no int) (arena.Season, []arena.Pairing, error)
	Seasons(ctx context.Context, league string, p arena.Page) ([]arena.Season, string, error)
}

// seasonHandlers serve the routes of seasons.
type seasonHandlers struct {
	rows  seasonReads
	table func(arena.Season, []arena.Pairing) []arena.TableRow // of a running season
}

// seasonRoutes mounts one of the seasonHandlers.
func seasonRoutes[I, O any](h func(*seasonHandlers, context.Context, *I) (*O, error)) func(*API, route) {
	return handleOn(func(a *API) *seasonHandlers { return a.seasons }, h)
}

type seasonInput struct {
	SlugParam
	Season int `path:"season" minimum:"1" maximum:"1000000"`
}

type entrantView struct {
	AgentID        string         `json:"agent_id"`
	Name           string         `json:"name"`
	OwnerID        string         `json:"owner_id"`
	Rating         arena.MilliElo `json:"rating" doc:"When it joined: seeds go by it."`
	Round          int            `json:"round" doc:"The first in which it plays."`
	WithdrawnRound int            `json:"withdrawn_round,omitempty" doc:"The first in which it plays no more."`
}

type wholeSeasonView struct {
	SeasonView
	Frozen   bool              `json:"frozen" doc:"Table and results are hidden from everyone but admins and its organizers."`
	Entrants []entrantView     `json:"entrants"`
	Table    []arena.TableRow  `json:"table" doc:"As it stands; final once the season is finished. Empty where the format has none while it runs."`
	Rounds   []leagueRoundView `json:"rounds"`
}

type listSeasonsInput struct {
	SlugParam
	PageParams
}

func (h *seasonHandlers) list(ctx context.Context, in *listSeasonsInput) (*output[listOf[SeasonView]], error) {
	if _, err := h.rows.League(ctx, in.Slug); err != nil {
		return nil, err
	}
	seasons, next, err := h.rows.Seasons(ctx, in.Slug, in.page())
	if err != nil {
		return nil, err
	}
	var items []SeasonView
	for _, s := range seasons {
		items = append(items, viewSeason(s))
	}
	return answerList(items, next)
}

func (h *seasonHandlers) get(ctx context.Context, in *seasonInput) (*output[wholeSeasonView], error) {
	s, pairings, hidden, err := h.season(ctx, in.Slug, in.Season)
	if err != nil {
		return nil, err
	}
	v := wholeSeasonView{
		SeasonView: viewSeason(s), Frozen: hidden, Entrants: []entrantView{}, Table: []arena.TableRow{},
		Rounds: viewRounds(s, pairings, hidden),
	}
	for _, e := range s.Entrants {
		v.Entrants = append(v.Entrants, entrantView{
			AgentID: e.AgentID, Name: e.Name, OwnerID: e.OwnerID, Rating: e.Rating, Round: e.Round, WithdrawnRound: e.WithdrawnRound,
		})
	}
	switch {
	case hidden:
	case s.Status == arena.SeasonFinished:
		v.Table = orEmpty(s.Table)
	default:
		v.Table = orEmpty(h.table(s, pairings))
	}
	return answer(v)
}

// season returns a season and whether its results are hidden from the caller.
// Number 0 is the newest.
func (h *seasonHandlers) season(ctx context.Context, slug string, no int) (s arena.Season, pairings []arena.Pairing, hidden bool, err error) {
	l, err := h.rows.League(ctx, slug)
	if err != nil {
		return s, nil, false, err
	}
	s, pairings, err = h.rows.Season(ctx, slug, no)
	hidden = l.Status == arena.LeagueFrozen && s.Status == arena.SeasonRunning && !callerOf(ctx).May(slug, arena.RightOrganize)
	return s, pairings, hidden, err
}

type roundsInputQuery struct {
	SlugParam
	PartParams
	Season int `query:"season" minimum:"0" maximum:"1000000" doc:"The newest when left out."`
}

type leagueRoundsView struct {
	Items      []leagueRoundView `json:"items" doc:"By number."`
	NextCursor string            `json:"next_cursor" doc:"As in other lists; empty when no limit is asked for."`
	Season     int               `json:"season" doc:"0: the league has had none yet."`
}

func (h *seasonHandlers) listRounds(ctx context.Context, in *roundsInputQuery) (*output[leagueRoundsView], error) {
	s, pairings, hidden, err := h.season(ctx, in.Slug, in.Season)
	if arena.CodeOf(err) == arena.CodeNotFound && in.Season == 0 {
		if _, err := h.rows.League(ctx, in.Slug); err != nil {
			return nil, err
		}
		return answer(leagueRoundsView{Items: []leagueRoundView{}})
	}
	if err != nil {
		return nil, err
	}
	rounds, next, err := partOf(in.PartParams, viewRounds(s, pairings, hidden))
	if err != nil {
		return nil, err
	}
	return answer(leagueRoundsView{Items: rounds, NextCursor: next, Season: s.No})
}
