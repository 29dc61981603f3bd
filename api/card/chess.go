package card

import (
	"image/color"
	"math"
	"strings"
)

// chessShape returns the outlines of the piece of chess that a character stands
// for, in a box from 0, 0 to 100, 100 with the y axis down; nil for other
// characters.
func chessShape(symbol rune) [][]point {
	const white, black = "♔♕♖♗♘♙", "♚♛♜♝♞♟"
	i := strings.IndexRune(white, symbol)
	if i < 0 {
		i = strings.IndexRune(black, symbol)
	}
	base := []point{{22, 92}, {22, 83}, {30, 78}, {70, 78}, {78, 83}, {78, 92}}
	body := func(top, neck, waist float64) []point { // from a neck down to the base
		return []point{{50 - neck, top}, {50 + neck, top}, {50 + waist, 79}, {50 - waist, 79}}
	}
	collar := func(y, wide float64) []point { return rectangle(50-wide, y, 50+wide, y+6) }
	if i < 0 {
		return nil
	}
	switch i / len("♔") {
	case 0: // the king: a crown below a cross
		return [][]point{
			base, body(50, 12, 20), rectangle(46, 6, 54, 28), rectangle(39, 11, 61, 18),
			{{26, 34}, {38, 26}, {50, 33}, {62, 26}, {74, 34}, {64, 56}, {36, 56}},
		}
	case 1: // the queen: a crown with points
		return [][]point{
			base, body(52, 15, 20),
			{{20, 24}, {34, 44}, {37, 18}, {47, 42}, {50, 14}, {53, 42}, {63, 18}, {66, 44}, {80, 24}, {68, 60}, {32, 60}},
			circle(20, 22, 5), circle(37, 16, 5), circle(50, 12, 5), circle(63, 16, 5), circle(80, 22, 5),
		}
	case 2: // the rook: battlements
		return [][]point{
			base, body(40, 17, 20),
			{{27, 16}, {37, 16}, {37, 24}, {45, 24}, {45, 16}, {55, 16}, {55, 24}, {63, 24}, {63, 16}, {73, 16}, {73, 34}, {66, 42}, {34, 42}, {27, 34}},
		}
	case 3: // the bishop: a mitre
		return [][]point{
			base, body(58, 10, 19), collar(56, 17), circle(50, 12, 6),
			append(arc(58, 40, 24, math.Pi*0.83, math.Pi*1.3), arc(42, 40, 24, math.Pi*1.7, math.Pi*2.17)...),
		}
	case 4: // the knight: the head of a horse that looks to the left
		return [][]point{
			base,
			{
				{33, 79},
				{36, 66},
				{48, 54},
				{50, 47},
				{42, 50},
				{34, 52},
				{29, 60},
				{22, 58},
				{20, 50},
				{30, 34},
				{34, 24},
				{37, 11},
				{45, 19},
				{58, 21},
				{69, 31},
				{74, 46},
				{74, 64},
				{70, 79},
			},
		}
	case 5: // the pawn
		return [][]point{base, body(44, 8, 18), collar(44, 15), circle(50, 32, 15)}
	}
	return nil
}

// chessPiece draws a piece of chess with its middle at x, y.
func (c *canvas) chessPiece(shape [][]point, shade color.Color, x, y, size float64) {
	for _, outline := range shape {
		for i, p := range outline {
			outline[i] = point{x + (p.x-50)*size/100, y + (p.y-50)*size/100}
		}
		fill(c.img, shade, outline)
	}
}
