package arena_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

func TestTallyGames(t *testing.T) {
	t.Parallel()
	record := func(agent string, order arena.TurnOrder, end arena.GameEnd, cause arena.RoundResult, s arena.GameScore) arena.GameRecord {
		return arena.GameRecord{League: "fours", AgentID: agent, Order: order, End: end, Cause: cause, GameScore: s}
	}
	won := arena.GameScore{Games: 3, Wins: 3, Points: 3000}
	lost := arena.GameScore{Games: 3, Losses: 3}
	records := []arena.GameRecord{
		record("a", arena.MovedFirst, arena.GamePlayedOut, "", won), record("b", arena.MovedLater, arena.GamePlayedOut, "", lost),
		record("a", arena.MovedLater, arena.GamePlayedOut, "", lost), record("b", arena.MovedFirst, arena.GamePlayedOut, "", won),
		record("a", arena.MovedFirst, arena.GameForfeit, "", won), record("b", arena.MovedLater, arena.GameForfeit, arena.ResultIllegal, lost),
		record("a", arena.NoFirstMover, arena.GameForfeit, "", won), record("b", arena.NoFirstMover, arena.GameForfeit, "unavailable", lost),
		record("a", arena.MovedLater, arena.GameDefaultMoves, "timeout", won), record("b", arena.MovedFirst, arena.GameDefaultMoves, "token_limit", lost),
	}
	want := map[string]arena.GameTally{
		"a": {
			All: arena.GameScore{Games: 15, Wins: 12, Losses: 3, Points: 12_000}, PlayedOut: arena.GameScore{Games: 6, Wins: 3, Losses: 3, Points: 3000},
			DefaultMoves: 3, ForfeitsWon: 6, Timeouts: 3,
		},
		"b": {
			All: arena.GameScore{Games: 15, Wins: 3, Losses: 12, Points: 3000}, PlayedOut: arena.GameScore{Games: 6, Wins: 3, Losses: 3, Points: 3000},
			DefaultMoves: 3, ForfeitsLost: 6, Illegal: 3, NoShows: 3, Faults: 3,
		},
	}
	if d := cmp.Diff(want, arena.TallyGames(records)); d != "" {
		t.Error(d)
	}
	if m := arena.FirstMoverOf(records, true); m.First.Games != 6 || m.Others.Games != 6 || m.First.Won.Share != 1 || m.Others.Lost.Share != 1 {
		t.Errorf("played out: %+v", m)
	}
	if m := arena.FirstMoverOf(records, false); m.First.Games != 12 || m.First.Won.Share != 0.75 {
		t.Errorf("all: %+v", m)
	}
	if m := arena.FirstMoverOf(records[6:8], false); m != nil {
		t.Errorf("without a first mover: %+v", m)
	}
}

// The interval is that of Wilson, with the values of his paper's formula.
func TestFirstMoverOf_interval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wins, games int
		low, high   float64
	}{
		{0, 1, 0, 0.7935}, {1, 1, 0.2065, 1}, {8, 10, 0.4902, 0.9433}, {50, 100, 0.4038, 0.5962}, {560, 1000, 0.5291, 0.5905},
	} {
		m := arena.FirstMoverOf([]arena.GameRecord{{
			Order: arena.MovedFirst, GameScore: arena.GameScore{Games: tt.games, Wins: tt.wins, Losses: tt.games - tt.wins},
		}}, false)
		if s := m.First.Won; math.Abs(s.Low-tt.low) > 5e-5 || math.Abs(s.High-tt.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", tt.wins, tt.games, s.Low, s.High, tt.low, tt.high)
		}
	}
}

// Sums keep every count, have each kind of game once, and do not depend on the
// order of the records.
func TestSumGames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		records := rapid.SliceOf(rapid.Custom(func(r *rapid.T) arena.GameRecord {
			return arena.GameRecord{
				AgentID: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "agent"), Order: arena.TurnOrder(rapid.IntRange(0, 2).Draw(r, "order")),
				End:       rapid.SampledFrom([]arena.GameEnd{arena.GamePlayedOut, arena.GameForfeit}).Draw(r, "end"),
				GameScore: arena.GameScore{Games: 1, Wins: rapid.IntRange(0, 1).Draw(r, "wins"), Points: 500},
			}
		})).Draw(r, "records")
		sums := arena.SumGames(records)
		if d := cmp.Diff(arena.TallyGames(records), arena.TallyGames(sums)); d != "" {
			r.Fatal(d)
		}
		if d := cmp.Diff(sums, arena.SumGames(rapid.Permutation(records).Draw(r, "shuffled"))); d != "" {
			r.Fatal(d)
		}
		if d := cmp.Diff(sums, arena.SumGames(sums)); d != "" {
			r.Fatal(d)
		}
	})
}
