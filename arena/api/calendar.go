package api

import (
	"context"
	"sort"
	"time"

	"github.com/agora-arena/arena/arena"
)

// timesShown is how many occurrences of a schedule a day names; a schedule may
// come every minute.
const timesShown = 3

// calendarReads are the rows that calendarHandlers read.
type calendarReads interface {
	Leagues(ctx context.Context) ([]arena.League, error)
	SeasonDays(ctx context.Context, from, to time.Time) ([]arena.SeasonDay, error)
}

// calendarHandlers serve the calendar of seasons.
type calendarHandlers struct {
	rows calendarReads
	next func(expression string, after time.Time) time.Time // occurrence of a schedule; zero: there is none
	now  func() time.Time
}

// calendarRoutes mounts one of the calendarHandlers.
func calendarRoutes[I, O any](h func(*calendarHandlers, context.Context, *I) (*O, error)) func(*API, route) {
	return handleOn(func(a *API) *calendarHandlers { return a.calendar }, h)
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
	Running    bool       `json:"running,omitempty" doc:"season: it, or the last one, is being played."`
	StartedAt  *jsonTime  `json:"started_at,omitempty" doc:"season: when the first one began."`
	FinishedAt *jsonTime  `json:"finished_at,omitempty" doc:"season: when the last one ended."`
	EndsAt     *jsonTime  `json:"ends_at,omitempty" doc:"season: when the one that runs ends; absent when its format says so."`
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
	leagues, err := h.rows.Leagues(ctx)
	if err != nil {
		return nil, err
	}
	days, err := h.rows.SeasonDays(ctx, from, to)
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
	for _, l := range leagues {
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
		at := h.next(l.Schedule, after)
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
