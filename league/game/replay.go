package game

import (
	"context"
	"fmt"

	"github.com/agora-arena/arena/arena"
)

// Replay returns the state in which round no of a match of g opened, from the
// stored rounds before it with their answers and verdicts. Of several verdicts on
// a round the last one counts.
func Replay(ctx context.Context, g Game, m arena.Match, no int, rounds []arena.Round, answers []arena.Answer, verdicts []arena.Verdict) (State, error) {
	state, err := g.Init(ctx, NewPosition(m, arena.Round{No: 1}, nil))
	if err != nil || state == nil { // a game without state: its rounds are independent
		return state, err
	}
	byRound := Answers(answers)
	given := make(map[int]*arena.Verdict, len(verdicts))
	for i := range verdicts {
		given[verdicts[i].Round] = &verdicts[i]
	}
	for _, r := range rounds {
		if r.No >= no {
			break
		}
		p := NewPosition(m, r, state)
		closed, err := g.Close(ctx, p, p.Replies(byRound.In(r.No)), given[r.No])
		if err != nil {
			return nil, fmt.Errorf("replay round %d: %w", r.No, err)
		}
		state = closed.State
	}
	return state, nil
}

// answerKey identifies an answer of a match.
type answerKey struct {
	round   int
	agentID string
}

// AnswerSet is the answers of a match by round and agent.
type AnswerSet map[answerKey]arena.Answer

// Answers returns the answers of a match as a set.
func Answers(answers []arena.Answer) AnswerSet {
	found := make(AnswerSet, len(answers))
	for _, a := range answers {
		found[answerKey{a.Round, a.AgentID}] = a
	}
	return found
}

// In returns a function that finds the answers of a round by agent.
func (s AnswerSet) In(round int) func(agentID string) (arena.Answer, bool) {
	return func(agentID string) (arena.Answer, bool) {
		a, ok := s[answerKey{round, agentID}]
		return a, ok
	}
}
