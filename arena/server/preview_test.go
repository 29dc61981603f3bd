package server

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
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
