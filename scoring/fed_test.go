package scoring

import (
	"slices"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// ladder plays duels of neighbors in true strength, each agent so many.
func (l *leagueOf) ladder(each int) {
	order := make([]int, len(l.elo))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(l.elo[a] - l.elo[b]) })
	for range each / 2 {
		for i, a := range order {
			l.result(a, order[(i+1+l.r.IntN(30))%len(order)])
		}
	}
}

// result plays a duel without answers.
func (l *leagueOf) result(a, b int) {
	answers := l.e.Answers
	l.duel(a, b)
	l.e.Answers = answers
}

// Threat G6: a ring of five in a ladder of 200 is found within 200 matches of the
// agent that it feeds, though no pair of it is reported.
func TestAnomalies_ring(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		l := newLeagueOf(seed, 200)
		const fed = 100
		givers := []int{20, 60, 140, 180}
		for _, g := range givers {
			l.elo[g] = l.elo[fed] // they are no worse
		}
		l.ladder(100)
		l.win = func(a, b int) (won, decided bool) {
			return a == fed, (a == fed || b == fed) && (slices.Contains(givers, a) || slices.Contains(givers, b))
		}
		for i := range 72 { // 18 by each giver
			l.result(fed, givers[i%len(givers)])
		}
		matches := 0
		for _, d := range l.e.Duels {
			if d.Seats[0].AgentID == id(fed) || d.Seats[1].AgentID == id(fed) {
				matches++
			}
		}
		r, err := Anomalies(l.e)
		if err != nil {
			t.Fatal(err)
		}
		var rings int
		for _, a := range r.Found {
			if a.Kind != arena.AnomalyFed {
				continue
			}
			rings++
			for _, g := range givers {
				if !slices.Contains(a.AgentIDs[1:], id(g)) {
					t.Errorf("league %d: giver %s is not in %v", seed, id(g), a.AgentIDs)
				}
			}
			if a.AgentIDs[0] != id(fed) {
				t.Errorf("league %d: %s receives, not %s", seed, a.AgentIDs[0], id(fed))
			}
		}
		if rings != 1 || matches > 200 {
			t.Errorf("league %d: %d rings in %d matches of the receiver: %+v", seed, rings, matches, r.Found)
		}
	}
}

// Threat G6: no honest league is reported.
func TestAnomalies_honestLadders(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		l := newLeagueOf(1000+seed, 20+int(seed)%60)
		l.ladder(60)
		r, err := Anomalies(l.e)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Found {
			if a.Kind == arena.AnomalyFed {
				t.Errorf("league %d of %d agents: %+v", seed, len(l.elo), a)
			}
		}
	}
}
