package scoring_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// In a game the seats act in different rounds, and only final points count.
func TestRate_result(t *testing.T) {
	t.Parallel()
	settings := arena.Settings{Format: arena.FormatLadder, Rated: true, ScoreMode: arena.ScoreResult}
	for name, tt := range map[string]struct {
		rounds []string
		left   int // seat, −1: none
		want   []arena.MilliElo
	}{
		"a win":                  {[]string{"0-0-1", "-0-0-"}, -1, []arena.MilliElo{20_000, -20_000}},
		"a draw after a timeout": {[]string{"h-t", "-h-"}, -1, []arena.MilliElo{0, 0}},
		"lost before a move":     {[]string{"1", "-"}, -1, []arena.MilliElo{20_000, -20_000}},
		"a seat left":            {[]string{"1-", "-0"}, 1, nil},
		"nobody answered":        {[]string{"t-", "-t"}, -1, nil},
		// An agent without a legal move wins nothing by its default moves.
		"a win by default moves":           {[]string{"x-X", "-0-"}, -1, []arena.MilliElo{-20_000, 20_000}},
		"a draw by default moves":          {[]string{"x-t", "-0-"}, -1, []arena.MilliElo{-20_000, 20_000}},
		"one legal move":                   {[]string{"0-X", "-0-"}, -1, []arena.MilliElo{20_000, -20_000}},
		"too many tokens":                  {[]string{"1", "0"}, -1, []arena.MilliElo{-20_000, 20_000}},
		"nobody has a legal move":          {[]string{"x-X", "-x-"}, -1, nil},
		"one of three without legal moves": {[]string{"X", "0", "x"}, -1, []arena.MilliElo{-10_000, 20_000, -10_000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := match(tt.rounds...)
			if tt.left >= 0 {
				m.seats[tt.left].State = arena.SeatLeft
			}
			settings := settings
			if name == "too many tokens" {
				settings.MaxTokensPolicy, m.answers[0].OverTokens = arena.ZeroPointsTokens, true
			}
			var got []arena.MilliElo
			for _, c := range scoring.Rate(settings, m.seats, m.answers, m.ratings) {
				got = append(got, c.Delta)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if places := scoring.PlaceSeats(settings, m.seats); name == "a draw after a timeout" && places[0].Place != 1 {
				t.Errorf("places %+v", places)
			}
		})
	}
}
