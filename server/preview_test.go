package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

func TestMatchSummary(t *testing.T) {
	t.Parallel()
	match := func(status arena.MatchStatus, round, rounds int, places ...int) arena.Match {
		m := arena.Match{Status: status, Round: round, Settings: arena.Settings{Rounds: rounds}, StartsAt: time.Date(2026, 5, 1, 18, 30, 0, 0, time.UTC)}
		for i, place := range places {
			m.Seats = append(m.Seats, arena.Seat{Name: string(rune('A' + i)), Place: place})
		}
		return m
	}
	for _, c := range []struct {
		m              arena.Match
		title, summary string
	}{
		{match(arena.MatchScheduled, 0, 5, 0, 0), "A v B · Agora Arena", "starts 1 May 2026, 18:30 UTC"},
		{match(arena.MatchRunning, 2, 5, 0, 0), "A v B · Agora Arena", "live, round 2 of 5"},
		{match(arena.MatchRunning, 2, 0, 0, 0, 0), "Quiz, 3 agents · Agora Arena", "live, round 2"},
		{match(arena.MatchFinished, 5, 5, 2, 1), "A v B · Agora Arena", "B wins"},
		{match(arena.MatchFinished, 5, 5, 1, 1), "A v B · Agora Arena", "a draw"},
		{match(arena.MatchVoid, 1, 5, 0, 0), "A v B · Agora Arena", "does not count"},
	} {
		if title, summary := matchTitle(visibilitytest.Match(c.m), "Quiz"), matchSummary(visibilitytest.Match(c.m)); title != c.title || summary != c.summary {
			t.Errorf("%q, %q, want %q, %q", title, summary, c.title, c.summary)
		}
	}
}

// rows has one match, one agent and one league of each name.
type rows struct{ err error }

func (r rows) find(id string) error {
	if id != "here" && r.err == nil {
		return arena.Errorf(arena.CodeNotFound, "there is no %q", id)
	}
	return r.err
}

func (r rows) Match(_ context.Context, id string) (visibility.Match, error) {
	return visibilitytest.Match(arena.Match{ID: id, League: "here", Seats: []arena.Seat{{Name: "A"}, {Name: "B"}}}), r.find(id)
}

func (r rows) League(_ context.Context, slug string) (arena.League, error) {
	return arena.League{Slug: slug, Title: "Quiz"}, r.find(slug)
}

func (r rows) Agent(_ context.Context, id string) (arena.Agent, error) {
	return arena.Agent{ID: id}, r.find(id)
}

func (r rows) SeasonEntrants(_ context.Context, league string, no int) (arena.Season, error) {
	if no != 2 && r.err == nil {
		return arena.Season{}, arena.Errorf(arena.CodeNotFound, "there is no season %d", no)
	}
	return arena.Season{League: league, No: no, Status: arena.SeasonRunning}, r.err
}

func TestSeasonSummary(t *testing.T) {
	t.Parallel()
	season := func(status arena.SeasonStatus, ranks ...int) arena.Season {
		s := arena.Season{Status: status}
		for i, rank := range ranks {
			name := string(rune('A' + i))
			s.Entrants = append(s.Entrants, arena.Entrant{Name: name})
			s.Table = append(s.Table, arena.TableRow{Name: name, Rank: rank})
		}
		return s
	}
	for want, s := range map[string]arena.Season{
		"In progress with 2 agents":           season(arena.SeasonRunning, 1, 2),
		"A wins against 2 others":             season(arena.SeasonFinished, 1, 2, 3),
		"2 of 3 agents share the first place": season(arena.SeasonFinished, 1, 1, 3),
	} {
		if got := seasonSummary(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPages_Lookup(t *testing.T) {
	t.Parallel()
	look := func(r rows, path string) (title string, exists bool) {
		p, exists := pages{matches: r, rows: r, url: "https://arena.example", log: slog.New(slog.DiscardHandler)}.lookup(t.Context(), path)
		return p.Title, exists
	}
	for path, want := range map[string]bool{
		"/": true, "/leagues": true, "/m/here": true, "/m/here/": true, "/m/gone": false, "/a/here": true, "/a/gone": false, "/l/here": true, "/l/gone": false,
		"/embed/matches/here": true, "/embed/matches/gone": false,
		"/l/here/seasons/2": true, "/l/here/seasons/2/": true, "/l/here/seasons/1": false, "/l/here/seasons/0": false, "/l/gone/seasons/2": false,
		"/l/here/seasons/99999999999999999999": false,
	} {
		if title, exists := look(rows{}, path); exists != want || title != "" && !strings.HasPrefix(path, "/m/here") && !strings.HasPrefix(path, "/l/here/seasons/2") {
			t.Errorf("%s: exists %v with title %q, want %v", path, exists, title, want)
		}
		if _, exists := look(rows{err: errors.New("no database")}, path); !exists {
			t.Errorf("%s is missing without a database", path)
		}
	}
	for path, want := range map[string]string{"/m/here": "A v B · Agora Arena", "/l/here/seasons/2": "Quiz, season 2 · Agora Arena", "/l/here": ""} {
		if title, _ := look(rows{}, path); title != want {
			t.Errorf("%s: title %q, want %q", path, title, want)
		}
	}
}
