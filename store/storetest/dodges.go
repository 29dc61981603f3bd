package storetest

import (
	"fmt"

	"github.com/agora-arena/arena/arena"
)

// dodges: threat F5, skips and rate-limit pauses of an agent's newest matches
// in a league, and nothing that an honest agent does.
func dodges(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	ids := f.agents("a", "b")
	play := func(m arena.Match, no, attempts int, outcome arena.Outcome) {
		f.ok(second(f.OpenRound(ctx, m.Lease, round(no), nil)))
		said := arena.Answer{MatchID: m.ID, Round: no, AgentID: ids[0], Outcome: outcome, Attempts: attempts}
		f.ok(second(f.SaveAnswer(ctx, m.Lease, said, nil, nil)))
		other := arena.Answer{MatchID: m.ID, Round: no, AgentID: ids[1], Outcome: arena.OutcomeTimeout, Attempts: 1}
		f.ok(second(f.SaveAnswer(ctx, m.Lease, other, nil, nil)))
		f.ok(second(f.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: []arena.Answer{said, other}}, noEvents)))
	}
	limited := f.begin("m_01", "trivia", ids...)
	play(limited, 1, 1, arena.OutcomeRateLimited) // nothing was counted yet
	play(limited, 2, 1, arena.OutcomeVoid)
	play(limited, 3, 1, arena.OutcomeRateLimited)
	play(limited, 4, 1, arena.OutcomeTimeout)
	play(limited, 5, 1, arena.OutcomeRateLimited)
	play(limited, 6, 0, arena.OutcomeRateLimited) // in the pause
	f.settle(limited, start)
	skipped := f.begin("m_02", "trivia", ids...)
	play(skipped, 1, 1, arena.OutcomeUnavailable)
	f.settle(skipped, start)
	elsewhere := f.begin("m_03", "sums", ids...)
	play(elsewhere, 1, 1, arena.OutcomeError)
	play(elsewhere, 2, 1, arena.OutcomeUnavailable)
	f.settle(elsewhere, start)

	dodge := func(match, league string, no int, outcome arena.Outcome) arena.Dodge {
		return arena.Dodge{AgentID: ids[0], League: league, MatchID: match, Round: no, Outcome: outcome, At: round(no).OpenedAt}
	}
	skip := dodge("m_02", "trivia", 1, arena.OutcomeUnavailable)
	sums := dodge("m_03", "sums", 2, arena.OutcomeUnavailable)
	pause := dodge("m_01", "trivia", 5, arena.OutcomeRateLimited)
	f.equal([]arena.Dodge{skip, sums, pause}, must(f.Dodges(ctx, "", ids))(f))
	f.equal([]arena.Dodge{skip, pause}, must(f.Dodges(ctx, "trivia", ids))(f))
	f.equal(0, len(must(f.Dodges(ctx, "", ids[1:]))(f)))
	f.equal(0, len(must(f.Dodges(ctx, "", nil))(f)))

	// Only the newest matches of the league that have begun are looked at.
	more := func(first, last int) {
		for n := first; n <= last; n++ {
			f.settle(f.begin(fmt.Sprintf("m_%02d", n), "trivia", ids...), start)
		}
	}
	more(4, 2+arena.DodgeMatches)
	f.match("m_later", "trivia", ids...)
	f.equal([]arena.Dodge{skip, sums}, must(f.Dodges(ctx, "", ids))(f))
	f.ok(second(f.EndMatch(ctx, "m_later", arena.MatchCancelled, "", start, event(arena.EventMatchVoid, `{}`))))
	more(3+arena.DodgeMatches, 3+arena.DodgeMatches)
	f.equal([]arena.Dodge{sums}, must(f.Dodges(ctx, "", ids))(f))
}
