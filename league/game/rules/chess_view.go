package rules

import (
	"fmt"
	"strings"

	"github.com/corentings/chess/v2"

	"github.com/agora-arena/arena/arena"
)

// chessLetter returns the letter of a piece in FEN, "" for an empty cell.
func chessLetter(p chess.Piece) string {
	letter := p.Type().String()
	if p.Color() == chess.White {
		letter = strings.ToUpper(letter)
	}
	return letter
}

// grid returns the board for spectators. reason and points come from result.
func (b *chessBoard) grid(reason string, points []arena.Points) Grid {
	g := Grid{
		Kind: KindGrid, Rows: chessSize, Columns: chessSize, Cells: make([]string, len(b.cells)), Pieces: map[string]Piece{},
		Last: b.Last, Board: "chess", FEN: b.pos.String(),
	}
	for i, p := range b.cells {
		g.Cells[i] = chessLetter(p)
	}
	for player, symbols := range []string{"♔♕♖♗♘♙", "♚♛♜♝♞♟"} {
		letters := "KQRBNP"
		if player == 1 {
			letters = "kqrbnp"
		}
		for i, symbol := range []rune(symbols) {
			g.Pieces[letters[i:i+1]] = Piece{Player: player, Symbol: string(symbol)}
		}
	}
	if points != nil {
		g.Caption, g.Evaluation = reason, share(points)
		return g
	}
	g.Caption = chessColor(b.player()) + " to move"
	if moves := b.moves(); len(moves) > 0 {
		g.Caption += " after " + numbered(len(moves)-1, moves[len(moves)-1])
	}
	balance := b.material()
	g.Evaluation = []float64{chessOdds(balance), chessOdds(-balance)}
	return g
}

// material returns by how many pawns White has more than Black: 1 for a pawn, 3 for
// a knight or bishop, 5 for a rook, 9 for a queen.
func (b *chessBoard) material() (balance int) {
	for _, p := range b.cells {
		value := 0
		switch p.Type() {
		case chess.Pawn:
			value = 1
		case chess.Knight, chess.Bishop:
			value = 3
		case chess.Rook:
			value = 5
		case chess.Queen:
			value = 9
		default:
		}
		if p.Color() == chess.White {
			balance += value
		} else {
			balance -= value
		}
	}
	return balance
}

// chessOdds returns the evaluation for a player who is ahead by the given number of
// pawns: 1/(1+10^(−pawns/4)), the expected points of a player with that much
// material, rounded to thousandths. It is a table, so that all processors agree.
func chessOdds(pawns int) float64 {
	odds := [...]int{500, 640, 760, 849, 909, 947, 969, 983, 990, 994, 997, 998, 999}
	if pawns < 0 {
		return float64(1000-odds[min(-pawns, len(odds)-1)]) / 1000
	}
	return float64(odds[min(pawns, len(odds)-1)]) / 1000
}

// numbered returns a move with its number, e.g. "12. Nf3" or "12… Nf6". ply counts
// from 0.
func numbered(ply int, san string) string {
	if ply%2 == 0 {
		return fmt.Sprintf("%d. %s", ply/2+1, san)
	}
	return fmt.Sprintf("%d… %s", ply/2+1, san)
}

// movetext returns moves as in PGN: "1. e4 e5 2. Nf3".
func movetext(moves []string) []string {
	var tokens []string
	for ply, san := range moves {
		if ply%2 == 0 {
			tokens = append(tokens, fmt.Sprintf("%d.", ply/2+1))
		}
		tokens = append(tokens, san)
	}
	return tokens
}

// toAct returns the player to move with the board as text and as an object.
func (b *chessBoard) toAct() (a ToAct, err error) {
	a.Player = b.player()
	for i := range b.legal {
		a.Legal = append(a.Legal, b.san(&b.legal[i]))
	}
	a.Grammar = "SAN such as Nf3, exd5, O-O or e8=Q, or UCI such as g1f3 or e7e8q"
	color, history := chessColor(a.Player), b.moves()
	last := ""
	if n := len(history); n > 0 {
		last = history[n-1]
	}
	check := strings.HasSuffix(last, "+")
	var t strings.Builder
	fmt.Fprintf(&t, "Chess. You play %s, and it is your turn.", color)
	if check {
		t.WriteString(" You are in check.")
	}
	fmt.Fprintf(&t, " Stalemate, insufficient material, the third repetition of a position, 50 moves without a capture or a move of a pawn, "+
		"and the end of move %d are draws.\n\nWhite has the capital letters.\n\n", b.MaxMoves)
	for row := range chessSize {
		fmt.Fprintf(&t, "%d ", chessSize-row)
		for column := range chessSize {
			letter := chessLetter(b.cells[row*chessSize+column])
			if letter == "" {
				letter = "."
			}
			t.WriteString(" " + letter)
		}
		t.WriteByte('\n')
	}
	fmt.Fprintf(&t, "   a b c d e f g h\n\nFEN: %s\n", b.pos)
	if last != "" {
		fmt.Fprintf(&t, "Moves so far: %s\n", strings.Join(movetext(history), " "))
	}
	fmt.Fprintf(&t, "\nAnswer with your move: %s.", a.Grammar)
	a.Text = t.String()
	a.Observation, err = encode(struct {
		FEN      string   `json:"fen"`
		You      string   `json:"you"` // white or black
		Check    bool     `json:"check"`
		History  []string `json:"history"` // SAN
		MaxMoves int      `json:"max_moves"`
	}{b.pos.String(), strings.ToLower(color), check, history, b.MaxMoves})
	return a, err
}
