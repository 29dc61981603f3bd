package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// turn makes a turn of a game: connect four in which the first player has dropped
// a disc into column 4.
func (s *session) turn() arena.Attempt {
	return s.attempt(func(a *arena.Attempt) {
		a.Task.Description = "Connect four. Players drop discs in turn; a disc falls to the lowest free cell of its column. " +
			"Four of yours in a row, column or diagonal win. You play o, and it is your turn.\n\n" +
			strings.Repeat(".......\n", 5) + "...x...\n1234567\n\nAnswer with the number of a column that is not full."
		a.Task.Options = []string{"1", "2", "3", "4", "5", "6", "7"}
		a.Task.Observation = []byte(`{"board":[".......",".......",".......",".......",".......","...x..."],"you":"o","moves":"4"}`)
	})
}

// move returns the legal move of an exchange, "" if it has none.
func (x exchange) move(a arena.Attempt) string {
	if x.ok() && slices.Contains(a.Task.Options, strings.TrimSpace(x.reply.Answer.Answer)) {
		return strings.TrimSpace(x.reply.Answer.Answer)
	}
	return ""
}

// gameMove sends a turn of a game. An agent that answers questions alone need not
// know what that is, so there is no failure.
func gameMove(ctx context.Context, s *session) outcome {
	s.turned = s.turn()
	x := s.ask(ctx, s.turned, "a turn of connect four with options and observation")
	if s.played = x.move(s.turned); s.played == "" {
		return outcome{nothing: true, got: "the agent plays no games, where a move is one of options, word for word: " + x.got()}
	}
	return passed(x.sent, x.got())
}

// gameAgain refuses the move of gameMove, as an arena refuses an illegal one.
func gameAgain(ctx context.Context, s *session) outcome {
	if s.played == "" {
		return outcome{nothing: true, got: "the agent plays no games"}
	}
	a := s.turned
	a.Number = 2
	a.Task.Options = slices.DeleteFunc(slices.Clone(a.Task.Options), func(o string) bool { return o == s.played })
	a.Previous = &arena.PreviousRound{Outcome: arena.OutcomeAnswered, Error: fmt.Sprintf("column %s is full", s.played)}
	x := s.ask(ctx, a, "the same task_id, attempt 2, with previous.error")
	if x.ok() && x.move(a) == "" {
		return failed(x.sent, x.got(), "If previous.error is there, your last move was refused: choose another one of options. Do not answer from memory; a second refused move loses the game.")
	}
	return mustAnswer(x, "After a refused move the arena asks once more, within the same time limit.")
}
