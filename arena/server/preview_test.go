package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility"
	"github.com/agora-arena/arena/arena/visibility/visibilitytest"
)

func TestMatchNews(t *testing.T) {
	t.Parallel()
	match := func(status arena.MatchStatus, round, rounds int, places ...int) arena.Match {
		m := arena.Match{Status: status, Round: round, Settings: arena.Settings{Rounds: rounds}, StartsAt: time.Date(2026, 5, 1, 18, 30, 0, 0, time.UTC)}
		for i, place := range places {
			m.Seats = append(m.Seats, arena.Seat{Name: string(rune('A' + i)), Place: place})
		}
		return m
	}
	for _, c := range []struct {
		m           arena.Match
		title, news string
	}{
		{match(arena.MatchScheduled, 0, 5, 0, 0), "A v B · Agora Arena", "starts 1 May 2026, 18:30 UTC"},
		{match(arena.MatchRunning, 2, 5, 0, 0), "A v B · Agora Arena", "live, round 2 of 5"},
		{match(arena.MatchRunning, 2, 0, 0, 0, 0), "Quiz, 3 agents · Agora Arena", "live, round 2"},
		{match(arena.MatchFinished, 5, 5, 2, 1), "A v B · Agora Arena", "B wins"},
		{match(arena.MatchFinished, 5, 5, 1, 1), "A v B · Agora Arena", "a draw"},
		{match(arena.MatchVoid, 1, 5, 0, 0), "A v B · Agora Arena", "does not count"},
	} {
		if title, news := matchTitle(visibilitytest.Match(c.m), "Quiz"), matchNews(visibilitytest.Match(c.m)); title != c.title || news != c.news {
			t.Errorf("%q, %q, want %q, %q", title, news, c.title, c.news)
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

func TestPages_Lookup(t *testing.T) {
	t.Parallel()
	look := func(r rows, path string) (title string, exists bool) {
		p, exists := pages{matches: r, rows: r, url: "https://arena.example", log: slog.New(slog.DiscardHandler)}.lookup(t.Context(), path)
		return p.Title, exists
	}
	for path, want := range map[string]bool{
		"/": true, "/leagues": true, "/m/here": true, "/m/here/": true, "/m/gone": false, "/a/here": true, "/a/gone": false, "/l/here": true, "/l/gone": false,
		"/embed/matches/here": true, "/embed/matches/gone": false,
	} {
		if title, exists := look(rows{}, path); exists != want || title != "" && !strings.HasPrefix(path, "/m/here") {
			t.Errorf("%s: exists %v with title %q, want %v", path, exists, title, want)
		}
		if _, exists := look(rows{err: errors.New("no database")}, path); !exists {
			t.Errorf("%s is missing without a database", path)
		}
	}
	if title, _ := look(rows{}, "/m/here"); title != "A v B · Agora Arena" {
		t.Errorf("title %q", title)
	}
}
