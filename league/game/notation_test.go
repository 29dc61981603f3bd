package game_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// The games of a match follow each other in the notation, with swapped players and
// as far as they are over.
func TestNotation(t *testing.T) {
	t.Parallel()
	m := arena.Match{
		ID: "m_1", StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Settings: arena.Settings{Game: &arena.GameSpec{Name: "chess"}},
		Seats:    []arena.Seat{{AgentID: "ag_0", Name: "Ada"}, {AgentID: "ag_1", Name: "Bob"}},
	}
	closed := func(state, agent, move string, legal bool) arena.ClosedGame {
		return arena.ClosedGame{State: json.RawMessage(state), Moves: []arena.PlayedMove{{AgentID: agent, Move: move, Legal: legal}}}
	}
	rounds := []arena.ClosedGame{
		closed(`{"players":["ag_0","ag_1"],"game":1}`, "ag_0", "e4", true),
		closed(`{"players":["ag_0","ag_1"],"game":1,"points":[1,0]}`, "ag_1", "", false), // no legal move
		closed(`{"players":["ag_1","ag_0"],"game":2}`, "ag_1", "d4", true),
	}
	n, err := game.Notation(t.Context(), game.Builtin{}, m, "Open chess", "https://arena.example/m/m_1", rounds)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`[Event "Open chess"]`, `[Site "https://arena.example/m/m_1"]`, `[Date "2026.01.02"]`, "[White \"Ada\"]\n[Black \"Bob\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n\n",
		"[Round \"2\"]\n[White \"Bob\"]\n[Black \"Ada\"]\n[Result \"*\"]\n\n1. d4 *\n\n",
	} {
		if !strings.Contains(n.Text, want) {
			t.Errorf("no %q in\n%s", want, n.Text)
		}
	}
	if n.Name != "pgn" || n.MediaType != "application/vnd.chess-pgn" {
		t.Errorf("notation %q, %q", n.Name, n.MediaType)
	}
	rounds[0].Moves[0].Move = ""
	if _, err := game.Notation(t.Context(), game.Builtin{}, m, "", "", rounds); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("erased moves: %v", err)
	}
	m.Settings.Game.Name = "connect_four"
	if _, err := game.Notation(t.Context(), game.Builtin{}, m, "", "", nil); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("a game without a notation: %v", err)
	}
}
