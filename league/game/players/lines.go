package players

import (
	"encoding/json"
	"errors"
	"math/bits"
	"strconv"
	"strings"
)

// lines is the observation of a game in which players put marks on a board.
type lines struct {
	Board []string `json:"board"` // rows from the top
	You   string   `json:"you"`
}

// readLines reads the marks of a board of rows × columns: own and all cells, as bits
// that cell numbers.
func readLines(seen json.RawMessage, rows, columns int, cell func(row, column int) int) (own, all uint64, err error) {
	var o lines
	if err := json.Unmarshal(seen, &o); err != nil {
		return 0, 0, err //nolint:wrapcheck // the caller names what was read
	}
	if len(o.Board) != rows || len(o.You) != 1 {
		return 0, 0, errors.New("this is another board")
	}
	for r, row := range o.Board {
		if len(row) != columns || strings.Trim(row, ".xo") != "" {
			return 0, 0, errors.New("this is another board")
		}
		for c := range columns {
			if row[c] == '.' {
				continue
			}
			all |= 1 << cell(r, c)
			if row[c] == o.You[0] {
				own |= 1 << cell(r, c)
			}
		}
	}
	return own, all, nil
}

const (
	fourRows    = 6
	fourColumns = 7
	fourColumn  = fourRows + 1 // bits of a column: the highest stays empty
)

// four is a board of connect four. Bit column·7 + row, from below, is a cell.
type four struct{ own, all uint64 }

func readFour(seen json.RawMessage) (board, error) {
	own, all, err := readLines(seen, fourRows, fourColumns, func(row, column int) int { return column*fourColumn + fourRows - 1 - row })
	return four{own, all}, err
}

// fourOrder is the columns from the middle: moves there are best most often.
func fourOrder() [fourColumns]int { return [...]int{3, 2, 4, 1, 5, 0, 6} }

// free returns the columns that are not full, from the middle.
func (b four) free() (columns []int) {
	if b.lost() {
		return nil
	}
	for _, c := range fourOrder() {
		if b.all&(1<<(c*fourColumn+fourRows-1)) == 0 {
			columns = append(columns, c)
		}
	}
	return columns
}

func (b four) moves() (moves []string) {
	for _, c := range b.free() {
		moves = append(moves, strconv.Itoa(c+1))
	}
	return moves
}

func (b four) after(i int) board {
	c := b.free()[i]
	return four{own: b.all &^ b.own, all: b.all | (b.all + 1<<(c*fourColumn))}
}

func (b four) wins(i int) bool { return b.after(i).ended() < 0 }

// lost reports whether the player who has just moved has four in a line.
func (b four) lost() bool {
	discs := b.all &^ b.own
	for _, step := range []int{1, fourColumn - 1, fourColumn, fourColumn + 1} {
		if pairs := discs & (discs >> step); pairs&(pairs>>(2*step)) != 0 {
			return true
		}
	}
	return false
}

func (b four) ended() int {
	if b.lost() {
		return -won
	}
	return 0
}

// value counts discs: those in the middle are part of more lines.
func (b four) value() int {
	if b.lost() {
		return -won
	}
	value := 0
	for c, weight := range [fourColumns]int{0, 1, 2, 3, 2, 1, 0} {
		cells := uint64(1<<fourRows-1) << (c * fourColumn)
		value += weight * (bits.OnesCount64(b.own&cells) - bits.OnesCount64(b.all&^b.own&cells))
	}
	return value
}

func (four) budget() (boards, depth int) { return 30_000, 9 }

// ticTacToe is a board of nine cells, row by row from the top.
type ticTacToe struct{ own, all uint64 }

func readTicTacToe(seen json.RawMessage) (board, error) {
	own, all, err := readLines(seen, 3, 3, func(row, column int) int { return 3*row + column })
	return ticTacToe{own, all}, err
}

func (b ticTacToe) free() (cells []int) {
	if b.ended() < 0 {
		return nil
	}
	for c := range 9 {
		if b.all&(1<<c) == 0 {
			cells = append(cells, c)
		}
	}
	return cells
}

func (b ticTacToe) moves() (moves []string) {
	for _, c := range b.free() {
		moves = append(moves, strconv.Itoa(c+1))
	}
	return moves
}

func (b ticTacToe) after(i int) board {
	return ticTacToe{own: b.all &^ b.own, all: b.all | 1<<b.free()[i]}
}

func (b ticTacToe) wins(i int) bool { return b.after(i).ended() < 0 }

func (b ticTacToe) ended() int {
	marks := b.all &^ b.own
	for _, line := range []uint64{0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124} {
		if marks&line == line {
			return -won
		}
	}
	return 0
}

func (b ticTacToe) value() int { return b.ended() }

func (ticTacToe) budget() (boards, depth int) { return 60_000, 9 }
