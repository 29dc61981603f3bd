package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/league/game/playout"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/league/game/scripted"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
)

// runner is shared: compiling the library takes longer than most tests.
var runner = sync.OnceValues(sandboxtest.New)

func newCatalog(t *testing.T, uploaded catalog.Uploaded) *catalog.Catalog {
	t.Helper()
	r, err := runner()
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.New(r, uploaded)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func find(t *testing.T, name string) rules.Rules {
	t.Helper()
	r, err := newCatalog(t, nil).Rules(t.Context(), arena.GameSpec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Random games of every game end, with points in range and no illegal moves.
func TestCatalog_Playouts(t *testing.T) {
	t.Parallel()
	const games = 6 // for every combination of players and options, and some more: arena game check plays thousands
	list, err := newCatalog(t, nil).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			report, err := playout.Check(t.Context(), find(t, info.Name), find(t, info.Name), playout.Options{Games: games})
			if err != nil {
				t.Fatal(err)
			}
			if !report.OK() || report.Games != games {
				t.Errorf("%+v", report)
			}
		})
	}
}

// The worked example of docs/games.md.
func TestCatalog_Nim(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../examples/games/nim.js")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(source), "\n"); lines >= 60 {
		t.Errorf("it has %d lines", lines)
	}
	docs, err := os.ReadFile("../../../docs/games.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, code, _ := strings.Cut(string(source), "\n"); !strings.Contains(string(docs), code) {
		t.Error("docs/games.md shows another source")
	}
	r, err := runner()
	if err != nil {
		t.Fatal(err)
	}
	nim := func() *scripted.Game {
		g, err := scripted.New(t.Context(), r, string(source))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	report, err := playout.Check(t.Context(), nim(), nim(), playout.Options{Games: 10})
	if err != nil || !report.OK() || report.Games != 10 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Moves are read as people write them, as in TestSeries_readsMoves.
func TestCatalog_readsMoves(t *testing.T) {
	t.Parallel()
	const refused = ""
	for name, texts := range map[string]map[string]string{
		"tic_tac_toe": {
			"5": "5", "5.": "5", "cell 5": "5", "1,3": "3", "1, 3": "3", "2 1": "4", "(1,3)": "3", "[3,2]": "8", "row 2, column 3": "6", "I take 3": "3", "**2,2**": "5", "2. cell 9": "9",
			"0": refused, "10": refused, "13": refused, "4,1": refused, "1.3": refused, "1 or 3": refused, "1 2 3": refused, "five": refused,
		},
		"iterated_prisoners_dilemma": {
			"C": "cooperate", "d": "defect", "Cooperate": "cooperate", "I cooperate": "cooperate", "I choose to defect.": "defect", "**C**": "cooperate", "ANSWER: D": "defect", "I will cooperate!": "cooperate",
			"C or D": refused, "CD": refused, "I will not defect": refused, "cooperate\ndefect": refused, "co": refused,
		},
		"colonel_blotto": {
			"20,20,20,20,20": "20,20,20,20,20", "[40, 30, 20, 10, 0]": "40,30,20,10,0", "20 20 20 20 20": "20,20,20,20,20", "20\n20\n20\n20\n20": "20,20,20,20,20", "I play 20, 20, 20, 20, 20.": "20,20,20,20,20",
			"100": refused, "20,20,20,20": refused, "30,20,20,20,20": refused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := arena.Settings{Game: &arena.GameSpec{Name: name, Games: 1}}
			g, err := game.For(t.Context(), newCatalog(t, nil), settings)
			if err != nil {
				t.Fatal(err)
			}
			p := game.Position{Settings: settings, Seats: []arena.Seat{{No: 0, AgentID: "ag_0", State: arena.SeatActive}, {No: 1, AgentID: "ag_1", State: arena.SeatActive}}, Round: 1}
			if p.State, err = g.Init(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			for text, want := range texts {
				reply := game.Reply{Outcome: arena.OutcomeAnswered, Text: text}
				why, err := g.Check(t.Context(), p, reply)
				if err != nil || (why == "") != (want != refused) {
					t.Errorf("%q: refused as %q, %v; want %q", text, why, err, want)
				}
				result, err := g.Close(t.Context(), p, []game.Reply{reply}, nil)
				if err != nil || result.Closed.Moves[0].Move != want {
					t.Errorf("%q is %+v, %v; want %q", text, result.Closed.Moves, err, want)
				}
			}
		})
	}
}

// line is tic-tac-toe in Go: the cells that have been played, from 1.
type line []int

var ticTacToeLines = [...][3]int{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 4, 7}, {2, 5, 8}, {3, 6, 9}, {1, 5, 9}, {3, 5, 7}}

// position returns the free cells, the marks and the points, which are nil until the
// game is over.
func (l line) position() (free []string, cells [9]string, points []arena.Points) {
	for i, cell := range l {
		cells[cell-1] = [...]string{"x", "o"}[i%2]
	}
	for i, mark := range cells {
		if mark == "" {
			free = append(free, strconv.Itoa(i+1))
		}
	}
	for _, won := range ticTacToeLines {
		if a, b, c := cells[won[0]-1], cells[won[1]-1], cells[won[2]-1]; a != "" && a == b && b == c {
			points = []arena.Points{0, arena.OnePoint}
			if a == "x" {
				slices.Reverse(points)
			}
			return free, cells, points
		}
	}
	if len(free) == 0 {
		points = []arena.Points{arena.OnePoint / 2, arena.OnePoint / 2}
	}
	return free, cells, points
}

// The game in JavaScript and one in Go agree at every step.
func TestCatalog_TicTacToeAgreesWithGo(t *testing.T) {
	t.Parallel()
	r := find(t, "tic_tac_toe")
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 0))
		var played line
		st, err := r.Setup(t.Context(), rules.Start{Players: 2})
		if err != nil {
			t.Fatal(err)
		}
		for {
			p, err := r.Position(t.Context(), st)
			if err != nil {
				t.Fatal(err)
			}
			free, cells, points := played.position()
			var grid rules.Grid
			if err := json.Unmarshal(p.Public, &grid); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(cells[:], grid.Cells) + cmp.Diff(points, p.Points); d != "" || p.Over() != (points != nil) {
				t.Fatalf("after %v: %s", played, d)
			}
			if p.Over() {
				break
			}
			if d := cmp.Diff(free, p.ToAct[0].Legal); d != "" || len(p.ToAct) != 1 || p.ToAct[0].Player != len(played)%2 {
				t.Fatalf("after %v: %s, %+v", played, d, p.ToAct)
			}
			m := free[random.IntN(len(free))]
			cell, _ := strconv.Atoi(m)
			played = append(played, cell)
			if st, err = r.Move(t.Context(), st, []rules.Move{{Player: p.ToAct[0].Player, Move: m}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// end plays one simultaneous turn after the other and returns the last position.
func end(t *testing.T, r rules.Rules, options map[string]int, turns ...[2]string) rules.Position {
	t.Helper()
	st, err := r.Setup(t.Context(), rules.Start{Players: 2, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		var moves []rules.Move
		for player, text := range turn {
			m, err := r.Parse(t.Context(), st, player, text)
			if err != nil {
				t.Fatal(err)
			}
			moves = append(moves, rules.Move{Player: player, Move: m})
		}
		if st, err = r.Move(t.Context(), st, moves); err != nil {
			t.Fatal(err)
		}
	}
	p, err := r.Position(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCatalog_ColonelBlotto(t *testing.T) {
	t.Parallel()
	r := find(t, "colonel_blotto")
	three := map[string]int{"battlefields": 3, "troops": 9}
	for _, tc := range []struct {
		one, two string
		points   []arena.Points
	}{
		{"3,3,3", "4 4 1", []arena.Points{0, 1000}},
		{"5, 4, 0", "4;3;2", []arena.Points{1000, 0}},
		{"3,3,3", "3,3,3", []arena.Points{500, 500}},
		{"4,2,3", "3,3,3", []arena.Points{500, 500}},
		{"9,0,0", "0,0,9", []arena.Points{500, 500}},
	} {
		if p := end(t, r, three, [2]string{tc.one, tc.two}); !p.Over() || !slices.Equal(p.Points, tc.points) {
			t.Errorf("%s against %s: %v, want %v", tc.one, tc.two, p.Points, tc.points)
		}
	}
	st, err := r.Setup(t.Context(), rules.Start{Players: 2, Options: three})
	if err != nil {
		t.Fatal(err)
	}
	for text, reason := range map[string]string{
		"1,2": "3 numbers are needed", "1,2,3,3": "not 4", "1,2,3": "the sum is 6, it must be 9", "10,-1,0": "0 or more", "3.0,3,3": "whole", "": "not 0",
		strings.Repeat("9", 5000): "at most 4096 bytes", "\xff": "UTF-8",
	} {
		_, err := r.Parse(t.Context(), st, 0, text)
		if illegal, ok := err.(*rules.IllegalError); !ok || !strings.Contains(illegal.Reason, reason) { //nolint:errorlint // never wrapped
			t.Errorf("%.20q: %v, want %q", text, err, reason)
		}
	}
}

func TestCatalog_PrisonersDilemma(t *testing.T) {
	t.Parallel()
	r := find(t, "iterated_prisoners_dilemma")
	p := end(t, r, map[string]int{"rounds": 4}, [2]string{"cooperate", "COOPERATE"}, [2]string{"cooperate", "defect"}, [2]string{"defect", "cooperate"}, [2]string{"defect", "defect"})
	if !p.Over() || !slices.Equal(p.Points, []arena.Points{450, 450}) { // 3 + 0 + 5 + 1 of 20
		t.Errorf("points %v", p.Points)
	}
	if !strings.Contains(string(p.Public), `"values":["C","D","C","D"],"total":"9"`) {
		t.Errorf("public state %s", p.Public)
	}
}

// fakeUploads are uploaded games, oldest first.
type fakeUploads []arena.GameScript

func (f fakeUploads) GameScript(_ context.Context, name, hash string) (arena.GameScript, error) {
	for _, g := range slices.Backward(f) {
		if g.Name == name && (hash == "" || g.SHA256 == hash) {
			return g, nil
		}
	}
	return arena.GameScript{}, arena.Errorf(arena.CodeNotFound, "no game %s", name)
}

func (f fakeUploads) GameScripts(context.Context) ([]arena.GameScript, error) { return f, nil }

func upload(name, version string) arena.GameScript {
	source := fmt.Sprintf("const info = { name: %q, title: 'A game', version: %q, min_seats: 2, max_seats: 2, max_turns: 1 }", name, version)
	return arena.GameScript{Name: name, Version: version, SHA256: catalog.Hash(source), Source: source}
}

func TestCatalog_Rules_uploaded(t *testing.T) {
	t.Parallel()
	one, two, shadow := upload("my_game", "1"), upload("my_game", "2"), upload("connect_four", "9")
	c := newCatalog(t, fakeUploads{one, two, shadow})
	for _, tc := range []struct {
		spec    arena.GameSpec
		version string
	}{
		{arena.GameSpec{Name: "my_game"}, "2"},
		{arena.GameSpec{Name: "my_game", SHA256: one.SHA256}, "1"},
		{arena.GameSpec{Name: "my_game", SHA256: two.SHA256}, "2"},
		{arena.GameSpec{Name: "connect_four"}, "1"},
		{arena.GameSpec{Name: "connect_four", SHA256: shadow.SHA256}, "9"},
	} {
		r, err := c.Rules(t.Context(), tc.spec)
		if err != nil || r.Info().Version != tc.version {
			t.Errorf("%+v: %v, %v", tc.spec, r, err)
		}
	}
	for spec, want := range map[[2]string]string{
		{"chequers", ""}:   `game.name: "chequers" is no game; known are chess, colonel_blotto, connect_four, iterated_prisoners_dilemma, kuhn_poker, liars_dice, my_game, negotiation, tic_tac_toe`,
		{"my_game", "00"}:  "game my_game has no version with the hash 00",
		{"", ""}:           `"" is no game`,
		{"../my_game", ""}: "is no game",
	} {
		_, err := c.Rules(t.Context(), arena.GameSpec{Name: spec[0], SHA256: spec[1]})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", spec, err, want)
		}
	}
}

// A match keeps the version that was the latest when it was created.
func TestCatalog_Pin(t *testing.T) {
	t.Parallel()
	one, two := upload("my_game", "1"), upload("my_game", "2")
	c := newCatalog(t, fakeUploads{one, two})
	for _, tc := range []struct {
		spec            arena.GameSpec
		version, sha256 string
	}{
		{arena.GameSpec{Name: "my_game"}, "2", two.SHA256},
		{arena.GameSpec{Name: "my_game", SHA256: one.SHA256}, "1", one.SHA256},
		{arena.GameSpec{Name: "connect_four"}, "1", ""},
	} {
		got, err := c.Pin(t.Context(), tc.spec)
		if err != nil || got.Version != tc.version || got.SHA256 != tc.sha256 {
			t.Errorf("%+v is pinned as %+v, %v", tc.spec, got, err)
		}
	}
	if _, err := c.Pin(t.Context(), arena.GameSpec{Name: "none"}); arena.CodeOf(err) != arena.CodeInvalid {
		t.Errorf("an unknown game: %v", err)
	}
}
