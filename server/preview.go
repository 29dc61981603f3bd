package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/api/card"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/visibility"
	"github.com/agora-arena/arena/web"
)

// pages looks up what the routes of the app name, and makes what other sites
// show beside a link to a match or a season.
type pages struct {
	matches interface {
		Match(ctx context.Context, id string) (visibility.Match, error)
	}
	rows interface {
		League(ctx context.Context, slug string) (arena.League, error)
		Agent(ctx context.Context, id string) (arena.Agent, error)
		SeasonEntrants(ctx context.Context, league string, no int) (arena.Season, error)
	}
	url string // public
	now func() time.Time
	log *slog.Logger
}

// pageRows are the rows that the pages of the app name.
type pageRows struct {
	*store.Agents
	*store.Leagues
}

// handler serves the app, whose pages carry answers of the API.
func (p pages) handler(api http.Handler) http.Handler { return web.Handler(p.lookup, api, p.now) }

// lookup is the web.Lookup of the app. A route whose rows cannot be read
// exists: the app shows the failure.
func (p pages) lookup(ctx context.Context, path string) (web.Preview, bool) {
	path = strings.TrimRight(path, "/")
	var preview web.Preview
	var err error
	if id, ok := strings.CutPrefix(path, "/a/"); ok {
		_, err = p.rows.Agent(ctx, id)
	} else if slug, ok := strings.CutPrefix(path, "/l/"); ok {
		preview, err = p.league(ctx, slug)
	} else if id, ok := strings.CutPrefix(path, "/embed/matches/"); ok {
		_, err = p.matches.Match(ctx, id)
	} else if id, ok := strings.CutPrefix(path, "/m/"); ok {
		preview, err = p.match(ctx, id)
	}
	if known := (*arena.Error)(nil); err != nil && !errors.As(err, &known) {
		p.log.WarnContext(ctx, "page not looked up", slog.Any("error", err))
	}
	return preview, arena.CodeOf(err) != arena.CodeNotFound
}

// league returns the preview of a season, which path names after the slug of its
// league. The page of a league alone has none.
func (p pages) league(ctx context.Context, path string) (web.Preview, error) {
	slug, number, named := strings.Cut(path, "/seasons/")
	l, err := p.rows.League(ctx, slug)
	if err != nil || !named {
		return web.Preview{}, err
	}
	no, err := strconv.Atoi(number)
	if err != nil || no < 1 { // 0 would be the newest
		return web.Preview{}, arena.Errorf(arena.CodeNotFound, "there is no season %q", number)
	}
	s, err := p.rows.SeasonEntrants(ctx, slug, no)
	if err != nil {
		return web.Preview{}, err
	}
	return web.Preview{
		Title: fmt.Sprintf("%s, season %d · Agora Arena", l.Title, no), Description: seasonSummary(s) + ".",
		Image: fmt.Sprintf("%s/v1/leagues/%s/seasons/%d/card.png", p.url, slug, no), Width: card.Width, Height: card.Height,
	}, nil
}

// seasonSummary returns the state of a season in a few words.
func seasonSummary(s arena.Season) string {
	var first []string
	for _, row := range s.Table {
		if row.Rank == 1 {
			first = append(first, row.Name)
		}
	}
	switch {
	case s.Status != arena.SeasonFinished:
		return fmt.Sprintf("In progress with %d agents", len(s.Entrants))
	case len(first) == 1:
		return fmt.Sprintf("%s wins against %d others", first[0], len(s.Entrants)-1)
	default:
		return fmt.Sprintf("%d of %d agents share the first place", len(first), len(s.Entrants))
	}
}

// match returns the preview of a match.
func (p pages) match(ctx context.Context, id string) (web.Preview, error) {
	m, err := p.matches.Match(ctx, id)
	if err != nil {
		return web.Preview{}, err
	}
	league := m.League
	if l, err := p.rows.League(ctx, m.League); err == nil {
		league = l.Title
	}
	return web.Preview{
		Title: matchTitle(m, league), Description: league + ": " + matchSummary(m) + ".",
		Image: p.url + "/v1/matches/" + m.ID + "/card.png", Width: card.Width, Height: card.Height,
	}, nil
}

func matchTitle(m visibility.Match, league string) string {
	if len(m.Seats) == 2 {
		return m.Seats[0].Name + " v " + m.Seats[1].Name + " · Agora Arena"
	}
	return fmt.Sprintf("%s, %d agents · Agora Arena", league, len(m.Seats))
}

// matchSummary returns the state of a match in a few words.
func matchSummary(m visibility.Match) string {
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
