package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/corentings/chess/v2"
)

// chessMove matches a move in SAN or UCI without signs of check, mate and comment:
// piece, file and row of the origin, target, promotion.
var chessMove = regexp.MustCompile(`^([KQRBNP]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:=?\(?([QRBNqrbn])\)?)?(?: ?e\.?p\.?)?$`)

// chessCastling matches castling in SAN, with letters or zeros.
var chessCastling = regexp.MustCompile(`^(?:O-O(-O)?|o-o(-o)?|0-0(-0)?)$`)

// written is a move as a player wrote it.
type written struct {
	castling   bool
	queenside  bool
	piece      chess.PieceType // that moves; NoPieceType: any
	file, rank string          // of the origin; "": not named
	target     string
	promotion  string // letter of the piece in lower case; "": not named
}

// readWritten returns what a text means in exact notation, and what it may mean
// when the case of its letters is ignored. A text that names its piece by a capital,
// or its square, means nothing else.
func readWritten(text string) (exact, relaxed []written) {
	if parts := chessCastling.FindStringSubmatch(text); parts != nil {
		return []written{{castling: true, queenside: parts[1]+parts[2]+parts[3] != ""}}, nil
	}
	w, ok := readExact(text)
	if ok {
		exact = append(exact, w)
	}
	if ok && (w.piece != chess.Pawn || text[0] == 'P') {
		return exact, nil
	}
	lower := strings.ToLower(text)
	for _, t := range []string{lower, strings.ToUpper(lower[:min(1, len(lower))]) + lower[min(1, len(lower)):]} {
		if w, ok := readExact(t); ok && !slices.Contains(exact, w) {
			relaxed = append(relaxed, w)
		}
	}
	return exact, relaxed
}

// readExact reads a move in SAN or UCI.
func readExact(text string) (written, bool) {
	parts := chessMove.FindStringSubmatch(text)
	if parts == nil {
		return written{}, false
	}
	w := written{file: parts[2], rank: parts[3], target: parts[4], promotion: strings.ToLower(parts[5])}
	switch uci := w.file != "" && w.rank != ""; { // names the square and need not name the piece
	case parts[1] != "":
		w.piece = chess.PieceTypeFromString(strings.ToLower(parts[1]))
	case !uci:
		w.piece = chess.Pawn
	}
	return w, true
}

// find returns the legal move that a text stands for. The library's own parser is
// left out: it guesses, and shares a buffer between goroutines.
func (b *chessBoard) find(player int, text string) (*chess.Move, error) {
	const longest = 16 // bytes
	text = strings.TrimSpace(text)
	reason, _ := b.result()
	var exact, relaxed []written
	if len(text) <= longest {
		exact, relaxed = readWritten(strings.TrimRight(text, "+#!?"))
	}
	switch {
	case reason != "":
		return nil, Illegalf("the game is over")
	case player != b.player():
		return nil, Illegalf("it is the other player's turn")
	case len(exact)+len(relaxed) == 0:
		return nil, Illegalf("a move is SAN such as Nf3, exd5, O-O or e8=Q, or UCI such as g1f3 or e7e8q")
	}
	found := b.fitting(exact)
	if len(found) == 0 {
		found = b.fitting(relaxed)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return nil, Illegalf("%s", b.refusal(text, slices.Concat(exact, relaxed)[0]))
	case found[0].Promo() != chess.NoPieceType:
		return nil, Illegalf("a promotion names its piece, as in %s", b.san(found[0]))
	}
	forms := make([]string, len(found))
	for i, m := range found {
		forms[i] = b.san(m)
	}
	return nil, Illegalf("%s is ambiguous: %s", text, strings.Join(forms, " or "))
}

// fitting returns the legal moves that fit one of the readings of a text.
func (b *chessBoard) fitting(readings []written) (found []*chess.Move) {
	for i, m := range b.legal {
		if slices.ContainsFunc(readings, func(w written) bool { return b.fits(m, w) }) {
			found = append(found, &b.legal[i])
		}
	}
	return found
}

// fits reports whether a legal move is the written one. A promotion without a piece
// fits all four.
func (b *chessBoard) fits(m chess.Move, w written) bool {
	kingside, queenside := m.HasTag(chess.KingSideCastle), m.HasTag(chess.QueenSideCastle)
	if w.castling {
		return !w.queenside && kingside || w.queenside && queenside
	}
	from := m.S1().String()
	switch {
	case m.S2().String() != w.target, w.file != "" && w.file != from[:1], w.rank != "" && w.rank != from[1:]:
		return false
	case w.promotion != "" && m.Promo().String() != w.promotion:
		return false
	case kingside || queenside:
		return w.piece == chess.NoPieceType // as the move of the king in UCI
	}
	return w.piece == chess.NoPieceType || w.piece == b.cells[chessCell(m.S1())].Type()
}
