package format

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

// TestRoundRobin_everyone: every two agents meet once or twice, no agent plays twice
// in a round, and each is first as often as second, as nearly as possible.
func TestRoundRobin_everyone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, turns := rapid.IntRange(2, 24).Draw(t, "n"), rapid.IntRange(1, 2).Draw(t, "turns")
		p := newPlayed(arena.FormatRoundRobin, field(n), arena.FormatOptions{Double: turns == 2})
		p.finish(t, byStrength)
		met, first, byes, inRound := map[[2]string]int{}, map[string]int{}, map[string]int{}, map[int]map[string]bool{}
		for _, q := range p.Pairings {
			if inRound[q.Round] == nil {
				inRound[q.Round] = map[string]bool{}
			}
			for _, id := range q.Agents {
				if inRound[q.Round][id] {
					t.Fatalf("%s plays twice in round %d", id, q.Round)
				}
				inRound[q.Round][id] = true
			}
			if len(q.Agents) == 1 {
				byes[q.Agents[0]]++
				continue
			}
			met[[2]string{q.Agents[0], q.Agents[1]}]++
			first[q.Agents[0]]++
		}
		for i := 1; i <= n; i++ {
			for j := 1; j < i; j++ {
				there, back := met[[2]string{agent(i), agent(j)}], met[[2]string{agent(j), agent(i)}]
				if there+back != turns || turns == 2 && there != back {
					t.Fatalf("%d and %d meet %d and %d times", i, j, there, back)
				}
			}
			if second := (n-1)*turns - first[agent(i)]; max(first[agent(i)]-second, second-first[agent(i)]) > 1 {
				t.Fatalf("%d is first %d times and second %d times", i, first[agent(i)], second)
			}
			if byes[agent(i)] != n%2*turns {
				t.Fatalf("%d has %d byes", i, byes[agent(i)])
			}
		}
		if rounds := len(inRound); rounds != (n-1+n%2)*turns {
			t.Fatalf("%d rounds", rounds)
		}
		for id, rank := range p.ranks(t) {
			if id != agent(rank) {
				t.Fatalf("%s is ranked %d", id, rank)
			}
		}
	})
}

func TestRoundRobin_void(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatRoundRobin, field(2), arena.FormatOptions{})
	p.finish(t, give(arena.PairingVoid))
	if len(p.Pairings) != 3 {
		t.Errorf("%d games, want three", len(p.Pairings))
	}
	for i, r := range p.table(p.State) {
		if r.Played != 1 || r.Draws != 1 || r.Score != drawn || r.AgentID != agent(i+1) || r.Rank != i+1 {
			t.Errorf("the third void game is no draw, or the rating does not decide: %+v", r)
		}
	}
}

func TestRoundRobin_withdrawn(t *testing.T) {
	t.Parallel()
	entrants := field(4)
	entrants[0].WithdrawnRound, entrants[1].WithdrawnRound = 1, 2
	p := newPlayed(arena.FormatRoundRobin, entrants, arena.FormatOptions{})
	p.finish(t, byStrength)
	type row struct {
		ID                             string
		Played, Wins, Losses, Forfeits int
	}
	var got []row
	for _, r := range p.table(p.State) {
		got = append(got, row{r.AgentID, r.Played, r.Wins, r.Losses, r.Forfeits})
	}
	// The second meets the third in round 1, as it has not left yet.
	want := []row{
		{agent(3), 3, 2, 1, 0}, {agent(4), 3, 2, 1, 0}, {agent(2), 3, 1, 2, 2}, {agent(1), 3, 0, 3, 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRoundRobin_tieBreaks has a table in which earlier figures speak
// against later ones.
func TestRoundRobin_tieBreaks(t *testing.T) {
	t.Parallel()
	scores := map[[2]int]arena.Points{ // of the first; 1 to 6
		{1, 2}: drawn, {1, 3}: won, {1, 4}: lost, {1, 5}: won, {1, 6}: drawn,
		{2, 3}: won, {2, 4}: drawn, {2, 5}: drawn, {2, 6}: drawn,
		{3, 4}: won, {3, 5}: lost, {3, 6}: won,
		{4, 5}: drawn, {4, 6}: drawn,
		{5, 6}: lost,
	}
	p := newPlayed(arena.FormatRoundRobin, field(6), arena.FormatOptions{})
	p.finish(t, func(q *arena.Pairing) {
		for pair, score := range scores {
			for i, id := range q.Agents {
				if id == agent(pair[0]) && q.Agents[1-i] == agent(pair[1]) {
					q.Result, q.Scores = arena.PairingPlayed, []arena.Points{score, won - score}
					if i == 1 {
						q.Scores = []arena.Points{won - score, score}
					}
				}
			}
		}
	})
	type row struct {
		ID                      string
		Score, Direct, SB, Wins arena.Points
	}
	var got []row
	for _, r := range p.table(p.State) {
		b := r.TieBreaks
		got = append(got, row{r.AgentID, r.Score, b[0].Value, b[1].Value, b[2].Value})
	}
	want := []row{
		{agent(2), 3000, 500, 7000, 1000}, // Sonneborn–Berger, not wins
		{agent(1), 3000, 500, 6750, 2000},
		{agent(4), 2500, 500, 6750, 1000},
		{agent(6), 2500, 500, 6250, 1000},
		{agent(5), 2000, 1000, 4750, 1000}, // the direct meeting, not Sonneborn–Berger
		{agent(3), 2000, 0, 5000, 2000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
