package format

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

func newSwiss(entrants []arena.Entrant, rounds int) *played {
	return newPlayed(arena.FormatSwiss, entrants, arena.FormatOptions{Rounds: rounds})
}

// boards returns the pairings of a step as "1-3", bye as "5"; the lower number
// first.
func boards(pairings []arena.Pairing) (names []string) {
	for _, p := range pairings {
		name := ""
		for _, id := range slices.Sorted(slices.Values(p.Agents)) {
			n := 0
			if _, err := fmt.Sscanf(id, "agent%d", &n); err != nil {
				panic(err)
			}
			if name != "" {
				name += "-"
			}
			name += fmt.Sprint(n)
		}
		names = append(names, name)
	}
	return names
}

func TestSwiss_firstRound(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]string{
		2: {"1-2"},
		3: {"1-2", "3"},
		4: {"1-3", "2-4"},
		7: {"1-4", "2-5", "3-6", "7"},
		8: {"1-5", "2-6", "3-7", "4-8"},
	} {
		if d := cmp.Diff(want, boards(newSwiss(field(n), 0).next(t).Pairings)); d != "" {
			t.Errorf("%d agents: %s", n, d)
		}
	}
}

// TestSwiss_rounds plays seasons by hand: the better one wins.
func TestSwiss_rounds(t *testing.T) {
	t.Parallel()
	p := newSwiss(field(8), 0)
	var rounds [][]string
	p.finish(t, func(q *arena.Pairing) {
		for len(rounds) < q.Round {
			rounds = append(rounds, nil)
		}
		rounds[q.Round-1] = append(rounds[q.Round-1], boards([]arena.Pairing{*q})...)
		byStrength(q)
	})
	want := [][]string{
		{"1-5", "2-6", "3-7", "4-8"},
		{"1-3", "2-4", "5-7", "6-8"},
		{"1-2", "3-5", "4-6", "7-8"},
	}
	// 3, 4, 5 and 6 have one point each.
	if d := cmp.Diff(want, rounds); d != "" {
		t.Error(d)
	}
}

func TestSwiss_ownersApart(t *testing.T) {
	t.Parallel()
	entrants := field(6)
	entrants[0].OwnerID, entrants[3].OwnerID = "o", "o"
	if d := cmp.Diff([]string{"1-5", "2-4", "3-6"}, boards(newSwiss(entrants, 0).next(t).Pairings)); d != "" {
		t.Error(d)
	}
}

func TestSwiss_numberOfRounds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ n, option, want int }{
		{1, 0, 1}, {2, 0, 1}, {3, 0, 2}, {4, 0, 2}, {5, 0, 3}, {8, 0, 3}, {9, 0, 4}, {40, 0, 6}, {1000, 0, 10}, {4, 7, 7},
	} {
		p := newSwiss(field(tc.n), tc.option)
		late := field(tc.n + 1)[tc.n]
		late.Round = 2 // joins too late to make the season longer
		p.Season.Entrants = append(p.Season.Entrants, late)
		if got := swissRounds(p.Season); got != tc.want {
			t.Errorf("%d agents, option %d: %d rounds, want %d", tc.n, tc.option, got, tc.want)
		}
	}
}

// swissPrice is the rule of the Swiss system written a second time: what a
// round costs, the earlier members deciding.
func swissPrice(p *played, round []arena.Pairing) []int {
	score, byes, met := map[string]int{}, map[string]int{}, map[[2]string]int{}
	for _, q := range p.Pairings {
		if q.Round >= round[0].Round {
			continue
		}
		for i, id := range q.Agents {
			if q.Scores != nil {
				score[id] += int(q.Scores[i])
			} else if q.Game == 3 {
				score[id] += 500
			}
		}
		if len(q.Agents) == 1 {
			byes[q.Agents[0]]++
		} else if q.Game == 1 {
			met[[2]string{q.Agents[0], q.Agents[1]}]++
			met[[2]string{q.Agents[1], q.Agents[0]}]++
		}
	}
	var table []arena.Entrant
	for _, e := range seeded(p.Season.Entrants) {
		if e.Plays(round[0].Round) {
			table = append(table, e)
		}
	}
	slices.SortStableFunc(table, func(a, b arena.Entrant) int { return score[b.AgentID] - score[a.AgentID] })
	place := func(id string) int {
		return slices.IndexFunc(table, func(e arena.Entrant) bool { return e.AgentID == id })
	}
	price := make([]int, 8) // rematches, meetings, byes, score of the bye, gaps, halves, owners, order
	for _, q := range round {
		a := place(q.Agents[0])
		if len(q.Agents) == 1 {
			price[2], price[3] = byes[q.Agents[0]], score[q.Agents[0]]
			price[7] += len(table) - a
			continue
		}
		b := place(q.Agents[1])
		a, b = min(a, b), max(a, b)
		x, y := table[a].AgentID, table[b].AgentID
		if m := met[[2]string{x, y}]; m > 0 {
			price[0]++
			price[1] += m
		}
		price[4] += (score[x] - score[y]) * (score[x] - score[y])
		if table[a].OwnerID == table[b].OwnerID {
			price[6]++
		}
		if score[x] != score[y] {
			price[7] += 2 * (b - a)
			continue
		}
		size, top := 0, -1
		for i, e := range table {
			if score[e.AgentID] == score[x] {
				if size++; top < 0 {
					top = i
				}
			}
		}
		half := func(i int) string {
			switch i -= top; {
			case i < size/2:
				return "top"
			case i >= size-size/2:
				return "bottom"
			}
			return "middle"
		}
		if half(a) == half(b) {
			price[5]++
		}
		price[7] += max(2*(b-a)-size, size-2*(b-a))
	}
	return price
}

// cheapestRound tries all ways to pair a round.
func cheapestRound(p *played, free []string, round int, sofar []arena.Pairing, best *[]int) {
	if len(free) == 0 {
		if price := swissPrice(p, sofar); *best == nil || slices.Compare(price, *best) < 0 {
			*best = price
		}
		return
	}
	first, rest := free[0], free[1:]
	with := func(q arena.Pairing, free []string) {
		q.Round = round
		cheapestRound(p, free, round, append(slices.Clone(sofar), q), best)
	}
	if len(free)%2 == 1 && !slices.ContainsFunc(sofar, func(q arena.Pairing) bool { return len(q.Agents) == 1 }) {
		with(arena.Pairing{Agents: []string{first}}, rest)
	}
	for i := range rest {
		with(arena.Pairing{Agents: []string{first, rest[i]}}, append(slices.Clone(rest[:i]), rest[i+1:]...))
	}
}

// drawSwiss makes a season in which ratings, owners and results are anything.
func drawSwiss(t *rapid.T, least, most int) *played {
	entrants := field(rapid.IntRange(least, most).Draw(t, "n"))
	for i := range entrants {
		entrants[i].Rating = arena.MilliElo(rapid.IntRange(1400, 1410).Draw(t, "rating"))
		entrants[i].OwnerID = fmt.Sprint(rapid.IntRange(0, len(entrants)).Draw(t, "owner"))
	}
	return newSwiss(entrants, rapid.IntRange(0, len(entrants)+1).Draw(t, "rounds"))
}

// TestSwiss_isBest holds every round against all others that were possible:
// fewest rematches, byes, least score gaps and so on.
func TestSwiss_isBest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawSwiss(t, 2, 8)
		decide := anything(t)
		for {
			step := p.next(t)
			if step.Done {
				return
			}
			if step.Pairings[0].Game == 1 {
				p.holdAgainstAll(t, step.Pairings)
			}
			p.Pairings = append(p.Pairings, step.Pairings...)
			for i := range p.Pairings {
				if p.Pairings[i].Open() {
					decide(&p.Pairings[i])
				}
			}
			p.comeAndGo(t)
		}
	})
}

func (p *played) holdAgainstAll(t fataler, round []arena.Pairing) {
	var free []string
	for _, e := range p.Season.Entrants {
		if e.Plays(round[0].Round) {
			free = append(free, e.AgentID)
		}
	}
	if len(free) > 10 {
		return
	}
	var best []int
	cheapestRound(p, free, round[0].Round, nil, &best)
	if price := swissPrice(p, round); slices.Compare(price, best) != 0 {
		t.Fatalf("%v costs %v, %v is possible", boards(round), price, best)
	}
}

// TestSwiss_ten is the same for ten agents, of which there are fewer cases.
func TestSwiss_ten(t *testing.T) {
	t.Parallel()
	for n := 9; n <= 10; n++ {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		p := newSwiss(field(n), n+1)
		p.finish(t, func(q *arena.Pairing) {
			if q.Slot == 1 {
				p.holdAgainstAll(t, slices.DeleteFunc(slices.Clone(p.Pairings), func(r arena.Pairing) bool { return r.Round != q.Round }))
			}
			give(arena.PairingPlayed, arena.Points(rng.IntN(3))*500)(q)
			q.Scores = append(q.Scores, won-q.Scores[0])
		})
	}
}

// TestSwiss_fields plays seasons of 2 to 40 agents to their end, with as many
// rounds as they need: no two agents meet twice, no agent has two byes, all play
// every round.
func TestSwiss_fields(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newSwiss(field(rapid.IntRange(2, 40).Draw(t, "n")), 0)
		p.finish(t, anything(t))
		paired, rounds := map[string]bool{}, map[string]int{}
		for _, q := range p.Pairings {
			if q.Game > 1 {
				continue
			}
			for _, id := range q.Agents {
				rounds[id]++
			}
			name := boards([]arena.Pairing{q})[0]
			if paired[name] { // a bye is a name, too
				t.Fatalf("%s is paired twice", name)
			}
			paired[name] = true
		}
		for id, n := range rounds {
			if n != swissRounds(p.Season) {
				t.Fatalf("%s plays %d rounds", id, n)
			}
		}
		p.ranks(t)
	})
}

func TestSwiss_interruption(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawSwiss(t, 1, 12)
		p.interrupted(t)
		p.ranks(t)
		seen := map[string]bool{}
		for _, q := range p.Pairings {
			for _, id := range q.Agents {
				at := fmt.Sprint(id, q.Round)
				if q.Game == 1 && seen[at] {
					t.Fatalf("%s is paired twice in round %d", id, q.Round)
				}
				seen[at] = true
			}
		}
		if step := p.next(t); !step.Done {
			t.Fatalf("continues after its end: %+v", step)
		}
	})
}

// TestSwiss_void replays what came to nothing, and then lets it be a draw.
func TestSwiss_void(t *testing.T) {
	t.Parallel()
	p := newSwiss(field(4), 2)
	step := p.next(t)
	byStrength(&step.Pairings[0]) // 1-3
	give(arena.PairingVoid)(&step.Pairings[1])
	p.Pairings = step.Pairings
	for game := 2; game <= maxGames; game++ {
		replay := p.next(t).Pairings
		if d := cmp.Diff([]string{"2-4"}, boards(replay)); d != "" || replay[0].Slot != 2 || replay[0].Game != game {
			t.Fatalf("game %d: %+v", game, replay)
		}
		if last := p.Pairings[len(p.Pairings)-1].Agents; last[0] != replay[0].Agents[1] {
			t.Errorf("game %d: %s is the first again", game, last[0])
		}
		p.Pairings = append(p.Pairings, replay...)
		if waits := p.next(t); len(waits.Pairings) > 0 || waits.Done {
			t.Fatalf("does not wait for the replay: %+v", waits)
		}
		give(arena.PairingVoid)(&p.Pairings[len(p.Pairings)-1])
	}
	if d := cmp.Diff([]string{"1-2", "3-4"}, boards(p.next(t).Pairings)); d != "" {
		t.Error(d)
	}
	for _, r := range swissTable(p.State) {
		if draw := r.AgentID == agent(2) || r.AgentID == agent(4); draw && (r.Draws != 1 || r.Score != drawn) {
			t.Errorf("%+v", r)
		}
	}
}

// TestSwiss_comeAndGo has 5 come late, and 2 withdraw while it waits for a
// replay.
func TestSwiss_comeAndGo(t *testing.T) {
	t.Parallel()
	p := newSwiss(field(5), 3)
	p.Season.Entrants[4].Round = 2
	p.Pairings = p.next(t).Pairings
	byStrength(&p.Pairings[0]) // 1-3
	give(arena.PairingVoid)(&p.Pairings[1])
	p.Season.Entrants[1].WithdrawnRound = 1
	forfeit := p.next(t).Pairings
	if len(forfeit) != 1 || forfeit[0].Result != arena.PairingForfeit || forfeit[0].Scores[slices.Index(forfeit[0].Agents, agent(4))] != won {
		t.Fatalf("%+v", forfeit)
	}
	p.Pairings = append(p.Pairings, forfeit...)
	if d := cmp.Diff([]string{"1-4", "3-5"}, boards(p.next(t).Pairings)); d != "" {
		t.Error(d)
	}
}

func TestSwiss_nobodyLeft(t *testing.T) {
	t.Parallel()
	for left := range 2 {
		p := newSwiss(field(4), 3)
		p.Pairings = p.next(t).Pairings
		for i := range p.Pairings {
			byStrength(&p.Pairings[i])
		}
		for i := left; i < 4; i++ {
			p.Season.Entrants[i].WithdrawnRound = 1
		}
		if step := p.next(t); !step.Done {
			t.Errorf("%d left: %+v", left, step)
		}
	}
}

// TestSwiss_firstSeat lets everyone be the first of two about as often as the
// second.
func TestSwiss_firstSeat(t *testing.T) {
	t.Parallel()
	p := newSwiss(field(16), 6)
	p.finish(t, byStrength)
	first := map[string]int{}
	for _, q := range p.Pairings {
		first[q.Agents[0]]++
	}
	for i := range 16 {
		if n := first[agent(i+1)]; n < 2 || n > 4 {
			t.Errorf("%s is first in %d of 6", agent(i+1), n)
		}
	}
}

func BenchmarkSwiss(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, round := range []int{1, 5, 10} {
			p := newSwiss(field(n), round)
			rng := rand.New(rand.NewPCG(1, 2))
			for range round - 1 {
				step := swissStep(p.State)
				for _, q := range step.Pairings {
					give(arena.PairingPlayed, arena.Points(rng.IntN(3))*drawn)(&q)
					q.Scores = append(q.Scores, won-q.Scores[0])
					p.Pairings = append(p.Pairings, q)
				}
			}
			b.Run(fmt.Sprintf("%d/round %d", n, round), func(b *testing.B) {
				for b.Loop() {
					if step := swissStep(p.State); len(step.Pairings) != n/2 {
						b.Fatal(len(step.Pairings))
					}
				}
			})
		}
	}
}
