package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/debate"
	"github.com/agora-arena/arena/scoring"
)

// Judges judges rounds with external judges: a panel, a crowd, a model or code.
// An error voids the round, so that no seat loses because a judge failed.
type Judges interface {
	Judge(ctx context.Context, j arena.Judging) (arena.Verdict, error)
}

// judgeView is a match with the answers that its judge needs.
type judgeView struct {
	m       arena.Match
	answers map[seatRound]arena.Answer // of the round; in a debate also of the rounds before
}

// seatRound identifies an answer of a match.
type seatRound struct {
	round   int
	agentID string
}

// bySeatRound returns the answers of a match by round and agent.
func bySeatRound(answers []arena.Answer) map[seatRound]arena.Answer {
	found := make(map[seatRound]arena.Answer, len(answers))
	for _, a := range answers {
		found[seatRound{a.Round, a.AgentID}] = a
	}
	return found
}

// local returns the verdict when no external judge is needed: the judge is
// deterministic, or there is nothing to compare or run. ok is false when an
// external judge must judge the inputs. In a debate only the last round of each
// half is judged, on all speeches of the half.
func (j judgeView) local(task arena.Task, round int, now time.Time) (v arena.Verdict, inputs []arena.JudgedAnswer, ok bool) {
	spec := j.m.Settings.Judge
	v = arena.Verdict{MatchID: j.m.ID, Round: round, Judge: spec.Kind, Version: scoring.Version(spec), At: now}
	if !spec.Compares() {
		for _, seat := range j.m.Seats {
			a, found := j.answer(round, seat.AgentID)
			switch {
			case !found:
				continue
			case !spec.External():
				v.Seats = append(v.Seats, arena.SeatVerdict{AgentID: a.AgentID, Points: deterministic(spec, task, a), Reason: limitReason(a)})
				continue
			case judgeable(a):
				inputs = append(inputs, arena.JudgedAnswer{AgentID: seat.AgentID, OwnerID: seat.OwnerID, Text: a.Body.Answer})
			}
			v.Seats = append(v.Seats, arena.SeatVerdict{AgentID: a.AgentID, Reason: limitReason(a)})
		}
		return v, inputs, len(inputs) == 0
	}
	if d := j.m.Settings.Debate; d != nil && !debate.StageOf(*d, round).Closes {
		return arena.Verdict{}, nil, true // nothing to judge yet
	}
	switch inputs = j.inputs(round); len(inputs) {
	case 0:
		return v, nil, true
	case 1: // the only seat that answered wins the round (docs/rules.md, section 3)
		v.Seats = []arena.SeatVerdict{{AgentID: inputs[0].AgentID, Points: arena.OnePoint}}
		return v, nil, true
	}
	return v, inputs, false
}

// deterministic returns the points that a deterministic judge gives an answer.
func deterministic(spec arena.JudgeSpec, task arena.Task, a arena.Answer) arena.Points {
	if !judgeable(a) {
		return 0
	}
	return scoring.Judge(spec, task, a.Body.Answer)
}

// judgeable reports whether an answer may be judged: not when judging it
// exceeded a limit before.
func judgeable(a arena.Answer) bool {
	return a.Outcome == arena.OutcomeAnswered && a.Reason != arena.ReasonJudgeLimit
}

// limitReason returns the reason that an answer keeps in every verdict.
func limitReason(a arena.Answer) string {
	if a.Reason == arena.ReasonJudgeLimit {
		return a.Reason
	}
	return ""
}

// completed adds to the verdict of an external judge the seats whose answers it
// did not receive. They have no points.
func completed(v, local arena.Verdict) arena.Verdict {
	if len(local.Seats) == 0 {
		return v
	}
	given := make(map[string]arena.SeatVerdict, len(v.Seats))
	for _, s := range v.Seats {
		given[s.AgentID] = s
	}
	v.Seats = local.Seats
	for i, s := range v.Seats {
		if judged, ok := given[s.AgentID]; ok {
			v.Seats[i] = judged
		}
	}
	return v
}

// answer returns the answer of an agent in a round.
func (j judgeView) answer(round int, agentID string) (arena.Answer, bool) {
	a, ok := j.answers[seatRound{round, agentID}]
	return a, ok
}

// inputs returns the texts that a judge compares: answers, or in a debate the
// speeches of each seat in the half.
func (j judgeView) inputs(round int) (inputs []arena.JudgedAnswer) {
	var speeches [2]string
	if d := j.m.Settings.Debate; d != nil {
		speeches = debate.Speeches(*d, round, j.speeches())
	}
	for i, seat := range j.m.Seats {
		text := ""
		if j.m.Settings.Debate != nil {
			text = speeches[i]
		} else if a, ok := j.answer(round, seat.AgentID); ok && a.Body != nil && a.Reason != arena.ReasonJudgeLimit {
			text = a.Body.Answer
		}
		if text != "" {
			inputs = append(inputs, arena.JudgedAnswer{AgentID: seat.AgentID, OwnerID: seat.OwnerID, Text: text})
		}
	}
	return inputs
}

// speeches returns the speeches of a debate in order.
func (j judgeView) speeches() (speeches []debate.Speech) {
	for no := 1; no <= j.m.Settings.Rounds; no++ {
		for seat := range j.m.Seats {
			if a, ok := j.answer(no, j.m.Seats[seat].AgentID); ok && a.Body != nil {
				speeches = append(speeches, debate.Speech{Round: no, Seat: seat, Text: a.Body.Answer})
			}
		}
	}
	return speeches
}

// judging returns a round with the inputs of an external judge.
func (j judgeView) judging(task arena.Task, round int, inputs []arena.JudgedAnswer) arena.Judging {
	in := arena.Judging{
		MatchID: j.m.ID, League: j.m.League, Round: round, Spec: j.m.Settings.Judge, Seed: j.m.Seed, Task: task, Answers: inputs,
	}
	for _, s := range j.m.Seats {
		in.Playing = append(in.Playing, s.AgentID)
	}
	if d := j.m.Settings.Debate; d != nil {
		in.Turns = d.Turns
	}
	return in
}

// JudgeInput returns a round of a match as its external judge receives it, from
// the match's stored answers and without the task.
func JudgeInput(m arena.Match, answers []arena.Answer, round int) arena.Judging {
	j := judgeView{m: m, answers: bySeatRound(answers)}
	return j.judging(arena.Task{}, round, j.inputs(round))
}

// judgeView returns the match with the stored answers of its open round.
func (mr *matchRun) judgeView(open *round) judgeView {
	j := judgeView{m: mr.m, answers: make(map[seatRound]arena.Answer, len(open.answers))}
	if mr.m.Settings.Debate != nil {
		j.answers = bySeatRound(mr.answers)
	}
	for _, a := range open.answers {
		j.answers[seatRound{open.No, a.AgentID}] = a
	}
	return j
}

// evaluates reports whether this node itself works on the answers: compares them
// with the right ones, or runs them. A judge that compares answers with each
// other only makes requests, which may take long but cannot break a node.
func (mr *matchRun) evaluates() bool { return !mr.m.Settings.Judge.Compares() }

// markJudging marks the match as being judged, unless the write of the round's
// last outcome has. If this node dies now, it counts as an interruption.
func (mr *matchRun) markJudging(ctx context.Context, round int) error {
	if !mr.evaluates() || mr.judging.Swap(true) {
		return nil
	}
	_, err := retry(ctx, mr, func() (struct{}, error) { return struct{}{}, mr.engine.o.Store.MarkJudging(ctx, mr.m.Lease, round) })
	if err != nil {
		return fmt.Errorf("mark the match as being judged: %w", err)
	}
	return nil
}

// judge returns the verdict on the stored answers of the round. Before a crowd
// judges it, judge publishes the vote.
func (mr *matchRun) judge(ctx context.Context, open *round) (arena.Verdict, error) {
	seen := mr.judgeView(open)
	local, inputs, ok := seen.local(open.Task, open.No, mr.engine.o.Now())
	if ok {
		return local, nil
	}
	j := seen.judging(open.Task, open.No, inputs)
	if j.Spec.Kind == arena.JudgeCrowd {
		j.Until = mr.engine.o.Now().Add(j.Spec.Window)
		e := mr.event(arena.EventVoteOpened, "", open.No, arena.VoteOpenedBody{
			Until: j.Until.UTC().Format(arena.TimeFormat), Criteria: j.Spec.Criteria, Entries: j.Blind(),
		})
		if err := mr.commit(ctx, fmt.Sprintf("open the vote on round %d", open.No), func() ([]arena.Event, error) {
			return mr.engine.o.Store.OpenVote(ctx, mr.m.Lease, open.No, j.Until, []arena.Event{e})
		}); err != nil {
			return arena.Verdict{}, err
		}
	}
	if mr.engine.o.Judges == nil {
		return arena.Verdict{}, &judgeError{fmt.Errorf("this arena has no judge %q", j.Spec.Kind)}
	}
	v, err := mr.engine.o.Judges.Judge(ctx, j)
	switch {
	case ctx.Err() != nil:
		return arena.Verdict{}, context.Cause(ctx)
	case err != nil:
		return arena.Verdict{}, &judgeError{err}
	}
	v = completed(v, local)
	v.MatchID, v.Round, v.At = mr.m.ID, open.No, mr.engine.o.Now()
	return v, nil
}

// judgeError is the error of an external judge. It voids the round.
type judgeError struct{ err error }

func (e *judgeError) Error() string { return "no verdict: " + e.err.Error() }
func (e *judgeError) Unwrap() error { return e.err }

// brief returns the task of a round as one seat receives it.
func (mr *matchRun) brief(open *round, seat int) arena.Task {
	if d := mr.m.Settings.Debate; d != nil {
		return debate.Brief(open.Task, *d, open.No, seat, mr.judgeView(open).speeches())
	}
	return open.Task
}

// public returns the task of a round as spectators see it.
func (mr *matchRun) public(r *round) arena.TaskBody {
	if d := mr.m.Settings.Debate; d != nil {
		return debate.Public(r.Task, *d, r.No, mr.m.Seats[0].Name, mr.m.Seats[1].Name).Public()
	}
	return r.Task.Public()
}
