package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/league/game/rules"
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
	err := follow(a.Ctx, arena, url.Values{"match": {match}}, func(e liveEvent) error {
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
	err = follow(ctx, arena, topic, func(e liveEvent) error {
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

// gameWords are the members of the events of a turn-based game.
type gameWords struct {
	Game struct {
		Name  string `json:"name"`
		Games int    `json:"games_per_match"`
	} `json:"game"`
	State json.RawMessage `json:"state"`
	Moves []struct {
		AgentID string `json:"agent_id"`
		Move    string `json:"move"`
		Legal   bool   `json:"legal"`
	} `json:"moves"`
	TimeBanks []struct {
		AgentID string  `json:"agent_id"`
		Seconds float64 `json:"seconds"`
	} `json:"time_banks"`
}

// seriesWords are the members that all public states of games have.
type seriesWords struct {
	Kind    string    `json:"kind"`
	Caption string    `json:"caption"`
	Game    int       `json:"game"`
	Games   int       `json:"games"`
	Turn    int       `json:"turn"`
	Players []string  `json:"players"`
	Over    bool      `json:"over"`
	Points  []float64 `json:"points"`
}

// gameScreen is what a screen keeps of a game.
type gameScreen struct {
	game, turn int    // of the last round that started
	banks      string // the last time banks that were shown
	lines      int    // of the conversation that were shown
}

// maxDrawn is the largest side of a board that is drawn.
const maxDrawn = 26

// decode reads a part of a public state. A part of another form stays empty.
func decodeState[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}

// turn writes the start of a turn: the players when a game begins, and time banks
// when they change.
func (s *screen) turn(e liveEvent, w eventWords) {
	at := decodeState[seriesWords](w.State)
	if at.Game != s.game.game {
		s.line(cli.None, "")
		s.line(cli.Cyan, "%s  game %d of %d: %s  (%s a move)", clock(e.TS), at.Game, at.Games, s.players(w.State, at), seconds(1000*w.TimeLimitSeconds))
		s.game.lines = 0
		s.state(w.State, at)
	}
	s.game.game, s.game.turn = at.Game, at.Turn
	var banks []string
	for _, b := range w.TimeBanks {
		banks = append(banks, s.name(b.AgentID)+" "+seconds(1000*b.Seconds))
	}
	if text := strings.Join(banks, " · "); text != "" && text != s.game.banks {
		s.game.banks = text
		s.line(cli.Dim, "          time banks: %s", text)
	}
}

// moved writes the moves of a turn and the position after them.
func (s *screen) moved(e liveEvent, w eventWords) {
	at := decodeState[seriesWords](w.State)
	for _, m := range w.Moves {
		paint, text := cli.Bold, s.text(m.Move)
		switch {
		case m.Move == "":
			paint, text = cli.Red, "no legal move"
		case !m.Legal:
			paint, text = cli.Red, text+" (by default)"
		}
		s.line(paint, "%s  %3d. %-*s  %s", clock(e.TS), s.game.turn, nameWidth, s.name(m.AgentID), text)
	}
	s.state(w.State, at)
	if !at.Over {
		return
	}
	var scores []string
	for player, p := range at.Points {
		scores = append(scores, s.player(at, player)+" "+points(p))
	}
	s.line(cli.Green, "%s  game %d of %d over: %s", clock(e.TS), at.Game, at.Games, strings.Join(scores, ", "))
}

// state writes a position by its kind, and its caption.
func (s *screen) state(raw json.RawMessage, at seriesWords) {
	switch at.Kind {
	case rules.KindGrid:
		s.grid(decodeState[rules.Grid](raw))
	case rules.KindCards:
		s.cards(decodeState[rules.Cards](raw), at)
	case rules.KindTable:
		for _, row := range decodeState[rules.Table](raw).Rows {
			s.line(cli.None, "          %-*s  %s  %s", nameWidth, s.player(at, row.Player), s.text(strings.Join(row.Values, "  ")), s.text(row.Total))
		}
	case rules.KindTranscript:
		lines := decodeState[rules.Transcript](raw).Lines
		for _, l := range lines[min(s.game.lines, len(lines)):] {
			s.line(cli.None, "          %-*s  %s", nameWidth, s.player(at, l.Player), s.text(strings.TrimSpace(l.Text+"  "+l.Offer)))
		}
		s.game.lines = len(lines)
	}
	if at.Caption != "" {
		s.line(cli.Dim, "          %s", s.text(at.Caption))
	}
}

// grid draws a board. Cells that decided the game have a star.
func (s *screen) grid(g rules.Grid) {
	if g.Rows < 1 || g.Rows > maxDrawn || g.Columns < 1 || g.Columns > maxDrawn || len(g.Cells) != g.Rows*g.Columns {
		return
	}
	for row := range g.Rows {
		var line strings.Builder
		for column := range g.Columns {
			at, mark := row*g.Columns+column, " "
			if slices.Contains(g.Line, at) {
				mark = "*"
			}
			line.WriteString(mark + s.piece(g, g.Cells[at]))
		}
		s.line(cli.None, "         %s", line.String())
	}
}

// piece returns the character of a piece: its symbol, or its name where players
// share symbols.
func (s *screen) piece(g rules.Grid, name string) string {
	if name == "" {
		return "."
	}
	symbol := g.Pieces[name].Symbol
	for other, p := range g.Pieces {
		if other != name && p.Symbol == symbol {
			symbol = name
		}
	}
	for _, r := range s.text(symbol) {
		return string(r)
	}
	return "?"
}

func (s *screen) cards(c rules.Cards, at seriesWords) {
	for _, said := range c.Log {
		s.line(cli.Dim, "          %-*s  %s", nameWidth, s.player(at, said.Player), s.text(said.Text))
	}
	for _, h := range c.Hands {
		what := strings.Join(h.Cards, " ")
		if h.Out {
			what = "out"
		}
		s.line(cli.None, "          %-*s  %s  %d chips", nameWidth, s.player(at, h.Player), s.text(what), h.Chips)
	}
	if len(c.Table) > 0 || c.Pot > 0 {
		s.line(cli.None, "          %-*s  %s  pot %d", nameWidth, "table", s.text(strings.Join(c.Table, " ")), c.Pot)
	}
}

// player returns the name of a player of a game.
func (s *screen) player(at seriesWords, player int) string {
	switch {
	case player < 0:
		return ""
	case player < len(at.Players):
		return s.name(at.Players[player])
	}
	return "player " + strconv.Itoa(player+1)
}

// players returns the names of all players in the order of their numbers, with
// their pieces where each has one kind.
func (s *screen) players(raw json.RawMessage, at seriesWords) string {
	g := rules.Grid{}
	if at.Kind == rules.KindGrid {
		g = decodeState[rules.Grid](raw)
	}
	var names []string
	for i := range at.Players {
		name, kinds := s.player(at, i), 0
		for piece, p := range g.Pieces {
			if p.Player == i && len(g.Pieces) == len(at.Players) {
				name, kinds = name+" ("+s.piece(g, piece)+")", kinds+1
			}
		}
		if kinds > 1 {
			name = s.player(at, i)
		}
		names = append(names, name)
	}
	return strings.Join(names, " · ")
}
