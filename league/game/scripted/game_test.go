package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/playout"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/league/game/scripted"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
)

var runner = sync.OnceValues(sandboxtest.New)

// source is a game in which players say a or B once, with another part in place
// of one of its functions.
func source(part string) string {
	return `
var info = { name: 'say', title: 'Say', min_seats: 2, max_seats: 3, max_turns: 1, options: [{ name: 'letters', help: 'Letters.', default: 2, min: 1, max: 26 }] };
function setup({ players, options, seed }) { return { players, said: null, letters: options.letters } }
function turn(state) { return state.said ? null : [{ player: 0, legal: ['a', 'B', 7] }, { player: 1, legal: ['a', 'B', 7] }] }
function move(state, moves) { state.said = moves }
function view(state, player) { return player === null ? { kind: 'transcript', lines: [] } : { text: 'Say a or B.', observation: { first: state.said === null } } }
function result(state) { return new Array(state.players).fill(0.5) }
` + part
}

func newGame(t *testing.T, source string) (*scripted.Game, error) {
	t.Helper()
	r, err := runner()
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New(t.Context(), r, source)
}

func mustGame(t *testing.T, source string) *scripted.Game {
	t.Helper()
	g, err := newGame(t, source)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGame(t *testing.T) {
	t.Parallel()
	g := mustGame(t, source(""))
	if i := g.Info(); i.Version != "1" || i.MaxPlayers != 3 || i.Options[0].Max != 26 {
		t.Errorf("%+v", i)
	}
	st, err := g.Setup(t.Context(), rules.Start{Players: 3, Options: map[string]int{"letters": 5}})
	if err != nil || string(st) != `{"players":3,"state":{"players":3,"said":null,"letters":5}}` {
		t.Fatalf("%s, %v", st, err)
	}
	for text, want := range map[string]string{"a": "a", " A\n": "a", "b": "B", "7": "7"} {
		if got, err := g.Parse(t.Context(), st, 0, text); err != nil || got != want {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"c": "the answer is not a legal move", "": "not a legal move", strings.Repeat("a", 1<<20): "at most 4096 bytes", "\xff": "UTF-8"} {
		_, err := g.Parse(t.Context(), st, 0, text)
		if illegal, ok := errors.AsType[*rules.IllegalError](err); !ok || !strings.Contains(illegal.Reason, want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	if _, err := g.Parse(t.Context(), st, 2, "a"); err == nil || !strings.Contains(err.Error(), "not the turn of player 3") {
		t.Error(err)
	}
	move := func(player int, m string) rules.Move { return rules.Move{Player: player, Move: m} }
	for _, moves := range [][]rules.Move{nil, {move(0, "a")}, {move(1, "a"), move(0, "a")}, {move(0, "a"), move(1, "c")}, {move(0, "a"), move(1, "a"), move(2, "a")}} {
		if _, err := g.Move(t.Context(), st, moves); err == nil {
			t.Errorf("it takes %v", moves)
		}
	}
	next, err := g.Move(t.Context(), st, []rules.Move{move(0, "a"), move(1, "B")})
	if err != nil || !strings.Contains(string(next), `"said":["a","B",null]`) {
		t.Fatalf("%s, %v", next, err)
	}
	p, err := g.Position(t.Context(), next)
	if err != nil || !p.Over() || !slices.Equal(p.Points, []arena.Points{500, 500, 500}) {
		t.Errorf("%+v, %v", p, err)
	}
	// Without what it keeps, it returns the same.
	again, err := mustGame(t, source("")).Position(t.Context(), next)
	if err != nil || string(again.Public) != string(p.Public) {
		t.Errorf("%+v, %v", again, err)
	}
	for _, st := range []string{``, `{}`, `{"players":9,"state":{}}`, `{"players":2,"state":{}`, `{"players":x,"state":{}}`} {
		if _, err := g.Position(t.Context(), rules.State(st)); err == nil {
			t.Errorf("%s is a state", st)
		}
	}
	if _, err := g.Setup(t.Context(), rules.Start{Players: 4}); err == nil {
		t.Error("it has four players")
	}
}

// Threat J8: a hostile or broken game is refused with the position and the reason.
func TestGame_Faults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ part, want string }{
		{"function setup() { for (;;); }", "too many steps"},
		{"function setup() { const a = []; for (;;) a.push(new Array(1000).fill('x')) }", "too much memory"},
		{"\nfunction setup() {\n  throw new RangeError('no cards') }", "11:9: RangeError: no cards"},
		{"function setup() { return { s: 'x'.repeat(256 * 1024) } }", "a state of 262152 bytes, at most 262144 are allowed"},
		{"function setup() { return { s: ['x'.repeat(400000), 'y'.repeat(400000)] } }", "a string of more than 524288 characters"},
		{"function setup() { return { at: Date.now() } }", "ReferenceError: Date is not defined"},
		{"function setup() { return { at: Math.random() } }", "TypeError"},
		{"function setup() { return { n: NaN } }", "not a number of JSON"},
		{"function setup() { let s = []; for (let i = 0; i < 40; i++) s = [s]; return s }", "nest"},
		{"var info; info = null", "defines no info"},
		{"info.surprise = 1", `surprise`},
		{"info.min_seats = 'two'", "min_seats"},
		{"info.title = ''", "info.title"},
		{"function turn() { return { player: 3, legal: ['a'] } }", "to_act[0].player is 3"},
		{"function turn() { return { player: 'one', legal: ['a'] } }", "player"},
		{"function turn() { return { player: 0 } }", "lists no legal moves, and there is no function parse"},
		{"function turn() { return { player: 0, legal: ['a', 'a'] } }", "legal[1]"},
		{"function turn() { return { player: 0, legal: [{}] } }", "legal"},
		{"function turn() { const legal = []; for (let i = 0; i < 2000; i++) legal.push(i); return { player: 0, legal } }", "2000 legal moves, at most 1024"},
		{"function turn() { return null } function result() { return [1] }", "points of 1 players, not of 2"},
		{"function turn() { return null } function result() { return [1, 1.01] }", "the points of player 1 are 1.01, they must be 0 to 1"},
		{"function turn() { return null } function result() { return [1, -0.5] }", "they must be 0 to 1"},
		{"function view(state, player) { return player === null ? { kind: 'transcript', lines: [], html: '<b>' } : { text: 'x' } }", "html"},
		{"function view(state, player) { return player === null ? { kind: 'grid' } : { text: 'x' } }", "1 to 1024 cells"},
		{"function view() { return {} }", "the text has 0 bytes"},
		{"function view(state, player) { return player === null ? {} : { text: 'x', secret: 1 } }", "secret"},
		{"function view(state) { state.said = 1; return { text: 'x' } }", "Cannot assign to read only property 'said'"},
		{"} function () {", "9:1: syntax"},
		{strings.Repeat(" ", scripted.MaxSource), "at most 262144 are allowed"},
	} {
		g, err := newGame(t, source("\n"+tc.part))
		if err == nil {
			_, err = g.Setup(t.Context(), rules.Start{Players: 2})
		}
		if _, ok := errors.AsType[*rules.Fault](err); !ok || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.100s: %v, want %q", tc.part, err, tc.want)
		}
	}
}

func TestGame_Parse_byTheScript(t *testing.T) {
	t.Parallel()
	g := mustGame(t, source(`
function turn(state) { return state.said ? null : { player: 0, grammar: 'a number' } }
function parse(state, player, text) { switch (text) { case 'fault': return {}; case 'long': return 'x'.repeat(5000); case '': return { error: 'say something' }; default: return Number(text) } }
function sample(state, player, random) { return random(1000) }`))
	st, err := g.Setup(t.Context(), rules.Start{Players: 2})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"12": "12", "0012": "12"} {
		if got, err := g.Parse(t.Context(), st, 0, text); err != nil || got != want {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"": "say something", "fault": "parse must return", "long": "a move of 5000 bytes"} {
		_, err := g.Parse(t.Context(), st, 0, text)
		if _, illegal := errors.AsType[*rules.IllegalError](err); err == nil || illegal != (text == "") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	one, err := g.Sample(t.Context(), st, 0, 1)
	two, err2 := g.Sample(t.Context(), st, 0, 2)
	if err != nil || err2 != nil || one == two {
		t.Errorf("samples %q and %q, %v, %v", one, two, err, err2)
	}
}

// Threat J8: what a hostile script does in a game is found by playouts.
func TestGame_Playouts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ part, kind, want string }{
		{"", "", ""},
		{"function move(state) { }", playout.KindEndless, "after 1 turns"},
		{"function setup({ players, seed }) { return { players, seed } }", playout.KindInfo, "info.deals is false"},
		{"function move(state) { throw 'no' }", playout.KindFault, `move: 9:24: threw "no"`},
		{"function result() { return [1, 2, 3] }", playout.KindFault, "must be 0 to 1"},
		{"function move(state, moves) { state.said = 'x'.repeat(300000) }", playout.KindFault, "at most 262144"},
		{"let turns = 0; function move(state, moves) { turns++; state.said = [turns, {}.left] }", playout.KindFault, "is not a value of JSON"},
	} {
		r, err := playout.Check(t.Context(), mustGame(t, source("\n"+tc.part)), mustGame(t, source("\n"+tc.part)), playout.Options{Games: 4})
		switch {
		case err != nil:
			t.Errorf("%s: %v", tc.part, err)
		case tc.kind == "" && !r.OK():
			t.Errorf("%s: %v", tc.part, r.Problems)
		case tc.kind != "" && (r.OK() || r.Problems[0].Kind != tc.kind || !strings.Contains(r.Problems[0].Message, tc.want)):
			t.Errorf("%s: %v, want %s: %s", tc.part, r.Problems, tc.kind, tc.want)
		}
	}
}

// failing cannot run scripts.
type failing struct{ err error }

func (f failing) Run(context.Context, arena.Script) ([]arena.CallResult, error) { return nil, f.err }

// What ends a worker is the game's fault; a worker that cannot be started is not.
func TestNew_runnerFails(t *testing.T) {
	t.Parallel()
	_, err := scripted.New(t.Context(), failing{arena.ErrScriptLimit}, "")
	if _, fault := errors.AsType[*rules.Fault](err); !fault {
		t.Errorf("a limit of the worker: %v", err)
	}
	_, err = scripted.New(t.Context(), failing{errors.New("no processes")}, "")
	if known, ok := errors.AsType[*arena.Error](err); !ok || known.Code != arena.CodeUnavailable {
		t.Errorf("no worker: %v", err)
	}
}

func FuzzGame_Position(f *testing.F) {
	for _, seed := range []string{`{"to_act":[{"player":0,"view":{"text":"x"},"legal":["1"]}],"public":{"kind":"transcript","lines":[]}}`, `{"to_act":[],"points":[0.5,1],"public":{}}`, `[]`, `null`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, position string) {
		g, err := scripted.New(t.Context(), replies{
			"describe": `{"info":{"name":"x","title":"X","min_seats":1,"max_seats":2,"max_turns":1},"parses":false}`, "position": position,
		}, "")
		if err != nil {
			t.Fatal(err)
		}
		p, err := g.Position(t.Context(), rules.State(`{"players":2,"state":{}}`))
		if err == nil {
			if err := rules.CheckPosition(p, 2); err != nil {
				t.Error(err)
			}
			if _, err := json.Marshal(p); err != nil {
				t.Error(err)
			}
		}
	})
}

// replies are the results of a script by function.
type replies map[string]string

func (r replies) Run(_ context.Context, s arena.Script) ([]arena.CallResult, error) {
	return []arena.CallResult{{Value: r[s.Function]}}, nil
}
