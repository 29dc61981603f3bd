package format

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

func TestGatherElimination(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		idle := map[string]time.Time{}
		for i := range n { // a, b, c … have waited longer and longer
			idle[string(rune('a'+i))] = noon.Add(-time.Duration(i) * time.Second)
		}
		if n > 0 && rapid.Bool().Draw(t, "a has just come") {
			idle["a"] = time.Time{}
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		seats, starved := GatherElimination(idle, 3, 5, rng)
		if n < 3 {
			if want := fmt.Sprintf("needs 3 idle agents, has %d", n); len(seats) > 0 || starved.String() != want {
				t.Fatalf("seats %v, starved %q, want %q", seats, starved, want)
			}
			return
		}
		want := min(n, 5)
		if starved.Code != "" || len(seats) != want {
			t.Fatalf("seats %v, starved %q, want %d", seats, starved, want)
		}
		slices.Sort(seats)
		for i, id := range seats {
			if longest := string(rune('a' + n - want + i)); id != longest {
				t.Fatalf("seats %v, want %s among them", seats, longest)
			}
		}
	})
}

func TestGatherElimination_chance(t *testing.T) {
	t.Parallel()
	idle := map[string]time.Time{"a": {}, "b": {}, "c": {}, "d": {}}
	orders := map[string]bool{}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		seats, _ := GatherElimination(idle, 3, 3, rng)
		orders[fmt.Sprint(seats)] = true
	}
	if len(orders) != 24 {
		t.Errorf("%d orders of 3 of 4 equal agents, want all 24", len(orders))
	}
	clear(orders)
	idle = map[string]time.Time{"a": noon, "b": noon.Add(1), "c": noon.Add(2)}
	for range 100 {
		seats, _ := GatherElimination(idle, 3, 3, rng)
		orders[fmt.Sprint(seats)] = true
	}
	if len(orders) != 6 {
		t.Errorf("%d orders of three agents, want all 6", len(orders))
	}
}

// TestElimination_season: one match at a time, of those who are there and have
// not withdrawn; the lots are the season's.
func TestElimination_season(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatElimination, field(9), arena.FormatOptions{})
	if step := p.next(t); step.Note.String() != "needs 3 idle agents, has 0" || step.Done {
		t.Errorf("nobody is there: %+v", step)
	}
	p.tick(0)
	p.Season.Entrants[8].WithdrawnRound = 1
	p.Pairings = p.next(t).Pairings
	if len(p.Pairings) != 1 || len(p.Pairings[0].Agents) != 5 || slices.Contains(p.Pairings[0].Agents, agent(9)) {
		t.Fatalf("the first match: %+v", p.Pairings)
	}
	other := p.State
	other.Season.Seed++
	other.Pairings = nil
	if step, _ := Next(other); slices.Equal(step.Pairings[0].Agents, p.Pairings[0].Agents) {
		t.Error("another seed gives the same seats")
	}
	if step := p.next(t); len(step.Pairings) > 0 || step.Note.Code != "" {
		t.Errorf("while a match is open: %+v", step)
	}
	p.Pairings[0].Result = arena.PairingVoid
	if step := p.next(t); len(step.Pairings) != 1 || step.Pairings[0].Round != 2 {
		t.Errorf("after a void match: %+v", step)
	} else if slices.Equal(step.Pairings[0].Agents, p.Pairings[0].Agents) {
		t.Error("the same lots in another round")
	}
	p.tick(5 * time.Minute)
	if !p.next(t).Done {
		t.Error("continues after its end")
	}
}

func TestElimination_table(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatElimination, field(8), arena.FormatOptions{})
	matches := []struct {
		agents []int
		scores []arena.Points
	}{
		{[]int{1, 2, 3}, []arena.Points{0, 500, 1000}},
		{[]int{1, 2, 4}, []arena.Points{1000, 0, 500}},
		{[]int{4, 2, 5}, []arena.Points{500, 500, 500}},
		{[]int{8, 5, 2}, []arena.Points{0, 750, 750}},
		{[]int{1, 6, 7}, nil}, // void
	}
	for i, m := range matches {
		q := arena.Pairing{Round: i + 1, Slot: 1, Game: 1, Result: arena.PairingPlayed, Scores: m.scores}
		if m.scores == nil {
			q.Result = arena.PairingVoid
		}
		for _, n := range m.agents {
			q.Agents = append(q.Agents, agent(n))
		}
		p.Pairings = append(p.Pairings, q)
	}
	var got []string
	for _, r := range p.table(p.State) {
		got = append(got, fmt.Sprintf("%d %s %d: %d of %d, %d drawn", r.Rank, r.AgentID, r.Score, r.Wins, r.Played, r.Draws))
	}
	want := []string{
		"1 agent002 1750: 0 of 4, 2 drawn",
		"2 agent005 1250: 0 of 2, 2 drawn",
		"3 agent001 1000: 1 of 2, 0 drawn",
		"4 agent003 1000: 1 of 1, 0 drawn", // fewer matches
		"5 agent004 1000: 0 of 2, 1 drawn", // fewer wins
		"6 agent008 0: 0 of 1, 0 drawn",
		"7 agent006 0: 0 of 0, 0 drawn",
		"8 agent007 0: 0 of 0, 0 drawn", // a lower rating
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
