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

// A void round and a seat that is already out eliminate no seat.
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

// suddenDeath returns the position of agents a, b and c in a round of an
// elimination with a cap of two rounds, after rounds with these replies.
func suddenDeath(t *testing.T, rounds ...[]game.Reply) game.Position {
	t.Helper()
	p := position(arena.Settings{
		Format: arena.FormatElimination, Judge: arena.JudgeSpec{Kind: arena.JudgeNumber}, MaxRounds: 2,
	})
	var err error
	if p.State, err = gameOf(t, p.Settings).Init(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for _, replies := range rounds {
		if over(t, p.Settings, p) {
			t.Fatalf("over before round %d", p.Round)
		}
		_, r := closed(t, p, replies, nil)
		for i, s := range r.Scores {
			if seat := &p.Seats[replies[i].Seat]; s.Out {
				seat.State, seat.OutRound = arena.SeatOut, p.Round
			}
		}
		p.State, p.Round = r.State, p.Round+1
	}
	return p
}

// Leaders that are equal at the cap play on until one leads alone, for five
// rounds at most.
func TestElimination_suddenDeath(t *testing.T) {
	t.Parallel()
	all, two := answered("4", "4", "4"), answered("4", "4")
	late := answered("4", "4", "")[:2]
	late = append(late, game.Reply{Seat: 2, Outcome: arena.OutcomeRateLimited})
	tied := [][]game.Reply{all, all, all, all, all, all}
	for name, tt := range map[string]struct {
		rounds [][]game.Reply
		out    []int // round in which each seat was out
		turn   int   // of the sudden death that follows, 0: the match is over
	}{
		"before the cap":          {[][]game.Reply{all}, []int{0, 0, 0}, 0},
		"three lead":              {[][]game.Reply{all, all}, []int{0, 0, 0}, 1},
		"one stands":              {[][]game.Reply{all, answered("4", "5", "5")}, []int{0, 2, 2}, 0},
		"one leads":               {[][]game.Reply{all, append(answered("4"), late[2])}, []int{0, 0, 0}, 0},
		"third is behind":         {[][]game.Reply{all, late}, []int{0, 0, 2}, 1},
		"one drops":               {[][]game.Reply{all, all, answered("4", "4", "5")}, []int{0, 0, 3}, 2},
		"one stays":               {[][]game.Reply{all, all, all, answered("5", "4", "5")}, []int{4, 0, 4}, 0},
		"all wrong":               {[][]game.Reply{all, all, answered("5", "5", "5")}, []int{0, 0, 0}, 2},
		"two after one who drops": {[][]game.Reply{all, late, two}, []int{0, 0, 2}, 2},
		"fifth round":             {tied, []int{0, 0, 0}, 5},
		"tie after the fifth":     {append(tied, all), []int{0, 0, 0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := suddenDeath(t, tt.rounds...)
			var out []int
			for _, s := range p.Seats {
				out = append(out, s.OutRound)
			}
			if d := cmp.Diff(tt.out, out); d != "" {
				t.Error(d)
			}
			turn, err := gameOf(t, p.Settings).Turn(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			var want arena.Turn
			if tt.turn > 0 {
				want.SuddenDeath = &arena.SuddenDeathTurn{Turn: tt.turn, Turns: 5}
			}
			ends := tt.turn == 0 && name != "before the cap"
			if got := over(t, p.Settings, p); got != ends {
				t.Errorf("over: %v", got)
			}
			if d := cmp.Diff(want, turn); !ends && d != "" {
				t.Error(d)
			}
		})
	}
}

// A match with a number of rounds ends with its last round.
func TestElimination_fixedRounds(t *testing.T) {
	t.Parallel()
	s := arena.Settings{Format: arena.FormatElimination, Judge: arena.JudgeSpec{Kind: arena.JudgeNumber}, Rounds: 2}
	p := position(s)
	if state, err := gameOf(t, s).Init(t.Context(), p); state != nil || err != nil {
		t.Errorf("state %s, %v", state, err)
	}
	p.Round = 3
	if !over(t, s, p) {
		t.Error("not over")
	}
}
