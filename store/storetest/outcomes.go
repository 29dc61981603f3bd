package storetest

import (
	"github.com/agora-arena/arena/arena"
)

// agentCauses: how an agent's rounds ended is counted once, when their match
// is over, whether it counts or not and whoever ends it.
func agentCauses(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c")
	play := func(id string, outcomes ...arena.Outcome) arena.Match {
		m := f.begin(id, "trivia", ids[:2]...)
		for i, o := range outcomes {
			f.ok(second(f.OpenRound(ctx, m.Lease, round(i+1), nil)))
			said := arena.Answer{Round: i + 1, AgentID: ids[0], Outcome: arena.OutcomeTimeout, Attempts: 1}
			f.ok(second(f.SaveAnswer(ctx, m.Lease, said, nil, nil)))
			said.Outcome = o // as a round that became void says
			other := fullAnswer(ids[1])
			other.Round = i + 1
			f.ok(second(f.CloseRound(ctx, m.Lease, arena.RoundClose{Round: i + 1, Seats: m.Seats, Answers: []arena.Answer{said, other}}, noEvents)))
		}
		return m
	}
	type counts map[arena.Outcome]int
	now := func(want, other counts) {
		f.t.Helper()
		f.equal(want, counts(must(f.AgentCauses(ctx, ids[0]))(f)))
		f.equal(other, counts(must(f.AgentCauses(ctx, ids[1]))(f)))
		f.equal(0, len(must(f.AgentCauses(ctx, ids[2]))(f)))
	}
	over := event(arena.EventMatchVoid, `{}`)

	settled := play("m_1", arena.OutcomeTimeout, arena.OutcomeVoid, arena.OutcomeTimeout)
	now(counts{}, counts{}) // it is not over
	f.settle(settled, start)
	once := counts{arena.OutcomeTimeout: 2, arena.OutcomeVoid: 1}
	now(once, counts{arena.OutcomeAnswered: 3})
	f.equal(0, len(must(f.Settle(ctx, settled.Lease, result(settled, true), start, moves(settled), finished))(f)))
	now(once, counts{arena.OutcomeAnswered: 3})

	lost := play("m_2", arena.OutcomeTimeout)
	f.ok(second(f.VoidMatch(ctx, lost.Lease, "our fault", lost.Seats, start, over)))
	f.ok(second(f.VoidMatch(ctx, lost.Lease, "our fault", lost.Seats, start, over)))
	now(counts{arena.OutcomeTimeout: 3, arena.OutcomeVoid: 1}, counts{arena.OutcomeAnswered: 4})
	play("m_3", arena.OutcomeInvalid)
	f.ok(second(f.EndMatch(ctx, "m_3", arena.MatchVoid, "rain", start, over)))
	all := counts{arena.OutcomeTimeout: 3, arena.OutcomeVoid: 1, arena.OutcomeInvalid: 1}
	now(all, counts{arena.OutcomeAnswered: 5})

	f.match("m_4", "trivia", ids...)
	f.ok(second(f.EndMatch(ctx, "m_4", arena.MatchCancelled, "rain", start, over)))
	answers := must(f.Answers(ctx, "m_1"))(f)
	answers[0].Points = 500
	f.ok(f.SaveRescore(ctx, arena.Rescore{MatchID: "m_1", Answers: answers[:1], Seats: must(f.Match(ctx, "m_1"))(f).Seats}))
	now(all, counts{arena.OutcomeAnswered: 5})
}
