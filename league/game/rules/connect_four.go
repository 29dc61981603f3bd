package rules

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
)

const (
	fourRows    = 6
	fourColumns = 7
)

// ConnectFour returns the rules of connect four: two players drop discs into seven
// columns of six cells, and four in a line win.
func ConnectFour() Rules { return connectFour{} }

type connectFour struct{}

// four is the state: the columns of the discs played so far, 1 to 7.
type four struct {
	Moves string `json:"moves"`
}

func (connectFour) Info() Info {
	return Info{
		Name: "connect_four", Title: "Connect four", Version: "1", MinPlayers: 2, MaxPlayers: 2, MaxTurns: fourRows * fourColumns, Options: []Option{},
	}
}

func (connectFour) Setup(context.Context, Start) (State, error) { return encode(four{}) }

func (g connectFour) Position(_ context.Context, st State) (Position, error) {
	b, err := fourBoard(st)
	if err != nil {
		return Position{}, err
	}
	public, err := encode(b.grid())
	if err != nil {
		return Position{}, err
	}
	p := Position{Public: public}
	switch {
	case len(b.line) > 0:
		p.Points = make([]arena.Points, 2)
		p.Points[b.winner()] = arena.OnePoint
	case len(b.moves) == fourRows*fourColumns:
		p.Points = []arena.Points{arena.OnePoint / 2, arena.OnePoint / 2}
	default:
		next, err := b.toAct()
		if err != nil {
			return Position{}, err
		}
		p.ToAct = []ToAct{next}
	}
	return p, nil
}

// fourMove matches the number of a column.
var fourMove = regexp.MustCompile(`^(?i)\s*(?:column|col\.?|#)?\s*([1-7])\s*$`)

func (g connectFour) Parse(_ context.Context, st State, player int, text string) (string, error) {
	b, err := fourBoard(st)
	if err != nil {
		return "", err
	}
	column := 0
	if parts := fourMove.FindStringSubmatch(text); parts != nil {
		column = int(parts[1][0] - '0')
	}
	switch {
	case len(b.line) > 0 || len(b.moves) == fourRows*fourColumns:
		return "", Illegalf("the game is over")
	case player != len(b.moves)%2:
		return "", Illegalf("it is the other player's turn")
	case column == 0:
		return "", Illegalf("a move is the number of a column, 1 to %d", fourColumns)
	case b.height[column-1] == fourRows:
		return "", Illegalf("column %d is full", column)
	}
	return strconv.Itoa(column), nil
}

func (g connectFour) Move(ctx context.Context, st State, moves []Move) (State, error) {
	b, err := fourBoard(st)
	if err != nil {
		return nil, err
	}
	if len(moves) != 1 || moves[0].Player != len(b.moves)%2 {
		return nil, fmt.Errorf("connect four: one move of player %d, not %v", len(b.moves)%2, moves)
	}
	if _, err := g.Parse(ctx, st, moves[0].Player, moves[0].Move); err != nil {
		return nil, err
	}
	return encode(four{Moves: b.moves + moves[0].Move})
}

// fourPosition is a board with its discs.
type fourPosition struct {
	moves  string
	cells  [fourRows * fourColumns]int // 0 empty, else 1 + player; row by row from the top
	height [fourColumns]int
	last   int   // cell of the last disc, −1: none
	line   []int // cells of the winning line
}

func fourBoard(st State) (*fourPosition, error) {
	var s four
	if err := decode(st, &s); err != nil {
		return nil, fmt.Errorf("connect four: %w", err)
	}
	b := &fourPosition{moves: s.Moves, last: -1}
	for i, c := range s.Moves {
		column := int(c - '1')
		if column < 0 || column >= fourColumns || b.height[column] == fourRows {
			return nil, fmt.Errorf("connect four: move %d of the state is %q", i+1, c)
		}
		b.last = (fourRows-1-b.height[column])*fourColumns + column
		b.cells[b.last] = 1 + i%2
		b.height[column]++
	}
	if b.last >= 0 {
		b.line = b.lineThrough(b.last)
	}
	return b, nil
}

// winner returns the player of the last disc.
func (b *fourPosition) winner() int { return b.cells[b.last] - 1 }

// lineThrough returns the cells of a line of at least four equal discs through a
// cell, or nil.
func (b *fourPosition) lineThrough(cell int) []int {
	for _, d := range [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}} {
		line := []int{cell}
		for _, sign := range []int{1, -1} {
			row, column := cell/fourColumns, cell%fourColumns
			for {
				row, column = row+sign*d[0], column+sign*d[1]
				next := row*fourColumns + column
				if row < 0 || row >= fourRows || column < 0 || column >= fourColumns || b.cells[next] != b.cells[cell] {
					break
				}
				line = append(line, next)
			}
		}
		if len(line) >= 4 {
			slices.Sort(line)
			return line
		}
	}
	return nil
}

var fourSymbols = [...]string{"", "x", "o"}

func (b *fourPosition) grid() Grid {
	g := Grid{
		Kind: KindGrid, Rows: fourRows, Columns: fourColumns, Cells: make([]string, len(b.cells)), Line: b.line,
		Pieces: map[string]Piece{"x": {Player: 0, Symbol: "●"}, "o": {Player: 1, Symbol: "●"}},
	}
	for i, c := range b.cells {
		g.Cells[i] = fourSymbols[c]
	}
	if b.last >= 0 {
		g.Last = []int{b.last}
	}
	return g
}

// toAct returns the player to move with the board as text and as an object.
func (b *fourPosition) toAct() (a ToAct, err error) {
	player := len(b.moves) % 2
	a.Player = player
	for column, h := range b.height {
		if h < fourRows {
			a.Legal = append(a.Legal, strconv.Itoa(column+1))
		}
	}
	var board strings.Builder
	rows := make([]string, fourRows)
	for row := range fourRows {
		for column := range fourColumns {
			c := fourSymbols[b.cells[row*fourColumns+column]]
			if c == "" {
				c = "."
			}
			rows[row] += c
		}
		board.WriteString(rows[row] + "\n")
	}
	you := fourSymbols[1+player]
	a.Text = fmt.Sprintf("Connect four. Players drop discs in turn; a disc falls to the lowest free cell of its column. "+
		"Four of yours in a row, column or diagonal win. You play %s, and it is your turn.\n\n%s1234567\n\nAnswer with the number of a column that is not full.",
		you, board.String())
	a.Observation, err = encode(struct {
		Board []string `json:"board"` // rows from the top
		You   string   `json:"you"`
		Moves string   `json:"moves"` // columns so far
	}{rows, you, b.moves})
	return a, err
}
