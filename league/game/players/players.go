package players

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// level is how a player plays.
type level int

const (
	random level = iota
	greedy
	search
)

// levels are the players of games by their names.
func levels() map[string]level {
	return map[string]level{arena.BuiltInRandom: random, arena.BuiltInGreedy: greedy, arena.BuiltInSearch: search}
}

// mover returns the move of a player with an observation.
type mover func(seen json.RawMessage, l level, dice *rand.Rand) (string, error)

// movers are the games that have players, by name.
func movers() map[string]mover {
	return map[string]mover{
		"chess":          onBoard(readChess),
		"colonel_blotto": reading(blotto.move),
		"connect_four":   onBoard(readFour),
		gameDilemma:      reading(dilemma.move),
		"kuhn_poker":     reading(kuhn.move),
		"liars_dice":     reading(liar.move),
		"negotiation":    reading(deal.move),
		"tic_tac_toe":    onBoard(readTicTacToe),
	}
}

// Plays reports whether a player, by its name, knows a game.
func Plays(player, game string) bool {
	_, known := levels()[player]
	_, plays := movers()[game]
	return known && plays && (player != arena.BuiltInSearch || game != gameDilemma)
}

// gameDilemma has no search: no plan is ahead of a player who always defects.
const gameDilemma = "iterated_prisoners_dilemma"

// Games returns the names of the games that have players, in order.
func Games() []string {
	var names []string
	for name := range movers() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Move returns the move of a player, by its name, in a game for what an agent in its
// seat observes. The same dice make the same move.
func Move(player, game string, observation json.RawMessage, dice *rand.Rand) (string, error) {
	if !Plays(player, game) {
		return "", fmt.Errorf("no player %q of the game %q", player, game)
	}
	text, err := movers()[game](observation, levels()[player], dice)
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w", player, game, err)
	}
	return text, nil
}

// reading returns the mover of a game whose observations are read into T.
func reading[T any](move func(T, level, *rand.Rand) string) mover {
	return func(seen json.RawMessage, l level, dice *rand.Rand) (string, error) {
		var t T
		if err := json.Unmarshal(seen, &t); err != nil {
			return "", fmt.Errorf("read an observation: %w", err)
		}
		return move(t, l, dice), nil
	}
}

// onBoard returns the mover of a game without hidden information.
func onBoard(read func(seen json.RawMessage) (board, error)) mover {
	return func(seen json.RawMessage, l level, dice *rand.Rand) (string, error) {
		b, err := read(seen)
		if err != nil {
			return "", fmt.Errorf("read an observation: %w", err)
		}
		moves := b.moves()
		if len(moves) == 0 {
			return "", fmt.Errorf("there is no move in %s", seen)
		}
		best := 0
		switch l {
		case random:
			best = dice.IntN(len(moves))
		case greedy:
			best = atOnce(b, moves, dice)
		case search:
			best = ahead(b, moves, dice)
		}
		return moves[best], nil
	}
}

// drawn returns the index of one of the best of n by their values.
func drawn[V int | float64](values []V, dice *rand.Rand) int {
	var best []int
	for i, v := range values {
		if len(best) == 0 || v > values[best[0]] {
			best = best[:0]
		}
		if len(best) == 0 || v == values[best[0]] {
			best = append(best, i)
		}
	}
	return best[dice.IntN(len(best))]
}

// Dice returns a source of random numbers that follows from texts.
func Dice(of ...string) *rand.Rand {
	key := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return rand.New(rand.NewChaCha8(key)) //nolint:gosec // G404: a stream cipher, whose key may hold the secret of a match
}
