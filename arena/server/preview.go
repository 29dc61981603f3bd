package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/card"
	"github.com/agora-arena/arena/arena/visibility"
	"github.com/agora-arena/arena/web"
)

// previews makes what other sites show beside a link to a match.
type previews struct {
	matches interface {
		Match(ctx context.Context, id string) (visibility.Match, error)
	}
	leagues interface {
		League(ctx context.Context, slug string) (arena.League, error)
	}
	url string // public
	log *slog.Logger
}

// of returns the preview of a page. Without one the page works too, so an error
// only leaves it out.
func (p previews) of(ctx context.Context, path string) (web.Preview, bool) {
	id, ok := strings.CutPrefix(path, "/m/")
	if !ok || id == "" || strings.Contains(id, "/") {
		return web.Preview{}, false
	}
	m, err := p.matches.Match(ctx, id)
	if err != nil {
		if known := (*arena.Error)(nil); !errors.As(err, &known) {
			p.log.WarnContext(ctx, "no preview", slog.Any("error", err))
		}
		return web.Preview{}, false
	}
	league := m.League
	if l, err := p.leagues.League(ctx, m.League); err == nil {
		league = l.Title
	}
	return web.Preview{
		Title: matchTitle(m, league), Description: league + ": " + matchNews(m) + ".",
		Image: p.url + "/v1/matches/" + m.ID + "/card.png", Width: card.Width, Height: card.Height,
	}, true
}

func matchTitle(m visibility.Match, league string) string {
	if len(m.Seats) == 2 {
		return m.Seats[0].Name + " v " + m.Seats[1].Name + " · Agora Arena"
	}
	return fmt.Sprintf("%s, %d agents · Agora Arena", league, len(m.Seats))
}

// matchNews returns the state of a match in a few words.
func matchNews(m visibility.Match) string {
	var first []string
	for _, seat := range m.Seats {
		if seat.Place == 1 {
			first = append(first, seat.Name)
		}
	}
	switch {
	case m.Status == arena.MatchFinished && len(first) == 1:
		return first[0] + " wins"
	case m.Status == arena.MatchFinished:
		return "a draw"
	case m.Status.Over():
		return "does not count"
	case m.Round == 0:
		return "starts " + m.StartsAt.UTC().Format("2 January 2006, 15:04") + " UTC"
	case m.Settings.Rounds > 0:
		return fmt.Sprintf("live, round %d of %d", m.Round, m.Settings.Rounds)
	default:
		return fmt.Sprintf("live, round %d", m.Round)
	}
}
