package rules_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// expectation is what the page of a game promises beyond the interface.
type expectation struct {
	sum   func(players int, sum arena.Points) bool        // of the points of all players
	free  func(seen json.RawMessage, r *rand.Rand) string // a legal move of a game that lists none
	quiet func(move string) bool                          // of a game with hidden information: moves that reveal nothing
}

func one(_ int, sum arena.Points) bool { return sum == arena.OnePoint }

// half is the sum of a game in which each player has the share of the others that it
// has beaten, rounded to thousandths.
func half(players int, sum arena.Points) bool {
	difference := sum - arena.OnePoint*arena.Points(players)/2
	return -2 < difference && difference < 2
}

func expectations() map[string]expectation {
	return map[string]expectation{
		"chess":        {sum: one},
		"connect_four": {sum: one},
		"kuhn_poker":   {sum: one, quiet: func(move string) bool { return move == "bet" || move == "fold" }},
		"liars_dice":   {sum: half, quiet: func(move string) bool { return move != "liar" }},
		"negotiation": {
			sum:   func(_ int, sum arena.Points) bool { return sum <= 2*arena.OnePoint },
			free:  negotiate,
			quiet: func(move string) bool { return !strings.Contains(move, `"accept"`) },
		},
	}
}

// game is a built-in game.
type game struct {
	rules.Rules
	expectation
}

// tester is a test or one try of a property.
type tester interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// playout is a game that is played with random legal moves.
type playout struct {
	rules  rules.Rules
	start  rules.Start
	states []rules.State // one more than moves
	moves  [][]rules.Move
}

// drawStart draws how a game begins.
func drawStart(t *rapid.T, g rules.Rules) rules.Start {
	info := g.Info()
	s := rules.Start{
		Seed:    rapid.Uint64().Draw(t, "seed"),
		Players: rapid.IntRange(info.MinPlayers, info.MaxPlayers).Draw(t, "players"),
		Options: map[string]int{},
	}
	for _, o := range info.Options {
		if rapid.Bool().Draw(t, "set "+o.Name) {
			s.Options[o.Name] = rapid.IntRange(o.Min, o.Max).Draw(t, o.Name)
		}
	}
	return s
}

// choose returns a random legal move.
func choose(g rules.Rules, a rules.ToAct, r *rand.Rand) string {
	if len(a.Legal) > 0 {
		return a.Legal[r.IntN(len(a.Legal))]
	}
	return expectations()[g.Info().Name].free(a.Observation, r)
}

// step plays one turn with random moves.
func (p *playout) step(t tester, pos rules.Position, r *rand.Rand) {
	var moves []rules.Move
	for _, a := range pos.ToAct {
		moves = append(moves, rules.Move{Player: a.Player, Move: p.parse(t, a.Player, choose(p.rules, a, r))})
	}
	p.apply(t, moves)
}

func (p *playout) parse(t tester, player int, text string) string {
	move, err := p.rules.Parse(t.Context(), p.state(), player, text)
	if err != nil {
		t.Fatalf("player %d, %q: %v\n%s", player, text, err, p.state())
	}
	return move
}

func (p *playout) apply(t tester, moves []rules.Move) {
	st, err := p.rules.Move(t.Context(), p.state(), moves)
	if err != nil {
		t.Fatalf("%v: %v\n%s", moves, err, p.state())
	}
	p.moves, p.states = append(p.moves, moves), append(p.states, st)
}

func (p *playout) state() rules.State { return p.states[len(p.states)-1] }

func (p *playout) position(t tester) rules.Position {
	before := bytes.Clone(p.state())
	pos, err := p.rules.Position(t.Context(), p.state())
	if err != nil {
		t.Fatalf("%v\n%s", err, p.state())
	}
	if !bytes.Equal(before, p.state()) {
		t.Fatalf("Position changed the state %s to %s", before, p.state())
	}
	return pos
}

func begin(t tester, g rules.Rules, s rules.Start) *playout {
	st, err := g.Setup(t.Context(), s)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return &playout{rules: g, start: s, states: []rules.State{st}}
}

// builtin returns the built-in games by name with what is expected of them.
func builtin(t *testing.T) map[string]game {
	t.Helper()
	games := map[string]game{}
	for _, g := range rules.Builtin() {
		name := g.Info().Name
		e, ok := expectations()[name]
		if !ok {
			t.Fatalf("add %s to expectations", name)
		}
		games[name] = game{g, e}
	}
	return games
}

func TestBuiltin_info(t *testing.T) {
	t.Parallel()
	for name, g := range builtin(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := g.Info()
			if !regexp.MustCompile(`^[a-z][a-z0-9_]{1,39}$`).MatchString(i.Name) || i.Title == "" || i.Version == "" || i.Options == nil {
				t.Errorf("%+v", i)
			}
			if i.MinPlayers < 2 || i.MaxPlayers < i.MinPlayers || i.MaxTurns < 1 {
				t.Errorf("players %d to %d, %d turns", i.MinPlayers, i.MaxPlayers, i.MaxTurns)
			}
			if i.Hidden != (g.quiet != nil) {
				t.Errorf("hidden is %t; the test of hidden information needs to know quiet moves", i.Hidden)
			}
			for _, o := range i.Options {
				if o.Default < o.Min || o.Default > o.Max || !strings.HasSuffix(o.Help, ".") {
					t.Errorf("%+v", o)
				}
			}
		})
	}
}

// Random games end in time with the promised points, and every position on the way
// keeps what the interface promises.
func TestBuiltin_playouts(t *testing.T) {
	t.Parallel()
	for name, g := range builtin(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				p := begin(t, g, drawStart(t, g))
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "moves"), 0))
				pos := p.position(t)
				for ; !pos.Over(); pos = p.position(t) {
					if len(p.moves) == g.Info().MaxTurns {
						t.Fatalf("%+v is not over after %d turns\n%s", p.start, len(p.moves), p.state())
					}
					checkPosition(t, p, pos)
					p.step(t, pos, r)
				}
				checkPosition(t, p, pos)
				if len(pos.Points) != p.start.Players || slices.Min(pos.Points) < 0 || slices.Max(pos.Points) > arena.OnePoint {
					t.Fatalf("points %v", pos.Points)
				}
				var sum arena.Points
				for _, points := range pos.Points {
					sum += points
				}
				if !g.sum(p.start.Players, sum) {
					t.Fatalf("%d players have points %v", p.start.Players, pos.Points)
				}
				for player := range p.start.Players {
					if _, err := g.Parse(t.Context(), p.state(), player, "1"); !isIllegal(err) {
						t.Fatalf("a move after the end: %v", err)
					}
				}
				again := begin(t, g, p.start)
				for i, moves := range p.moves {
					if again.apply(t, moves); !bytes.Equal(again.state(), p.states[i+1]) {
						t.Fatalf("move %d gives another state when it is replayed:\n%s\n%s", i+1, p.states[i+1], again.state())
					}
				}
			})
		})
	}
}

func isIllegal(err error) bool {
	illegal, ok := errors.AsType[*rules.IllegalError](err)
	return ok && illegal.Reason != "" && len(illegal.Reason) <= 300 && utf8.ValidString(illegal.Reason)
}

// checkPosition checks one position of a random game.
func checkPosition(t tester, p *playout, pos rules.Position) {
	t.Helper()
	if len(p.state()) > rules.MaxState {
		t.Fatalf("the state has %d bytes", len(p.state()))
	}
	if err := publicForm(pos.Public, p.start.Players); err != nil {
		t.Fatalf("%v\n%s", err, pos.Public)
	}
	if len(pos.Points) > 0 != pos.Over() {
		t.Fatalf("over is %t, points %v", pos.Over(), pos.Points)
	}
	for i, a := range pos.ToAct {
		if a.Player < 0 || a.Player >= p.start.Players || i > 0 && a.Player <= pos.ToAct[i-1].Player {
			t.Fatalf("the players to act are %v", pos.ToAct)
		}
		if a.Text == "" || len(a.Text) > rules.MaxText || !json.Valid(a.Observation) || a.Observation[0] != '{' || len(a.Observation) > rules.MaxState {
			t.Fatalf("text %q, observation %s", a.Text, a.Observation)
		}
		if len(a.Legal) == 0 && a.Grammar == "" || len(a.Legal) > rules.MaxLegal {
			t.Fatalf("%d legal moves, grammar %q", len(a.Legal), a.Grammar)
		}
		if a.Default != "" && p.parse(t, a.Player, a.Default) != a.Default {
			t.Fatalf("the default %q is not canonical", a.Default)
		}
	}
	for player := range p.start.Players {
		acts := slices.ContainsFunc(pos.ToAct, func(a rules.ToAct) bool { return a.Player == player })
		if acts || pos.Over() {
			continue
		}
		if _, err := p.rules.Parse(t.Context(), p.state(), player, choose(p.rules, pos.ToAct[0], rand.New(rand.NewPCG(1, 1)))); !isIllegal(err) {
			t.Fatalf("player %d moves out of turn: %v", player, err)
		}
	}
}

// publicForm checks that a public state has one of the forms of public.go.
func publicForm(public json.RawMessage, players int) error {
	var kind struct{ Kind string }
	if err := json.Unmarshal(public, &kind); err != nil {
		return err
	}
	var evaluation []float64
	strict := json.NewDecoder(bytes.NewReader(public))
	strict.DisallowUnknownFields()
	switch kind.Kind {
	case rules.KindGrid:
		var g rules.Grid
		if err := strict.Decode(&g); err != nil || len(g.Cells) != g.Rows*g.Columns {
			return fmt.Errorf("grid of %d cells: %w", len(g.Cells), err)
		}
		for _, cell := range g.Cells {
			if _, known := g.Pieces[cell]; cell != "" && !known {
				return fmt.Errorf("no piece %q", cell)
			}
		}
		evaluation = g.Evaluation
	case rules.KindCards:
		var c rules.Cards
		if err := strict.Decode(&c); err != nil || len(c.Hands) != players {
			return fmt.Errorf("%d hands: %w", len(c.Hands), err)
		}
		evaluation = c.Evaluation
	case rules.KindTranscript:
		var c rules.Transcript
		if err := strict.Decode(&c); err != nil || c.Lines == nil {
			return fmt.Errorf("lines %v: %w", c.Lines, err)
		}
		evaluation = c.Evaluation
	default:
		return fmt.Errorf("kind %q", kind.Kind)
	}
	if evaluation != nil && (len(evaluation) != players || slices.Min(evaluation) < 0 || slices.Max(evaluation) > 1) {
		return fmt.Errorf("evaluation %v", evaluation)
	}
	return nil
}

// texts are what agents send by mistake or on purpose.
func texts() []string {
	return []string{
		"", " ", "\x00", "\ufeff1", "1e999", "-1", "+1", "1.0", "01", "०१", "１", "1\u202e", "1 ", "\n1\n", "e4", "e2e4", "O-O", "0-0-0", "Nf3", "resign", "null", "[]", "{}", "\"1\"",
		"check", "BET", "Call.", "fold\x00", "2 3", "2x3", "99999999999999999999 2", "liar", "LIAR", "chec\u212a", "+3 5", "3e0 5", `{"say":"hi"}`, `{"say":"\u202e"}`, `{"accept":true}`,
		`{"say":1e999}`, strings.Repeat("1", 1<<20), strings.Repeat("[", 1<<16), strings.Repeat("é", 1<<19), "\xff\xfe",
	}
}

// A text is an illegal move or stands for one canonical move, which is listed if
// the game lists its moves.
func TestBuiltin_parse(t *testing.T) {
	t.Parallel()
	for name, g := range builtin(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				p := begin(t, g, drawStart(t, g))
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "moves"), 0))
				pos := p.position(t)
				for n := rapid.IntRange(0, 40).Draw(t, "turns"); n > 0 && !pos.Over(); n-- {
					p.step(t, pos, r)
					pos = p.position(t)
				}
				for _, a := range pos.ToAct {
					for _, move := range a.Legal {
						if parsed := p.parse(t, a.Player, move); parsed != move {
							t.Fatalf("the listed move %q has the canonical form %q", move, parsed)
						}
					}
					text := rapid.OneOf(rapid.SampledFrom(texts()), rapid.String(), rapid.StringMatching(`[1-9] ?[1-6]|[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](=?[QRBNK])?`)).Draw(t, "text")
					checkParse(t, p, a, text)
					if legal := choose(g, a, r); len(legal) > 0 {
						at := rapid.IntRange(0, len(legal)-1).Draw(t, "at")
						checkParse(t, p, a, legal[:at]+rapid.StringN(0, 2, 4).Draw(t, "inserted")+legal[at:])
						checkParse(t, p, a, legal[:at]+legal[at+1:])
					}
				}
			})
		})
	}
}

func checkParse(t tester, p *playout, a rules.ToAct, text string) {
	t.Helper()
	move, err := p.rules.Parse(t.Context(), p.state(), a.Player, text)
	if err != nil {
		if !isIllegal(err) {
			t.Fatalf("%.80q: %v", text, err)
		}
		return
	}
	if len(a.Legal) > 0 && !slices.Contains(a.Legal, move) {
		t.Fatalf("%.80q is taken for %q, which is not listed: %v", text, move, a.Legal)
	}
	if len(move) > rules.MaxMove || !utf8.ValidString(move) {
		t.Fatalf("%.80q is taken for %d bytes", text, len(move))
	}
	if again := p.parse(t, a.Player, move); again != move {
		t.Fatalf("%.80q is taken for %q, and this for %q", text, move, again)
	}
}

// Hidden information is in no public state before it is revealed: after the same
// moves, two deals look the same to spectators. What a player sees does not
// depend on what only others may know.
func TestBuiltin_hidden(t *testing.T) {
	t.Parallel()
	for name, g := range builtin(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !g.Info().Hidden {
				t.Skip("the game has no hidden information")
			}
			rapid.Check(t, func(t *rapid.T) {
				start := drawStart(t, g)
				p := begin(t, g, start)
				q := otherDeal(t, p, rapid.Uint64().Draw(t, "other seed"))
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "moves"), 0))
				for {
					a, b := p.position(t), q.position(t)
					if !a.Over() && !bytes.Equal(a.Public, b.Public) {
						t.Fatalf("seeds %d and %d differ for spectators after %v:\n%s\n%s", p.start.Seed, q.start.Seed, p.moves, a.Public, b.Public)
					}
					if a.Over() || !quietTurn(t, g, r, p, q) {
						return
					}
				}
			})
		})
	}
}

// otherDeal returns a game with another deal that looks the same to spectators where
// it begins.
func otherDeal(t tester, p *playout, seed uint64) *playout {
	start := p.start
	for range 10_000 {
		start.Seed = seed
		q := begin(t, p.rules, start)
		if !bytes.Equal(p.state(), q.state()) && bytes.Equal(p.position(t).Public, q.position(t).Public) {
			return q
		}
		seed++
	}
	t.Fatalf("no other deal looks like %s", p.position(t).Public)
	return nil
}

// quietTurn plays the same moves in games that look the same to spectators, if there
// are some that reveal nothing.
func quietTurn(t tester, g game, r *rand.Rand, games ...*playout) bool {
	var moves []rules.Move
	for _, a := range games[0].position(t).ToAct {
		options := slices.DeleteFunc(slices.Clone(a.Legal), func(move string) bool { return !g.quiet(move) })
		if len(a.Legal) == 0 {
			if move := games[0].parse(t, a.Player, choose(games[0].rules, a, r)); g.quiet(move) {
				options = []string{move}
			}
		}
		if len(options) == 0 {
			return false
		}
		moves = append(moves, rules.Move{Player: a.Player, Move: options[r.IntN(len(options))]})
	}
	for _, p := range games {
		p.apply(t, moves)
	}
	return true
}

// A player learns nothing of the others' hidden information: among the deals that
// look the same to player 0, the others have different ones.
func TestBuiltin_hiddenFromOthers(t *testing.T) {
	t.Parallel()
	for name, g := range builtin(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !g.Info().Hidden {
				t.Skip("the game has no hidden information")
			}
			r := rand.New(rand.NewPCG(1, 2))
			var mine rules.ToAct
			others := map[string]bool{} // by what player 1 sees after the first move
			for seed := uint64(0); seed < 50_000 && len(others) < 2; seed++ {
				p := begin(t, g, rules.Start{Seed: seed, Players: 2})
				a := p.position(t).ToAct[0]
				if seed == 0 {
					mine = a
				}
				if a.Text != mine.Text || !bytes.Equal(a.Observation, mine.Observation) {
					continue
				}
				if !quietTurn(t, g, r, p) {
					t.Fatal("no first move is quiet")
				}
				others[string(p.position(t).ToAct[0].Observation)] = true
			}
			if len(others) < 2 {
				t.Errorf("all deals in which player 0 reads %q look the same to player 1", mine.Text)
			}
		})
	}
}

// FuzzParse reads any text as a move in positions of every game.
func FuzzParse(f *testing.F) {
	games := rules.Builtin()
	for i, text := range texts() {
		for game := range games {
			f.Add(text, uint64(i), uint8(game), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, game, turns uint8) {
		g := games[int(game)%len(games)]
		p := begin(t, g, rules.Start{Seed: seed, Players: g.Info().MinPlayers})
		r := rand.New(rand.NewPCG(seed, 1))
		pos := p.position(t)
		for ; turns > 0 && !pos.Over(); turns-- {
			p.step(t, pos, r)
			pos = p.position(t)
		}
		for _, a := range pos.ToAct {
			checkParse(t, p, a, text)
		}
	})
}
