package scoring_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// TestGlicko_paper is the example of Glickman's paper.
func TestGlicko_paper(t *testing.T) {
	t.Parallel()
	l := scoring.GlickoStart([]scoring.GlickoRating{
		{Rating: 1_500_000, Deviation: 200_000},
		{Rating: 1_400_000, Deviation: 30_000},
		{Rating: 1_550_000, Deviation: 100_000},
		{Rating: 1_700_000, Deviation: 300_000},
	})
	l.Play(0, 1, 1)
	l.Play(0, 2, 0)
	l.Play(3, 0, 1)
	got := l.Finish()[0]
	near := func(what string, got, want, within float64) {
		if math.Abs(got-want) > within {
			t.Errorf("%s is %f, want %f", what, got, want)
		}
	}
	near("rating", float64(got.Rating)/1000, 1464.06, 0.02) // the paper rounds on its way
	near("deviation", float64(got.Deviation)/1000, 151.52, 0.01)
	near("volatility", l.Volatility(0), 0.05999, 0.00001)
}

var firstDay = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// duel is a result of two agents, each with an owner of its own; draw: both
// have one place.
func duel(day int, winner, loser string, draw bool) arena.RatedResult {
	r := arena.RatedResult{At: firstDay.AddDate(0, 0, day), Seats: []arena.RatedSeat{
		{AgentID: winner, OwnerID: "ow_" + winner, Place: 1}, {AgentID: loser, OwnerID: "ow_" + loser, Place: 2},
	}}
	if draw {
		r.Seats[1].Place = 1
	}
	return r
}

func TestGlicko_periods(t *testing.T) {
	t.Parallel()
	one := scoring.Glicko([]arena.RatedResult{duel(0, "a", "b", false)})
	if one["a"].Rating-1_500_000 != 1_500_000-one["b"].Rating || one["a"].Deviation != one["b"].Deviation {
		t.Errorf("one duel of equals: %v", one)
	}
	// Within a day all is rated at once, so order decides nothing.
	x := scoring.Glicko([]arena.RatedResult{duel(0, "a", "b", false), duel(0, "b", "c", false), duel(0, "c", "a", true)})
	y := scoring.Glicko([]arena.RatedResult{duel(0, "c", "a", true), duel(0, "b", "c", false), duel(0, "a", "b", false)})
	if d := cmp.Diff(x, y); d != "" {
		t.Errorf("order within a day: %s", d)
	}
	// A clock that is behind does not begin the day before.
	y = scoring.Glicko([]arena.RatedResult{duel(0, "a", "b", false), duel(-1, "b", "c", false), duel(0, "c", "a", true)})
	if d := cmp.Diff(x, y); d != "" {
		t.Errorf("a clock behind: %s", d)
	}
	apart := scoring.Glicko([]arena.RatedResult{duel(0, "a", "b", false), duel(1, "a", "b", false)})
	together := scoring.Glicko([]arena.RatedResult{duel(0, "a", "b", false), duel(0, "a", "b", false)})
	if cmp.Equal(apart, together) {
		t.Error("two days give the same as one")
	}
	// Who does not play becomes less certain, and never less than a newcomer.
	last := one["a"].Deviation
	for _, days := range []int{1, 100, 100_000} {
		later := scoring.Glicko([]arena.RatedResult{duel(0, "a", "b", false), duel(days, "c", "d", false)})
		if now := later["a"]; now.Rating != one["a"].Rating || now.Deviation <= last && days < 100_000 || now.Deviation > 350_000 {
			t.Errorf("after %d days: %v, was %d", days, now, last)
		}
		last = later["a"].Deviation
	}
	if last != 350_000 {
		t.Errorf("in the end the deviation is %d", last)
	}
	// To come back after idle days is to have grown first.
	back := scoring.Glicko([]arena.RatedResult{duel(0, "a", "b", false), duel(500, "a", "b", true)})
	soon := scoring.Glicko([]arena.RatedResult{duel(0, "a", "b", false), duel(1, "a", "b", true)})
	if back["a"].Deviation <= soon["a"].Deviation || back["a"].Rating >= soon["a"].Rating { // the draw weighs more
		t.Errorf("back after 500 days %v, after one %v", back["a"], soon["a"])
	}
}

func TestGlicko_sane(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for id, g := range scoring.Glicko(drawResults(t)) {
			if g.Deviation <= 0 || g.Deviation > 350_000 || g.Rating < -3_000_000 || g.Rating > 6_000_000 {
				t.Fatalf("%s has %v", id, g)
			}
		}
	})
}
