package format

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

// TestKnockout_complete plays every size by strength: n-1 series, the first
// seed wins, the first two meet in the final.
func TestKnockout_complete(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 128; n++ {
		p := newPlayed(arena.FormatKnockout, field(n), arena.FormatOptions{})
		p.finish(t, byStrength)
		if p.series() != n-1 || len(p.Pairings)-p.series() != 1<<bits.Len(uint(n-1))-n {
			t.Fatalf("%d entrants: %d series of %d pairings", n, p.series(), len(p.Pairings))
		}
		for id, rank := range p.ranks(t) {
			seed := 1
			for agent(seed) != id {
				seed++
			}
			want := 1 // 1, 2, 3, 3, 5, 5, 5, 5, 9 …
			if seed > 1 {
				want = 1<<(bits.Len(uint(seed-1))-1) + 1
			}
			if rank != want {
				t.Fatalf("%d entrants: seed %d is ranked %d, want %d", n, seed, rank, want)
			}
		}
	}
}

func TestKnockout_slots(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		8: "1-8 4-5 2-7 3-6 ",
		6: "1 4-5 2 3-6 ",
		2: "1-2 ",
	} {
		got := ""
		for i, q := range newPlayed(arena.FormatKnockout, field(n), arena.FormatOptions{}).next(t).Pairings {
			if q.Slot != i+1 || q.Round != 1 {
				t.Errorf("pairing %d is in round %d, slot %d", i, q.Round, q.Slot)
			}
			for j, id := range q.Agents {
				for seed := range n {
					if id == agent(seed+1) {
						got += fmt.Sprint([]string{"", "-"}[j], seed+1)
					}
				}
			}
			got += " "
		}
		if got != want {
			t.Errorf("%d entrants: %q, want %q", n, got, want)
		}
	}
}

// TestSeriesWinner has a case per rule. Letters: x and y win, d is a draw, v
// void, X and Y win because the other is absent, z means that both are absent.
func TestSeriesWinner(t *testing.T) {
	t.Parallel()
	tests := []struct {
		n           int
		games, want string // "": continues
	}{
		{1, "", ""},
		{1, "x", "x"},
		{1, "y", "y"},
		{3, "y", ""},
		{3, "yx", ""},
		{3, "yxy", "y"},
		{3, "yy", "y"},
		{5, "xxx", "x"},
		{5, "yxyx", ""},
		{7, "yyxy", ""},
		{7, "yyxyy", "y"},
		{1, "dd", ""},
		{1, "ddd", "x"},
		{1, "ddy", "y"},
		{1, "vv", ""},
		{1, "vvv", "x"},
		{1, "vvy", "y"},
		{1, "ddvvy", "y"},
		{1, "ddvv", ""},
		{1, "dvdvd", "x"},
		{3, "yddd", ""},     // the second game is nobody's
		{3, "ydddddd", "y"}, // and the third, so one win is enough
		{3, "ydddx", "x"},   // equal in the end: the better seed
		{3, "ydddd", ""},
		{3, "ddyd", ""}, // draws of another game do not count
		{3, "vvyv", ""},
		{3, "xddd", ""},
		{3, "xddddx", "x"},
		{5, "dddyy", ""},
		{5, "dddyyy", "y"},
		{5, "dddyyxddd", "y"},
		{3, "X", "x"},
		{7, "xxY", "y"},
		{1, "z", "x"},
		{3, "yz", "x"},
	}
	for _, tc := range tests {
		var games []arena.Pairing
		for i, letter := range tc.games {
			q := arena.Pairing{Game: i + 1, Agents: []string{"x", "y"}}
			give, of := arena.PairingPlayed, map[rune][]arena.Points{
				'x': {won, lost}, 'X': {won, lost}, 'y': {lost, won}, 'Y': {lost, won}, 'd': {drawn, drawn}, 'z': {lost, lost},
			}
			switch letter {
			case 'X', 'Y', 'z':
				give = arena.PairingForfeit
			case 'v':
				give = arena.PairingVoid
			}
			q.Result, q.Scores = give, of[letter]
			if i%2 == 1 {
				slices.Reverse(q.Agents)
				q.Scores = slices.Clone(q.Scores)
				slices.Reverse(q.Scores)
			}
			games = append(games, q)
		}
		got, decided := seriesWinner(games, "x", "y", tc.n)
		if got != tc.want || decided != (tc.want != "") {
			t.Errorf("best of %d, %q: %q, %v, want %q", tc.n, tc.games, got, decided, tc.want)
		}
	}
}

// TestKnockout_series: one game of a series is open at a time, and no game is
// ordered after a majority.
func TestKnockout_series(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		best := rapid.SampledFrom([]int{1, 3, 5, 7}).Draw(t, "best of")
		p := newPlayed(arena.FormatKnockout, field(2), arena.FormatOptions{BestOf: best})
		wins := map[string]int{}
		p.finish(t, func(q *arena.Pairing) {
			if wins[agent(1)] > best/2 || wins[agent(2)] > best/2 {
				t.Fatalf("game %d after %v", q.Game, wins)
			}
			i := rapid.IntRange(0, 1).Draw(t, "winner")
			wins[q.Agents[i]]++
			give(arena.PairingPlayed, []arena.Points{won, lost}[i], []arena.Points{lost, won}[i])(q)
		})
		champion := p.table(p.State)[0].AgentID
		if p.series() != 1 || wins[champion] != best/2+1 {
			t.Fatalf("%s wins %v", champion, wins)
		}
		for i, q := range p.Pairings {
			if q.Game != i+1 || q.Agents[i%2] != agent(1) {
				t.Fatalf("game %d: %+v", i+1, q)
			}
		}
	})
}

func TestKnockout_absent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		result func(*arena.Pairing)
		want   int
	}{
		{"the opponent of an absent agent advances", give(arena.PairingForfeit, lost, won), 2},
		{"the better seed advances when both are absent", give(arena.PairingForfeit, lost, lost), 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlayed(arena.FormatKnockout, field(2), arena.FormatOptions{BestOf: 3})
			p.finish(t, tc.result)
			if got := p.table(p.State)[0].AgentID; got != agent(tc.want) || len(p.Pairings) != 1 {
				t.Errorf("%s advances after %d games", got, len(p.Pairings))
			}
		})
	}
}

func TestKnockout_withdrawn(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatKnockout, field(4), arena.FormatOptions{})
	p.Season.Entrants[0].WithdrawnRound = 2
	p.finish(t, byStrength)
	var got []string
	for _, r := range p.table(p.State) {
		got = append(got, fmt.Sprintf("%d %s %d %d %v", r.Rank, r.AgentID, r.Score, r.Forfeits, r.Withdrawn))
	}
	want := []string{
		"1 agent002 2000 0 false", "2 agent001 1000 1 true", "3 agent003 0 0 false", "3 agent004 0 0 false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStarters: formats that plan ahead do not know who comes late.
func TestStarters(t *testing.T) {
	t.Parallel()
	for _, f := range []arena.Format{arena.FormatKnockout, arena.FormatDoubleElimination, arena.FormatRoundRobin} {
		p := newPlayed(f, field(3), arena.FormatOptions{})
		p.Season.Entrants[0].Round = 2
		p.finish(t, byStrength)
		if rows := p.table(p.State); len(rows) != 2 || rows[0].AgentID != agent(2) {
			t.Errorf("%s: %+v", f, rows)
		}
	}
}

// TestKnockout_table looks at a round that is half decided.
func TestKnockout_table(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatKnockout, field(8), arena.FormatOptions{})
	p.Pairings = p.next(t).Pairings
	byStrength(&p.Pairings[0]) // 1-8
	byStrength(&p.Pairings[2]) // 2-7
	want := map[string]int{
		agent(1): 1, agent(2): 1, agent(3): 3, agent(4): 3, agent(5): 3, agent(6): 3, agent(7): 7, agent(8): 7,
	}
	if diff := cmp.Diff(want, p.ranks(t)); diff != "" {
		t.Error(diff)
	}
}
