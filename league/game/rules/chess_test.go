package rules_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/corentings/chess/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// chessPosition returns a state with the position of a FEN and nothing before it.
// The library's parser of FEN may run in one goroutine only.
func chessPosition(t *testing.T, fen string) (rules.State, *chess.Position) {
	t.Helper()
	pos := &chess.Position{}
	if err := pos.UnmarshalText([]byte(fen)); err != nil {
		t.Fatal(err)
	}
	raw, err := pos.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	st, err := json.Marshal(map[string]any{"position": raw, "seen": "", "max_moves": 150})
	if err != nil {
		t.Fatal(err)
	}
	return st, pos
}

// perft counts the lines of play of so many turns by the library.
func perft(pos *chess.Position, turns int) (n int) {
	moves := pos.ValidMoves()
	if turns == 1 {
		return len(moves)
	}
	for i := range moves {
		n += perft(pos.Update(&moves[i]), turns-1)
	}
	return n
}

// perftByRules counts them through the rules.
func perftByRules(t *testing.T, st rules.State, turns int) (n int) {
	t.Helper()
	pos, err := rules.Chess().Position(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	if turns == 1 && !pos.Over() {
		return len(pos.ToAct[0].Legal)
	}
	for _, a := range pos.ToAct {
		for _, move := range a.Legal {
			next, err := rules.Chess().Move(t.Context(), st, []rules.Move{{Player: a.Player, Move: move}})
			if err != nil {
				t.Fatal(err)
			}
			n += perftByRules(t, next, turns-1)
		}
	}
	return n
}

// The counts of https://www.chessprogramming.org/Perft_Results: the start and
// positions 2 to 5.
func TestChess_perft(t *testing.T) {
	t.Parallel()
	type position struct {
		st   rules.State
		pos  *chess.Position
		want []int
	}
	var positions []position
	for _, c := range []struct {
		fen  string
		want []int
	}{
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", []int{20, 400, 8_902, 197_281}},
		{"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", []int{48, 2_039, 97_862, 4_085_603}},
		{"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", []int{14, 191, 2_812, 43_238}},
		{"r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", []int{6, 264, 9_467, 422_333}},
		{"rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", []int{44, 1_486, 62_379, 2_103_487}},
	} {
		st, pos := chessPosition(t, c.fen)
		positions = append(positions, position{st, pos, c.want})
	}
	for _, p := range positions {
		t.Run(p.pos.String(), func(t *testing.T) {
			t.Parallel()
			for i, want := range p.want {
				if got := perft(p.pos, i+1); got != want {
					t.Errorf("%d turns: %d lines, want %d", i+1, got, want)
				}
				if i >= 2 {
					continue // through the rules it takes a hundred times as long
				}
				if got := perftByRules(t, p.st, i+1); got != want {
					t.Errorf("%d turns: %d lines by the rules, want %d", i+1, got, want)
				}
			}
		})
	}
}

func TestChess_notation(t *testing.T) { //nolint:paralleltest // the library reads FEN in one goroutine only
	for _, c := range []struct {
		fen, want string
		texts     []string
	}{
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "Nf3", []string{"Nf3", " Nf3 ", "g1f3", "Ng1f3", "Ngf3", "N1f3", "Nf3+", "Nf3!?", "g1-f3", "Ng1-f3", "nf3", "NF3", "G1F3", "ngf3"}},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e4", []string{"e4", "e2e4", "e2-e4", "Pe4", "e4!", "E4", "E2E4", "pe4"}},
		{"rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 2", "exd5", []string{"exd5", "ed5", "e4d5", "e4xd5", "e4:d5", "Pxd5"}},
		{"rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3", "dxe3", []string{"dxe3", "de3", "d4e3", "dxe3e.p.", "dxe3 e.p.", "dxe3 ep"}},
		{"r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O", []string{"O-O", "0-0", "e1g1", "O-O+", "o-o", "E1G1"}},
		{"r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "O-O-O", []string{"O-O-O", "0-0-0", "e8c8", "o-o-o"}},
		{"7k/4P3/8/8/8/8/8/K7 w - - 0 1", "e8=Q+", []string{"e8=Q+", "e8=Q", "e8Q", "e7e8q", "e7e8Q", "e8q", "e7-e8=Q", "e8(Q)", "E8=Q"}},
		{"7k/4P3/8/8/8/8/8/K7 w - - 0 1", "e8=N", []string{"e8=N", "e8N", "e7e8n", "e8=N+"}},
		{"4k3/8/8/8/8/8/8/KN3N2 w - - 0 1", "Nbd2", []string{"Nbd2", "Nb1d2", "b1d2", "nbd2"}},
		// Both captures are legal: the one written exactly so in SAN is played.
		{"4k3/8/8/8/8/2n5/1P1B4/4K3 w - - 0 1", "bxc3", []string{"bxc3", "bc3"}},
		{"4k3/8/8/8/8/2n5/1P1B4/4K3 w - - 0 1", "Bxc3", []string{"Bxc3"}},
		{"4k3/8/8/8/8/2n5/3B4/4K3 w - - 0 1", "Bxc3", []string{"bxc3", "bc3", "BXC3"}}, // only the bishop can
	} {
		st, pos := chessPosition(t, c.fen)
		player := 0
		if pos.Turn() == chess.Black {
			player = 1
		}
		for _, text := range c.texts {
			if got, err := rules.Chess().Parse(t.Context(), st, player, text); err != nil || got != c.want {
				t.Errorf("%s: %q is %q, %v; want %q", c.fen, text, got, err, c.want)
			}
		}
	}
	for _, c := range []struct{ fen, text, reason string }{
		{"4k3/8/8/8/8/8/8/KN3N2 w - - 0 1", "Nd2", "Nd2 is ambiguous: Nbd2 or Nfd2"},
		{"7k/4P3/8/8/8/8/8/K7 w - - 0 1", "e8", "a promotion names its piece, as in e8=Q+"},
		{"7k/4P3/8/8/8/8/8/K7 w - - 0 1", "e7e8", "a promotion names its piece, as in e8=Q+"},
		{"7k/4P3/8/8/8/8/8/K7 w - - 0 1", "e8=K", "SAN"},
		{"r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "Kg1", "the king on e1 cannot go to g1"},
		{"4k3/8/8/8/8/2n5/1P1B4/4K3 w - - 0 1", "BXC3", "BXC3 is ambiguous"},
		{"4k3/8/8/8/8/2n5/1P6/4K3 w - - 0 1", "Bxc3", "you have no bishop"},     // a capital is no pawn
		{"4k3/8/8/8/8/8/4P3/B3K3 w - - 0 1", "b1c3", "there is no piece on b1"}, // and not the bishop of rank 1
		{"4k3/8/8/8/8/8/8/R3K2r w Q - 0 1", "O-O-O", "your king is in check, and may not castle"},
		{"r3k2r/8/8/8/8/8/8/R3K2R w kq - 0 1", "O-O", "you cannot castle to that side any more"},
		{"4k3/8/8/8/8/8/8/RN2K3 w Q - 0 1", "O-O-O", "there are pieces between king and rook"},
		{"3rk3/8/8/8/8/8/8/R3K3 w Q - 0 1", "O-O-O", "the king would pass or reach an attacked square"},
		{"4k3/8/8/8/8/8/3PP3/R3K2r w Q - 0 1", "d4", "your king is in check, and d4 does not end that"},
		{"4k3/8/8/8/8/8/8/r3K3 w - - 0 1", "Kd1", "the king would be in check on d1"},
		{"4k3/8/8/8/1b6/8/3N4/4K3 w - - 0 1", "Nf3", "the knight on d2 is pinned: without it your king is in check"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e5", "no pawn of yours can go to e5"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "Bc4", "the way of the bishop to c4 is blocked"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "Ra2", "your own pawn is on a2"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e7e5", "the pawn on e7 is not yours"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e4e5", "there is no piece on e4"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e2e5", "the pawn on e2 cannot go to e5"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "Nd5", "no knight of yours can go to d5"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "exd3", "the pawn on e2 cannot go to d3"},
		{"4k3/8/8/4p3/4P3/8/8/4K3 w - - 0 1", "e5", "the way of the pawn to e5 is blocked"},
		{"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "Qd4", "you have no queen"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e4\u202e", "SAN"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "е4", "SAN"}, // Cyrillic
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "resign", "SAN"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", strings.Repeat("+", 1<<20), "SAN"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e4" + strings.Repeat("+", 1<<20), "SAN"},
	} {
		st, _ := chessPosition(t, c.fen)
		_, err := rules.Chess().Parse(t.Context(), st, 0, c.text)
		if illegal, ok := errors.AsType[*rules.IllegalError](err); !ok || !strings.Contains(illegal.Reason, c.reason) {
			t.Errorf("%s: %.40q: %v, want %q", c.fen, c.text, err, c.reason)
		}
	}
}

// playChess plays moves from the start.
func playChess(t *testing.T, moves ...string) *playout {
	t.Helper()
	p := begin(t, rules.Chess(), rules.Start{Players: 2})
	for i, move := range moves {
		p.apply(t, []rules.Move{{Player: i % 2, Move: p.parse(t, i%2, move)}})
	}
	return p
}

func TestChess_ends(t *testing.T) {
	t.Parallel()
	draw := []arena.Points{arena.OnePoint / 2, arena.OnePoint / 2}
	shuffle := func(times int) []string {
		return slices.Repeat([]string{"Nf3", "Nf6", "Ng1", "Ng8"}, times)
	}
	for name, c := range map[string]struct {
		moves  []string
		points []arena.Points // nil: not over
		reason string
	}{
		"mate of White": {strings.Fields("f3 e5 g4 Qh4#"), []arena.Points{0, arena.OnePoint}, "Checkmate: Black wins"},
		"mate of Black": {strings.Fields("e4 e5 Bc4 Nc6 Qh5 Nf6 Qxf7#"), []arena.Points{arena.OnePoint, 0}, "Checkmate: White wins"},
		"stalemate": { // Sam Loyd's in ten moves
			strings.Fields("e3 a5 Qh5 Ra6 Qxa5 h5 h4 Rah6 Qxc7 f6 Qxd7+ Kf7 Qxb7 Qd3 Qxb8 Qh7 Qxc8 Kg6 Qe6"), draw, "Draw by stalemate",
		},
		"second repetition": {shuffle(1), nil, "White to move after 2… Ng8"},
		"third repetition":  {shuffle(2), draw, "Draw by threefold repetition"},
		// After 1. e4 no pawn can capture en passant, so that this is no new position.
		"repetition with a pawn": {append([]string{"e4", "e5"}, shuffle(2)...), draw, "Draw by threefold repetition"},
		// After 3… d5 White may capture en passant once: the position is a new one.
		"repetition after en passant": {append(strings.Fields("e4 a6 e5 d5"), shuffle(2)...), nil, "White to move after 6… Ng8"},
	} {
		p := playChess(t, c.moves...)
		pos := p.position(t)
		var g rules.Grid
		if err := json.Unmarshal(pos.Public, &g); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(pos.Points, c.points) || g.Caption != c.reason {
			t.Errorf("%s: points %v, %q; want %v, %q", name, pos.Points, g.Caption, c.points, c.reason)
		}
	}
}

func TestChess_draws(t *testing.T) { //nolint:paralleltest // the library reads FEN in one goroutine only
	for fen, want := range map[string]string{
		"8/8/4k3/8/8/3K4/8/8 w - - 0 1":       "Draw by insufficient material",
		"8/8/4k3/8/8/3KN3/8/8 w - - 0 1":      "Draw by insufficient material",
		"8/8/4k3/8/8/3KB3/8/8 b - - 0 1":      "Draw by insufficient material",
		"8/8/4kb2/8/8/3KB3/8/8 b - - 0 1":     "Draw by insufficient material", // both on dark cells
		"8/8/4kb2/8/8/3K1B2/8/8 b - - 0 1":    "Black to move",
		"8/8/4kn2/8/8/3KN3/8/8 b - - 0 1":     "Black to move",
		"8/8/4k3/8/8/3KNN2/8/8 b - - 0 1":     "Black to move",
		"8/8/4k3/8/8/3KP3/8/8 b - - 0 1":      "Black to move",
		"8/8/4k3/8/8/3KR3/8/8 b - - 99 80":    "Black to move",
		"8/8/4k3/8/8/3KR3/8/8 b - - 100 80":   "Draw by the 50-move rule",
		"R5k1/5ppp/8/8/8/8/8/K7 b - - 100 80": "Checkmate: White wins", // mate comes first
	} {
		st, _ := chessPosition(t, fen)
		pos, err := rules.Chess().Position(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		var g rules.Grid
		if err := json.Unmarshal(pos.Public, &g); err != nil || g.Caption != want || g.FEN != fen {
			t.Errorf("%s: %q, FEN %s, %v; want %q", fen, g.Caption, g.FEN, err, want)
		}
	}
}
