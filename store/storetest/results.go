package storetest

import (
	"time"

	"github.com/agora-arena/arena/arena"
)

// agentResults: how the closed rounds of an agent's newest matches ended.
func agentResults(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	play := func(m arena.Match, no int, a arena.Answer, closed bool) {
		f.ok(second(f.OpenRound(ctx, m.Lease, round(no), nil)))
		a.MatchID, a.Round, a.AgentID, a.Attempts = m.ID, no, ids[0], 1
		if a.Outcome == arena.OutcomeAnswered {
			a.Body = &arena.AnswerBody{Answer: "4"}
		}
		open := a
		open.Points, open.Judged = 0, false
		f.ok(second(f.SaveAnswer(ctx, m.Lease, open, nil, nil)))
		other := arena.Answer{MatchID: m.ID, Round: no, AgentID: ids[1], Outcome: arena.OutcomeTimeout, Elapsed: time.Second, Attempts: 1, Judged: true}
		f.ok(second(f.SaveAnswer(ctx, m.Lease, other, nil, nil)))
		if closed {
			f.ok(second(f.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: []arena.Answer{a, other}}, noEvents)))
		}
	}
	answered := func(points arena.Points, took time.Duration, judged bool) arena.Answer {
		return arena.Answer{Outcome: arena.OutcomeAnswered, Points: points, Elapsed: took, Judged: judged}
	}
	first := f.begin("m_1", "trivia", ids...)
	play(first, 1, answered(1000, 2*time.Second, true), true)
	play(first, 2, answered(1500, 4*time.Second, true), true)
	play(first, 3, answered(500, time.Second, true), true)
	play(first, 4, answered(0, time.Second, false), true)
	play(first, 5, arena.Answer{Outcome: arena.OutcomeInvalid, Reason: "bad_json", Judged: true}, true)
	f.settle(first, start)
	next := f.begin("m_2", "trivia", ids...)
	play(next, 1, answered(0, 3*time.Second, true), true)
	play(next, 2, answered(0, time.Second, true), false) // threat F1: of an open round nothing is known

	wrong := arena.ResultCount{Result: arena.ResultWrong, Rounds: 1, Mean: 3 * time.Second}
	f.equal([]arena.ResultCount{
		{Result: arena.ResultRight, Rounds: 2, Mean: 3 * time.Second},
		{Result: arena.RoundResult(arena.OutcomeInvalid), Rounds: 1},
		{Result: arena.ResultPartial, Rounds: 1, Mean: time.Second},
		{Result: arena.ResultUnjudged, Rounds: 1, Mean: time.Second},
		wrong,
	}, must(f.AgentResults(ctx, ids[0], 100))(f))
	f.equal([]arena.ResultCount{wrong}, must(f.AgentResults(ctx, ids[0], 1))(f))
	f.equal([]arena.ResultCount{{Result: arena.RoundResult(arena.OutcomeTimeout), Rounds: 6, Mean: time.Second}}, must(f.AgentResults(ctx, ids[1], 100))(f))
	f.equal(0, len(must(f.AgentResults(ctx, "ag_none", 100))(f)))
	f.fails(arena.CodeInvalid, second(f.AgentResults(ctx, ids[0], 0)))
}
