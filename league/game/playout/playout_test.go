package playout_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/playout"
	"github.com/agora-arena/arena/league/game/rules"
)

// count is a game in which a player counts to three, and what a test changes.
type count struct {
	setup    func(rules.Start) (rules.State, error)
	position func(n int, p *rules.Position) error
	parse    func(text string) (string, error)
	move     func(n int) (rules.State, error)
	info     func(*rules.Info)
}

func (c *count) Info() rules.Info {
	i := rules.Info{Name: "count", Title: "Count", Version: "1", MinPlayers: 1, MaxPlayers: 2, MaxTurns: 3, Options: []rules.Option{{Name: "o", Help: "Nothing.", Max: 1}}}
	if c.info != nil {
		c.info(&i)
	}
	return i
}

func state(players, n int) rules.State { return rules.State(fmt.Sprintf(`[%d,%d]`, players, n)) }

func (c *count) Setup(_ context.Context, s rules.Start) (rules.State, error) {
	if c.setup != nil {
		return c.setup(s)
	}
	return state(s.Players, 0), nil
}

func read(st rules.State) (players, n int) {
	var parts [2]int
	_ = json.Unmarshal(st, &parts)
	return parts[0], parts[1]
}

func (c *count) Position(_ context.Context, st rules.State) (rules.Position, error) {
	players, n := read(st)
	p := rules.Position{Public: json.RawMessage(`{"kind":"transcript","lines":[]}`)}
	if n == 3 {
		p.Points = make([]arena.Points, players)
		p.Points[0] = arena.OnePoint
	} else {
		p.ToAct = []rules.ToAct{{Player: 0, Text: "Count.", Observation: json.RawMessage(`{}`), Legal: []string{"next", "go on"}}}
	}
	if c.position != nil {
		return p, c.position(n, &p)
	}
	return p, nil
}

func (c *count) Parse(_ context.Context, _ rules.State, _ int, text string) (string, error) {
	if c.parse != nil {
		return c.parse(text)
	}
	if text != "next" && text != "go on" {
		return "", rules.Illegalf("say next or go on")
	}
	return text, nil
}

func (c *count) Move(_ context.Context, st rules.State, _ []rules.Move) (rules.State, error) {
	players, n := read(st)
	if c.move != nil {
		return c.move(n)
	}
	return state(players, n+1), nil
}

func check(t *testing.T, c *count) *playout.Report {
	t.Helper()
	report, err := playout.Check(t.Context(), c, c, playout.Options{Games: 20, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestCheck(t *testing.T) {
	t.Parallel()
	r := check(t, &count{})
	if !r.OK() || r.Games != 20 || r.Turns != 60 || r.Moves != 60 || r.Longest != 3 || r.Branches != 2 || r.Most != 2 || r.State != 5 || len(r.Points) != 2 || r.Points[0] != 1 {
		t.Errorf("%+v", r)
	}
}

func TestCheck_finds(t *testing.T) {
	t.Parallel()
	calls := 0 // of a game that is used by one check only
	next := func() string { calls++; return strconv.Itoa(calls) }
	for _, tc := range []struct {
		name, kind, message string
		game                *count
	}{
		{"a start by chance", playout.KindNondeterministic, "setup returned", &count{setup: func(rules.Start) (rules.State, error) { return rules.State(next()), nil }}},
		{"a start by the seed", playout.KindInfo, "info.deals is false", &count{setup: func(s rules.Start) (rules.State, error) { return rules.State(strconv.FormatUint(s.Seed, 10)), nil }}},
		{"a state that means different things", playout.KindNondeterministic, "the same state means", &count{position: func(_ int, p *rules.Position) error {
			if !p.Over() {
				p.ToAct[0].Text = next()
			}
			return nil
		}}},
		{"a move by chance", playout.KindNondeterministic, "returned the state", &count{move: func(int) (rules.State, error) { next(); return state(1, calls%2), nil }}},
		{"a listed move that is refused", playout.KindMoves, "is refused: never", &count{parse: func(string) (string, error) { return "", rules.Illegalf("never") }}},
		{"a listed move that is another one", playout.KindMoves, "is read as", &count{parse: func(string) (string, error) { return "next", nil }}},
		{"a move that is not listed", playout.KindMoves, "which is not listed", &count{parse: func(text string) (string, error) { return text, nil }}},
		{"no end", playout.KindEndless, "after 3 turns", &count{move: func(int) (rules.State, error) { return state(2, 0), nil }}},
		{"points above 1", playout.KindFault, "points of player 0 must be 0 to 1", &count{position: func(_ int, p *rules.Position) error {
			if p.Over() {
				p.Points[0] = 1001
			}
			return nil
		}}},
		{"points of too few players", playout.KindFault, "points of 0 players", &count{position: func(_ int, p *rules.Position) error { p.Points = nil; return nil }}},
		{"a large state", playout.KindFault, "at most 262144", &count{setup: func(rules.Start) (rules.State, error) { return make(rules.State, rules.MaxState+1), nil }}},
		{"an error", playout.KindFault, "move: out of cards", &count{move: func(int) (rules.State, error) { return nil, errors.New("out of cards") }}},
		{"a fault", playout.KindFault, "position: 3:4: no", &count{position: func(int, *rules.Position) error { return &rules.Fault{Game: "count", Err: errors.New("3:4: no")} }}},
		{"nothing to try", playout.KindMoves, "no move to try", &count{position: func(_ int, p *rules.Position) error {
			if !p.Over() {
				p.ToAct[0].Legal, p.ToAct[0].Grammar = nil, "a word"
			}
			return nil
		}}},
		{"a bad name", playout.KindInfo, "info.name", &count{info: func(i *rules.Info) { i.Name = "" }}},
	} {
		r := check(t, tc.game)
		if r.OK() || r.Problems[0].Kind != tc.kind || !strings.Contains(r.Problems[0].Message, tc.message) {
			t.Errorf("%s: %+v, want %s: %s", tc.name, r.Problems, tc.kind, tc.message)
		}
		if len(r.Problems) > 20 {
			t.Errorf("%s: %d problems", tc.name, len(r.Problems))
		}
	}
}

// A game that is too slow is found, and so is a game that never comes back.
func TestCheck_slow(t *testing.T) {
	t.Parallel()
	now := time.Duration(0)
	clock := func() time.Duration { now += time.Millisecond; return now }
	r, err := playout.Check(t.Context(), &count{}, &count{}, playout.Options{Games: 10_000, Clock: clock, Limit: time.Second})
	if err != nil || r.OK() || r.Problems[0].Kind != playout.KindSlow || r.Games == 0 || r.Cost.Mean == 0 || r.Cost.Most < r.Cost.Mean || r.Cost.Median == 0 || r.Cost.Median > r.Cost.Most {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hangs := &count{move: func(int) (rules.State, error) { cancel(); return nil, ctx.Err() }}
	if _, err := playout.Check(ctx, hangs, hangs, playout.Options{Games: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a check that was ended: %v", err)
	}
	broken := &count{move: func(int) (rules.State, error) { return nil, arena.Errorf(arena.CodeUnavailable, "no worker") }}
	if _, err := playout.Check(t.Context(), broken, broken, playout.Options{Games: 1}); err == nil {
		t.Error("rules that cannot be run are no problem of the game")
	}
}
