package judge

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

// crowdName stands on the ballots of a vote.
const crowdName = "crowd"

// crowd waits for the end of the vote and counts. Each pair has one ballot, in
// the order in which spectators saw it; a pair without votes is a tie.
func (s *Judges) crowd(ctx context.Context, j arena.Judging) ([]arena.Ballot, decision, error) {
	end := time.NewTimer(j.Until.Sub(s.o.Now()))
	defer end.Stop()
	select {
	case <-end.C:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	votes, err := s.o.Votes(ctx, j.MatchID, j.Round)
	if err != nil {
		return nil, nil, fmt.Errorf("read the votes: %w", err)
	}
	if least := max(1, j.Spec.MinVotes); len(votes) < least {
		return nil, nil, fmt.Errorf("%d votes; at least %d were needed", len(votes), least)
	}
	entries := j.Blind()
	results := map[[2]string]string{}
	var ballots []arena.Ballot
	for k, second := range entries {
		for _, first := range entries[:k] {
			b := count(votes, first.AgentID, second.AgentID)
			if b.Votes > 0 {
				ballots = append(ballots, b)
			}
			results[[2]string{b.First, b.Second}], results[[2]string{b.Second, b.First}] = b.Choice, b.Choice
		}
	}
	return ballots, func(a, b string) (string, bool) {
		better, ok := results[[2]string{a, b}]
		return better, ok
	}, nil
}

// count returns the result of the votes on one pair.
func count(votes []arena.Vote, first, second string) arena.Ballot {
	b := arena.Ballot{Judge: crowdName, First: first, Second: second}
	lead := 0
	for _, v := range votes {
		switch {
		case v.Choice == first && v.Other == second:
			lead++
		case v.Choice == second && v.Other == first:
			lead--
		case v.Choice == "" && v.Other == min(first, second)+" "+max(first, second):
		default:
			continue
		}
		b.Votes++
	}
	if lead > 0 {
		b.Choice = first
	} else if lead < 0 {
		b.Choice = second
	}
	return b
}
