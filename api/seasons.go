package api

import (
	"context"
	"sort"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
	"github.com/agora-arena/arena/league/schedule"
)

// seasonHandlers serve the routes of seasons.
type seasonHandlers struct {
	rows Rows
	draw func(s arena.Season, league string, chosen map[string]string) ([]byte, error)
	now  func() time.Time
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
	if _, err := h.rows.Leagues.League(ctx, in.Slug); err != nil {
		return nil, err
	}
	seasons, next, err := h.rows.Leagues.Seasons(ctx, in.Slug, in.page())
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
		v.Table = orEmpty(format.Table(format.State{Season: s, Pairings: pairings, Now: h.now()}))
	}
	return answer(v)
}

// season returns a season and whether its results are hidden from the caller.
// Number 0 is the newest.
func (h *seasonHandlers) season(ctx context.Context, slug string, no int) (s arena.Season, pairings []arena.Pairing, hidden bool, err error) {
	l, err := h.rows.Leagues.League(ctx, slug)
	if err != nil {
		return s, nil, false, err
	}
	s, pairings, err = h.rows.Leagues.Season(ctx, slug, no)
	hidden = l.Status == arena.LeagueFrozen && s.Status == arena.SeasonRunning && !callerOf(ctx).May(slug, arena.RightOrganize)
	return s, pairings, hidden, err
}

// card draws what other sites show beside a link to a season: its podium, or its
// agents while it runs.
func (h *seasonHandlers) card(ctx context.Context, in *seasonInput) (*cardOutput, error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	s, err := h.rows.Leagues.SeasonEntrants(ctx, in.Slug, in.Season)
	if err != nil {
		return nil, err
	}
	chosen, err := h.rows.Agents.Marks(ctx)
	if err != nil {
		return nil, err
	}
	picture, err := h.draw(s, l.Title, chosen)
	if err != nil {
		return nil, err
	}
	return newCard(picture, s.Status == arena.SeasonFinished), nil
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
		if _, err := h.rows.Leagues.League(ctx, in.Slug); err != nil {
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

// timesShown is how many occurrences of a schedule a day names; a schedule may
// come every minute.
const timesShown = 3

// calendarHandlers serve the calendar of seasons.
type calendarHandlers struct {
	rows Rows
	now  func() time.Time
}

type calendarInput struct {
	Month string `query:"month" pattern:"^20[0-9]{2}-(0[1-9]|1[0-2])$" patternDescription:"a year and a month such as 2026-11" doc:"In UTC; this month when left out."`
}

type calendarView struct {
	Items      []calendarItem `json:"items" doc:"By day, then by league; what was before what is to come."`
	NextCursor string         `json:"next_cursor" doc:"Always empty: a month comes whole."`
	Month      string         `json:"month" example:"2026-11"`
	Today      string         `json:"today" example:"2026-11-21"`
}

// calendarItem is what one league has on one day: the seasons that began
// then, or what its schedule will start.
type calendarItem struct {
	Day        string     `json:"day" example:"2026-11-21" doc:"In UTC. Seasons that ran on into the month are on its first day."`
	League     string     `json:"league"`
	Title      string     `json:"title"`
	Kind       string     `json:"kind" enum:"season,schedule"`
	Season     int        `json:"season,omitempty" doc:"season: its number, the first one's if several began."`
	LastSeason int        `json:"last_season,omitempty" doc:"season: the last one's, if several began."`
	Running    bool       `json:"running,omitempty" doc:"season: it, or the last one, is in progress."`
	StartedAt  *jsonTime  `json:"started_at,omitempty" doc:"season: when the first one began."`
	FinishedAt *jsonTime  `json:"finished_at,omitempty" doc:"season: when the last one ended."`
	EndsAt     *jsonTime  `json:"ends_at,omitempty" doc:"season: when the one that runs ends; absent when its format decides."`
	Starts     string     `json:"starts,omitempty" enum:"season,round,match" doc:"schedule: what begins."`
	Times      []jsonTime `json:"times,omitempty" doc:"schedule: the first three times of the day."`
	More       bool       `json:"more,omitempty" doc:"schedule: there are more times."`
}

// get answers with a month: its seasons, and what the schedules of running
// leagues will start. A league that is paused or not started has nothing ahead.
func (h *calendarHandlers) get(ctx context.Context, in *calendarInput) (*output[calendarView], error) {
	now := h.now().UTC()
	from := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if in.Month != "" {
		var err error
		if from, err = time.Parse("2006-01", in.Month); err != nil {
			return nil, arena.Invalid("month", "must be a year and a month such as 2026-11")
		}
	}
	to := from.AddDate(0, 1, 0)
	leagues, err := h.rows.Leagues.Leagues(ctx)
	if err != nil {
		return nil, err
	}
	days, err := h.rows.Leagues.SeasonDays(ctx, from, to)
	if err != nil {
		return nil, err
	}
	v := calendarView{Items: []calendarItem{}, Month: from.Format("2006-01"), Today: now.Format(time.DateOnly)}
	titles := make(map[string]string, len(leagues))
	for _, l := range leagues {
		titles[l.Slug] = l.Title
	}
	for _, d := range days {
		item := calendarItem{
			Day: from.AddDate(0, 0, d.Day).Format(time.DateOnly), League: d.League, Title: titles[d.League], Kind: "season",
			Season: d.First, Running: d.FinishedAt.IsZero(),
			StartedAt: optionalTime(d.StartedAt), FinishedAt: optionalTime(d.FinishedAt), EndsAt: optionalTime(d.EndsAt),
		}
		if d.Last != d.First {
			item.LastSeason = d.Last
		}
		v.Items = append(v.Items, item)
	}
	for _, l := range arena.ListedLeagues(leagues) {
		if l.Schedule != "" && (l.Status == arena.LeagueRunning || l.Status == arena.LeagueFrozen) {
			v.Items = append(v.Items, h.ahead(l, from, to, now)...)
		}
	}
	sort.SliceStable(v.Items, func(i, j int) bool { return v.Items[i].Day < v.Items[j].Day })
	return answer(v)
}

// ahead returns what a league's schedule starts from now on, within a month.
func (h *calendarHandlers) ahead(l arena.League, from, to, now time.Time) []calendarItem {
	after := from.Add(-time.Nanosecond)
	if after.Before(now) {
		after = now
	}
	var items []calendarItem
	for {
		at := schedule.Next(l.Schedule, after)
		if at.IsZero() || !at.Before(to) {
			return items
		}
		day := at.Format(time.DateOnly)
		if n := len(items); n == 0 || items[n-1].Day != day {
			items = append(items, calendarItem{Day: day, League: l.Slug, Title: l.Title, Kind: "schedule", Starts: l.Settings.Options.Starts})
		}
		today := &items[len(items)-1]
		if len(today.Times) == timesShown {
			today.More = true
			after = at.Truncate(24*time.Hour).AddDate(0, 0, 1).Add(-time.Nanosecond) // UTC: days are whole
			continue
		}
		today.Times = append(today.Times, jsonTime(at))
		after = at
	}
}
