package scoring_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// cardLeague simulates a league with a panel. Agents of more strength write more. The
// quality of an agent's answers in a match, and what judges think of the answers to a
// task, go together.
type cardLeague struct {
	random *rand.Rand
	agents []simulatedAgent
	judges map[string]string // families of the judges by name
	spec   arena.JudgeSpec

	order, length, family float64 // biases, in standard deviations of strength

	verdicts []arena.Verdict // newest match first
	lengths  map[string]int
	matches  int
}

type simulatedAgent struct {
	id, family       string
	strength, length float64 // log of the usual length
}

func newCardLeague(seed uint64) *cardLeague {
	c := &cardLeague{
		random: rand.New(rand.NewPCG(seed, 1)), lengths: map[string]int{},
		judges: map[string]string{"jg": "gpt", "jc": "claude", "jq": "qwen"},
		spec:   arena.JudgeSpec{Kind: arena.JudgePanel, Agents: []string{"jc", "jg", "jq"}},
		// Honest judges are imperfect.
		order: 0.2, length: 0.2, family: 0.05,
	}
	for i, family := range []string{"gpt", "gpt", "claude", "claude", "llama", ""} {
		strength := c.random.NormFloat64()
		c.agents = append(c.agents, simulatedAgent{fmt.Sprint("a", i), family, strength, 6 + 0.3*strength})
	}
	return c
}

func (c *cardLeague) facts() scoring.JudgeFacts {
	return scoring.JudgeFacts{
		Length: func(matchID string, round int, agentID string) (int, bool) {
			n, ok := c.lengths[fmt.Sprint(matchID, round, agentID)]
			return n, ok
		},
		Version: func(string, string) string { return "1" },
		Family: func(id string) string {
			for _, a := range c.agents {
				if a.id == id {
					return a.family
				}
			}
			return c.judges[id]
		},
	}
}

// play adds a match of two agents with some rounds.
func (c *cardLeague) play(rounds int) {
	c.matches++
	id := fmt.Sprintf("m_%06d", c.matches)
	drawn := c.random.Perm(len(c.agents))[:2]
	slices.Sort(drawn)
	a, b := c.agents[drawn[0]], c.agents[drawn[1]]
	form := c.random.NormFloat64() // of a against b in this match
	var match []arena.Verdict
	for round := 1; round <= rounds; round++ {
		la, lb := math.Exp(a.length+0.25*c.random.NormFloat64()), math.Exp(b.length+0.25*c.random.NormFloat64())
		c.lengths[fmt.Sprint(id, round, a.id)], c.lengths[fmt.Sprint(id, round, b.id)] = int(la), int(lb)
		quality := a.strength - b.strength + form + 0.7*c.random.NormFloat64()
		v := arena.Verdict{MatchID: id, Round: round, Judge: arena.JudgePanel, Version: "panel-2"}
		for _, judge := range c.spec.Agents {
			seen := quality + 0.5*c.random.NormFloat64() + math.Copysign(c.length, la-lb)
			switch c.judges[judge] {
			case "":
			case a.family:
				if b.family != a.family {
					seen += c.family
				}
			case b.family:
				seen -= c.family
			}
			v.Ballots = append(v.Ballots, c.ballot(judge, a.id, b.id, seen), c.ballot(judge, b.id, a.id, -seen))
		}
		match = append(match, v)
	}
	c.verdicts = append(match, c.verdicts[:min(len(c.verdicts), 500-rounds)]...)
}

// ballot is what a judge says to whom the first answer seems better by so much.
func (c *cardLeague) ballot(judge, first, second string, better float64) arena.Ballot {
	b := arena.Ballot{Judge: judge, First: first, Second: second}
	switch better += c.order + 0.2*c.random.NormFloat64(); {
	case better > 0.1:
		b.Choice = first
	case better < -0.1:
		b.Choice = second
	}
	return b
}

func (c *cardLeague) over() (names []arena.JudgeBias) {
	for _, m := range scoring.JudgeCard(c.spec, c.verdicts, c.facts()) {
		if m.Over {
			names = append(names, m.Name)
		}
	}
	return names
}

// A judge with one strong bias is found by that line of its card, and by no other.
func TestJudgeCard_plantedBiases(t *testing.T) {
	t.Parallel()
	for name, plant := range map[arena.JudgeBias]func(*cardLeague){
		arena.BiasOrder:  func(c *cardLeague) { c.order = 6 },
		arena.BiasLength: func(c *cardLeague) { c.length = 6 },
		arena.BiasFamily: func(c *cardLeague) {
			c.family = 6
			for i := range c.agents { // an agent that wins anyway cannot be favored
				c.agents[i].strength /= 2
			}
		},
	} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				c := newCardLeague(seed)
				plant(c)
				found := false
				for !found && c.matches < 300 {
					for range 10 {
						c.play(2)
					}
					if over := c.over(); len(over) > 0 {
						if !slices.Equal(over, []arena.JudgeBias{name}) {
							t.Fatalf("seed %d: over: %v", seed, over)
						}
						found = true
					}
				}
				if !found {
					t.Errorf("seed %d: not found: %+v", seed, scoring.JudgeCard(c.spec, c.verdicts, c.facts()))
				}
				t.Logf("seed %d: found after %d matches", seed, c.matches)
			}
		})
	}
}

// 1,000 leagues with honest but imperfect judges are measured again and again; none is
// paused. ARENA_TEST_SLOW=1 measures them after each of 200 matches.
func TestJudgeCard_honest(t *testing.T) {
	t.Parallel()
	matches, every := 100, 25
	if os.Getenv("ARENA_TEST_SLOW") != "" {
		matches, every = 200, 1
	}
	var wg sync.WaitGroup
	for worker := range uint64(4) {
		wg.Go(func() {
			for i := range uint64(250) {
				c := newCardLeague(worker*250 + i)
				for c.matches < matches {
					c.play(1 + c.random.IntN(3))
					if c.matches%every != 0 {
						continue
					}
					if over := c.over(); len(over) > 0 {
						t.Errorf("league %d: over after %d matches: %v", worker*250+i, c.matches, over)
						break
					}
				}
			}
		})
	}
	wg.Wait()
}

// A better agent that writes more makes longer answers win, and is no bias of the judge.
func TestJudgeCard_betterAndLonger(t *testing.T) {
	t.Parallel()
	c := newCardLeague(7)
	c.length = 0
	c.agents = c.agents[:2]
	c.agents[0].strength, c.agents[0].length = 4, 6.4
	c.agents[1].strength, c.agents[1].length = 0, 6
	for range 250 {
		c.play(2)
	}
	naive := *scoring.JudgeHealth(c.spec, c.verdicts, c.facts().Length).LongerRate
	card := scoring.JudgeCard(c.spec, c.verdicts, c.facts())
	if length := card[1]; naive < 0.8 || length.N < 50 || math.Abs(*length.Share-0.5) > 0.05 {
		t.Errorf("longer answers win %.2f; the card has %.2f of %d", naive, *length.Share, length.N)
	}
}

// The lines of a card by hand.
func TestJudgeCard(t *testing.T) {
	t.Parallel()
	spec := arena.JudgeSpec{Kind: arena.JudgePanel, Agents: []string{"j", "k"}}
	verdict := func(match int, version string, ballots ...arena.Ballot) arena.Verdict {
		return arena.Verdict{MatchID: fmt.Sprint("m_", match), Round: 1, Judge: arena.JudgePanel, Version: version, Ballots: ballots}
	}
	both := func(judge, a, b, choice string) []arena.Ballot {
		return []arena.Ballot{ballot(judge, a, b, choice), ballot(judge, b, a, choice)}
	}
	flip := []arena.Ballot{ballot("j", "a", "bb", "a"), ballot("j", "bb", "a", "bb")}
	facts := scoring.JudgeFacts{
		// Agent a wrote the longer answer in odd matches only.
		Length: func(matchID string, _ int, agentID string) (int, bool) {
			odd := (matchID[len(matchID)-1]-'0')%2 == 1
			return map[bool]int{true: 20, false: 10}[odd == (agentID == "a")], matchID != "m_8"
		},
		Version: func(string, string) string { return "" },
		Family: func(id string) string {
			return map[string]string{"a": "gpt", "bb": "llama", "j": "gpt", "k": "qwen"}[id]
		},
	}
	for name, tt := range map[string]struct {
		verdicts              []arena.Verdict
		order, length, family float64 // -1: null
		n                     [3]int
	}{
		"none": {nil, -1, -1, -1, [3]int{}},
		"each match counts once": {[]arena.Verdict{
			verdict(2, "v", flip...), verdict(2, "v", both("j", "a", "bb", "a")...), verdict(1, "v", flip...),
		}, 0.75, -1, -1, [3]int{2, 0, 0}},
		"another version, kind and juror": {[]arena.Verdict{
			verdict(3, "v", both("j", "a", "bb", "a")...), verdict(2, "old", flip...),
			{MatchID: "m_1", Judge: arena.JudgeCrowd, Version: "v", Ballots: flip},
			verdict(0, "v", ballot("gone", "a", "bb", "a"), ballot("gone", "bb", "a", "bb")),
		}, 0, -1, -1, [3]int{1, 0, 0}},
		"the longer one wins": {[]arena.Verdict{
			verdict(4, "v", both("j", "a", "bb", "bb")...), verdict(3, "v", both("j", "a", "bb", "a")...),
		}, 0, 1, -1, [3]int{2, 2, 0}},
		"the same one wins; unknown lengths": {[]arena.Verdict{
			verdict(8, "v", both("j", "a", "bb", "a")...), verdict(4, "v", both("j", "a", "bb", "a")...), verdict(3, "v", both("j", "a", "bb", "a")...),
		}, 0, 0.5, -1, [3]int{3, 2, 0}},
		"own family, and the other judge ties": {[]arena.Verdict{
			verdict(3, "v", slices.Concat(both("j", "a", "bb", "a"), both("k", "a", "bb", ""))...),
		}, 0, -1, 0.75, [3]int{1, 0, 1}},
		"own family loses, and the other judge disagrees": {[]arena.Verdict{
			verdict(3, "v", slices.Concat(both("j", "a", "bb", "bb"), both("k", "a", "bb", "a"))...),
		}, 0, -1, 0, [3]int{1, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := scoring.JudgeCard(spec, tt.verdicts, facts)
			for i, want := range []float64{tt.order, tt.length, tt.family} {
				m := card[i]
				if (m.Share == nil) != (want < 0) || m.Share != nil && math.Abs(*m.Share-want) > 1e-9 || m.N != tt.n[i] || m.Over {
					t.Errorf("%s: %+v, want %v of %d", m.Name, m, want, tt.n[i])
				}
			}
		})
	}
	if card := scoring.JudgeCard(arena.JudgeSpec{Kind: arena.JudgeExact}, nil, facts); card == nil || len(card) != 0 {
		t.Errorf("a judge that compares nothing has the card %v", card)
	}
}

// With the matches that are needed, and not with one less, the worst judge is over.
func TestJudgeCard_needed(t *testing.T) {
	t.Parallel()
	spec := arena.JudgeSpec{Kind: arena.JudgeModel}
	var verdicts []arena.Verdict
	for {
		order := scoring.JudgeCard(spec, verdicts, scoring.JudgeFacts{
			Length: byName, Version: func(string, string) string { return "" }, Family: func(string) string { return "" },
		})[0]
		if order.Over != (len(verdicts) >= order.Needed) {
			t.Fatalf("%d matches: %+v", len(verdicts), order)
		}
		if order.Over {
			return
		}
		verdicts = append(verdicts, arena.Verdict{
			MatchID: fmt.Sprint("m_", len(verdicts)), Judge: arena.JudgeModel, Version: "model-2/x", Ballots: []arena.Ballot{ballot("x", "a", "b", "a"), ballot("x", "b", "a", "b")},
		})
	}
}

func TestModelFamily(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"gpt-5-mini": "gpt", "openai/gpt-5": "gpt", "OpenAI": "openai", "Claude Opus 4.1": "claude", "us.anthropic.claude-4": "us", "anthropic.claude-4": "claude",
		"meta-llama/Llama-3.1-8B": "llama", "llama3": "llama", "Qwen/Qwen3": "qwen", "": "", "42": "",
	} {
		if got := scoring.ModelFamily(model); got != want {
			t.Errorf("%q: %q, want %q", model, got, want)
		}
	}
}

func TestJudgeCard_gold(t *testing.T) {
	t.Parallel()
	spec := arena.JudgeSpec{Kind: arena.JudgeModel, Gold: "pk_1"}
	verdicts := []arena.Verdict{{MatchID: "m_1", Round: 1, Judge: arena.JudgeModel, Version: "model-2/new"}}
	card := func(gold []arena.GoldVerdict) arena.JudgeMeasure {
		lines := scoring.JudgeCard(spec, verdicts, scoring.JudgeFacts{
			Gold: gold, Length: func(string, int, string) (int, bool) { return 0, false }, Version: func(string, string) string { return "" }, Family: func(string) string { return "" },
		})
		if len(lines) != 4 || lines[3].Name != arena.BiasGold {
			t.Fatalf("the card is %+v", lines)
		}
		return lines[3]
	}
	items := func(agreed, missed int, version string) (gold []arena.GoldVerdict) {
		for i := range agreed + missed {
			gold = append(gold, arena.GoldVerdict{Version: version, Agreed: i < agreed})
		}
		return gold
	}
	for name, tt := range map[string]struct {
		gold  []arena.GoldVerdict
		n     int
		share float64 // -1: none
		over  bool
	}{
		"nothing asked":               {nil, 0, -1, false},
		"all missed, one too few":     {items(0, scoring.MinGold-1, "model-2/new"), scoring.MinGold - 1, 1, false},
		"all missed":                  {items(0, scoring.MinGold, "model-2/new"), scoring.MinGold, 1, true},
		"missed by another version":   {items(0, 100, "model-2/old"), 0, -1, false},
		"no verdicts":                 {items(0, 100, ""), 0, -1, false},
		"lots: three of four missed":  {items(25, 75, "model-2/new"), 100, 0.75, true},
		"half missed":                 {items(500, 500, "model-2/new"), 1000, 0.5, false},
		"most agree":                  {items(80, 20, "model-2/new"), 100, 0.2, false},
		"old errors of a new version": {append(items(0, 50, "model-2/old"), items(12, 0, "model-2/new")...), 12, 0, false},
	} {
		m := card(tt.gold)
		share := -1.0
		if m.Share != nil {
			share = *m.Share
		}
		if m.N != tt.n || share != tt.share || m.Over != tt.over || m.Needed != scoring.MinGold || m.Limit != 0.5 {
			t.Errorf("%s: %+v, share %v", name, m, share)
		}
	}
	spec.Gold = ""
	if lines := scoring.JudgeCard(spec, nil, scoring.JudgeFacts{}); len(lines) != 3 {
		t.Errorf("without gold items the card is %+v", lines)
	}
}

// A judge that finds the better answer of an item three times in four, by itself in each
// order, is never over the limit, although it is looked at after each item.
func TestJudgeCard_goldHonest(t *testing.T) {
	t.Parallel()
	spec := arena.JudgeSpec{Kind: arena.JudgeModel, Gold: "pk_1"}
	verdicts := []arena.Verdict{{Judge: arena.JudgeModel, Version: "v"}}
	facts := scoring.JudgeFacts{
		Length: func(string, int, string) (int, bool) { return 0, false }, Version: func(string, string) string { return "" }, Family: func(string) string { return "" },
	}
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 2))
		facts.Gold = nil
		for range 100 {
			right := func() bool { return random.Float64() < 0.75 }
			first, second := right(), right()
			facts.Gold = append(facts.Gold, arena.GoldVerdict{Version: "v", Agreed: first && second})
			if m := scoring.JudgeCard(spec, verdicts, facts)[3]; m.Over {
				t.Errorf("seed %d: after %d items %+v", seed, len(facts.Gold), m)
				break
			}
		}
	}
}

func TestGoldPair(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		task          arena.Task
		better, worse string
	}{
		"first":      {arena.Task{Options: []string{"x", "y"}, Answers: []string{"x"}}, "x", "y"},
		"second":     {arena.Task{Options: []string{"x", "y"}, Answers: []string{"y"}}, "y", "x"},
		"letters":    {arena.Task{Options: []string{"B", "A"}, Answers: []string{"B"}}, "B", "A"},
		"both":       {arena.Task{Options: []string{"x", "y"}, Answers: []string{"x", "y"}}, "", ""},
		"neither":    {arena.Task{Options: []string{"x", "y"}}, "", ""},
		"three":      {arena.Task{Options: []string{"x", "y", "z"}, Answers: []string{"x"}}, "", ""},
		"no options": {arena.Task{Answers: []string{"x"}}, "", ""},
	} {
		better, worse, problem := scoring.GoldPair(tt.task)
		if better != tt.better || worse != tt.worse || (problem == "") != (better != "") {
			t.Errorf("%s: %q, %q, %q", name, better, worse, problem)
		}
	}
}
