package api

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

type shownCalendar struct {
	Month, Today string
	Items        []struct {
		Day        string
		League     string
		Title      string
		Kind       string
		Season     int
		LastSeason int `json:"last_season"`
		Running    bool
		EndsAt     string `json:"ends_at"`
		Starts     string
		Times      []string
		More       bool
	}
}

// A month shows the seasons that were and run, and what the schedules of
// leagues that pair start; the clock stands at noon of 1 June 2025.
func TestAPI_calendar(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("cup", object{"format": "swiss", "schedule": "0 18 * * 5"})
	w.league("idle", object{"schedule": "0 18 * * 5"}) // never started
	w.do("POST", "/v1/leagues/cup/start", w.admin, nil).is(200)
	season := func(id string, at, ends time.Time) arena.Season {
		t.Helper()
		s, err := w.store.Leagues.StartSeason(t.Context(), arena.Season{ID: id, League: "cup", Format: arena.FormatSwiss, StartedAt: at, EndsAt: ends})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	finish := func(s arena.Season, at time.Time) {
		t.Helper()
		if err := w.store.Leagues.ChangeSeason(t.Context(), s, arena.SeasonChange{Finish: &arena.SeasonEnd{At: at}}); err != nil {
			t.Fatal(err)
		}
	}
	day := 24 * time.Hour
	midnight := testNow.Truncate(day)
	finish(season("se_1", midnight.Add(-9*day), time.Time{}), midnight.Add(-8*day)) // May alone
	finish(season("se_2", midnight.Add(-2*day), time.Time{}), midnight.Add(time.Hour))
	finish(season("se_3", midnight.Add(2*time.Hour), time.Time{}), midnight.Add(3*time.Hour))
	season("se_4", midnight.Add(4*time.Hour), midnight.Add(5*day))

	v := into[shownCalendar](w.do("GET", "/v1/admin/calendar", w.admin, nil).is(200))
	if v.Month != "2025-06" || v.Today != "2025-06-01" || len(v.Items) != 5 {
		t.Fatalf("calendar %+v", v)
	}
	// The one that ran on into the month and the two of its first day are one entry.
	if s := v.Items[0]; s.Day != "2025-06-01" || s.Title == "" || s.Kind != "season" || s.Season != 2 || s.LastSeason != 4 || !s.Running || s.EndsAt != "2025-06-06T00:00:00.000Z" {
		t.Errorf("seasons %+v", s)
	}
	for i, date := range []string{"2025-06-06", "2025-06-13", "2025-06-20", "2025-06-27"} {
		if s := v.Items[i+1]; s.Day != date || s.League != "cup" || s.Kind != "schedule" || s.More || len(s.Times) != 1 || s.Times[0] != date+"T18:00:00.000Z" {
			t.Errorf("occurrence %+v, want %s", s, date)
		}
	}
	if v = into[shownCalendar](w.do("GET", "/v1/admin/calendar?month=2025-05", w.admin, nil).is(200)); len(v.Items) != 2 || v.Items[0].Season != 1 || v.Items[0].Running || v.Items[1].Day != "2025-05-30" {
		t.Errorf("month before: %+v", v)
	}
	if v = into[shownCalendar](w.do("GET", "/v1/admin/calendar?month=2025-04", w.admin, nil).is(200)); len(v.Items) != 0 {
		t.Errorf("empty month: %+v", v)
	}
	w.do("GET", "/v1/admin/calendar?month=2025-13", w.admin, nil).is(422)

	// Every minute: a day names three times, and the month is still short. Paused: nothing is ahead.
	w.do("PATCH", "/v1/leagues/cup", w.admin, object{"schedule": "* * * * *"}).is(200)
	r := w.do("GET", "/v1/admin/calendar?month=2025-07", w.admin, nil).is(200)
	if v = into[shownCalendar](r); len(v.Items) != 1+31 || !v.Items[1].More || len(v.Items[1].Times) != 3 || v.Items[1].Times[0] != "2025-07-01T00:00:00.000Z" {
		t.Errorf("every minute: %s", r.body)
	}
	w.do("POST", "/v1/leagues/cup/pause", w.admin, nil).is(200)
	if v = into[shownCalendar](w.do("GET", "/v1/admin/calendar?month=2025-07", w.admin, nil).is(200)); len(v.Items) != 1 {
		t.Errorf("paused: %+v", v)
	}
}
