package game

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// Notation returns the games of a match in the notation of its game. closed are the
// rounds that spectators may see, in order; event and site are what the notation
// says about the match. not_found: the game has no notation, or moves were erased.
func Notation(ctx context.Context, l Library, m arena.Match, event, site string, closed []arena.ClosedGame) (arena.Notation, error) {
	none := arena.Errorf(arena.CodeNotFound, "match %q has no games in a notation", m.ID)
	if m.Settings.Game == nil {
		return arena.Notation{}, none
	}
	r, err := l.Rules(ctx, *m.Settings.Game)
	if err != nil {
		return arena.Notation{}, fmt.Errorf("rules of the game %s: %w", m.Settings.Game.Name, err)
	}
	written, ok := r.(rules.Written)
	if !ok {
		return arena.Notation{}, none
	}
	names := map[string]string{}
	for _, s := range m.Seats {
		names[s.AgentID] = s.Name
	}
	var games []rules.WrittenGame
	for _, c := range closed {
		var at struct {
			Players []string       `json:"players"`
			Game    int            `json:"game"`
			Points  []arena.Points `json:"points"`
		}
		if err := json.Unmarshal(c.State, &at); err != nil {
			return arena.Notation{}, fmt.Errorf("decode a position of match %s: %w", m.ID, err)
		}
		if n := len(games); n == 0 || games[n-1].Number != at.Game {
			g := rules.WrittenGame{Event: event, Site: site, Date: m.StartedAt, Number: at.Game}
			for _, id := range at.Players {
				g.Players = append(g.Players, names[id])
			}
			games = append(games, g)
		}
		g := &games[len(games)-1]
		g.Points = at.Points
		for _, move := range c.Moves {
			switch {
			case move.Move != "":
				g.Moves = append(g.Moves, move.Move)
			case move.Legal:
				return arena.Notation{}, arena.Errorf(arena.CodeNotFound, "moves of match %q were erased", m.ID)
			}
		}
	}
	n := arena.Notation{}
	n.Name, n.MediaType = written.Notation()
	var text strings.Builder
	for _, g := range games {
		text.WriteString(written.Write(g))
	}
	n.Text = text.String()
	return n, nil
}
