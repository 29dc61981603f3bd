package players

import "math/rand/v2"

// board is a position of a game of two players without hidden information, as the
// player to move sees it. Boards do not change.
type board interface {
	// moves returns the legal moves, the best guess first; none if the game is over.
	moves() []string
	// after returns the board after a move of moves.
	after(i int) board
	// wins reports whether a move of moves wins at once.
	wins(i int) bool
	// ended returns the value of a board without moves: -won, or 0 for a draw.
	ended() int
	// value returns about how the player to move stands, between -won and won.
	value() int
	// budget returns how many boards a search may look at for one move, and how many
	// moves ahead.
	budget() (boards, depth int)
}

// won is the value of a won game. A game that is won earlier is worth more.
const won = 1_000_000

// atOnce returns the move that wins, else the best one by the value right after it
// among those that do not let the opponent win at once.
func atOnce(b board, moves []string, dice *rand.Rand) int {
	values := make([]int, len(moves))
	for i := range moves {
		if b.wins(i) {
			return i
		}
		next := b.after(i)
		values[i] = -next.value()
		for j := range next.moves() {
			if next.wins(j) {
				values[i] = -won
				break
			}
		}
	}
	return drawn(values, dice)
}

// ahead returns the best move by a search that looks further ahead as long as its
// budget lasts.
func ahead(b board, moves []string, dice *rand.Rand) int {
	boards, deepest := b.budget()
	best := 0
	for depth := 1; depth <= deepest; depth++ {
		values, low := make([]int, len(moves)), -2*won
		for i := range moves {
			// One less than the best: equal moves keep their exact value.
			values[i] = -look(b.after(i), depth-1, -2*won, -(low - 1), &boards)
			low = max(low, values[i])
		}
		if boards <= 0 && depth > 1 {
			return best // of the depth before, which was looked at in full
		}
		best = drawn(values, dice)
	}
	return best
}

// look returns the value of a board after depth more moves, by alpha-beta search.
func look(b board, depth, low, high int, boards *int) int {
	*boards--
	if depth == 0 || *boards <= 0 {
		return b.value()
	}
	moves := b.moves()
	if len(moves) == 0 {
		if v := b.ended(); v < 0 {
			return v - depth // later is better
		}
		return 0
	}
	for i := range moves {
		if low = max(low, -look(b.after(i), depth-1, -high, -low, boards)); low >= high {
			break
		}
	}
	return low
}
