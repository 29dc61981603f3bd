package playout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// Sampler is implemented by rules of games whose moves are too many to list. An
// empty sample means that the game has none.
type Sampler interface {
	Sample(ctx context.Context, st rules.State, player int, seed uint64) (string, error)
}

// Options are the extent of a check.
type Options struct {
	Games int                  // to play, at least 1
	Seed  uint64               // of the first game; the next ones follow
	Clock func() time.Duration // measures costs; nil: there are none
	// Limit ends the check, 0: never. A check in which fewer than a hundredth of
	// the games have ended then has found a slow game.
	Limit time.Duration
}

// Check plays random games and returns what they show. first and second are the
// rules: they must return the same, and may be the same if they keep nothing. An
// error means that the check could not be made.
func Check(ctx context.Context, first, second rules.Rules, o Options) (*Report, error) {
	info := first.Info()
	c := &check{first: first, second: second, info: info, o: o, report: &Report{Game: info.Name, Version: info.Version, Problems: []Problem{}}}
	if o.Clock == nil {
		c.o.Clock = func() time.Duration { return 0 }
	}
	c.began = c.o.Clock()
	if err := rules.CheckInfo(info); err != nil {
		c.found(&Problem{Kind: KindInfo, Message: err.Error()})
	} else if err := c.playAll(ctx); err != nil {
		return nil, err
	}
	c.finish()
	return c.report, nil
}

// playAll plays the games of a check until it has found enough.
func (c *check) playAll(ctx context.Context) error {
	for n := range c.o.Games {
		if c.late() || c.report.Found >= maxProblems {
			return nil
		}
		if err := c.play(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// check is a check under way.
type check struct {
	first, second rules.Rules
	info          rules.Info
	o             Options
	report        *Report
	began         time.Duration

	branches, positions int
	cost                time.Duration
	costs               durations
	points              []arena.Points
	whole               int // games with all players
}

func (c *check) late() bool { return c.o.Limit > 0 && c.o.Clock()-c.began > c.o.Limit }

func (c *check) found(p *Problem) {
	c.report.Found++
	p.Message = strings.ToValidUTF8(p.Message, "�")
	listed := slices.ContainsFunc(c.report.Problems, func(other Problem) bool { return other.Kind == p.Kind && other.Message == p.Message })
	if !listed && len(c.report.Problems) < maxProblems {
		c.report.Problems = append(c.report.Problems, *p)
	}
}

func (c *check) finish() {
	r := c.report
	if c.late() && r.Games*100 < c.o.Games && r.OK() {
		c.found(&Problem{Kind: KindSlow, Seed: c.o.Seed, Message: fmt.Sprintf("only %d of %d games ended within %v", r.Games, c.o.Games, c.o.Limit)})
	}
	if c.positions > 0 {
		r.Branches = float64(c.branches) / float64(c.positions)
	}
	if r.Moves > 0 {
		r.Cost.Mean = c.cost / time.Duration(r.Moves)
		r.Cost.Median = min(c.costs.median(), r.Cost.Most)
	}
	for _, p := range c.points {
		r.Points = append(r.Points, float64(p)/float64(arena.OnePoint)/float64(c.whole))
	}
}

// game is a game of a check.
type game struct {
	*check
	start  rules.Start
	random *rand.Rand
	turn   int
	looked time.Duration // that the latest position took
}

// errFound ends a game in which a problem was found.
var errFound = errors.New("a problem was found")

func (g *game) problem(kind, format string, args ...any) error {
	g.found(&Problem{Kind: kind, Seed: g.start.Seed, Players: g.start.Players, Options: g.start.Options, Turn: g.turn, Message: fmt.Sprintf(format, args...)})
	return errFound
}

// failed turns an error of the rules into a problem, unless they could not be
// run.
func (g *game) failed(ctx context.Context, what string, err error) error {
	known, ok := errors.AsType[*arena.Error](err)
	if ctx.Err() != nil || ok && known.Code == arena.CodeUnavailable {
		return err
	}
	if f, ok := errors.AsType[*rules.Fault](err); ok {
		err = f.Err
	}
	return g.problem(KindFault, "%s: %v", what, err)
}

// play plays the game with a number: the first ones with the default options,
// every other one with random options.
func (c *check) play(ctx context.Context, n int) error {
	seed := c.o.Seed + uint64(n)                                  //nolint:gosec // G115: counts up
	g := &game{check: c, random: rand.New(rand.NewPCG(seed, 21))} //nolint:gosec // games that can be repeated are the point
	g.start = rules.Start{Seed: seed, Players: c.info.MinPlayers + n%(c.info.MaxPlayers-c.info.MinPlayers+1), Options: map[string]int{}}
	for _, o := range c.info.Options {
		g.start.Options[o.Name] = o.Default
		if n%2 == 1 {
			g.start.Options[o.Name] = o.Min + g.random.IntN(o.Max-o.Min+1)
		}
	}
	if err := g.run(ctx); !errors.Is(err, errFound) {
		return err
	}
	return nil
}

func (g *game) run(ctx context.Context) error {
	st, err := g.setup(ctx)
	if err != nil {
		return err
	}
	p, err := g.position(ctx, st)
	for ; err == nil && !p.Over(); st, p, err = g.move(ctx, st, p) {
		if g.turn++; g.turn > g.info.MaxTurns {
			return g.problem(KindEndless, "the game goes on after %d turns, the number of info.max_turns", g.info.MaxTurns)
		}
		if g.late() {
			return nil
		}
	}
	if err == nil {
		g.over(p)
	}
	return err
}

func (g *game) over(p rules.Position) {
	g.report.Games++
	g.report.Turns += g.turn
	g.report.Longest = max(g.report.Longest, g.turn)
	if g.start.Players < g.info.MaxPlayers {
		return
	}
	if g.points == nil {
		g.points = make([]arena.Points, g.info.MaxPlayers)
	}
	g.whole++
	for i, points := range p.Points {
		g.points[i] += points
	}
}

func (g *game) setup(ctx context.Context) (rules.State, error) {
	st, err := g.first.Setup(ctx, g.start)
	if err != nil {
		return nil, g.failed(ctx, "setup", err)
	}
	again, err := g.second.Setup(ctx, g.start)
	if err != nil {
		return nil, g.failed(ctx, "setup", err)
	}
	if !bytes.Equal(st, again) {
		return nil, g.problem(KindNondeterministic, "setup returned %.200s and then %.200s", st, again)
	}
	if !g.info.Deals {
		other := g.start
		other.Seed = ^other.Seed
		if again, err = g.first.Setup(ctx, other); err != nil {
			return nil, g.failed(ctx, "setup", err)
		}
		if !bytes.Equal(st, again) {
			return nil, g.problem(KindInfo, "info.deals is false, but the start depends on the seed: %.200s and %.200s", st, again)
		}
	}
	return st, nil
}

// position returns what a state means, checked.
func (g *game) position(ctx context.Context, st rules.State) (rules.Position, error) {
	g.report.State = max(g.report.State, len(st))
	if len(st) > rules.MaxState {
		return rules.Position{}, g.problem(KindFault, "the state has %d bytes, at most %d are allowed", len(st), rules.MaxState)
	}
	began := g.o.Clock()
	p, err := g.first.Position(ctx, st)
	if err != nil {
		return p, g.failed(ctx, "position", err)
	}
	g.looked = g.o.Clock() - began
	if err := rules.CheckPosition(p, g.start.Players); err != nil {
		return p, g.problem(KindFault, "%v", err)
	}
	again, err := g.second.Position(ctx, st)
	if err != nil {
		return p, g.failed(ctx, "position", err)
	}
	one, err := json.Marshal(p)
	if err != nil {
		return p, g.problem(KindFault, "the position is no JSON: %v", err)
	}
	if two, err := json.Marshal(again); err != nil || !bytes.Equal(one, two) {
		return p, g.problem(KindNondeterministic, "the same state means %s", differing(one, two))
	}
	return p, nil
}

// differing shows where two texts begin to differ.
func differing(a, b []byte) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	at = max(0, at-20)
	return fmt.Sprintf("…%.100s and then …%.100s", a[at:], b[min(at, len(b)):])
}

// move makes a random move of each player who must act, and checks others. It
// returns the next state and its position.
func (g *game) move(ctx context.Context, st rules.State, p rules.Position) (rules.State, rules.Position, error) {
	chosen := make([]string, len(p.ToAct))
	for i, a := range p.ToAct {
		var err error
		if chosen[i], err = g.choose(ctx, st, a); err != nil {
			return nil, p, err
		}
		if len(a.Legal) > 0 {
			g.positions++
			g.branches += len(a.Legal)
			g.report.Most = max(g.report.Most, len(a.Legal))
		}
	}
	next, moves, err := g.playTurn(ctx, st, p, chosen)
	if err != nil {
		return nil, p, err
	}
	if err := g.tryTexts(ctx, st, p); err != nil {
		return nil, p, err
	}
	// Ask the second rules for the position before the move: rules that cache
	// positions must not have it from their own move.
	after, err := g.position(ctx, next)
	if err != nil {
		return nil, p, err
	}
	again, err := g.second.Move(ctx, st, moves)
	if err != nil {
		return nil, p, g.failed(ctx, "move", err)
	}
	if !bytes.Equal(next, again) {
		return nil, p, g.problem(KindNondeterministic, "move %s returned the state %s", moves[0].Move, differing(next, again))
	}
	return next, after, nil
}

// playTurn plays a turn as a match does, and measures it: it reads the moves of the
// players and makes them.
func (g *game) playTurn(ctx context.Context, st rules.State, p rules.Position, chosen []string) (rules.State, []rules.Move, error) {
	began, moves := g.o.Clock(), make([]rules.Move, len(chosen))
	for i, a := range p.ToAct {
		m, err := g.read(ctx, st, a, chosen[i])
		if err != nil {
			return nil, nil, err
		}
		moves[i] = rules.Move{Player: a.Player, Move: m}
	}
	next, err := g.first.Move(ctx, st, moves)
	if err != nil {
		return nil, nil, g.failed(ctx, "move", err)
	}
	cost := g.looked + g.o.Clock() - began
	each := cost / time.Duration(len(moves))
	g.cost += cost
	g.costs.add(each, len(moves))
	g.report.Moves += len(moves)
	g.report.Cost.Most = max(g.report.Cost.Most, each)
	return next, moves, nil
}

// choose returns a random legal move.
func (g *game) choose(ctx context.Context, st rules.State, a rules.ToAct) (string, error) {
	m := a.Default
	if s, ok := g.first.(Sampler); ok && len(a.Legal) == 0 {
		sample, err := s.Sample(ctx, st, a.Player, g.random.Uint64())
		if err != nil {
			return "", g.failed(ctx, "sample", err)
		}
		if sample != "" {
			m = sample
		}
	}
	if len(a.Legal) > 0 {
		m = a.Legal[g.random.IntN(len(a.Legal))]
	}
	if m == "" {
		return "", g.problem(KindMoves, "player %d has no move to try: there is no list, no sample and no default", a.Player)
	}
	return m, nil
}

// read returns what the rules read from a legal move.
func (g *game) read(ctx context.Context, st rules.State, a rules.ToAct, m string) (string, error) {
	got, err := g.first.Parse(ctx, st, a.Player, m)
	switch refused, illegal := errors.AsType[*rules.IllegalError](err); {
	case illegal:
		return "", g.problem(KindMoves, "the move %.100q of player %d is refused: %s", m, a.Player, refused.Reason)
	case err != nil:
		return "", g.failed(ctx, "parse", err)
	case len(a.Legal) > 0 && got != m:
		return "", g.problem(KindMoves, "the listed move %.100q is read as %.100q", m, got)
	}
	return got, nil
}

// perTurn is how many texts are tried in a turn, of each sort.
const perTurn = 3

// texts are no moves of most games. Those that are must be read as a legal move.
func texts() []string {
	return []string{
		"", " ", "0", "1", "-1", "1.5", "999999999999999999999", "a1", "pass", "\x00", "\xff", "☃", "null", "true", "[]", "{}", `{"move":1}`,
		"__proto__", "constructor", "1 1", "1,1", "1\n1", "NaN", strings.Repeat("1", rules.MaxMove), strings.Repeat("x", 1<<20),
	}
}

// tryTexts tries listed moves and other texts: the rules may accept exactly the
// listed moves, and must read each as itself.
func (g *game) tryTexts(ctx context.Context, st rules.State, p rules.Position) error {
	a := p.ToAct[g.random.IntN(len(p.ToAct))]
	for range min(perTurn, len(a.Legal)) {
		if _, err := g.read(ctx, st, a, a.Legal[g.random.IntN(len(a.Legal))]); err != nil {
			return err
		}
	}
	all := texts()
	for range perTurn {
		text := all[g.random.IntN(len(all))]
		m, err := g.first.Parse(ctx, st, a.Player, text)
		if _, illegal := errors.AsType[*rules.IllegalError](err); illegal {
			continue
		}
		if err != nil {
			return g.failed(ctx, fmt.Sprintf("parse %.40q", text), err)
		}
		if len(a.Legal) > 0 && !slices.Contains(a.Legal, m) {
			return g.problem(KindMoves, "the text %.100q of player %d is read as %.100q, which is not listed", text, a.Player, m)
		}
		if again, err := g.first.Parse(ctx, st, a.Player, m); err != nil || again != m {
			return g.problem(KindMoves, "the move %.100q of player %d is read as %.100q, %v", m, a.Player, again, err)
		}
	}
	return nil
}
