package scoring_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

var rated = arena.Settings{Format: arena.FormatLadder, Rated: true, ScoreMode: arena.ScoreMatch}

// table is a match under construction: one letter of rounds per round and
// seat: 1 right, 0 wrong, x an illegal move, X one with a point, t timeout, r rate limited, v void, - not asked.
type table struct {
	seats   []arena.Seat
	answers []arena.Answer
	ratings map[string]arena.Rating
}

func match(rounds ...string) *table {
	m := &table{ratings: map[string]arena.Rating{}}
	for i, line := range rounds {
		id := string(rune('a' + i))
		seat := arena.Seat{No: i, AgentID: id, OwnerID: "owner of " + id, State: arena.SeatActive}
		for round, letter := range line {
			a := arena.Answer{AgentID: id, Round: round + 1}
			switch letter {
			case '1':
				a.Outcome, a.Points = arena.OutcomeAnswered, arena.OnePoint
			case 'h':
				a.Outcome, a.Points = arena.OutcomeAnswered, arena.OnePoint/2
			case '0':
				a.Outcome = arena.OutcomeAnswered
			case 'x':
				a.Outcome, a.Reason = arena.OutcomeAnswered, arena.ReasonIllegalMove
			case 'X': // a default move that wins
				a.Outcome, a.Reason, a.Points = arena.OutcomeAnswered, arena.ReasonIllegalMove, arena.OnePoint
			case 't':
				a.Outcome = arena.OutcomeTimeout
			case 'r':
				a.Outcome = arena.OutcomeRateLimited
			case 'v':
				a.Outcome = arena.OutcomeVoid
			case '-':
				continue
			}
			seat = seat.Closed(a.Round, a.Outcome)
			seat.Points += a.Points
			m.answers = append(m.answers, a)
		}
		m.seats = append(m.seats, seat)
	}
	return m
}

// settled returns an agent a rating past its provisional matches.
func (m *table) settled(id string, rating, peak arena.MilliElo) *table {
	m.ratings[id] = arena.Rating{AgentID: id, MilliElo: rating, Peak: peak, Matches: 30}
	return m
}

func (m *table) out(id string, round int) *table {
	for i := range m.seats {
		if m.seats[i].AgentID == id {
			m.seats[i].State, m.seats[i].OutRound = arena.SeatOut, round
		}
	}
	return m
}

// beforeLostRounds makes it a match that ended before seats counted lost rounds.
func (m *table) beforeLostRounds() *table {
	for i := range m.seats {
		m.seats[i].LostRounds, m.seats[i].SkippedRounds = 0, 0
	}
	return m
}

func (m *table) left(id string) *table {
	for i := range m.seats {
		if m.seats[i].AgentID == id {
			m.seats[i].State = arena.SeatLeft
		}
	}
	return m
}

func (m *table) owners(owner string, ids ...string) *table {
	for i := range m.seats {
		if slices.Contains(ids, m.seats[i].AgentID) {
			m.seats[i].OwnerID = owner
		}
	}
	return m
}

// TestRate compares with numbers computed by hand from the formula.
func TestRate(t *testing.T) {
	t.Parallel()
	rounds := rated
	rounds.ScoreMode = arena.ScoreRounds
	knockout := rated
	knockout.Format = arena.FormatElimination
	fresh := arena.Rating{MilliElo: arena.StartRating, Peak: 2_500_000, Matches: 100, NewVersion: 3}

	type deltas map[string]arena.MilliElo
	tests := []struct {
		name     string
		settings arena.Settings
		match    *table
		want     deltas
	}{
		{"newcomers: 40 * 0.5", rated, match("111", "100"), deltas{"a": 20_000, "b": -20_000}},
		{"newcomers draw", rated, match("10", "01"), deltas{"a": 0, "b": 0}},
		{
			"1600 beats 1500, K 20: 20 * 0.359935", rated,
			match("1", "0").settled("a", 1_600_000, 0).settled("b", 1_500_000, 0),
			deltas{"a": 7_199, "b": -7_199},
		},
		{
			"1500 beats 1600, K 20: 20 * 0.640065", rated,
			match("0", "1").settled("a", 1_600_000, 0).settled("b", 1_500_000, 0),
			deltas{"a": -12_801, "b": 12_801},
		},
		{
			"1600 with K 20 beats a newcomer with K 40", rated,
			match("1", "0").settled("a", 1_600_000, 0),
			deltas{"a": 7_199, "b": -14_397},
		},
		{
			"400 apart, draw: 20 * (1/2 - 1/11)", rated,
			match("0", "0").settled("a", 1_900_000, 0).settled("b", 1_500_000, 0),
			deltas{"a": -8_182, "b": 8_182},
		},
		{
			"a peak of 2400 once: K 10", rated,
			match("1", "0").settled("a", 1_500_000, 2_400_000).settled("b", 1_500_000, 2_399_999),
			deltas{"a": 5_000, "b": -10_000},
		},
		{
			"no 400-point rule: 1000 apart, 20 * 1/(1+10^2.5)", rated,
			match("1", "0").settled("a", 2_500_000, 0).settled("b", 1_500_000, 0),
			deltas{"a": 63, "b": -63},
		},
		{
			"a new version has K 40", rated,
			func() *table { m := match("1", "0"); m.ratings["a"] = fresh; return m }(),
			deltas{"a": 20_000, "b": -20_000},
		},
		{
			"three seats share K", rated, match("111", "110", "100"),
			deltas{"a": 20_000, "b": 0, "c": -20_000},
		},
		{
			"three seats, two equal: 40 * 0.5 / 2 per pair won", rated, match("1", "0", "0"),
			deltas{"a": 20_000, "b": -10_000, "c": -10_000},
		},
		{
			"the floor", rated,
			match("0", "1").settled("a", 100_004, 0).settled("b", 100_000, 0),
			deltas{"a": -4, "b": 10_000},
		},
		{"a wrong answer beats a timeout", rated, match("t", "0"), deltas{"a": -20_000, "b": 20_000}},
		{"points before lost rounds", rated, match("1t", "00"), deltas{"a": 20_000, "b": -20_000}},
		{"equal points: fewer lost rounds", rated, match("1tt", "t10"), deltas{"a": -20_000, "b": 20_000}},
		{"equal points, equal lost rounds", rated, match("1t", "t1"), deltas{"a": 0, "b": 0}},
		{"lost rounds that did not count for the other", rated, match("t0", "r0"), deltas{"a": 0, "b": 0}},
		{
			"three seats: wrong before late", rated, match("1", "0", "t"),
			deltas{"a": 20_000, "b": 0, "c": -20_000},
		},
		{"a match of the rules before", rated, match("t", "0").beforeLostRounds(), deltas{"a": 0, "b": 0}},
		{"rounds as games, of the rules before", rounds, match("t", "0").beforeLostRounds(), deltas{"a": 0, "b": 0}},
		{"rounds as games: any answer beats a timeout", rounds, match("t1", "00"), deltas{"a": 0, "b": 0}},
		{"rounds as games: both late", rounds, match("t1", "t0"), deltas{"a": 10_000, "b": -10_000}},
		{
			"elimination: places with lost rounds", knockout,
			match("10", "1t", "11").out("a", 2).out("b", 2),
			deltas{"a": 0, "b": -20_000, "c": 20_000},
		},
		{
			"elimination: out by sitting out", knockout, match("rr-", "111").out("a", 2),
			deltas{"a": -20_000, "b": 20_000},
		},
		{"the seat that did answer takes it", rated, match("t", "1"), deltas{"a": -20_000, "b": 20_000}},
		{"nobody answered", rated, match("tt", "tt"), nil},
		{"who left is not rated", rated, match("111", "000", "111").left("c"), deltas{"a": 20_000, "b": -20_000}},
		{"a duel that one left", rated, match("11", "1").left("b"), nil},
		{
			// a's two rounds stand against b's in the same rounds: 1 to 2.
			"points over common rounds only", rated, match("r101", "1111"),
			deltas{"a": -20_000, "b": 20_000},
		},
		{"fewer than half of the rounds", rated, match("1rrrr", "00000"), nil},
		{"two of five", rated, match("11rrr", "00000"), nil},
		{"exactly half, rounded up", rated, match("111rr", "00000"), deltas{"a": 20_000, "b": -20_000}},
		{"void rounds were not played", rated, match("1vvvv", "0vvvv"), deltas{"a": 20_000, "b": -20_000}},
		{
			"no common round: the pair is dropped, the divisor stays", rated,
			match("11rr", "rr00", "0000"),
			deltas{"a": 10_000, "b": 0, "c": -10_000},
		},
		{
			"pairs of one owner are dropped", rated,
			match("1", "0", "0").owners("o", "a", "b"),
			deltas{"a": 10_000, "b": 0, "c": -10_000},
		},
		{"owners not known", rated, match("1", "0").owners("", "a", "b"), deltas{"a": 20_000, "b": -20_000}},
		{"a duel of one owner", rated, match("1", "0").owners("o", "a", "b"), nil},
		{
			"an agent that met no other is not rated", rated,
			match("11rr", "00rr", "rr11"),
			deltas{"a": 20_000 / 2, "b": -20_000 / 2},
		},
		{"rounds as games: 3 to 1 is 3/4", rounds, match("1110", "0001"), deltas{"a": 10_000, "b": -10_000}},
		{"rounds as games: drawn rounds", rounds, match("11", "01"), deltas{"a": 10_000, "b": -10_000}},
		{"rounds as games: the size of a win is nothing", rounds, match("1h", "01"), deltas{"a": 0, "b": 0}},
		{
			"elimination compares places", knockout,
			match("1110", "0---", "1111").out("a", 4).out("b", 1),
			deltas{"a": 0, "b": -20_000, "c": 20_000},
		},
		{
			"elimination: an early exit is rated although it played one round", knockout,
			match("0---------", "1111111111").out("a", 1),
			deltas{"a": -20_000, "b": 20_000},
		},
		{
			"elimination: rate limited at first, out at the end", knockout,
			match("rrr0", "1111").out("a", 4), nil,
		},
		{"not a rated match", arena.Settings{}, match("1", "0"), nil},
		{"nobody", rated, match(), nil},
		{"one seat", rated, match("1"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got deltas
			for _, c := range scoring.Rate(tt.settings, tt.match.seats, tt.match.answers, tt.match.ratings) {
				if got == nil {
					got = deltas{}
				}
				got[c.AgentID] = c.Delta
				if c.After-c.Before != c.Delta {
					t.Errorf("%s: %d to %d is not %d", c.AgentID, c.Before, c.After, c.Delta)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestRate_change pins the whole record of a settlement.
func TestRate_change(t *testing.T) {
	t.Parallel()
	m := match("11", "10", "10").settled("a", 1_600_000, 0)
	want := []arena.RatingChange{
		{AgentID: "a", Before: 1_600_000, After: 1_607_198, Delta: 7_198, K: 20, Score: 1000, Matches: 31},
		{AgentID: "b", Before: 1_500_000, After: 1_492_801, Delta: -7_199, K: 40, Score: 250, Matches: 1},
		{AgentID: "c", Before: 1_500_000, After: 1_492_801, Delta: -7_199, K: 40, Score: 250, Matches: 1},
	}
	if d := cmp.Diff(want, scoring.Rate(rated, m.seats, m.answers, m.ratings)); d != "" {
		t.Error(d)
	}
}

// TestRate_roundsHalfAway meets the only exact halves of the formula: equal
// ratings, and a divisor that leaves one. 40,000 * 0.5 / 64 = 312.5.
func TestRate_roundsHalfAway(t *testing.T) {
	t.Parallel()
	const n = 65
	m := match(slices.Repeat([]string{"0"}, n)...)
	m.answers[0].Points, m.seats[0].Points = arena.OnePoint, arena.OnePoint
	for i, c := range scoring.Rate(rated, m.seats, m.answers, nil) {
		want := arena.MilliElo(-313)
		if i == 0 {
			want = 313 * (n - 1)
		}
		if c.Delta != want {
			t.Fatalf("seat %d: %d, want %d", i, c.Delta, want)
		}
	}
}

// drawMatch makes any match of n seats.
func drawMatch(t *rapid.T) (arena.Settings, *table) {
	n := rapid.IntRange(2, 12).Draw(t, "seats")
	rounds := rapid.IntRange(1, 6).Draw(t, "rounds")
	lines := make([]string, n)
	for i := range lines {
		for range rounds {
			lines[i] += string(rapid.SampledFrom([]byte("11000htrv")).Draw(t, "answer"))
		}
	}
	m := match(lines...)
	for i := range m.seats {
		id := m.seats[i].AgentID
		m.ratings[id] = arena.Rating{
			AgentID:  id,
			MilliElo: arena.MilliElo(rapid.IntRange(600_000, 3_000_000).Draw(t, "rating")),
			Peak:     arena.MilliElo(rapid.SampledFrom([]int{1_500_000, 2_400_000}).Draw(t, "peak")),
			Matches:  rapid.SampledFrom([]int{0, 29, 30, 500}).Draw(t, "matches"),
		}
		m.seats[i].OwnerID = rapid.SampledFrom([]string{"", "o1", "o2", "p" + id}).Draw(t, "owner")
		switch rapid.IntRange(0, 9).Draw(t, "state") {
		case 0:
			m.seats[i].State = arena.SeatLeft
		case 1:
			m.out(id, rapid.IntRange(1, rounds).Draw(t, "out"))
		}
	}
	settings := rated
	settings.Format = rapid.SampledFrom([]arena.Format{arena.FormatLadder, arena.FormatElimination}).Draw(t, "format")
	settings.ScoreMode = rapid.SampledFrom([]string{arena.ScoreMatch, arena.ScoreRounds}).Draw(t, "mode")
	return settings, m
}

func TestRate_equalKConserves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		settings, m := drawMatch(t)
		matches := rapid.SampledFrom([]int{0, 30}).Draw(t, "all matches")
		for id, r := range m.ratings {
			r.Matches, r.Peak = matches, arena.StartRating
			m.ratings[id] = r
		}
		var sum arena.MilliElo
		for _, c := range scoring.Rate(settings, m.seats, m.answers, m.ratings) {
			sum += c.Delta
		}
		if sum != 0 {
			t.Fatalf("the sum of all ratings moved by %d", sum)
		}
	})
}

func TestRate_seatOrderDecidesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		settings, m := drawMatch(t)
		deltas := func(seats []arena.Seat, answers []arena.Answer) map[string]arena.MilliElo {
			d := map[string]arena.MilliElo{}
			for _, c := range scoring.Rate(settings, seats, answers, m.ratings) {
				d[c.AgentID] = c.Delta
			}
			return d
		}
		a := deltas(m.seats, m.answers)
		b := deltas(rapid.Permutation(m.seats).Draw(t, "seats"), rapid.Permutation(m.answers).Draw(t, "answers"))
		if d := cmp.Diff(a, b); d != "" {
			t.Fatal(d)
		}
	})
}

func TestRate_bounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		settings, m := drawMatch(t)
		for id, r := range m.ratings {
			r.MilliElo = arena.MilliElo(rapid.IntRange(100_000, 4_000_000).Draw(t, "any rating"))
			m.ratings[id] = r
		}
		for _, c := range scoring.Rate(settings, m.seats, m.answers, m.ratings) {
			if limit := arena.MilliElo(1000*c.K + len(m.seats)); c.Delta > limit || c.Delta < -limit {
				t.Fatalf("%s moved by %d with K %d", c.AgentID, c.Delta, c.K)
			}
			if c.After < arena.FloorRating {
				t.Fatalf("%s fell to %d", c.AgentID, c.After)
			}
			if c.Score < 0 || c.Score > 1000 {
				t.Fatalf("score %d", c.Score)
			}
		}
	})
}

// TestRate_againstTheTextbook recomputes duels with math.Pow: the own series
// must round to the same milli-Elo, a hair's breadth from a half aside.
func TestRate_againstTheTextbook(t *testing.T) {
	t.Parallel()
	for gap := arena.MilliElo(-1_300_000); gap <= 1_300_000; gap += 137 {
		m := match("1", "0").settled("a", 2_000_000+gap, 0).settled("b", 2_000_000, 0)
		exact := 20_000 * (1 - 1/(1+math.Pow(10, float64(-gap)/400_000)))
		if math.Abs(exact-math.Trunc(exact)-0.5) < 1e-7 {
			continue // on a half
		}
		got := scoring.Rate(rated, m.seats, m.answers, m.ratings)[0].Delta
		if want := arena.MilliElo(math.Round(exact)); got != want {
			t.Fatalf("%d above: %d, want %d", gap, got, want)
		}
	}
}

func ExampleRate() {
	seats := []arena.Seat{
		{AgentID: "ag_steady", OwnerID: "ow_1", State: arena.SeatActive},
		{AgentID: "ag_sloppy", OwnerID: "ow_2", State: arena.SeatActive},
	}
	answers := []arena.Answer{
		{AgentID: "ag_steady", Round: 1, Outcome: arena.OutcomeAnswered, Points: arena.OnePoint},
		{AgentID: "ag_sloppy", Round: 1, Outcome: arena.OutcomeTimeout},
	}
	ratings := map[string]arena.Rating{
		"ag_steady": {MilliElo: 1_600_000, Matches: 45, Peak: 1_640_000},
		"ag_sloppy": {MilliElo: 1_500_000, Matches: 61, Peak: 1_700_000},
	}
	for _, c := range scoring.Rate(arena.Settings{Rated: true}, seats, answers, ratings) {
		before, _ := c.Before.MarshalJSON()
		delta, _ := c.Delta.MarshalJSON()
		fmt.Printf("%s K=%d %s %s\n", c.AgentID, c.K, before, delta)
	}
	// Output:
	// ag_steady K=20 1600.000 7.199
	// ag_sloppy K=20 1500.000 -7.199
}

func ExampleJudge() {
	task := arena.Task{
		Description: "What is the capital of Australia?",
		Options:     []string{"Sydney", "Canberra", "Melbourne", "Perth"},
		Answers:     []string{"Canberra"},
	}
	for _, answer := range []string{"canberra.", "B", "(b) Canberra", "Sydney or Canberra"} {
		points, _ := scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeChoice}, task, answer).MarshalJSON()
		fmt.Printf("%-20s %s\n", answer, points)
	}
	// Output:
	// canberra.            1
	// B                    1
	// (b) Canberra         1
	// Sydney or Canberra   0
}

func ExamplePlaceSeats() {
	seats := []arena.Seat{
		{Name: "chatty", Points: 4000, State: arena.SeatOut, OutRound: 5},
		{Name: "steady", Points: 9000, State: arena.SeatActive},
		{Name: "sleeper", Points: 3000, State: arena.SeatLeft},
		{Name: "sharp", Points: 6000, State: arena.SeatOut, OutRound: 7},
	}
	for _, s := range scoring.PlaceSeats(arena.Settings{Format: arena.FormatElimination}, seats) {
		fmt.Println(s.Place, s.Name)
	}
	// Output:
	// 3 chatty
	// 1 steady
	// 4 sleeper
	// 2 sharp
}

func BenchmarkRate128(b *testing.B) {
	lines := make([]string, 128)
	for i := range lines {
		lines[i] = fmt.Sprintf("%050b", i*2654435761)
	}
	m := match(lines...)
	for i := range m.seats {
		m.seats[i].AgentID = fmt.Sprint(i)
	}
	for i := range m.answers {
		m.answers[i].AgentID = fmt.Sprint(i / 50)
	}
	for b.Loop() {
		if len(scoring.Rate(rated, m.seats, m.answers, nil)) != 128 {
			b.Fatal("not all agents were rated")
		}
	}
}

// The values that docs/rules/ratings.md states, and the pages' own test.
func TestSpread(t *testing.T) {
	t.Parallel()
	for matches, want := range map[int]float64{0: 392, 1: 372, 10: 238, 30: 133, 100: 83, 300: 82, 100_000: 82} {
		if got := math.Round(scoring.Spread(matches)); got != want {
			t.Errorf("after %d matches: %v, want %v", matches, got, want)
		}
	}
}
