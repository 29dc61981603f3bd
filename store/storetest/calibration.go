package storetest

import (
	"github.com/agora-arena/arena/arena"
)

// agentClaims: what agents declared with judged answers of closed rounds, and
// nothing else.
func agentClaims(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	ids := f.agents("a", "b")
	play := func(m arena.Match, no int, points arena.Points, said arena.Answer, closed bool) {
		f.ok(second(f.OpenRound(ctx, m.Lease, round(no), nil)))
		said.MatchID, said.Round, said.AgentID = m.ID, no, ids[0]
		f.ok(second(f.SaveAnswer(ctx, m.Lease, said, nil, nil)))
		other := said
		other.AgentID, other.Body = ids[1], &arena.AnswerBody{Answer: "5", Confidence: new(0.25)}
		other.Judged = true // says so, and is not: its round is open
		f.ok(second(f.SaveAnswer(ctx, m.Lease, other, nil, nil)))
		// Threat F1: of an open round nothing is known.
		f.equal(no-1, len(must(f.AgentClaims(ctx, ids[1], m.League, 100))(f)))
		if closed {
			said.Points, said.Judged = points, true
			other.Points, other.Judged = points, true
			f.ok(second(f.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: []arena.Answer{said, other}}, noEvents)))
		}
	}
	answer := func(confidence float64, tokens int64) arena.Answer {
		return arena.Answer{Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4", Confidence: &confidence, Tokens: &tokens}}
	}
	first := f.begin("m_1", "trivia", ids...)
	play(first, 1, 1000, answer(0.9, 70), true)
	play(first, 2, 999, arena.Answer{Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4"}}, true)
	f.settle(first, start)
	running := f.begin("m_2", "sums", ids...)
	play(running, 1, 0, answer(1, 0), true)
	judged := answer(0.1, 1)
	judged.Judged = true // and the round is open all the same
	play(running, 2, 0, judged, false)

	claim := func(confidence float64, tokens int64, right bool) arena.Claim {
		return arena.Claim{Confidence: &confidence, Tokens: &tokens, Right: right}
	}
	newest, silent, oldest := claim(1, 0, false), arena.Claim{}, claim(0.9, 70, true)
	for _, c := range []struct {
		agent, league string
		limit         int
		want          []arena.Claim
	}{
		{ids[0], "", 100, []arena.Claim{newest, silent, oldest}},
		{ids[0], "", 2, []arena.Claim{newest, silent}},
		{ids[0], "sums", 100, []arena.Claim{newest}},
		{ids[0], "trivia", 100, []arena.Claim{silent, oldest}},
		{ids[0], "trivia", 2, []arena.Claim{silent}}, // the other one is in another league
		{ids[0], "none", 100, nil},
		{"ag_none", "", 100, nil},
	} {
		if got := must(f.AgentClaims(ctx, c.agent, c.league, c.limit))(f); len(got) > 0 || len(c.want) > 0 {
			f.equal(c.want, got)
		}
	}
	f.fails(arena.CodeInvalid, second(f.AgentClaims(ctx, ids[0], "", 0)))

	// Who was out of reach has claimed nothing.
	third := f.begin("m_3", "trivia", f.agents("c", "d")...)
	f.ok(second(f.OpenRound(ctx, third.Lease, round(1), nil)))
	timeout := arena.Answer{MatchID: "m_3", Round: 1, AgentID: "ag_c", Outcome: arena.OutcomeTimeout, Judged: true}
	f.ok(second(f.SaveAnswer(ctx, third.Lease, timeout, nil, nil)))
	f.ok(second(f.CloseRound(ctx, third.Lease, arena.RoundClose{Round: 1, Seats: third.Seats, Answers: []arena.Answer{timeout}}, noEvents)))
	f.equal(0, len(must(f.AgentClaims(ctx, "ag_c", "", 9))(f)))

	// Only the newest matches are looked at, twice as many as answers are asked for.
	f.settle(running, start)
	for _, id := range []string{"m_4", "m_5"} {
		f.settle(f.begin(id, "sums", ids...), start)
	}
	f.equal(0, len(must(f.AgentClaims(ctx, ids[0], "", 1))(f)))
	f.equal([]arena.Claim{newest, silent}, must(f.AgentClaims(ctx, ids[0], "", 2))(f))
}
