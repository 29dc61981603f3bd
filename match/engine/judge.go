package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// Judges judges rounds with external judges: a panel, a crowd, a model or code.
// An error voids the round, so that no seat loses because a judge failed.
type Judges interface {
	Judge(ctx context.Context, j arena.Judging) (arena.Verdict, error)
}

// judging returns a question about a round as its external judge receives it.
func judging(m arena.Match, p game.Position, q game.Question) arena.Judging {
	in := arena.Judging{
		MatchID: m.ID, League: m.League, Round: p.Round, Spec: p.Settings.Judge, Seed: p.Seed, Task: p.Task, Answers: slices.Clone(q.Answers), Turns: q.Turns,
		Rated: m.Settings.Rated,
	}
	for _, s := range m.Seats {
		in.Playing = append(in.Playing, s.AgentID)
		for i := range in.Answers {
			if in.Answers[i].AgentID == s.AgentID {
				in.Answers[i].OwnerGroup = s.OwnerGroup
			}
		}
	}
	return in
}

// JudgeInput returns a round of a match as its external judge receives it, from
// the match's stored answers and without the task. It has no answers if no judge
// was asked.
func JudgeInput(ctx context.Context, m arena.Match, answers []arena.Answer, round int) (arena.Judging, error) {
	rounds := make([]arena.Round, round)
	for i := range rounds {
		rounds[i].No = i + 1
	}
	g, err := game.For(ctx, nil, m.Settings)
	if err != nil {
		return arena.Judging{}, fmt.Errorf("judge input of match %s: %w", m.ID, err)
	}
	state, err := game.Replay(ctx, g, m, round, rounds, answers, nil)
	if err != nil {
		return arena.Judging{}, fmt.Errorf("judge input of match %s: %w", m.ID, err)
	}
	p := game.NewPosition(m, rounds[round-1], state)
	q, err := g.Ask(ctx, p, p.Replies(game.Answers(answers).In(round)))
	switch {
	case err != nil:
		return arena.Judging{}, fmt.Errorf("judge input of match %s: %w", m.ID, err)
	case q == nil:
		q = &game.Question{}
	}
	return judging(m, p, *q), nil
}

// markJudging marks the match as being judged, unless the write of the round's
// last outcome has. If this node dies now, it counts as an interruption.
func (mr *matchRun) markJudging(ctx context.Context, round int) error {
	if mr.game.Closing(mr.m.Settings) != game.Evaluates || mr.judging.Swap(true) {
		return nil
	}
	_, err := retry(ctx, mr, func() (struct{}, error) { return struct{}{}, mr.engine.o.Store.MarkJudging(ctx, mr.m.Lease, round) })
	if err != nil {
		return fmt.Errorf("mark the match as being judged: %w", err)
	}
	return nil
}

// judge returns the verdict of the external judge on a round, or nil if the game
// has no question. If spectators judge the round, judge opens the vote first.
func (mr *matchRun) judge(ctx context.Context, p game.Position, replies []game.Reply) (*arena.Verdict, error) {
	q, err := mr.game.Ask(ctx, p, replies)
	if err != nil {
		return nil, mr.gameFailed(ctx, p.Round, err)
	}
	if q == nil {
		return nil, nil //nolint:nilnil // no question: not an error
	}
	j := judging(mr.m, p, *q)
	if q.Window > 0 {
		if err := mr.openVote(ctx, &j, q); err != nil {
			return nil, err
		}
	}
	if mr.engine.o.Judges == nil {
		return nil, &judgeError{fmt.Errorf("this arena has no judge %q", j.Spec.Kind)}
	}
	v, err := mr.engine.o.Judges.Judge(ctx, j)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &judgeError{err}
	}
	return &v, nil
}

// openVote stores and publishes the vote of spectators on a round.
func (mr *matchRun) openVote(ctx context.Context, j *arena.Judging, q *game.Question) error {
	j.Until = mr.engine.o.Now().Add(q.Window)
	e := mr.event(arena.EventVoteOpened, "", j.Round, arena.VoteOpenedBody{
		Until: j.Until.UTC().Format(arena.TimeFormat), Criteria: j.Spec.Criteria, Entries: j.Blind(),
	})
	return mr.commit(ctx, fmt.Sprintf("open the vote on round %d", j.Round), func() ([]arena.Event, error) {
		return mr.engine.o.Store.OpenVote(ctx, mr.m.Lease, j.Round, j.Until, []arena.Event{e})
	})
}

// gameFailed returns the error with which a match ends whose game failed, and has
// its league paused: the next match would end like it.
func (mr *matchRun) gameFailed(ctx context.Context, round int, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	mr.log.Error("the game failed", "round", round, "error", err)
	if err := mr.engine.o.GameFailed(ctx, mr.m.League, mr.m.ID, err); err != nil {
		mr.log.Error("league could not be paused", "error", err)
	}
	return &voidError{arena.VoidGameFailed}
}

// judgeError is the error of an external judge. It voids the round.
type judgeError struct{ err error }

func (e *judgeError) Error() string { return "no verdict: " + e.err.Error() }
func (e *judgeError) Unwrap() error { return e.err }
