package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/corentings/chess/v2"

	"github.com/agora-arena/arena/arena"
)

const (
	chessDefaultMoves = 150
	chessMaxMoves     = 300 // of each player
	chessSize         = 8
)

// Chess returns the rules of chess by the FIDE Laws of Chess, without clocks,
// resignation and draw offers. A draw that a player could claim is claimed.
func Chess() Rules { return chessGame{} }

type chessGame struct{}

// chessState is the state. The library's parser of FEN shares a buffer between
// goroutines, so the position is kept in the library's binary form.
type chessState struct {
	Position []byte `json:"position"`
	History  string `json:"history"` // moves in SAN with spaces between; lists of this length take long to read
	Seen     string `json:"seen"`    // keys of the positions since the last capture or move of a pawn
	Last     []int  `json:"last"`    // cells of the last move
	MaxMoves int    `json:"max_moves"`
}

// chessBoard is a state that has been read.
type chessBoard struct {
	chessState
	pos   *chess.Position
	legal []chess.Move
	cells [chessSize * chessSize]chess.Piece // row by row from the top
}

func (chessGame) Info() Info {
	return Info{
		Name: "chess", Title: "Chess", Version: "1", MinPlayers: 2, MaxPlayers: 2, MaxTurns: 2 * chessMaxMoves,
		Options: []Option{{
			Name: "max_moves", Help: "Moves of each player after which a game is drawn.", Default: chessDefaultMoves, Min: 10, Max: chessMaxMoves,
		}},
	}
}

func (g chessGame) Setup(_ context.Context, s Start) (State, error) {
	start := map[chess.Square]chess.Piece{}
	for file, piece := range []chess.PieceType{
		chess.Rook, chess.Knight, chess.Bishop, chess.Queen, chess.King, chess.Bishop, chess.Knight, chess.Rook,
	} {
		f := chess.File(file)
		start[chess.NewSquare(f, chess.Rank1)] = chess.NewPiece(piece, chess.White)
		start[chess.NewSquare(f, chess.Rank2)] = chess.WhitePawn
		start[chess.NewSquare(f, chess.Rank7)] = chess.BlackPawn
		start[chess.NewSquare(f, chess.Rank8)] = chess.NewPiece(piece, chess.Black)
	}
	position, err := chess.NewBoard(start).MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("chess: %w", err)
	}
	const clock, move, enPassant, castling = 0, 1, 0, 0b1111 // White moves, all castling is possible
	b := &chessBoard{chessState: chessState{
		Position: append(position, clock, 0, move, enPassant, castling), MaxMoves: s.Option(g.Info(), "max_moves"),
	}}
	if err := b.read(); err != nil {
		return nil, err
	}
	b.Seen = b.key()
	return encode(b.chessState)
}

func (chessGame) Position(_ context.Context, st State) (p Position, err error) {
	b, err := readChess(st)
	if err != nil {
		return Position{}, err
	}
	reason, points := b.result()
	if p.Public, err = encode(b.grid(reason, points)); err != nil {
		return Position{}, err
	}
	if p.Points = points; points != nil {
		return p, nil
	}
	next, err := b.toAct()
	p.ToAct = []ToAct{next}
	return p, err
}

func (chessGame) Parse(_ context.Context, st State, player int, text string) (string, error) {
	b, err := readChess(st)
	if err != nil {
		return "", err
	}
	m, err := b.find(player, text)
	if err != nil {
		return "", err
	}
	return b.san(m), nil
}

func (chessGame) Move(_ context.Context, st State, moves []Move) (State, error) {
	b, err := readChess(st)
	if err != nil {
		return nil, err
	}
	if len(moves) != 1 {
		return nil, fmt.Errorf("chess: one move, not %d", len(moves))
	}
	m, err := b.find(moves[0].Player, moves[0].Move)
	if err != nil {
		return nil, err
	}
	next := chessState{History: strings.TrimSpace(b.History + " " + b.san(m)), Seen: b.Seen, Last: []int{chessCell(m.S1()), chessCell(m.S2())}, MaxMoves: b.MaxMoves}
	if next.Position, err = b.pos.Update(m).MarshalBinary(); err != nil {
		return nil, fmt.Errorf("chess: %w", err)
	}
	after := &chessBoard{chessState: next}
	if err := after.read(); err != nil {
		return nil, err
	}
	if after.pos.HalfMoveClock() == 0 {
		after.Seen = ""
	}
	after.Seen += after.key()
	return encode(after.chessState)
}

func readChess(st State) (*chessBoard, error) {
	var b chessBoard
	if err := decode(st, &b.chessState); err != nil {
		return nil, fmt.Errorf("chess: %w", err)
	}
	return &b, b.read()
}

// read computes the fields of a board that follow from its state.
func (b *chessBoard) read() error {
	b.pos = &chess.Position{}
	if err := b.pos.UnmarshalBinary(b.Position); err != nil {
		return fmt.Errorf("chess: %w", err)
	}
	b.legal = b.pos.ValidMoves()
	for i, m := range b.legal {
		if m.Promo() == chess.NoPieceType {
			continue
		}
		// The library copies the check that a queen would give to the other pieces.
		promotion, err := chess.UCINotation{}.Decode(b.pos, m.String())
		if err != nil {
			return fmt.Errorf("chess: %w", err)
		}
		b.legal[i] = *promotion
	}
	for s := chess.A1; s <= chess.H8; s++ {
		b.cells[chessCell(s)] = b.pos.Board().Piece(s)
	}
	return nil
}

// chessCell returns the cell of a square.
func chessCell(s chess.Square) int {
	return (chessSize-1-int(s.Rank()))*chessSize + int(s.File())
}

// player returns the player to move.
func (b *chessBoard) player() int {
	if b.pos.Turn() == chess.White {
		return 0
	}
	return 1
}

// key returns a text that two positions share if they are the same by article
// 9.2.3 of the FIDE Laws: the same pieces, player to move, castling rights and
// possible captures en passant.
func (b *chessBoard) key() string {
	fields := strings.Fields(b.pos.String())[:4]
	if !slices.ContainsFunc(b.legal, func(m chess.Move) bool { return m.HasTag(chess.EnPassant) }) {
		fields[3] = "-"
	}
	return "<" + strings.Join(fields, " ") + ">"
}

// moves returns the moves so far in SAN.
func (b *chessBoard) moves() []string { return strings.Fields(b.History) }

// san returns a legal move in standard algebraic notation.
func (b *chessBoard) san(m *chess.Move) string { return chess.AlgebraicNotation{}.Encode(b.pos, m) }

// result returns how a game has ended, and the points; nil until it is over.
func (b *chessBoard) result() (reason string, points []arena.Points) {
	switch {
	case len(b.legal) == 0 && b.pos.Status() == chess.Checkmate:
		points = make([]arena.Points, 2)
		points[1-b.player()] = arena.OnePoint
		return "Checkmate: " + chessColor(1-b.player()) + " wins", points
	case len(b.legal) == 0:
		reason = "Draw by stalemate"
	case b.insufficient():
		reason = "Draw by insufficient material"
	case b.pos.HalfMoveClock() >= 100:
		reason = "Draw by the 50-move rule"
	case strings.Count(b.Seen, b.key()) >= 3:
		reason = "Draw by threefold repetition"
	case len(b.moves()) >= 2*b.MaxMoves:
		reason = fmt.Sprintf("Draw after %d moves", b.MaxMoves)
	default:
		return "", nil
	}
	return reason, []arena.Points{arena.OnePoint / 2, arena.OnePoint / 2}
}

// insufficient reports whether no player can ever be mated because of the material:
// beside the kings there is at most one knight, or only bishops on cells of one
// color.
func (b *chessBoard) insufficient() bool {
	knights, bishops := 0, [2]int{}
	for i, p := range b.cells {
		switch p.Type() {
		case chess.NoPieceType, chess.King:
		case chess.Knight:
			knights++
		case chess.Bishop:
			bishops[(i/chessSize+i)%2]++
		default:
			return false
		}
	}
	return knights <= 1 && bishops == [2]int{} || knights == 0 && (bishops[0] == 0 || bishops[1] == 0)
}

func chessColor(player int) string { return [...]string{"White", "Black"}[player] }
