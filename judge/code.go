package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// Scripts runs untrusted programs. Its error is arena.ErrScriptLimit when the
// program is at fault.
type Scripts interface {
	Run(ctx context.Context, s arena.Script) ([]arena.CallResult, error)
}

// code runs every answer against the cases of the task, all at once: the pool
// behind Scripts bounds how many run. An answer that exceeds the limits of its
// process gets no points; any other error leaves the round without a verdict.
func (s *Judges) code(ctx context.Context, j arena.Judging) ([]arena.SeatVerdict, error) {
	seats, failed := make([]arena.SeatVerdict, len(j.Answers)), make([]error, len(j.Answers))
	var group sync.WaitGroup
	for i, a := range j.Answers {
		group.Go(func() {
			seats[i], failed[i] = s.runAnswer(ctx, j, a)
		})
	}
	group.Wait()
	return seats, errors.Join(failed...)
}

func (s *Judges) runAnswer(ctx context.Context, j arena.Judging, a arena.JudgedAnswer) (arena.SeatVerdict, error) {
	v := arena.SeatVerdict{AgentID: a.AgentID}
	script := scoring.CodeScript(j.Task.Cases, a.Text, j.Spec)
	if !j.Rescore { // the arena asked for it, and no match waits
		script.Owner, script.OwnerGroup, script.Rated = a.OwnerID, cmp.Or(a.OwnerGroup, a.OwnerID), j.Rated
	}
	results, err := s.o.Scripts.Run(ctx, script)
	switch {
	case errors.Is(err, arena.ErrScriptLimit):
		s.o.Logger.InfoContext(ctx, "an answer exceeded the limits of its judge process",
			"match_id", j.MatchID, "round", j.Round, "agent_id", a.AgentID, "error", err)
		v.Reason = arena.ReasonJudgeLimit
	case err != nil:
		return v, fmt.Errorf("run the answer of agent %s: %w", a.AgentID, err)
	default:
		v.Points = scoring.CodePoints(j.Task.Cases, results, j.Spec)
	}
	return v, nil
}
