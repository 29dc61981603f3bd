package league_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
)

func TestGatherElimination(t *testing.T) {
	t.Parallel()
	settings := arena.Settings{MinSeats: 3, MaxSeats: 5}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		var candidates []league.Candidate
		for i := range n { // a, b, c … have waited longer and longer
			candidates = append(candidates, idle(string(rune('a'+i)), 1500, waited(time.Duration(i)*time.Second)))
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		seats, starved := league.GatherElimination(rapid.Permutation(candidates).Draw(t, "order"), settings, rng)
		if n < settings.MinSeats {
			if want := fmt.Sprintf("needs 3 idle agents, has %d", n); len(seats) > 0 || starved != want {
				t.Fatalf("seats %v, starved %q, want %q", seats, starved, want)
			}
			return
		}
		want := min(n, settings.MaxSeats)
		if starved != "" || len(seats) != want {
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
	candidates := []league.Candidate{{AgentID: "a"}, {AgentID: "b"}, {AgentID: "c"}, {AgentID: "d"}}
	orders := map[string]bool{}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		seats, _ := league.GatherElimination(candidates, arena.Settings{MinSeats: 3, MaxSeats: 3}, rng)
		orders[fmt.Sprint(seats)] = true
	}
	if len(orders) != 24 {
		t.Errorf("%d orders of 3 of 4 equal agents, want all 24", len(orders))
	}
}
