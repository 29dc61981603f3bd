package rules

import (
	"fmt"

	"github.com/corentings/chess/v2"
)

// chessName returns the name of a piece in a sentence.
func chessName(t chess.PieceType) string {
	return [...]string{"piece", "king", "queen", "rook", "bishop", "knight", "pawn"}[t]
}

// cellName returns the name of a cell, e.g. "e4".
func cellName(cell int) string {
	return chess.NewSquare(chess.File(cell%chessSize), chess.Rank(chessSize-1-cell/chessSize)).String() //nolint:gosec // G115: 0 to 7
}

// cellOf returns the cell with a name.
func cellOf(name string) int {
	return int(chessSize-(name[1]-'0'))*chessSize + int(name[0]-'a')
}

// refusal returns why a written move that no legal one fits is illegal.
func (b *chessBoard) refusal(text string, w written) string {
	if w.castling {
		return b.castlingRefusal(w)
	}
	own, to := b.pos.Turn(), cellOf(w.target)
	if w.file != "" && w.rank != "" {
		switch p := b.cells[cellOf(w.file+w.rank)]; {
		case p == chess.NoPiece:
			return "there is no piece on " + w.file + w.rank
		case p.Color() != own:
			return fmt.Sprintf("the %s on %s is not yours", chessName(p.Type()), w.file+w.rank)
		}
	}
	if p := b.cells[to]; p != chess.NoPiece && p.Color() == own {
		return fmt.Sprintf("your own %s is on %s", chessName(p.Type()), w.target)
	}
	var pieces, near, blocked []int // of the kind: all, those that reach the target, those in whose way a piece is
	for cell, p := range b.cells {
		name := cellName(cell)
		if p == chess.NoPiece || p.Color() != own || w.piece != chess.NoPieceType && w.piece != p.Type() ||
			w.file != "" && w.file != name[:1] || w.rank != "" && w.rank != name[1:] {
			continue
		}
		pieces = append(pieces, cell)
		if reaches, obstructed := b.reaches(cell, to); reaches {
			near = append(near, cell)
		} else if obstructed {
			blocked = append(blocked, cell)
		}
	}
	switch {
	case len(pieces) == 0:
		return fmt.Sprintf("you have no %s%s", chessName(w.piece), origin(w))
	case len(near) > 0 && w.promotion != "" && w.target[1] != '1' && w.target[1] != '8':
		return "a pawn is promoted on the last rank only"
	case len(near) > 0:
		return b.exposed(text, near[0], w.target)
	case len(blocked) > 0:
		return fmt.Sprintf("the way of the %s to %s is blocked", chessName(b.cells[blocked[0]].Type()), w.target)
	case len(pieces) == 1:
		return fmt.Sprintf("the %s on %s cannot go to %s", chessName(b.cells[pieces[0]].Type()), cellName(pieces[0]), w.target)
	}
	return fmt.Sprintf("no %s of yours can go to %s", chessName(w.piece), w.target)
}

// origin returns where a written move begins, as part of a sentence.
func origin(w written) string {
	switch {
	case w.file != "" && w.rank != "":
		return " on " + w.file + w.rank
	case w.file != "":
		return " on the " + w.file + " file"
	case w.rank != "":
		return " on rank " + w.rank
	}
	return ""
}

// exposed returns why a piece may not move although it reaches its target: the king
// would be in check.
func (b *chessBoard) exposed(text string, from int, target string) string {
	switch king := b.king(); {
	case b.cells[from].Type() == chess.King:
		return "the king would be in check on " + target
	case b.attacked(king):
		return fmt.Sprintf("your king is in check, and %s does not end that", text)
	}
	return fmt.Sprintf("the %s on %s is pinned: without it your king is in check", chessName(b.cells[from].Type()), cellName(from))
}

// castlingRefusal returns why a player may not castle.
func (b *chessBoard) castlingRefusal(w written) string {
	side, step, between := chess.KingSide, 1, 2
	if w.queenside {
		side, step, between = chess.QueenSide, -1, 3
	}
	if !b.pos.CastleRights().CanCastle(b.pos.Turn(), side) {
		return "you cannot castle to that side any more: the king or the rook has moved"
	}
	king := b.king()
	if b.attacked(king) {
		return "your king is in check, and may not castle"
	}
	for i := range between {
		if b.cells[king+step*(i+1)] != chess.NoPiece {
			return "there are pieces between king and rook"
		}
	}
	return "the king would pass or reach an attacked square"
}

// king returns the cell of the king of the player to move.
func (b *chessBoard) king() int {
	for cell, p := range b.cells {
		if p.Type() == chess.King && p.Color() == b.pos.Turn() {
			return cell
		}
	}
	return 0
}

// attacked reports whether the other player attacks the cell of a piece of the
// player to move.
func (b *chessBoard) attacked(cell int) bool {
	for from, p := range b.cells {
		if p == chess.NoPiece || p.Color() == b.pos.Turn() {
			continue
		}
		if reaches, _ := b.reaches(from, cell); reaches {
			return true
		}
	}
	return false
}

// reaches reports whether the piece on a cell moves or captures to another one, apart
// from checks and castling, and whether only pieces in its way prevent that.
func (b *chessBoard) reaches(from, to int) (reaches, blocked bool) {
	down, right := to/chessSize-from/chessSize, to%chessSize-from%chessSize
	length := max(down, -down, right, -right)
	straight, diagonal := down == 0 || right == 0, down == right || down == -right
	switch b.cells[from].Type() {
	case chess.Knight:
		return down*right == 2 || down*right == -2, false
	case chess.King:
		return length == 1, false
	case chess.Queen:
		straight, diagonal = straight || diagonal, false
	case chess.Rook:
		diagonal = false
	case chess.Bishop:
		straight = false
	case chess.Pawn:
		return b.pawnReaches(from, to, down, right)
	default:
		return false, false
	}
	if length == 0 || !straight && !diagonal {
		return false, false
	}
	step := (down*chessSize + right) / length
	for cell := from + step; cell != to; cell += step {
		if b.cells[cell] != chess.NoPiece {
			return false, true
		}
	}
	return true, false
}

// pawnReaches is reaches for a pawn.
func (b *chessBoard) pawnReaches(from, to, down, right int) (reaches, blocked bool) {
	forward, home := -1, chessSize-2
	if b.cells[from].Color() == chess.Black {
		forward, home = 1, 1
	}
	free := b.cells[to] == chess.NoPiece
	switch {
	case right == 0 && down == forward:
		return free, !free
	case right == 0 && down == 2*forward && from/chessSize == home:
		free = free && b.cells[from+forward*chessSize] == chess.NoPiece
		return free, !free
	case (right == 1 || right == -1) && down == forward:
		passing := b.pos.EnPassantSquare()
		return !free || passing != chess.NoSquare && chessCell(passing) == to, false
	}
	return false, false
}
