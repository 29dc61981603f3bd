package format

import (
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

// lostSeries counts the series that each agent has lost, in a double
// elimination of single games without draws.
func (p *played) lostSeries() map[string]int {
	losses := map[string]int{}
	for _, q := range p.Pairings {
		for i, id := range q.Agents {
			if len(q.Agents) == 2 && q.Scores[i] == lost {
				losses[id]++
			}
		}
	}
	return losses
}

// TestDoubleElimination_complete plays every size by strength: 2n-2 series, the
// first seed is undefeated, everyone else loses twice.
func TestDoubleElimination_complete(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 128; n++ {
		p := newPlayed(arena.FormatDoubleElimination, field(n), arena.FormatOptions{})
		p.finish(t, byStrength)
		if p.series() != 2*n-2 {
			t.Fatalf("%d entrants: %d series", n, p.series())
		}
		ranks, losses := p.ranks(t), p.lostSeries()
		for seed := 1; seed <= n; seed++ {
			if want := min(seed-1, 1) * 2; losses[agent(seed)] != want {
				t.Fatalf("%d entrants: seed %d loses %d times", n, seed, losses[agent(seed)])
			}
			if seed <= 4 && ranks[agent(seed)] != seed {
				t.Fatalf("%d entrants: seed %d is ranked %d", n, seed, ranks[agent(seed)])
			}
		}
	}
}

// safeDrops is the number of drops from the winners' bracket of 2^k seats for which
// no agent can meet an earlier opponent in the losers' bracket.
func safeDrops(k int) int {
	switch {
	case k < 3:
		return 0
	case k < 5:
		return 1
	case k < 6:
		return 2
	}
	return 3
}

// TestDoubleElimination_anyResults: 2n-2 series, or 2n-1 when the champion has
// lost one; rematches come late.
func TestDoubleElimination_anyResults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 128).Draw(t, "n")
		p := newPlayed(arena.FormatDoubleElimination, field(n), arena.FormatOptions{})
		seed := rapid.Uint64().Draw(t, "results")
		p.finish(t, func(q *arena.Pairing) {
			seed = seed*6364136223846793005 + 1442695040888963407
			give(arena.PairingPlayed, won, lost)(q)
			if seed>>63 == 1 {
				give(arena.PairingPlayed, lost, won)(q)
			}
		})
		losses, champion := p.lostSeries(), p.table(p.State)[0].AgentID
		if p.series() != 2*n-2+losses[champion] || losses[champion] > 1 {
			t.Fatalf("%d entrants: %d series, the champion lost %d", n, p.series(), losses[champion])
		}
		for id, rank := range p.ranks(t) {
			if id != champion && (losses[id] != 2 || rank == 1) {
				t.Fatalf("%s is ranked %d with %d losses", id, rank, losses[id])
			}
		}
		met, last := map[[2]string]bool{}, 2*safeDrops(bits.Len(uint(n-1)))+1
		for _, q := range p.Pairings {
			if len(q.Agents) != 2 {
				continue
			}
			pair := [2]string{min(q.Agents[0], q.Agents[1]), max(q.Agents[0], q.Agents[1])}
			if met[pair] && q.Round <= last {
				t.Fatalf("%d entrants: %v meet again in round %d", n, pair, q.Round)
			}
			met[pair] = true
		}
	})
}

// TestDoubleElimination_order looks at the brackets of eight, whose places a
// page draws.
func TestDoubleElimination_order(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatDoubleElimination, field(8), arena.FormatOptions{})
	p.finish(t, func(q *arena.Pairing) {
		byStrength(q)
		if q.Round == 6 { // the first final
			q.Scores = []arena.Points{lost, won}
		}
	})
	type meeting struct {
		Round, Slot int
		Bracket     string
		A, B        string
	}
	var got []meeting
	for _, q := range p.Pairings {
		got = append(got, meeting{q.Round, q.Slot, q.Bracket, q.Agents[0][7:], q.Agents[1][7:]})
	}
	want := []meeting{
		{1, 1, "winners", "1", "8"},
		{1, 2, "winners", "4", "5"},
		{1, 3, "winners", "2", "7"},
		{1, 4, "winners", "3", "6"},
		{2, 1, "winners", "1", "4"},
		{2, 2, "winners", "2", "3"},
		{2, 3, "losers", "5", "8"},
		{2, 4, "losers", "6", "7"},
		{3, 1, "losers", "3", "5"}, // not 4, which 5 has lost to
		{3, 2, "losers", "4", "6"},
		{4, 1, "winners", "1", "2"},
		{4, 2, "losers", "3", "4"},
		{5, 1, "losers", "2", "3"},
		{6, 1, "final", "1", "2"},
		{7, 1, "final", "1", "2"}, // 1 has lost once, too
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	ranks := map[string]int{
		agent(1): 1, agent(2): 2, agent(3): 3, agent(4): 4, agent(5): 5, agent(6): 5, agent(7): 7, agent(8): 7,
	}
	if diff := cmp.Diff(ranks, p.ranks(t)); diff != "" {
		t.Error(diff)
	}
}

// TestDoubleElimination_waiting: an agent that is still in does not rank lower
// because only others play in a round.
func TestDoubleElimination_waiting(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatDoubleElimination, field(8), arena.FormatOptions{})
	for range 4 {
		p.Pairings = append(p.Pairings, p.next(t).Pairings...)
		for i := range p.Pairings {
			byStrength(&p.Pairings[i])
		}
	}
	p.Pairings = append(p.Pairings, p.next(t).Pairings...) // 2 and 3 meet for the final with 1
	ranks := map[string]int{
		agent(1): 1, agent(2): 1, agent(3): 1, agent(4): 4, agent(5): 5, agent(6): 5, agent(7): 7, agent(8): 7,
	}
	if diff := cmp.Diff(ranks, p.ranks(t)); diff != "" {
		t.Error(diff)
	}
}
