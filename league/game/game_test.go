package game_test

import (
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// gameOf returns the game of a match that asks questions.
func gameOf(t testing.TB, s arena.Settings) game.Game {
	t.Helper()
	g, err := game.For(t.Context(), nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// over reports whether a match ends in a position.
func over(t *testing.T, s arena.Settings, p game.Position) bool {
	t.Helper()
	end, err := gameOf(t, s).Over(p)
	if err != nil || end.Void != "" {
		t.Fatalf("%+v, %v", end, err)
	}
	return end.Over
}
