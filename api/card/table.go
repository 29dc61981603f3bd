package card

import (
	"math"
	"slices"
	"strconv"
)

// table is a table of values for games of choices: a row for each player.
type table struct {
	Columns []word     `json:"columns"`
	Rows    []tableRow `json:"rows"` // by player
	Bars    bool       `json:"bars"`
}

// tableRow is the row of a player.
type tableRow struct {
	Player int    `json:"player"`
	Values []word `json:"values"` // "" is not played yet
	Total  word   `json:"total"`
	Won    []int  `json:"won"` // columns
}

// The most columns and rows that are drawn. Of more columns the last ones are
// drawn, which were played last.
const (
	maxColumns = 10
	maxRows    = 6
)

func (g *table) valid() bool { return len(g.Rows) > 0 }

// first returns the index of the first column that is drawn.
func (g *table) first() int { return max(0, len(g.Columns)-maxColumns) }

func (g *table) color(player int) tone { return playerColor(player) }

func (g *table) paint(c *canvas) {
	rows := g.Rows[:min(len(g.Rows), maxRows)]
	if most := g.most(rows); g.Bars && most > 0 {
		g.bars(c, rows, most)
		return
	}
	g.cells(c, rows)
}

// value returns the value of a column, "" if there is none.
func (r tableRow) value(column int) word {
	if column >= len(r.Values) {
		return ""
	}
	return r.Values[column]
}

// number returns a value as a number of at least 0.
func number(w word) (n float64, ok bool) {
	n, err := strconv.ParseFloat(string(w), 64)
	return math.Abs(n), err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// most returns the largest value that is drawn, 0 if there is none.
func (g *table) most(rows []tableRow) (most float64) {
	for _, r := range rows {
		for column := g.first(); column < len(g.Columns); column++ {
			if n, ok := number(r.value(column)); ok {
				most = max(most, n)
			}
		}
	}
	return most
}

// bars draws a group of bars for each column, with a bar for each player. Bars of
// columns that their player won are bright.
func (g *table) bars(c *canvas, rows []tableRow, most float64) {
	first := g.first()
	columns := len(g.Columns) - first
	const gap, ground, head = 22.0, boardEnd - 34, 40.0
	group := boardWidth / float64(columns)
	wide := (group - gap) / float64(len(rows))
	fill(c.img, line, rectangle(boardLeft, ground, boardRight, ground+2))
	for column := range columns {
		left := boardLeft + group*float64(column) + gap/2
		for i, r := range rows {
			value := r.value(first + column)
			n, ok := number(value)
			if !ok {
				continue
			}
			x, high := left+wide*float64(i), max(2, (ground-boardTop-head)*n/most)
			shade := faded(playerColor(r.Player))
			if slices.Contains(r.Won, first+column) {
				shade = playerColor(r.Player)
			}
			fill(c.img, shade, rectangle(x+2, ground-high, x+wide-2, ground))
			c.label(value, text{font: c.bold, size: 24, width: wide, color: ink, align: middle}, x+wide/2, ground-high-8)
		}
		c.label(word(strconv.Itoa(first+column+1)), text{font: c.regular, size: 22, width: group, color: faint, align: middle}, left+(group-gap)/2, boardEnd-6)
	}
}

// cells draws the values as they are.
func (g *table) cells(c *canvas, rows []tableRow) {
	first := g.first()
	columns := max(1, len(g.Columns)-first)
	const total = 110.0
	step := min(boardHeight/float64(len(rows)+1), 110)
	top := boardTop + (boardHeight-step*float64(len(rows)+1))/2
	wide := (boardWidth - total - 30) / float64(columns)
	for column := first; column < len(g.Columns); column++ {
		x := boardLeft + 24 + wide*(float64(column-first)+0.5)
		name := g.Columns[column]
		if columns > 3 { // names would be cut to nothing
			name = word(strconv.Itoa(column + 1))
		}
		c.label(name, text{font: c.regular, size: 24, width: wide - 8, color: faint, align: middle}, x, top+step*0.7)
	}
	for i, r := range rows {
		y := top + step*float64(i+1)
		c.frame(boardLeft, y, boardRight, y+step-10, raised)
		fill(c.img, playerColor(r.Player), rectangle(boardLeft, y, boardLeft+8, y+step-10))
		base := y + (step-10)/2 + 12
		for column := first; column < len(g.Columns); column++ {
			x := boardLeft + 24 + wide*(float64(column-first)+0.5)
			shade := ink
			if slices.Contains(r.Won, column) {
				shade = playerColor(r.Player)
			}
			c.label(r.value(column), text{font: c.bold, size: 32, width: wide - 8, color: shade, align: middle}, x, base)
		}
		c.label(r.Total, text{font: c.bold, size: 36, width: total - 20, color: playerColor(r.Player), align: end}, boardRight-20, base)
	}
}

// faded returns a color halfway to the background.
func faded(t tone) tone {
	half := func(shift uint) tone { return ((t>>shift&0xff + background>>shift&0xff) / 2) << shift }
	return half(16) | half(8) | half(0)
}
