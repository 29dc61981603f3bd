package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/agora-arena/arena/arena/plaintext"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/cli"
)

// WatchCmd is `arena watch`.
type WatchCmd struct {
	Match  string `arg:"" optional:"" placeholder:"MATCH" help:"Id of a match (m_…), or lobby: the next match anywhere."`
	League string `placeholder:"SLUG" help:"The match that this league is playing, or its next one."`
	URL    string `name:"url" placeholder:"URL" help:"The arena (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	Color  string `enum:"auto,always,never" default:"auto" help:"Colors: auto, always or never. auto is: on a terminal, unless NO_COLOR is set."`
}

// Help shows the command at work.
func (c *WatchCmd) Help() string {
	return `Prints each event of a match on a line, and the result at the end. A match
that has ended is shown from its log. A broken connection is resumed without
a gap. Exits with 0 when the match was finished, with 1 when it was void or cannot be
watched.

    arena watch m_06ajq3v5cnkr8e0v1m7y3d2xw4
    arena watch --league trivia
    arena watch lobby --url https://arena.example`
}

// Run prints until the match is over.
func (c *WatchCmd) Run(app *App) error {
	if (c.Match == "") == (c.League == "") {
		return errors.New("name one: a match, lobby, or --league")
	}
	target, err := app.Target(c.URL, cli.Token{})
	if err != nil {
		return err
	}
	arena := apiclient.New(target.URL, "")
	match, err := c.find(app.Ctx, arena)
	if err != nil {
		return err
	}
	return app.show(arena, match, c.style(app))
}

// watch prints a match until it is over.
func (a *App) watch(arena, match string) error {
	return a.show(apiclient.New(arena, ""), match, a.Style())
}

func (a *App) show(arena *apiclient.Client, match string, style cli.Style) error {
	s := &screen{out: a.Stdout, style: style, names: map[string]string{}}
	void, voided := "", false
	err := follow(a.Ctx, arena, url.Values{"match": {match}}, 0, func(e liveEvent) error {
		s.show(e)
		if e.Type == "match_void" {
			void, voided = e.words().Reason, true
		}
		if e.ends() || s.err != nil {
			return errStop
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case s.err != nil:
		return s.err
	case voided:
		return fmt.Errorf("the match is void: %s", plaintext.Terminal(void))
	}
	return nil
}

func (c *WatchCmd) style(app *App) cli.Style {
	switch c.Color {
	case "always":
		return true
	case "never":
		return false
	default:
		return app.Style()
	}
}

// find returns the id of the match to watch: the given one, or the one that is
// being played in the league or anywhere, or the next that starts there.
func (c *WatchCmd) find(ctx context.Context, arena *apiclient.Client) (match string, err error) {
	topic, running := url.Values{"lobby": {"1"}}, url.Values{"status": {"running"}, "limit": {"1"}}
	switch {
	case c.League != "":
		topic = url.Values{"league": {c.League}}
		running.Set("league", c.League)
	case c.Match != "lobby":
		return c.Match, nil
	}
	err = follow(ctx, arena, topic, 0, func(e liveEvent) error {
		switch e.Type {
		case "hello": // listening has begun: no match starts unseen from here on
			var now struct {
				Items []struct {
					ID string `json:"match_id"`
				} `json:"items"`
			}
			if err := arena.Call(ctx, http.MethodGet, "/v1/matches?"+running.Encode(), nil, &now); err != nil {
				return err
			}
			if len(now.Items) == 0 {
				return nil
			}
			match = now.Items[0].ID
		case "match_started":
			match = e.MatchID
		default:
			return nil
		}
		return errStop
	})
	return match, err
}
