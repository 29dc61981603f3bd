package game_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

func TestCommonGames(t *testing.T) {
	t.Parallel()
	whole := []game.CommonGame{{A: 1500, B: 500, Place: -1}}
	for name, tt := range map[string]struct {
		series string // "": erased
		seats  int
		want   []game.CommonGame
	}{
		// A sits second: it is player 1 in the first game.
		"two games": {`{"game":2,"games":2,"earlier":[{"you":1,"points":[0,1]}]}`, 2, []game.CommonGame{{A: 1000, B: 0, Place: 1}, {A: 500, B: 500, Place: 0}}},
		"three seats": {
			`{"game":3,"games":3,"earlier":[{"points":[0,1,0.5]},{"points":[1,0,0]}]}`, 3,
			[]game.CommonGame{{A: 1000, B: 0, Place: -1}, {A: 0, B: 0, Place: -1}, {A: 500, B: 500, Place: -1}},
		},
		"games without a turn":        {`{"game":2,"games":4,"earlier":[{"points":[0,1]}]}`, 2, whole},
		"more than a game has":        {`{"game":1,"games":1,"earlier":[]}`, 2, whole},
		"another number of players":   {`{"game":2,"games":2,"earlier":[{"points":[0,1,0]}]}`, 2, whole},
		"erased":                      {``, 2, whole},
		"before games were described": {`{}`, 2, whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := arena.CommonSeries{Seats: tt.seats, A: arena.CommonSeat{No: 1, Points: 1500}, B: arena.CommonSeat{Points: 500}}
			if tt.series != "" {
				if err := json.Unmarshal([]byte(tt.series), &m.Series); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(tt.want, game.CommonGames(m)); d != "" {
				t.Error(d)
			}
		})
	}
}

// common returns the games of the first two seats of a series that is over, as its last
// turn and the points of the match tell them.
func (tb *table) common() []game.CommonGame {
	tb.t.Helper()
	var last struct{ Series arena.SeriesBrief }
	tb.ok(json.Unmarshal(tb.turn.Prompts[0].Observation, &last))
	return game.CommonGames(arena.CommonSeries{
		Seats: len(tb.m.Seats), Series: last.Series,
		A: arena.CommonSeat{No: 0, Points: tb.m.Seats[0].Points}, B: arena.CommonSeat{No: 1, Points: tb.m.Seats[1].Points},
	})
}
