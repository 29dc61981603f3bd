package agents

import (
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/agora-arena/agora-go/arenaagent"
)

const (
	fourRows    = 6
	fourColumns = 7
	fourWon     = 1000 // the value of a won game; less a move later
)

// fourBoard is a board of connect four as the player to move sees it. Bit
// column·7 + row, from below, is a cell; the seventh row stays empty.
type fourBoard struct {
	own, all uint64
	height   [fourColumns]int // discs in a column
}

// readFour returns the board of an observation. ok is false if it is none of
// connect four.
func readFour(task *arenaagent.Task) (b fourBoard, ok bool) {
	var seen struct {
		Board []string `json:"board"`
		You   string   `json:"you"`
	}
	if task.Observe(&seen) != nil || len(seen.Board) != fourRows || len(seen.You) != 1 {
		return b, false
	}
	for i, row := range seen.Board {
		if len(row) != fourColumns || strings.Trim(row, ".xo") != "" {
			return b, false
		}
		for column := range fourColumns {
			if row[column] == '.' {
				continue
			}
			cell := uint64(1) << (column*7 + fourRows - 1 - i)
			b.all |= cell
			b.height[column]++
			if row[column] == seen.You[0] {
				b.own |= cell
			}
		}
	}
	return b, true
}

// drop returns the board after a disc, as the other player sees it.
func (b fourBoard) drop(column int) fourBoard {
	b.own ^= b.all
	b.all |= uint64(1) << (column*7 + b.height[column])
	b.height[column]++
	return b
}

// moved reports whether the player who has just moved has four in a line.
func (b fourBoard) moved() bool {
	discs := b.all ^ b.own
	for _, step := range []int{1, 7, 6, 8} {
		if pairs := discs & (discs >> step); pairs&(pairs>>(2*step)) != 0 {
			return true
		}
	}
	return false
}

// value returns how the player to move stands after depth more moves: fourWon for
// a won game, less a move later, and cells near the middle else.
func (b fourBoard) value(depth, low, high int, nodes *int) int {
	*nodes++
	switch {
	case b.moved():
		return -fourWon - depth
	case bits.OnesCount64(b.all) == fourRows*fourColumns:
		return 0
	case depth == 0:
		return b.middle()
	}
	for _, column := range middleFirst() {
		if b.height[column] == fourRows {
			continue
		}
		if low = max(low, -b.drop(column).value(depth-1, -high, -low, nodes)); low >= high {
			return low
		}
	}
	return low
}

// middle counts discs: those in the middle are part of more lines.
func (b fourBoard) middle() (value int) {
	for column, weight := range [fourColumns]int{0, 1, 2, 3, 2, 1, 0} {
		cells := uint64(0x3f) << (column * 7)
		value += weight * (bits.OnesCount64(b.own&cells) - bits.OnesCount64(b.all&^b.own&cells))
	}
	return value
}

func middleFirst() [fourColumns]int { return [...]int{3, 2, 4, 1, 5, 0, 6} }

// search is how a move was found.
type search struct {
	depth, nodes int
	values       map[string]int // of each move
}

// four returns the best move of connect four by a search over depth moves. Equal
// moves are drawn.
func four(b fourBoard, legal []string, depth int, dice *rand.Rand) (move string, found search) {
	found = search{depth: depth, values: map[string]int{}}
	best := -2 * fourWon
	var moves []string
	for _, text := range legal {
		column, err := strconv.Atoi(text)
		if err != nil || column < 1 || column > fourColumns || b.height[column-1] == fourRows {
			continue
		}
		value := -b.drop(column-1).value(depth-1, -2*fourWon, 2*fourWon, &found.nodes)
		found.values[text] = value
		if value > best {
			best, moves = value, nil
		}
		if value == best {
			moves = append(moves, text)
		}
	}
	if len(moves) == 0 {
		return "", found
	}
	return moves[dice.IntN(len(moves))], found
}
