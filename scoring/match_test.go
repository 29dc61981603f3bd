package scoring_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func TestPlaceSeats(t *testing.T) {
	t.Parallel()
	type seats = []arena.Seat
	tests := []struct {
		name   string
		format arena.Format
		seats  seats
		want   []int
	}{
		{"duel", arena.FormatLadder, seats{{Points: 1000}, {Points: 3000}}, []int{2, 1}},
		{"draw", arena.FormatLadder, seats{{Points: 2000}, {Points: 2000}}, []int{1, 1}},
		{"table with a tie", arena.FormatRoundRobin, seats{{Points: 5}, {Points: 7}, {Points: 5}, {Points: 1}}, []int{2, 1, 2, 4}},
		{
			"who left is last", arena.FormatLadder,
			seats{{Points: 9, State: arena.SeatLeft}, {Points: 0}, {Points: 3, State: arena.SeatLeft}},
			[]int{2, 1, 2},
		},
		{
			"elimination: round before points", arena.FormatElimination,
			seats{
				{Points: 9, State: arena.SeatOut, OutRound: 2},
				{Points: 1, State: arena.SeatActive},
				{Points: 3, State: arena.SeatOut, OutRound: 3},
				{Points: 2, State: arena.SeatOut, OutRound: 3},
				{Points: 2, State: arena.SeatOut, OutRound: 3},
				{Points: 8, State: arena.SeatLeft, OutRound: 9},
			},
			[]int{5, 1, 2, 3, 3, 6},
		},
		{
			"elimination: survivors by points", arena.FormatElimination,
			seats{{Points: 2, State: arena.SeatActive}, {Points: 3, State: arena.SeatActive}},
			[]int{2, 1},
		},
		{
			"duel: fewer lost rounds break the tie", arena.FormatLadder,
			seats{{Points: 2000, LostRounds: 2}, {Points: 2000, LostRounds: 1}},
			[]int{2, 1},
		},
		{
			"duel: points before lost rounds", arena.FormatLadder,
			seats{{Points: 2001, LostRounds: 2}, {Points: 2000}},
			[]int{1, 2},
		},
		{
			"elimination: round and points before lost rounds", arena.FormatElimination,
			seats{
				{Points: 1, State: arena.SeatOut, OutRound: 2, LostRounds: 1},
				{Points: 1, State: arena.SeatOut, OutRound: 2},
				{Points: 2, State: arena.SeatOut, OutRound: 2, LostRounds: 1},
				{State: arena.SeatActive, LostRounds: 3},
			},
			[]int{4, 3, 2, 1},
		},
		{"nobody", arena.FormatLadder, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []int
			for _, s := range scoring.PlaceSeats(arena.Settings{Format: tt.format}, tt.seats) {
				got = append(got, s.Place)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			for _, s := range tt.seats {
				if s.Place != 0 {
					t.Error("the input was changed")
				}
			}
		})
	}
}

func TestEliminate(t *testing.T) {
	t.Parallel()
	right := arena.Answer{Outcome: arena.OutcomeAnswered, Points: arena.OnePoint}
	part := arena.Answer{Outcome: arena.OutcomeAnswered, Points: 1}
	wrong := arena.Answer{Outcome: arena.OutcomeAnswered}
	late := arena.Answer{Outcome: arena.OutcomeTimeout}
	limited := arena.Answer{Outcome: arena.OutcomeRateLimited}
	void := arena.Answer{Outcome: arena.OutcomeVoid}
	broken := arena.Answer{Outcome: arena.OutcomeError}
	tests := []struct {
		name    string
		answers map[string]arena.Answer
		out     []string
	}{
		{"those who missed drop", map[string]arena.Answer{"a": right, "b": wrong, "c": late}, []string{"b", "c"}},
		{"a part of a point stays", map[string]arena.Answer{"a": right, "b": part, "c": wrong}, []string{"c"}},
		{"all right", map[string]arena.Answer{"a": right, "b": right, "c": right}, nil},
		{"all answered wrong", map[string]arena.Answer{"a": wrong, "b": wrong, "c": wrong}, nil},
		{"all missed, one late", map[string]arena.Answer{"a": wrong, "b": late, "c": wrong}, []string{"b"}},
		{"all missed, one answered", map[string]arena.Answer{"a": late, "b": late, "c": wrong}, []string{"a", "b"}},
		{"all late", map[string]arena.Answer{"a": late, "b": late, "c": late}, nil},
		{"an error is no timeout", map[string]arena.Answer{"a": late, "b": broken, "c": late}, []string{"a", "c"}},
		{"uncounted are spared", map[string]arena.Answer{"a": right, "b": limited, "c": void}, nil},
		{"all counted missed", map[string]arena.Answer{"a": wrong, "b": limited, "c": void}, nil},
		{"no answer stored is spared", map[string]arena.Answer{"a": right}, nil},
		{"no answers", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			seats := []arena.Seat{
				{AgentID: "a", State: arena.SeatActive},
				{AgentID: "b", State: arena.SeatActive},
				{AgentID: "c", State: arena.SeatActive},
				{AgentID: "d", State: arena.SeatOut, OutRound: 1},
				{AgentID: "e", State: arena.SeatLeft, OutRound: 2},
			}
			before := append([]arena.Seat(nil), seats...)
			var out []string
			for i, s := range scoring.Eliminate(seats, 4, tt.answers) {
				switch {
				case i >= 3:
					if d := cmp.Diff(before[i], s); d != "" {
						t.Errorf("a seat that was out before changed: %s", d)
					}
				case s.State == arena.SeatOut && s.OutRound == 4:
					out = append(out, s.AgentID)
				case s.State != arena.SeatActive || s.OutRound != 0:
					t.Errorf("seat %s: state %s, out round %d", s.AgentID, s.State, s.OutRound)
				}
			}
			if d := cmp.Diff(tt.out, out); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(before, seats); d != "" {
				t.Errorf("the input was changed: %s", d)
			}
		})
	}
}

// Threat G3: sitting out never wins.
func TestEliminate_skipped(t *testing.T) {
	t.Parallel()
	right := arena.Answer{Outcome: arena.OutcomeAnswered, Points: arena.OnePoint}
	wrong := arena.Answer{Outcome: arena.OutcomeAnswered}
	late := arena.Answer{Outcome: arena.OutcomeTimeout}
	limited := arena.Answer{Outcome: arena.OutcomeRateLimited}
	tests := []struct {
		name    string
		skipped int // rounds that b skipped, this one included
		answers map[string]arena.Answer
		out     []string
	}{
		{"the grace round", 1, map[string]arena.Answer{"a": right, "b": limited}, nil},
		{"the second is a miss", 2, map[string]arena.Answer{"a": right, "b": limited}, []string{"b"}},
		{"a wrong answer stays before it", 2, map[string]arena.Answer{"a": wrong, "b": limited}, []string{"b"}},
		{"none answered", 2, map[string]arena.Answer{"a": late, "b": limited}, nil},
		{"it spares no timeout", 1, map[string]arena.Answer{"a": late, "b": limited}, nil},
		{"a void round is no miss", 2, map[string]arena.Answer{"a": right, "b": {Outcome: arena.OutcomeVoid}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			seats := []arena.Seat{
				{AgentID: "a", State: arena.SeatActive, Points: arena.OnePoint},
				{AgentID: "b", State: arena.SeatActive, Points: 10 * arena.OnePoint, SkippedRounds: tt.skipped},
			}
			var out []string
			for _, s := range scoring.Eliminate(seats, 3, tt.answers) {
				if s.State == arena.SeatOut && s.OutRound == 3 {
					out = append(out, s.AgentID)
				}
			}
			if d := cmp.Diff(tt.out, out); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEliminate_neverDropsAll plays random rounds to the end.
func TestEliminate_neverDropsAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seats := make([]arena.Seat, rapid.IntRange(1, 10).Draw(t, "seats"))
		for i := range seats {
			seats[i] = arena.Seat{AgentID: string(rune('a' + i)), State: arena.SeatActive}
		}
		outcomes := []arena.Outcome{
			arena.OutcomeAnswered, arena.OutcomeTimeout, arena.OutcomeRateLimited, arena.OutcomeVoid, arena.OutcomeInvalid,
		}
		for round := 1; round <= 5; round++ {
			answers := map[string]arena.Answer{}
			for _, s := range seats {
				answers[s.AgentID] = arena.Answer{
					Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"),
					Points:  arena.Points(rapid.IntRange(0, 1).Draw(t, "points")),
				}
			}
			for i, s := range seats {
				if s.State == arena.SeatActive {
					seats[i] = s.Closed(round, answers[s.AgentID].Outcome)
				}
			}
			seats = scoring.Eliminate(seats, round, answers)
			active := 0
			for _, s := range seats {
				if s.State == arena.SeatActive {
					active++
				}
			}
			if active == 0 {
				t.Fatal("all agents dropped")
			}
		}
	})
}

func TestOver(t *testing.T) {
	t.Parallel()
	seats := func(states ...arena.SeatState) (s []arena.Seat) {
		for _, state := range states {
			s = append(s, arena.Seat{State: state})
		}
		return s
	}
	two := seats(arena.SeatActive, arena.SeatActive)
	tests := []struct {
		name     string
		settings arena.Settings
		seats    []arena.Seat
		round    int
		want     bool
	}{
		{"before the first round", arena.Settings{Rounds: 3}, two, 0, false},
		{"in the middle", arena.Settings{Rounds: 3}, two, 2, false},
		{"last round", arena.Settings{Rounds: 3}, two, 3, true},
		{"fixed rounds ignore the cap", arena.Settings{Rounds: 3, MaxRounds: 1}, two, 2, false},
		{"open end continues", arena.Settings{MaxRounds: 50}, two, 49, false},
		{"open end's cap", arena.Settings{MaxRounds: 50}, two, 50, true},
		{"open end without a cap still plays once", arena.Settings{}, two, 0, false},
		{"open end without a cap ends", arena.Settings{}, two, 1, true},
		{"one left standing", arena.Settings{MaxRounds: 50}, seats(arena.SeatActive, arena.SeatOut, arena.SeatLeft), 3, true},
		{"the other left", arena.Settings{Rounds: 5}, seats(arena.SeatActive, arena.SeatLeft), 1, true},
		{"two of three", arena.Settings{Rounds: 5}, seats(arena.SeatActive, arena.SeatOut, arena.SeatActive), 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := scoring.Over(tt.settings, tt.seats, tt.round); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
