package format

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// agent names the n-th agent, 1-based.
func agent(n int) string { return fmt.Sprintf("agent%03d", n) }

// field makes n entrants, the first the best.
func field(n int) []arena.Entrant {
	entrants := make([]arena.Entrant, n)
	for i := range entrants {
		id := agent(i + 1)
		entrants[i] = arena.Entrant{
			AgentID: id, OwnerID: "owner of " + id, Name: "the " + id, Rating: arena.StartRating - arena.MilliElo(i), Round: 1,
		}
	}
	return entrants
}

// played is a season in the hands of a scheduler that a test controls.
type played struct {
	State
	step  func(State) Step
	table func(State) []arena.TableRow
	twice bool // whether an agent may have two open pairings
}

func newPlayed(f arena.Format, entrants []arena.Entrant, o arena.FormatOptions) *played {
	p := &played{State: State{
		Season: arena.Season{
			ID: "ssn_1", League: "test", No: 1, Status: arena.SeasonRunning, Format: f, Options: o, Seed: 7,
			Entrants: entrants, StartedAt: noon,
		},
		Now: noon, MinSeats: 3, MaxSeats: 5,
	}, table: Table, twice: f == arena.FormatGauntlet}
	p.step = func(s State) Step {
		step, err := Next(s)
		if err != nil {
			panic(err)
		}
		return step
	}
	if Of(f).NeedsIdle {
		p.Season.EndsAt = noon.Add(5 * time.Minute)
	}
	return p
}

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Fatalf(format string, args ...any)
}

// next returns the next step after checking the invariants of every step.
func (p *played) next(t fataler) Step {
	step := p.step(p.State)
	mixed := p.State
	mixed.Pairings = slices.Clone(p.Pairings)
	rng := rand.New(rand.NewPCG(1, uint64(len(p.Pairings))))
	rng.Shuffle(len(mixed.Pairings), func(i, j int) {
		mixed.Pairings[i], mixed.Pairings[j] = mixed.Pairings[j], mixed.Pairings[i]
	})
	if other := p.step(mixed); !reflect.DeepEqual(step, other) { // go-cmp is slow for so many
		t.Fatalf("the order of the pairings changes the step:\n%s", cmp.Diff(step, other))
	}
	if table, other := p.table(p.State), p.table(mixed); !reflect.DeepEqual(table, other) {
		t.Fatalf("the order of the pairings changes the table:\n%s", cmp.Diff(table, other))
	}
	names := map[[3]int]bool{}
	busy := map[string]bool{}
	note := func(q arena.Pairing, rounds map[string]bool) {
		name := [3]int{q.Round, q.Slot, q.Game}
		if names[name] {
			t.Fatalf("round %d, slot %d, game %d is ordered twice", q.Round, q.Slot, q.Game)
		}
		names[name] = true
		for _, id := range q.Agents {
			if q.Open() && busy[id] && !p.twice {
				t.Fatalf("%s has two open pairings", id)
			}
			busy[id] = busy[id] || q.Open()
			if rounds[id] && !p.twice {
				t.Fatalf("%s is ordered twice in one step", id)
			}
			rounds[id] = true
		}
	}
	for _, q := range p.Pairings {
		note(q, map[string]bool{})
	}
	ordered := map[string]bool{}
	for _, q := range step.Pairings {
		note(q, ordered)
		if q.SeasonID != p.Season.ID || q.Round < 1 || q.Slot < 1 || q.Game < 1 || !q.CreatedAt.Equal(p.Now) {
			t.Fatalf("pairing without a part: %+v", q)
		}
		if q.Open() != (q.Scores == nil) || q.Open() != q.DecidedAt.IsZero() || len(q.Agents) == 1 && q.Open() {
			t.Fatalf("half decided: %+v", q)
		}
	}
	if step.Done && (anyOpen(p.Pairings) || len(step.Pairings) > 0) {
		t.Fatalf("done with open pairings")
	}
	return step
}

// finish plays the season to its end; decide returns the result of a pairing.
func (p *played) finish(t fataler, decide func(*arena.Pairing)) {
	for range 10_000 {
		step := p.next(t)
		if step.Done {
			return
		}
		p.Pairings = append(p.Pairings, step.Pairings...)
		for i := range p.Pairings {
			if p.Pairings[i].Open() {
				decide(&p.Pairings[i])
			}
		}
		p.tick(20 * time.Second)
	}
	t.Fatalf("no end")
}

// tick lets time pass. Agents without an open pairing are idle.
func (p *played) tick(d time.Duration) {
	before := p.Now
	p.Now = p.Now.Add(d)
	idle := map[string]time.Time{}
	for _, e := range p.Season.Entrants {
		if idle[e.AgentID] = before; !p.Idle[e.AgentID].IsZero() {
			idle[e.AgentID] = p.Idle[e.AgentID]
		}
	}
	for _, q := range p.Pairings {
		for _, id := range q.Agents {
			if q.Open() {
				delete(idle, id)
			}
		}
	}
	p.Idle = idle
}

// byStrength lets the lower number win.
func byStrength(p *arena.Pairing) {
	p.Result, p.Scores = arena.PairingPlayed, []arena.Points{won, lost}
	if p.Agents[0] > p.Agents[1] {
		slices.Reverse(p.Scores)
	}
}

// give decides a pairing of two.
func give(r arena.PairingResult, scores ...arena.Points) func(*arena.Pairing) {
	return func(p *arena.Pairing) { p.Result, p.Scores = r, scores }
}

// anything decides a pairing in any way that the scheduler may.
func anything(t *rapid.T) func(*arena.Pairing) {
	return func(p *arena.Pairing) {
		if len(p.Agents) > 2 {
			if p.Result = arena.PairingVoid; rapid.Bool().Draw(t, "played") {
				p.Result = arena.PairingPlayed
				for i := range p.Agents {
					p.Scores = append(p.Scores, arena.Points(i)*arena.OnePoint/arena.Points(len(p.Agents)-1))
				}
			}
			return
		}
		rapid.SampledFrom([]func(*arena.Pairing){
			give(arena.PairingPlayed, won, lost), give(arena.PairingPlayed, won, lost), give(arena.PairingPlayed, lost, won),
			give(arena.PairingPlayed, drawn, drawn), give(arena.PairingVoid), give(arena.PairingForfeit, won, lost),
			give(arena.PairingForfeit, lost, won), give(arena.PairingForfeit, lost, lost),
		}).Draw(t, "result")(p)
	}
}

// series counts the places in which two met.
func (p *played) series() int {
	places := map[place]bool{}
	for _, q := range p.Pairings {
		if len(q.Agents) == 2 {
			places[place{q.Round, q.Slot}] = true
		}
	}
	return len(places)
}

// ranks checks that the table is sound and returns ranks by agent.
func (p *played) ranks(t fataler) map[string]int {
	rows := p.table(p.State)
	ranks := map[string]int{}
	for i, r := range rows {
		ranks[r.AgentID] = r.Rank
		if r.Rank != i+1 && (i == 0 || r.Rank != rows[i-1].Rank) {
			t.Fatalf("row %d has rank %d", i, r.Rank)
		}
		if r.Played != r.Wins+r.Draws+r.Losses || r.Forfeits > r.Losses || r.Name != "the "+r.AgentID {
			t.Fatalf("row does not add up: %+v", r)
		}
	}
	if len(rows) != len(p.Season.Entrants) || len(ranks) != len(rows) {
		t.Fatalf("%d rows of %d agents for %d entrants", len(rows), len(ranks), len(p.Season.Entrants))
	}
	return ranks
}

// TestFormats_interruption stops seasons anywhere: of what is ordered only a
// part may be stored, results come in any order, agents withdraw and join.
// Every season ends, and everyone has one rank.
func TestFormats_interruption(t *testing.T) {
	t.Parallel()
	for _, f := range []arena.Format{
		arena.FormatRoundRobin, arena.FormatKnockout, arena.FormatDoubleElimination,
		arena.FormatArena, arena.FormatElimination, arena.FormatGauntlet,
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				entrants := field(rapid.IntRange(1, 12).Draw(t, "n"))
				for i := range entrants {
					entrants[i].Rating = arena.MilliElo(rapid.IntRange(1400, 1405).Draw(t, "rating"))
				}
				p := newPlayed(f, entrants, arena.FormatOptions{
					BestOf: rapid.SampledFrom([]int{0, 1, 3, 5, 7}).Draw(t, "best of"), Double: rapid.Bool().Draw(t, "double"),
				})
				p.interrupted(t)
				p.ranks(t)
				if step := p.next(t); !step.Done {
					t.Fatalf("continues after its end: %+v", step)
				}
			})
		})
	}
}

func (p *played) interrupted(t *rapid.T) {
	some := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) > 0 }
	decide := anything(t)
	for range 10_000 {
		step := p.next(t)
		if step.Done {
			return
		}
		for i, q := range step.Pairings {
			if i == 0 || some("stored") {
				p.Pairings = append(p.Pairings, q)
			}
		}
		for i := range p.Pairings {
			if p.Pairings[i].Open() && some("decided") {
				decide(&p.Pairings[i])
			}
		}
		p.comeAndGo(t)
		p.tick(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
	}
	t.Fatalf("no end")
}

// comeAndGo does to the entrants what the scheduler does between two steps.
func (p *played) comeAndGo(t *rapid.T) {
	round := lastRound(p.Pairings)
	i := rapid.IntRange(0, 12*len(p.Season.Entrants)).Draw(t, "withdrawn")
	if i < len(p.Season.Entrants) && p.Season.Entrants[i].WithdrawnRound == 0 {
		p.Season.Entrants[i].WithdrawnRound = max(round, 1)
	}
	n := len(p.Season.Entrants)
	if n < 15 && Of(p.Season.Format).LateJoin && rapid.IntRange(0, 9).Draw(t, "joins") == 0 {
		late := field(n + 1)[n]
		late.Round = round + 1
		late.Rating += arena.MilliElo(rapid.IntRange(-2, 2).Draw(t, "late rating"))
		p.Season.Entrants = append(p.Season.Entrants, late)
	}
}
