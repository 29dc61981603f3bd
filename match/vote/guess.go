package vote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// alphabet names options by their places.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Guess counts the answer of a spectator to the open round of a sealed match, one from
// each address. The options of the round must be open to all and its answers to none.
func (s *Service) Guess(ctx context.Context, in arena.Guess) error {
	m, round, err := s.Last(ctx, in.MatchID)
	if err != nil {
		return err
	}
	letters := alphabet[:min(len(round.Stated().Options), len(alphabet))]
	switch {
	case m.Status != arena.MatchRunning || !m.RoundOpen || m.Round != in.Round:
		return arena.Errorf(arena.CodeConflict, "round %d of match %s is not open", in.Round, in.MatchID)
	case m.Settings.Visibility != arena.VisibilitySealed || m.Settings.Game != nil || letters == "":
		return arena.Errorf(arena.CodeConflict, "round %d of match %s is not a sealed question with options", in.Round, in.MatchID)
	}
	if len(in.Answer) != 1 || !strings.Contains(letters, in.Answer) {
		return arena.Invalid("answer", "must be a letter from A to %s", letters[len(letters)-1:])
	}
	if err := s.once.Take(ctx, fmt.Sprintf("%s %s %d", in.Address, in.MatchID, in.Round)); err != nil {
		return err
	}
	return s.store.AddGuess(ctx, in.MatchID, in.Round, in.Answer)
}

// Guesses returns how many spectators gave each answer to the rounds of a match that have
// closed.
func (s *Service) Guesses(ctx context.Context, matchID string) ([]arena.GuessCount, error) {
	m, _, err := s.Last(ctx, matchID)
	if err != nil {
		return nil, err
	}
	counts, err := s.store.Guesses(ctx, matchID)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(counts, func(c arena.GuessCount) bool { return !closed(m, c.Round) }), nil
}

func closed(m visibility.Match, round int) bool {
	return round < m.Round || round == m.Round && !m.RoundOpen
}
