package format_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// idle makes a candidate of its own owner.
func idle(id string, elo int, change ...func(*format.Candidate)) format.Candidate {
	c := format.Candidate{AgentID: id, OwnerID: "owner of " + id, Rating: arena.MilliElo(elo) * 1000, IdleSince: noon}
	for _, f := range change {
		f(&c)
	}
	return c
}

func of(owner string) func(*format.Candidate) {
	return func(c *format.Candidate) { c.OwnerID = owner }
}

func met(opponent string) func(*format.Candidate) {
	return func(c *format.Candidate) { c.LastOpponent = opponent }
}

func waited(d time.Duration) func(*format.Candidate) {
	return func(c *format.Candidate) { c.IdleSince = noon.Add(-d) }
}

func meetings(a, b string, n int, ago time.Duration) []arena.Meeting {
	return slices.Repeat([]arena.Meeting{{A: a, B: b, At: noon.Add(-ago)}}, n)
}

func builtIn(c *format.Candidate) { c.OwnerID, c.BuiltIn = "arena", true }

// Built-in opponents fill in: they meet agents that have nobody else, after these have
// waited while others are busy, and never each other.
func TestPairLadder_BuiltIn(t *testing.T) {
	t.Parallel()
	fill := []format.Candidate{idle("x", 1600, builtIn), idle("y", 1600, builtIn), idle("z", 1600, builtIn)}
	for name, tt := range map[string]struct {
		in   format.LadderInput
		want string
	}{
		"alone":                {format.LadderInput{Rated: true}, "[]"},
		"alone, and unrated":   {format.LadderInput{}, "[]"},
		"the first agent":      {format.LadderInput{Rated: true, Idle: []format.Candidate{idle("a", 1500)}}, "[a]"},
		"an agent that waits":  {format.LadderInput{Rated: true, Busy: 1, Patience: time.Minute, Idle: []format.Candidate{idle("a", 1500)}}, "[]"},
		"one that has waited":  {format.LadderInput{Rated: true, Busy: 1, Patience: time.Minute, Idle: []format.Candidate{idle("a", 1500, waited(time.Minute))}}, "[a]"},
		"two agents":           {format.LadderInput{Rated: true, Idle: []format.Candidate{idle("a", 1500), idle("b", 1900)}}, "[a-b]"},
		"three agents":         {format.LadderInput{Rated: true, Idle: []format.Candidate{idle("a", 1500), idle("b", 1510), idle("c", 1900)}}, "[a-b c]"},
		"two that cannot meet": {format.LadderInput{Rated: true, Idle: []format.Candidate{idle("a", 1500, of("o")), idle("b", 1500, of("o"))}}, "[a b]"},
	} {
		tt.in.Idle, tt.in.Now = append(tt.in.Idle, fill...), noon
		var got []string
		pairs, _ := format.PairLadder(tt.in)
		for _, p := range pairs {
			slices.Sort(p[:])
			pair := p[0]
			if p[1] < "x" {
				pair += "-" + p[1]
			} else if p[0] >= "x" {
				t.Errorf("%s: %v", name, p)
			}
			got = append(got, pair)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: got %v, want %s", name, got, tt.want)
		}
	}
}

// TestPairLadder has a case per term of the rule, small enough for the head. Threat F4.
func TestPairLadder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		in      format.LadderInput
		want    []string // "a-b", sorted
		starved string
	}{
		{
			"nearest ratings", format.LadderInput{
				Idle: []format.Candidate{idle("a", 1500), idle("b", 1900), idle("c", 1520), idle("d", 1880)},
			}, []string{"a-c", "b-d"}, "",
		},
		{
			// 90 + 600 with the nearest two first, 100 + 410 so.
			"the sum of the gaps decides", format.LadderInput{
				Idle: []format.Candidate{idle("a", 1500), idle("b", 1400), idle("c", 1590), idle("d", 2000)},
			}, []string{"a-b", "c-d"}, "",
		},
		{
			"a meeting costs 200", format.LadderInput{
				Idle:     []format.Candidate{idle("a", 1500), idle("b", 1500), idle("c", 1590), idle("d", 1590)},
				Meetings: meetings("b", "a", 1, time.Hour),
			}, []string{"a-c", "b-d"}, "",
		},
		{
			"a meeting of yesterday costs nothing", format.LadderInput{
				Idle:     []format.Candidate{idle("a", 1500), idle("b", 1500), idle("c", 1590), idle("d", 1590)},
				Meetings: meetings("b", "a", 1, 24*time.Hour),
			}, []string{"a-b", "c-d"}, "",
		},
		{
			// 200 for the gap, less 5 * 41 for c's wait.
			"a second of waiting is worth 5", format.LadderInput{
				Idle: []format.Candidate{idle("a", 1500), idle("b", 1499), idle("c", 1700, waited(41*time.Second))},
			}, []string{"a-c"}, "",
		},
		{
			"not yet", format.LadderInput{
				Idle: []format.Candidate{idle("a", 1500), idle("b", 1499), idle("c", 1700, waited(39*time.Second))},
			}, []string{"a-b"}, "",
		},
		{
			"ten minutes of waiting are enough", format.LadderInput{
				Idle: []format.Candidate{
					idle("a", 1500, waited(time.Hour)), idle("b", 1500, waited(time.Hour)), idle("c", 1501, waited(24*time.Hour)),
				},
			}, []string{"a-b"}, "",
		},
		{
			"the last opponent is avoided", format.LadderInput{
				Idle: []format.Candidate{idle("a", 1500, met("b")), idle("b", 1500), idle("c", 2900), idle("d", 2900)},
			}, []string{"a-c", "b-d"}, "",
		},
		{
			"the last opponent when there is nobody else", format.LadderInput{
				Idle: []format.Candidate{idle("a", 1500, met("b")), idle("b", 1500, met("a"))},
			}, []string{"a-b"}, "",
		},
		{
			"one owner is avoided", format.LadderInput{
				Rated: true,
				Idle:  []format.Candidate{idle("a", 1500, of("o")), idle("b", 1500, of("o")), idle("c", 2900), idle("d", 2900)},
			}, []string{"a-c", "b-d"}, "",
		},
		{
			"one owner when the league asks for it", format.LadderInput{
				Rated: true, Filler: true, Idle: []format.Candidate{idle("a", 1500, of("o")), idle("b", 1500, of("o"))},
			}, []string{"a-b"}, "",
		},
		{
			"one owner never when it does not", format.LadderInput{
				Rated: true, Idle: []format.Candidate{idle("a", 1500, of("o")), idle("b", 1500, of("o"))},
			}, nil, "2 idle agents can meet only unrated: they are of one owner, or have met 3 times in 24 h",
		},
		{
			"one owner does not matter where nothing is rated", format.LadderInput{
				Idle: []format.Candidate{idle("a", 1500, of("o")), idle("b", 1500, of("o")), idle("c", 2900), idle("d", 2900)},
			}, []string{"a-b", "c-d"}, "",
		},
		{
			"a last opponent rather than an unrated duel", format.LadderInput{
				Rated:    true,
				Idle:     []format.Candidate{idle("a", 1500, of("o")), idle("b", 1500, of("o")), idle("c", 2900, met("a"))},
				Meetings: meetings("b", "c", 3, time.Hour),
			}, []string{"a-c"}, "",
		},
		{
			"the third rated duel", format.LadderInput{
				Rated:    true,
				Idle:     []format.Candidate{idle("a", 1500), idle("b", 1500), idle("c", 2500), idle("d", 2500)},
				Meetings: meetings("a", "b", 2, time.Hour),
			}, []string{"a-b", "c-d"}, "",
		},
		{
			"no fourth rated duel in 24 h", format.LadderInput{
				Rated:    true,
				Idle:     []format.Candidate{idle("a", 1500), idle("b", 1500), idle("c", 2500), idle("d", 2500)},
				Meetings: meetings("a", "b", 3, time.Hour),
			}, []string{"a-c", "b-d"}, "",
		},
		{"nobody", format.LadderInput{}, nil, "needs 2 idle agents, has 0"},
		{"one", format.LadderInput{Idle: []format.Candidate{idle("a", 1500)}}, nil, "needs 2 idle agents, has 1"},
		{
			"two that have just met wait for another", format.LadderInput{
				Busy: 1, Patience: 20 * time.Second,
				Idle: []format.Candidate{idle("a", 1500, met("b"), waited(time.Hour)), idle("b", 1500, met("a"), waited(19*time.Second))},
			}, nil, "2 idle agents have just met or can meet only unrated; they wait up to 20 s for another opponent",
		},
		{
			"and then meet again", format.LadderInput{
				Busy: 1, Patience: 20 * time.Second,
				Idle: []format.Candidate{idle("a", 1500, met("b"), waited(time.Hour)), idle("b", 1500, met("a"), waited(20*time.Second))},
			}, []string{"a-b"}, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.in.Now = noon
			pairs, starved := format.PairLadder(tt.in)
			if d := cmp.Diff(tt.want, names(pairs)); d != "" {
				t.Error(d)
			}
			if starved.String() != tt.starved {
				t.Errorf("starved %q, want %q", starved, tt.starved)
			}
		})
	}
}

func names(pairs [][2]string) (s []string) {
	for _, p := range pairs {
		s = append(s, min(p[0], p[1])+"-"+max(p[0], p[1]))
	}
	slices.Sort(s)
	return s
}

func TestUnratedPair(t *testing.T) {
	t.Parallel()
	a, b := idle("a", 1500), idle("b", 1500)
	tests := []struct {
		name     string
		a, b     format.Candidate
		meetings []arena.Meeting
		want     arena.UnratedReason
	}{
		{"strangers", a, b, nil, ""},
		{"two meetings", a, b, meetings("b", "a", 2, time.Hour), ""},
		{"three meetings", a, b, meetings("b", "a", 3, time.Hour), arena.UnratedPairLimit},
		{"three meetings, one of them old", a, b, append(meetings("a", "b", 2, 0), meetings("a", "b", 1, 24*time.Hour)...), ""},
		{"three meetings of others", a, b, meetings("a", "c", 3, time.Hour), ""},
		{"one owner", idle("a", 1500, of("o")), idle("b", 1500, of("o")), nil, arena.UnratedSameOwner},
		{"owners not known", idle("a", 1500, of("")), idle("b", 1500, of("")), nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := format.UnratedPair(tt.a, tt.b, tt.meetings, noon); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// drawLadder makes any input of n agents.
func drawLadder(t *rapid.T, n int) format.LadderInput {
	in := format.LadderInput{
		Now: noon, Rated: rapid.Bool().Draw(t, "rated"), Filler: true, Busy: rapid.IntRange(0, 1).Draw(t, "busy"), Patience: 20 * time.Second,
	}
	id := func(label string) string { return fmt.Sprintf("ag_%02d", rapid.IntRange(0, n-1).Draw(t, label)) }
	for i := range n {
		in.Idle = append(in.Idle, format.Candidate{
			AgentID:      fmt.Sprintf("ag_%02d", i),
			OwnerID:      fmt.Sprintf("ow_%d", rapid.IntRange(0, n/2).Draw(t, "owner")),
			Rating:       arena.MilliElo(rapid.IntRange(1_400_000, 1_600_000).Draw(t, "rating")),
			IdleSince:    noon.Add(-time.Duration(rapid.IntRange(0, 60_000).Draw(t, "waited")) * time.Millisecond),
			LastOpponent: id("last"),
		})
	}
	for range rapid.IntRange(0, 2*n).Draw(t, "meetings") {
		in.Meetings = append(in.Meetings, arena.Meeting{A: id("a"), B: id("b"), At: noon.Add(-time.Hour)})
	}
	return in
}

// cost is the rule of the ladder written a second time, as plainly as possible:
// unpaired, unrated, rematches, milli-Elo. bad is set for a pair that should have
// waited, or is not a pair of the input.
func cost(in format.LadderInput, pairs [][2]string) (c [4]int64, bad bool) {
	by := map[string]format.Candidate{}
	for _, a := range in.Idle {
		by[a.AgentID] = a
	}
	c[0] = int64(len(in.Idle) - 2*len(pairs))
	for _, p := range pairs {
		a, b := by[p[0]], by[p[1]]
		avoided := false
		if in.Rated && format.UnratedPair(a, b, in.Meetings, in.Now) != "" {
			c[1]++
			avoided = true
			bad = bad || !in.Filler
		}
		if a.LastOpponent == b.AgentID || b.LastOpponent == a.AgentID {
			c[2]++
			avoided = true
		}
		waitA, waitB := in.Now.Sub(a.IdleSince), in.Now.Sub(b.IdleSince)
		if avoided && in.Busy > 0 && min(waitA, waitB) < in.Patience {
			bad = true
		}
		c[3] += max(int64(a.Rating-b.Rating), int64(b.Rating-a.Rating)) - 5*(waitA+waitB).Milliseconds()
		for _, m := range in.Meetings {
			if m.A == p[0] && m.B == p[1] || m.A == p[1] && m.B == p[0] {
				c[3] += 200_000
			}
		}
	}
	return c, bad
}

// cheapest tries every matching.
func cheapest(in format.LadderInput, free []string, pairs [][2]string, best *[4]int64) {
	if len(free) == 0 {
		if c, bad := cost(in, pairs); !bad && slices.Compare(c[:], best[:]) < 0 {
			*best = c
		}
		return
	}
	first, rest := free[0], free[1:]
	cheapest(in, rest, pairs, best)
	for i := range rest {
		others := append(slices.Clone(rest[:i]), rest[i+1:]...)
		cheapest(in, others, append(slices.Clone(pairs), [2]string{first, rest[i]}), best)
	}
}

func TestPairLadder_isCheapest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawLadder(t, rapid.IntRange(2, 7).Draw(t, "n"))
		in.Filler = rapid.Bool().Draw(t, "filler")
		pairs, _ := format.PairLadder(in)
		got, bad := cost(in, pairs)
		if bad {
			t.Fatalf("%v must not be paired", pairs)
		}
		var free []string
		for _, a := range in.Idle {
			free = append(free, a.AgentID)
		}
		best := [4]int64{1 << 60}
		cheapest(in, free, nil, &best)
		if got != best {
			t.Fatalf("%v costs %v, %v is possible", pairs, got, best)
		}
	})
}

// TestPairLadder_isAMatching holds for any size: no agent is paired twice, with
// itself or with an agent from outside; all that may meet do; order decides nothing.
func TestPairLadder_isAMatching(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		in := format.LadderInput{Now: noon}
		if n > 0 {
			in = drawLadder(t, n)
		}
		pairs, starved := format.PairLadder(in)
		if (len(pairs) == 0) != (starved.Code != "") {
			t.Fatalf("%d pairs, starved %q", len(pairs), starved)
		}
		seen := map[string]bool{}
		for _, p := range pairs {
			for _, id := range p {
				if seen[id] || !slices.ContainsFunc(in.Idle, func(c format.Candidate) bool { return c.AgentID == id }) {
					t.Fatalf("%s in %v", id, pairs)
				}
				seen[id] = true
			}
		}
		if _, bad := cost(in, pairs); bad {
			t.Fatalf("%v should have waited", pairs)
		}
		if in.Busy == 0 && len(pairs) != n/2 {
			t.Fatalf("%d pairs of %d agents", len(pairs), n)
		}
		in.Idle = rapid.Permutation(in.Idle).Draw(t, "order")
		again, _ := format.PairLadder(in)
		if d := cmp.Diff(names(pairs), names(again)); d != "" {
			t.Fatalf("the order of the agents matters: %s", d)
		}
	})
}

// TestPairLadder_many pairs crowds whose cheapest matching is known: fours of
// equal ratings, who have met their neighbors. The larger crowd is
// too large for everyone to meet everyone.
func TestPairLadder_many(t *testing.T) {
	t.Parallel()
	for _, n := range []int{200, 400} {
		in := format.LadderInput{Now: noon}
		for i := range n {
			in.Idle = append(in.Idle, idle(fmt.Sprintf("ag_%03d", i), 1000+i/4*10))
			if i%4 > 0 {
				in.Meetings = append(in.Meetings, meetings(in.Idle[i].AgentID, in.Idle[i-1].AgentID, 1, time.Hour)...)
			}
		}
		pairs, _ := format.PairLadder(in)
		if c, _ := cost(in, pairs); c != [4]int64{} {
			t.Errorf("%d agents cost %v, 0 is possible", n, c)
		}
	}
}

func ExamplePairLadder() {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	in := format.LadderInput{Now: now, Rated: true, Idle: []format.Candidate{
		{AgentID: "steady", OwnerID: "ada", Rating: 1_620_000},
		{AgentID: "sharp", OwnerID: "bob", Rating: 1_710_000, LastOpponent: "steady"},
		{AgentID: "sloppy", OwnerID: "ada", Rating: 1_590_000},
		{AgentID: "chatty", OwnerID: "cem", Rating: 1_480_000},
	}}
	pairs, _ := format.PairLadder(in)
	for _, p := range pairs {
		fmt.Println(p[0], "-", p[1])
	}
	_, starved := format.PairLadder(format.LadderInput{Idle: in.Idle[:1]})
	fmt.Println(starved)
	// Output:
	// chatty - steady
	// sloppy - sharp
	// needs 2 idle agents, has 1
}

func BenchmarkPairLadder(b *testing.B) {
	for _, n := range []int{12, 128, 300, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := format.LadderInput{Now: noon, Rated: true}
			for i := range n {
				id := fmt.Sprintf("ag_%04d", i)
				in.Idle = append(in.Idle, idle(id, 1000+i*7919%1000, waited(time.Duration(i)*time.Millisecond)))
				in.Meetings = append(in.Meetings, meetings(id, fmt.Sprintf("ag_%04d", i*31%n), 1, time.Hour)...)
			}
			for b.Loop() {
				if pairs, _ := format.PairLadder(in); len(pairs) != n/2 {
					b.Fatal(len(pairs))
				}
			}
		})
	}
}

// The first seat goes to the agent of a pair that had it less often, compared with
// the second, else to the lower rated one.
func TestPairLadder_firstSeat(t *testing.T) {
	t.Parallel()
	met := func(pairs ...string) (all []arena.Meeting) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, meetings(pairs[i], pairs[i+1], 1, time.Hour)...)
		}
		return all
	}
	for name, tt := range map[string]struct {
		meetings []arena.Meeting
		want     [2]string
	}{
		"no duels":                  {nil, [2]string{"low", "top"}},
		"the lower rated was first": {met("low", "top"), [2]string{"top", "low"}},
		"the higher rated was":      {met("top", "low"), [2]string{"low", "top"}},
		"against others":            {met("low", "x", "y", "top"), [2]string{"top", "low"}},
		"as often as second":        {met("low", "x", "x", "low"), [2]string{"top", "low"}},
		"more often, but in more":   {met("low", "x", "low", "x", "x", "low", "y", "low", "z", "low", "top", "x"), [2]string{"low", "top"}},
		"yesterday":                 {meetings("low", "top", 1, 25*time.Hour), [2]string{"low", "top"}},
	} {
		pairs, _ := format.PairLadder(format.LadderInput{Idle: []format.Candidate{idle("low", 1400), idle("top", 1500)}, Meetings: tt.meetings, Now: noon})
		if d := cmp.Diff([][2]string{tt.want}, pairs); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
