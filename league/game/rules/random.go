package rules

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"github.com/agora-arena/arena/arena"
)

// random returns the source of one part of a game, e.g. of the cards of a hand. The
// parts of a game are independent, and what players see of one part does not help to
// guess another one: ChaCha8 is a stream cipher, and its key is a hash of the seed.
func random(game string, seed uint64, part int) *rand.Rand {
	key := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", game, seed, part))
	return rand.New(rand.NewChaCha8(key)) //nolint:gosec // G404: a stream cipher; the seed is the match's secret
}

// word returns a move that consists of words and numbers in lower case and with
// single spaces. It returns "" if the text is longer than any such move, or has
// characters outside ASCII, some of which would become such a move in lower case.
func word(text string) string {
	const longest = 64 // bytes
	if len(text) > longest || strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

// share returns how much of a whole points are, for Summary.Evaluation.
func share(points []arena.Points) []float64 {
	shares := make([]float64, len(points))
	for i, p := range points {
		shares[i] = float64(p) / float64(arena.OnePoint)
	}
	return shares
}
