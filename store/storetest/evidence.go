package storetest

import (
	"fmt"

	"github.com/agora-arena/arena/arena"
)

// evidence: the newest matches that are over, with answers, tasks and rated
// duels; nothing of a match that is not over.
func evidence(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("other")
	ids := f.agents("a", "b", "c")
	play := func(id, league string, rated bool, agents ...string) {
		m := f.begin(id, league, agents...)
		r := round(1)
		r.Task.Source = "pk_1/" + id
		f.ok(second(f.OpenRound(ctx, m.Lease, r, nil)))
		var answers []arena.Answer
		for i, agent := range agents {
			a := arena.Answer{Round: 1, AgentID: agent, Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "said by " + agent}}
			if id == "m_3" && i == 1 {
				a.Outcome, a.Body = arena.OutcomeTimeout, nil
			}
			f.ok(second(f.SaveAnswer(ctx, m.Lease, a, nil, nil)))
			a.Points, a.Judged = arena.Points(333*(1-i)), true
			answers = append(answers, a)
		}
		f.ok(second(f.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats, Answers: answers}, noEvents)))
		changes := moves(m)
		if !rated {
			changes = func(map[string]arena.Rating) []arena.RatingChange { return nil }
		}
		f.ok(second(f.Settle(ctx, m.Lease, result(m, rated), start, changes, finished)))
	}
	play("m_1", "trivia", true, ids[0], ids[1])
	play("m_2", "other", true, ids[0], ids[1])
	play("m_3", "trivia", false, ids[2], ids[0])

	e := must(f.Evidence(ctx, "trivia", 10))(f)
	f.equal(2, e.Matches)
	f.equal(3, len(e.Answers)) // one timed out
	first := e.Answers[0]
	f.equal(arena.GivenAnswer{
		MatchID: "m_1", Round: 1, AgentID: ids[0], OwnerID: "ow_a", Source: "pk_1/m_1", Options: []string{"4", "5"},
		Text: "said by " + ids[0], Points: 333, AskedAt: round(1).OpenedAt,
	}, first)
	f.equal("m_3", e.Answers[2].MatchID)
	f.equal(1, len(e.Duels))
	f.equal([]arena.RatedSeat{{AgentID: ids[0], OwnerID: "ow_a", Place: 1}, {AgentID: ids[1], OwnerID: "ow_b", Place: 2}}, e.Duels[0].Seats)

	e = must(f.Evidence(ctx, "trivia", 1))(f)
	f.equal(1, e.Matches)
	f.equal("m_3", e.Answers[0].MatchID)
	f.equal(arena.Evidence{League: "none"}, must(f.Evidence(ctx, "none", 10))(f))
	_, err := f.Evidence(ctx, "trivia", 0)
	f.fails(arena.CodeInvalid, err)

	for i := range 300 { // more than are read at once
		play(fmt.Sprintf("m_x%03d", i), "trivia", true, ids[i%2], ids[2])
	}
	e = must(f.Evidence(ctx, "trivia", 301))(f)
	f.equal(301, e.Matches)
	f.equal(601, len(e.Answers))
	f.equal(300, len(e.Duels))
	f.equal("m_3", e.Answers[0].MatchID)
	f.equal("m_x299", e.Answers[600].MatchID)

	f.open("m_y", ids[0], ids[1])
	f.equal(302, must(f.Evidence(ctx, "trivia", 400))(f).Matches)
}
