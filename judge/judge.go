package judge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// The bounds of one verdict.
const (
	overall  = time.Minute      // for all comparisons of a round
	askLimit = 30 * time.Second // for one answer of a judge agent
	atOnce   = 8                // comparisons under way
)

// Options are the parts of Judges. All but Model are needed.
type Options struct {
	// Agents returns the agents with these ids, without those that are not there.
	Agents func(ctx context.Context, ids []string) (map[string]arena.Agent, error)
	// Ask puts a question to a judge agent over its own protocol. Any other
	// outcome than an answer is an error.
	Ask func(ctx context.Context, q Question) (arena.AnswerBody, error)
	// Votes returns the votes on a round, one of each voter.
	Votes func(ctx context.Context, matchID string, round int) ([]arena.Vote, error)
	// Scripts runs answers of the judge code.
	Scripts Scripts
	// Model is the language model; nil: there is none.
	Model  *Model
	Now    func() time.Time
	Logger *slog.Logger
}

// Question is one comparison as it is put to a judge agent.
type Question struct {
	Agent   arena.Agent
	Task    arena.Task
	Limit   time.Duration // for the answer
	MatchID string
	League  string
	Round   int
}

// Judges queries panels, crowds and the language model, and has answers of the
// judge code run. It is safe for concurrent use and has no goroutines outside
// its calls.
type Judges struct {
	o Options
}

// New makes Judges.
func New(o Options) *Judges {
	o.Logger = o.Logger.With("component", "judge")
	return &Judges{o: o}
}

// Judge queries the judge of a round and returns the points of its answers with
// every comparison that was made. An error means that there is no verdict:
// no juror could be asked, or a pair got no usable ballot.
func (s *Judges) Judge(ctx context.Context, j arena.Judging) (v arena.Verdict, err error) {
	v = arena.Verdict{MatchID: j.MatchID, Round: j.Round, Judge: j.Spec.Kind, Version: scoring.Version(j.Spec)}
	var decide decision
	switch j.Spec.Kind {
	case arena.JudgeCode:
		v.Seats, err = s.code(ctx, j)
	case arena.JudgePanel:
		v.Ballots, decide, err = s.panel(ctx, j)
	case arena.JudgeCrowd:
		v.Ballots, decide, err = s.crowd(ctx, j)
	case arena.JudgeModel:
		if s.o.Model == nil {
			return arena.Verdict{}, errors.New("this arena has no language model")
		}
		v.Version += "/" + s.o.Model.Name
		v.Ballots, decide, err = s.model(ctx, j)
	default:
		err = fmt.Errorf("%q is not an external judge", j.Spec.Kind)
	}
	if err == nil && j.Spec.Compares() {
		v.Seats, err = score(j.Answers, decide)
	}
	if err != nil {
		return arena.Verdict{}, err
	}
	v.At = s.o.Now()
	return v, nil
}
