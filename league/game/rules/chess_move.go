package rules

import (
	"regexp"
	"strings"

	"github.com/corentings/chess/v2"
)

// chessMove matches a move in SAN or UCI without signs of check, mate and comment:
// piece, file and row of the origin, target, promotion.
var chessMove = regexp.MustCompile(`^([KQRBNP]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:=?([QRBNqrbn]))?(?: ?e\.?p\.?)?$`)

// chessCastling matches castling in SAN, with letters or zeros.
var chessCastling = regexp.MustCompile(`^(?:O-O(-O)?|0-0(-0)?)$`)

// find returns the legal move that a text stands for. The library's own parser is
// left out: it guesses, and shares a buffer between goroutines.
func (b *chessBoard) find(player int, text string) (*chess.Move, error) {
	const longest = 16 // bytes
	text = strings.TrimSpace(text)
	reason, _ := b.result()
	plain := strings.TrimRight(text, "+#!?")
	parts := chessMove.FindStringSubmatch(plain)
	castling := chessCastling.FindStringSubmatch(plain)
	switch {
	case reason != "":
		return nil, Illegalf("the game is over")
	case player != b.player():
		return nil, Illegalf("it is the other player's turn")
	case len(text) > longest || parts == nil && castling == nil:
		return nil, Illegalf("a move is SAN such as Nf3, exd5, O-O or e8=Q, or UCI such as g1f3 or e7e8q")
	}
	var found []*chess.Move
	for i, m := range b.legal {
		if castling != nil && castles(m, castling) || parts != nil && b.matches(m, parts) {
			found = append(found, &b.legal[i])
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return nil, Illegalf("%s is not legal in this position", text)
	case found[0].Promo() != chess.NoPieceType:
		return nil, Illegalf("a promotion names its piece, as in %s", b.san(found[0]))
	}
	forms := make([]string, len(found))
	for i, m := range found {
		forms[i] = b.san(m)
	}
	return nil, Illegalf("%s is ambiguous: %s", text, strings.Join(forms, " or "))
}

// castles reports whether a move castles to the side that a match of chessCastling
// names.
func castles(m chess.Move, castling []string) bool {
	if castling[1]+castling[2] != "" {
		return m.HasTag(chess.QueenSideCastle)
	}
	return m.HasTag(chess.KingSideCastle)
}

// matches reports whether a legal move fits the parts of a match of chessMove. A
// promotion without a piece fits all four.
func (b *chessBoard) matches(m chess.Move, parts []string) bool {
	piece, file, rank, target, promotion := parts[1], parts[2], parts[3], parts[4], strings.ToLower(parts[5])
	from := m.S1().String()
	uci := piece == "" && file != "" && rank != "" // names the square and not the piece
	switch {
	case m.S2().String() != target, file != "" && file != from[:1], rank != "" && rank != from[1:]:
		return false
	case promotion != "" && m.Promo().String() != promotion:
		return false
	case m.HasTag(chess.KingSideCastle) || m.HasTag(chess.QueenSideCastle):
		return uci
	case uci:
		return true
	}
	if piece == "" {
		piece = "P"
	}
	return strings.EqualFold(b.cells[chessCell(m.S1())].Type().String(), piece)
}
