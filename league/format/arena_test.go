package format

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

// TestArena_season: no agent meets the same opponent twice in a row, the first move
// goes to the agent that had it less often, and the points follow from each agent's
// own duels.
func TestArena_season(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlayed(arena.FormatArena, field(rapid.IntRange(2, 9).Draw(t, "n")), arena.FormatOptions{})
		p.tick(0)
		p.interrupted(t)
		opponents, own := map[string][]string{}, map[string]string{}
		slices.SortStableFunc(p.Pairings, func(a, b arena.Pairing) int { return a.Round - b.Round })
		surplus := map[string]int{} // of first moves
		for _, q := range p.Pairings {
			if surplus[q.Agents[0]] > surplus[q.Agents[1]] {
				t.Fatalf("%s moves first, ahead by %d, against %s, ahead by %d", q.Agents[0], surplus[q.Agents[0]], q.Agents[1], surplus[q.Agents[1]])
			}
			surplus[q.Agents[0]]++
			surplus[q.Agents[1]]--
			if !q.CreatedAt.Before(p.Season.EndsAt) {
				t.Fatalf("ordered after the end: %+v", q)
			}
			for i, id := range q.Agents {
				opponents[id] = append(opponents[id], q.Agents[1-i])
				if scored(q) {
					own[id] += map[arena.Points]string{won: "w", drawn: "d", lost: "l"}[q.Scores[i]]
				}
			}
		}
		for id, o := range opponents {
			if len(slices.Compact(slices.Clone(o))) != len(o) {
				t.Fatalf("%s meets somebody twice running: %v", id, o)
			}
		}
		for _, r := range p.table(p.State) {
			if want := arena.Points(slowArena(own[r.AgentID])) * arena.OnePoint; r.Score != want {
				t.Fatalf("%s has %d points for %q, want %d", r.AgentID, r.Score, own[r.AgentID], want)
			}
		}
	})
}

// slowArena counts an agent's duels from the rule's words: each looks back at
// the two before it, and a duel is doubled while nothing but wins lies between
// it and two wins in a row.
func slowArena(duels string) (points int) {
	for i, d := range duels {
		value := map[rune]int{'w': 2, 'd': 1, 'l': 0}[d]
		if strings.HasSuffix(duels[:i], "ww") {
			value *= 2
		}
		points += value
	}
	return points
}

func TestArenaScores(t *testing.T) {
	t.Parallel()
	for duels, want := range map[string]arena.Points{
		"": 0, "w": 2, "d": 1, "l": 0, "ww": 4, "www": 8, "wwww": 12, "wwd": 6, "wwdw": 8, "wwlww": 8, "wwdd": 7, "wdww": 7,
	} {
		var pairings []arena.Pairing
		for i, d := range duels {
			score := map[rune]arena.Points{'w': won, 'd': drawn, 'l': lost}[d]
			pairings = append(pairings, arena.Pairing{
				Round: i + 1, Result: arena.PairingPlayed, Agents: []string{"x", "me"}, Scores: []arena.Points{won - score, score},
			})
		}
		slices.Reverse(pairings)
		if got := arenaScores(pairings)["me"]; got != want*arena.OnePoint {
			t.Errorf("%q brings %d, want %d", duels, got, want*arena.OnePoint)
		}
	}
}

// TestPairArena compares the pairs with all possible pairings: there are as many as
// possible, whatever the last meetings.
func TestPairArena(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		ids, last := make([]string, n), map[string]string{}
		for i := range ids {
			ids[i] = agent(i)
			// Few have met many, so that there is often no way for everyone.
			if j := rapid.IntRange(0, min(n, 3)).Draw(t, "last"); j != i && j < n {
				last[ids[i]] = agent(j)
			}
		}
		pairs := pairArena(ids, last)
		seen := map[string]bool{}
		for _, p := range pairs {
			if last[p[0]] == p[1] || last[p[1]] == p[0] || seen[p[0]] || seen[p[1]] {
				t.Fatalf("%v among %v", p, pairs)
			}
			seen[p[0]], seen[p[1]] = true, true
		}
		if most := mostPairs(ids, last); len(pairs) != most {
			t.Fatalf("%d pairs of %v after %v, want %d", len(pairs), ids, last, most)
		}
	})
}

// TestPairArena_hubs: everyone has last met one of two, so that two pairs must
// be parted for them.
func TestPairArena_hubs(t *testing.T) {
	t.Parallel()
	ids := []string{"a", "b", "c", "d", "u", "v"}
	last := map[string]string{"a": "u", "b": "u", "c": "v", "d": "v", "u": "v"}
	if pairs := pairArena(ids, last); len(pairs) != 3 {
		t.Errorf("%v", pairs)
	}
}

// mostPairs tries everything.
func mostPairs(ids []string, last map[string]string) int {
	if len(ids) < 2 {
		return 0
	}
	most := mostPairs(ids[1:], last)
	for i := 1; i < len(ids); i++ {
		if last[ids[0]] != ids[i] && last[ids[i]] != ids[0] {
			rest := slices.Concat(ids[1:i], ids[i+1:])
			most = max(most, 1+mostPairs(rest, last))
		}
	}
	return most
}

// TestArena_order: neighbors in the table meet, those with equal scores by
// the longest wait.
func TestArena_order(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatArena, field(6), arena.FormatOptions{})
	p.Pairings = []arena.Pairing{
		{Round: 1, Slot: 1, Game: 1, Agents: []string{agent(1), agent(6)}},
		{Round: 1, Slot: 2, Game: 1, Agents: []string{agent(2), agent(5)}},
	}
	give(arena.PairingPlayed, lost, won)(&p.Pairings[0])
	give(arena.PairingPlayed, lost, won)(&p.Pairings[1])
	p.Idle = map[string]time.Time{"stranger": noon}
	for i, seconds := range []int{1, 2, 4, 3, 9, 5} { // 5 and 6 have 2 points; then 3, 4, 2, 1
		p.Idle[agent(i+1)] = noon.Add(-time.Duration(seconds) * time.Second)
	}
	var got [][]string
	ordered := p.next(t).Pairings
	for _, q := range ordered {
		if q.Round != 2 {
			t.Errorf("round %d", q.Round)
		}
		got = append(got, q.Agents)
	}
	want := [][]string{{agent(5), agent(6)}, {agent(3), agent(4)}, {agent(2), agent(1)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p.Pairings = append(p.Pairings, ordered...)
	if step := p.next(t); len(step.Pairings) > 0 { // though some seem idle until their matches begin
		t.Errorf("ordered before the result: %+v", step)
	}
}

func TestArena_starved(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatArena, field(2), arena.FormatOptions{})
	p.Idle = map[string]time.Time{agent(1): noon}
	if step := p.next(t); step.Note.String() != "needs 2 idle agents, has 1" || !step.NextAt.Equal(p.Season.EndsAt) {
		t.Errorf("one agent: %+v", step)
	}
	p.tick(0)
	if p.Pairings = p.next(t).Pairings; len(p.Pairings) != 1 {
		t.Fatalf("two agents: %+v", p.Pairings)
	}
	if p.tick(0); p.next(t).Note.Code != "" {
		t.Errorf("waiting for a result: %q", p.next(t).Note)
	}
	byStrength(&p.Pairings[0])
	p.tick(time.Minute)
	if step := p.next(t); len(step.Pairings) > 0 || step.Note.String() != "2 idle agents have just met; they wait for another opponent" {
		t.Errorf("two that have just met: %+v", step)
	}
}

// TestArena_end: a pairing that is open when time is up still counts.
func TestArena_end(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatArena, field(4), arena.FormatOptions{})
	p.tick(0)
	p.Pairings = p.next(t).Pairings[:1]
	p.tick(5 * time.Minute)
	if step := p.next(t); step.Done || len(step.Pairings) > 0 {
		t.Errorf("at the end with an open pairing: %+v", step)
	}
	byStrength(&p.Pairings[0])
	if step := p.next(t); !step.Done || p.table(p.State)[0].Score != arenaWin {
		t.Errorf("at the end: %+v", step)
	}
}

// TestArena_table: of equal points the one with more wins is better, whatever
// its rating.
func TestArena_table(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatArena, field(4), arena.FormatOptions{})
	p.Pairings = []arena.Pairing{
		{Round: 1, Slot: 1, Game: 1, Agents: []string{agent(1), agent(2)}},
		{Round: 1, Slot: 2, Game: 1, Agents: []string{agent(4), agent(3)}},
		{Round: 2, Slot: 1, Game: 1, Agents: []string{agent(1), agent(3)}},
	}
	for i, score := range []arena.Points{drawn, won, drawn} {
		give(arena.PairingPlayed, score, won-score)(&p.Pairings[i])
	}
	ranks := map[string]int{agent(4): 1, agent(1): 2, agent(2): 3, agent(3): 4}
	if diff := cmp.Diff(ranks, p.ranks(t)); diff != "" {
		t.Error(diff)
	}
}
