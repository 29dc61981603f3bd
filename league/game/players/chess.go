package players

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corentings/chess/v2"
)

// chessBoard is a position of chess, without its history: repetitions are not seen.
type chessBoard struct {
	pos   *chess.Position
	legal []chess.Move // captures first; nil: not computed yet
}

func readChess(seen json.RawMessage) (board, error) {
	var o struct {
		FEN string `json:"fen"`
	}
	if err := json.Unmarshal(seen, &o); err != nil {
		return nil, err //nolint:wrapcheck // the caller names what was read
	}
	pos, err := chessPosition(o.FEN)
	if err != nil {
		return nil, err
	}
	return &chessBoard{pos: pos}, nil
}

// chessPosition reads FEN. The library's own parser shares a buffer between
// goroutines; its binary form does not.
func chessPosition(fen string) (*chess.Position, error) {
	parts := strings.Fields(fen)
	if len(parts) != 6 {
		return nil, fmt.Errorf("%q is no FEN", fen)
	}
	pieces := map[rune]chess.PieceType{'p': chess.Pawn, 'n': chess.Knight, 'b': chess.Bishop, 'r': chess.Rook, 'q': chess.Queen, 'k': chess.King}
	on := map[chess.Square]chess.Piece{}
	for i, row := range strings.Split(parts[0], "/") {
		file := 0
		for _, letter := range row {
			if letter >= '1' && letter <= '8' {
				file += int(letter - '0')
				continue
			}
			piece, color := pieces[letter], chess.Black
			if piece == chess.NoPieceType {
				piece, color = pieces[letter+'a'-'A'], chess.White
			}
			if piece == chess.NoPieceType || file > 7 || i > 7 {
				return nil, fmt.Errorf("%q is no FEN", fen)
			}
			on[chess.NewSquare(chess.File(file), chess.Rank(7-i))] = chess.NewPiece(piece, color)
			file++
		}
	}
	clock, err := strconv.ParseUint(parts[4], 10, 8)
	if err != nil {
		return nil, fmt.Errorf("%q is no FEN: %w", fen, err)
	}
	number, err := strconv.ParseUint(parts[5], 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%q is no FEN: %w", fen, err)
	}
	flags, square := byte(0), byte(0)
	for bit, letter := range "KQkq" {
		if strings.ContainsRune(parts[2], letter) {
			flags |= 1 << bit
		}
	}
	if parts[1] == "b" {
		flags |= 1 << 4
	}
	if p := parts[3]; len(p) == 2 && p[0] >= 'a' && p[0] <= 'h' && p[1] >= '1' && p[1] <= '8' {
		square, flags = byte(chess.NewSquare(chess.File(p[0]-'a'), chess.Rank(p[1]-'1'))), flags|1<<5 //nolint:gosec // G115: 0 to 63
	}
	raw, err := chess.NewBoard(on).MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("chess: %w", err)
	}
	raw = append(binary.BigEndian.AppendUint16(append(raw, byte(clock)), uint16(number)), square, flags)
	pos := &chess.Position{}
	if err := pos.UnmarshalBinary(raw); err != nil {
		return nil, fmt.Errorf("chess: %w", err)
	}
	return pos, nil
}

// list returns the legal moves, captures of the most valuable piece first. Promotions
// other than to a queen are left out: the library gets their checks wrong.
func (b *chessBoard) list() []chess.Move {
	if b.legal == nil {
		b.legal = slices.DeleteFunc(b.pos.ValidMoves(), func(m chess.Move) bool {
			return m.Promo() != chess.NoPieceType && m.Promo() != chess.Queen
		})
		on := b.pos.Board()
		gain := func(m chess.Move) int { return pieceValue(on.Piece(m.S2()).Type()) + pieceValue(m.Promo()) }
		slices.SortStableFunc(b.legal, func(m, n chess.Move) int { return cmp.Compare(gain(n), gain(m)) })
	}
	return b.legal
}

func (b *chessBoard) moves() []string {
	legal := b.list()
	moves := make([]string, len(legal))
	for i := range legal {
		moves[i] = legal[i].String()
	}
	return moves
}

func (b *chessBoard) after(i int) board { return &chessBoard{pos: b.pos.Update(&b.list()[i])} }

func (b *chessBoard) wins(i int) bool {
	return b.list()[i].HasTag(chess.Check) && b.after(i).ended() < 0
}

func (b *chessBoard) ended() int {
	if b.pos.Status() == chess.Checkmate {
		return -won
	}
	return 0
}

// pieceValue returns the value of a piece in hundredths of a pawn.
func pieceValue(p chess.PieceType) int {
	switch p {
	case chess.Pawn:
		return 100
	case chess.Knight:
		return 300
	case chess.Bishop:
		return 310
	case chess.Rook:
		return 500
	case chess.Queen:
		return 900
	default:
		return 0
	}
}

// value counts material, pieces near the center and pawns that have advanced.
func (b *chessBoard) value() (sum int) {
	on := b.pos.Board()
	for s := chess.A1; s <= chess.H8; s++ {
		p := on.Piece(s)
		if p == chess.NoPiece {
			continue
		}
		value, rank := pieceValue(p.Type()), int(s.Rank())
		if p.Color() == chess.Black {
			rank = 7 - rank
		}
		switch p.Type() {
		case chess.Pawn:
			value += 2 * rank * rank
		case chess.Knight, chess.Bishop, chess.Queen:
			value += 4 * min(rank, 7-rank, int(s.File()), 7-int(s.File()))
		default:
		}
		if p.Color() == b.pos.Turn() {
			sum += value
		} else {
			sum -= value
		}
	}
	return sum
}

func (*chessBoard) budget() (boards, depth int) { return 2_000, 3 }
