package game_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// A seat whose counted reply has no points is out, unless all of them missed.
func TestElimination(t *testing.T) {
	t.Parallel()
	limited := []game.Reply{{Seat: 1, Outcome: arena.OutcomeRateLimited}, {Seat: 2, Outcome: arena.OutcomeAnswered, Text: "4"}}
	for name, tt := range map[string]struct {
		replies []game.Reply
		want    []bool
	}{
		"missed":       {answered("4", "5", ""), []bool{false, true, true}},
		"all wrong":    {answered("3", "5", "6"), []bool{false, false, false}},
		"all missed":   {answered("3", "5", ""), []bool{false, false, true}},
		"all late":     {answered("", "", ""), []bool{false, false, false}},
		"rate limited": {append(answered("5"), limited...), []bool{true, false, false}},
		"left":         {append(answered("4"), game.Reply{Seat: 2, Outcome: arena.OutcomeUnavailable}), []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := position(arena.Settings{Format: arena.FormatElimination, Judge: arena.JudgeSpec{Kind: arena.JudgeNumber}})
			_, r := closed(t, p, tt.replies, nil)
			var out []bool
			for _, s := range r.Scores {
				out = append(out, s.Out)
			}
			if d := cmp.Diff(tt.want, out); d != "" {
				t.Error(d)
			}
			if r.Scores[0].Points != map[string]arena.Points{"4": arena.OnePoint}[tt.replies[0].Text] {
				t.Errorf("scores %+v", r.Scores)
			}
		})
	}
}

// A void round and a seat that is out already eliminate nobody.
func TestElimination_spares(t *testing.T) {
	t.Parallel()
	p := position(arena.Settings{Format: arena.FormatElimination, Judge: arena.JudgeSpec{Kind: arena.JudgeCode}})
	if _, r := closed(t, p, answered("4", "5", ""), nil); r.Scores[0].Out || r.Scores[2].Out {
		t.Errorf("void round: %+v", r.Scores)
	}
	p.Settings.Judge.Kind = arena.JudgeNumber
	p.Seats[2].State, p.Seats[2].OutRound, p.Round = arena.SeatOut, 1, 2
	if _, r := closed(t, p, answered("4", "5"), nil); r.Scores[0].Out || !r.Scores[1].Out {
		t.Errorf("second round: %+v", r.Scores)
	}
}
