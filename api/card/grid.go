package card

import (
	"image/color"
	"math"
	"unicode/utf8"
)

const fullTurn = 2 * math.Pi

// boardChess is the board of a grid on which chess is played.
const boardChess = "chess"

// maxSide is the largest number of rows and of columns that are drawn.
const maxSide = 40

// The colors of cells.
const (
	cellEven  tone = 0x1b1f27
	cellOdd   tone = 0x232832
	cellWon   tone = 0x1f5a41
	chessEven tone = 0x7d8798
	chessOdd  tone = 0x475061
	chessLast tone = 0xa08448
	white     tone = 0xf6f6f4
	black     tone = 0x14171d
)

// grid is a board of cells.
type grid struct {
	Rows    int              `json:"rows"`
	Columns int              `json:"columns"`
	Cells   []word           `json:"cells"` // row by row from the top: the name of a piece, "" is empty
	Pieces  map[string]piece `json:"pieces"`
	Last    []int            `json:"last"` // cells of the last move
	Line    []int            `json:"line"` // cells that decided the game
	Board   word             `json:"board"`
}

// piece is what is in a cell.
type piece struct {
	Player int  `json:"player"`
	Symbol word `json:"symbol"`
}

func (g *grid) valid() bool {
	return g.Rows > 0 && g.Rows <= maxSide && g.Columns > 0 && g.Columns <= maxSide
}

// color returns the color of a player's pieces: white and black in chess.
func (g *grid) color(player int) tone {
	switch {
	case g.Board != boardChess:
		return playerColor(player)
	case player == 0:
		return white
	}
	return chessOdd
}

func (g *grid) paint(c *canvas) {
	size := math.Floor(min(boardWidth/float64(g.Columns), boardHeight/float64(g.Rows)))
	left := boardLeft + (boardWidth-size*float64(g.Columns))/2
	top := boardTop + (boardHeight-size*float64(g.Rows))/2
	chess := g.Board == boardChess
	marked := func(list []int) map[int]bool {
		set := map[int]bool{}
		for _, i := range list {
			set[i] = true
		}
		return set
	}
	last, won := marked(g.Last), marked(g.Line)
	for i := range g.Rows * g.Columns {
		row, column := i/g.Columns, i%g.Columns
		x, y := left+size*float64(column), top+size*float64(row)
		gap := 1.5
		if chess {
			gap = 0
		}
		fill(c.img, g.cell(chess, (row+column)%2 == 1, last[i], won[i]), rectangle(x+gap, y+gap, x+size-gap, y+size-gap))
		if last[i] && !chess {
			c.ring(x+gap, y+gap, size-2*gap)
		}
		if i >= len(g.Cells) || g.Cells[i] == "" {
			continue
		}
		p, ok := g.Pieces[string(g.Cells[i])]
		if !ok {
			p = piece{Player: -1, Symbol: g.Cells[i]}
		}
		c.piece(p, chess, x+size/2, y+size/2, size)
	}
}

// cell returns the color of a cell.
func (g *grid) cell(chess, odd, last, won bool) color.Color {
	switch {
	case won:
		return cellWon
	case chess && last:
		return chessLast
	case chess && odd:
		return chessOdd
	case chess:
		return chessEven
	case odd:
		return cellOdd
	}
	return cellEven
}

// ring draws the border of the cell of the last move.
func (c *canvas) ring(x, y, size float64) {
	const wide = 3.0
	for _, r := range [][4]float64{
		{x, y, x + size, y + wide},
		{x, y + size - wide, x + size, y + size},
		{x, y, x + wide, y + size},
		{x + size - wide, y, x + size, y + size},
	} {
		fill(c.img, ink, rectangle(r[0], r[1], r[2], r[3]))
	}
}

// piece draws a piece with its middle at x, y in a cell of a size: the pieces of
// chess, discs, crosses and circles as shapes, others as their symbol.
func (c *canvas) piece(p piece, chess bool, x, y, size float64) {
	symbol, _ := utf8.DecodeRuneInString(string(p.Symbol))
	shade := playerColor(p.Player)
	if shape := chessShape(symbol); shape != nil {
		switch {
		case chess && p.Player == 0:
			shade = white
		case chess:
			shade = black
		}
		c.chessPiece(shape, shade, x, y, size*0.9)
		return
	}
	switch symbol {
	case '●', '⚫', '⬤', '•', '⚪':
		fill(c.img, shade, circle(x, y, size*0.38))
		if p.Player%2 == 1 { // players must differ by more than their color
			fill(c.img, cellEven, circle(x, y, size*0.15))
		}
		return
	case '○':
		fill(c.img, shade, circle(x, y, size*0.33))
		fill(c.img, cellEven, circle(x, y, size*0.22))
		return
	case '✕', '×', '✗', '✖', '❌':
		const long, wide = 0.33, 0.058
		for _, turn := range []float64{1, -1} {
			a, b := size*long, size*wide*math.Sqrt2
			fill(c.img, shade, []point{{x - a - b/2, y - turn*(a-b/2)}, {x - a + b/2, y - turn*(a+b/2)}, {x + a + b/2, y + turn*(a-b/2)}, {x + a - b/2, y + turn*(a+b/2)}})
		}
		return
	}
	words := string(symbol)
	if !shows(c.bold, words) {
		fill(c.img, shade, circle(x, y, size*0.3))
		return
	}
	c.write(text{words: words, font: c.bold, size: size * 0.62, width: size, color: shade, align: middle}, x, y+size*0.22)
}
